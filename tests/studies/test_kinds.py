"""Study kinds: the three that exist, and a toy kind that is added at run time and found everywhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import command_line
import polars as pl
import pytest
from starlette.testclient import TestClient

import endoxa
from endoxa.errors import EndoxaError, RefusedError, TableError, TextError
from endoxa.store import catalogue, people, work
from endoxa.store.home import open_home
from endoxa.studies import design
from endoxa.studies.design import SCREENS, Screen, Settings, register_screen
from endoxa.studies.kinds import COLUMNS, KINDS, Response, StudyKind, file, rank, rate, register
from endoxa.studies.latest import labels
from endoxa.studies.planning import Material, Work, certain
from endoxa.tables import Labels, Opinions, Taxonomy
from endoxa.verbs import study as verb
from endoxa.web.site import HERE
from endoxa.web.studies.app import Studio, create_app

SOURCES = Path(endoxa.__file__).parent


# The three kinds


def test_every_kind_is_complete() -> None:
    assert set(KINDS) == {"rate", "file", "rank"}, "add the new kind here, and its cases to the tests below"
    assert {screen.kind for screen in SCREENS.values()} == set(KINDS), "a kind needs a screen: register_screen"
    for kind in KINDS.values():
        assert set(kind.columns) <= set(COLUMNS)
        assert (HERE / "static" / kind.module).exists()
        exported = set(COLUMNS) - set(kind.not_exported)
        assert exported == set(kind.columns)


def test_only_the_kinds_decide_by_kind() -> None:
    """No comparison with the name of a kind, and no table by it, outside studies/kinds/."""
    names = set(KINDS)
    for package in ("store", "web", "studies", "io/study_files.py", "cli/study.py", "verbs/study.py"):
        place = SOURCES / package
        for path in [place] if place.is_file() else place.rglob("*.py"):
            if "kinds" in path.parts or path.name == "design.py":  # the screens name their kind
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                compared = [*([node.left, *node.comparators] if isinstance(node, ast.Compare) else [])]
                keys = node.keys if isinstance(node, ast.Dict) else []
                words = {one.value for one in (*compared, *keys) if isinstance(one, ast.Constant)}
                assert len(words & names) < (1 if compared else 2), f"{path}:{node.lineno}"
    for path in (HERE / "static").glob("*.js"):
        assert not re.search(r"kind\s*[=!]==?\s*[\"'](rate|file|rank)", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    ("kind", "expected", "response", "right"),
    [
        (rate, "3", {"grade": 3.0}, True), (rate, "3", {"grade": 4.0}, False), (rate, "3", {}, False),
        (rate, "cats", {"grade": 3.0}, False), (file, "cats", {"category": "cats"}, True),
        (file, "cats", {"category": "dogs"}, False), (file, "cats", {}, False),
        (rank, "0.5", {"rank": 2, "relevance": 0.5}, True), (rank, "0.5", {"rank": 1, "relevance": 1.0}, False),
        (rank, "0.5", {"rank": 1}, False),
    ],
)  # fmt: skip
def test_what_is_right(kind, expected, response, right) -> None:
    assert kind.is_right(expected, Response(1, **response)) is right


def test_tolerance_is_in_grades() -> None:
    assert rate.is_right("3", Response(1, 4.0), 1.0) and not rate.is_right("3", Response(1, 5.0), 1.0)
    assert SCREENS["four-results"].tolerance == 1 and SCREENS["yes-no"].tolerance == 0


TREE = Taxonomy.of(pl.DataFrame({"category": ["top", "cats", "dogs"], "parent": [None, "top", "top"]}))


@pytest.mark.parametrize(
    ("kind", "screen", "given", "read"),
    [
        (rate, "five-levels", "4.0", "4"), (rate, "yes-no", "0", "0"), (file, "file-it", "cats", "cats"),
        (rank, "rank-it", "0.25", "0.25"), (rank, "rank-it", "1.0", "1"), (rate, "yes-no", "2", None),
        (file, "file-it", "birds", None), (rank, "rank-it", "1.5", None), (rank, "rank-it", "first", None),
    ],
)  # fmt: skip
def test_known_answers_are_read(kind, screen, given, read) -> None:
    if read is not None:
        assert kind.read_expected(given, SCREENS[screen], TREE) == read
        return
    with pytest.raises(TextError, match="expected "):
        kind.read_expected(given, SCREENS[screen], TREE)


def test_names_are_taken_once_and_columns_exist() -> None:
    with pytest.raises(TableError, match="'rate' exists already"):
        register(rate.RATE)
    with pytest.raises(TableError, match="grade, category, rank, relevance, not 'colour'"):
        register(StudyKind("new", ("colour",), Opinions, *[None] * 5))  # type: ignore[arg-type]
    with pytest.raises(TableError, match="'yes-no' exists already"):
        register_screen(SCREENS["yes-no"])


def test_a_screen_of_no_kind_is_refused(monkeypatch) -> None:
    monkeypatch.setitem(SCREENS, "odd", Screen("odd", "unheard-of", "a guess", 1))
    with pytest.raises(TextError, match="kind 'unheard-of', which is not registered"):
        Settings(name="x", screen="odd")


# A toy kind, at run time


def plan(_, material: Material, __) -> Work:
    rows = pl.DataFrame({"task": range(len(material.items)), "item": material.items})
    return certain(rows.with_columns(pl.lit(None).alias("query"), pl.lit(0).alias("place"), selected_by=pl.lit("all")))


def check(_, responses, __) -> str | None:
    words = [response.category or "" for response in responses]
    return next((f"{word!r} is more than one word" for word in words if " " in word), None)


def read_expected(text, _, __) -> str:
    if not text.isalpha():
        raise TextError("expected one word")
    return text.lower()


TOY = StudyKind(
    name="word", columns=("category",), table=Labels, tabulate=lambda answers, _: labels(answers), plan=plan,
    check=check, read_expected=read_expected,
    is_right=lambda expected, response, _=0.0: (response.category or "").lower() == expected,
    summary=lambda _, answered: {"words": answered.answers["category"].drop_nulls().n_unique()}, asks_every_item=True,
    omitted=("query",),
)  # fmt: skip


@pytest.fixture
def toy() -> Iterator[Screen]:
    """A kind and a screen that exist while the test runs."""
    register(TOY)
    try:
        yield register_screen(
            Screen("one-word", "word", "an item to be described", 1, asks_query=False, asks="One word?")
        )
    finally:
        KINDS.pop("word")
        SCREENS.pop("one-word", None)


def test_a_toy_kind_is_found_everywhere(tmp_path: Path, toy: Screen) -> None:
    items = tmp_path / "items.csv"
    items.write_text("item,text\na,first\nb,second\nc,third\n")
    gold = tmp_path / "gold.csv"
    gold.write_text("item,expected\nc,Bird\n")
    home = tmp_path / "home"

    # the command line: the screen is known, and its name is suggested
    wrong = command_line.endoxa("study", "new", "x", "--screen", "one-wrod", "--items", items)
    assert wrong.exit_code == 2 and "one-word" in wrong.stderr
    assert "one-word" in verb.screens()
    command_line.done(
        "study", "new", "words", "--screen", "one-word", "--items", items, "--gold", gold, "--set", "gold_every=2",
        "--set", "common=1", "--home", home,
    )  # fmt: skip
    gold.write_text("item,expected\nc,two words\n")
    with pytest.raises(EndoxaError, match=r"gold\.csv: row 1: 'two words' is not an answer .*; expected one word"):
        verb.new("wrong", screen="one-word", items=items, gold=gold, home=home)

    # the checks of answers
    with open_home(home) as opened:
        with opened.store.writing() as connection:
            study = catalogue.find(connection, "words")
            assert study.settings.kind is TOY
            _, token = people.invite(connection, opened.key, study, "judge", nickname="ana", now=0.0)
            secret = people.join(connection, people.invitation_of(connection, opened.key, token), "", now=0.0)
            visitor = people.visitor_of(connection, secret, now=0.0)
        assert visitor is not None and visitor.rater_id is not None
        answered = _answer_all(opened, study, visitor.rater_id)

        # the page loads the module of the kind
        studio = Studio(opened, "http://study.example", now=lambda: 0.0)
        browser = TestClient(create_app(studio), base_url=studio.url, cookies={studio.site.cookie: secret})
        page = browser.get("/s/words").text
        assert 'data-module="/static/word.js"' in page
        me = browser.get("/api/studies/words/me").json()["study"]
        assert me["screen"]["kind"] == "word" and me["instructions"] == ["One word?"] and me["categories"] is None

    # status and export
    (status,) = verb.status("words", home=home)
    assert status["words"] == 3 and status["agreement"] is None and status["verdict"] is None
    assert status["raters"][0]["gold_asked"] == status["raters"][0]["gold_right"] == 1
    assert "words (one-word, open)" in command_line.done("study", "status", "words", "--home", home)
    to = tmp_path / "answers.csv"
    command_line.done("study", "export", "words", "--to", to, "--home", home)
    frame = pl.read_csv(to)
    assert dict(frame.filter(pl.col("role") != "gold").select("item", "category").rows()) == answered
    assert not {"grade", "scale", "rank", "relevance", "query"} & set(frame.columns)
    with pytest.raises(TableError, match="gives no grades"):
        verb.export("words", tmp_path / "answers.qrels", home=home)
    bundle = verb.bundle("words", tmp_path / "words.zip", home=home)
    assert bundle.labels is not None and bundle.opinions is None
    assert dict(bundle.labels.frame.select("item", "category").rows()) == answered


def _answer_all(opened, study, rater: int) -> dict[str, str]:
    """Answer every task with one word; two words and a grade are refused. The words by item."""
    answered: dict[str, str] = {}
    for number in range(10):
        with opened.store.writing() as connection:
            tasks, _ = work.tasks(connection, study, rater, count=1, now=float(number))
        if not tasks:
            break
        item = tasks[0].items[0]
        word = {"a": "cat", "b": "Dog", "c": "bird"}[item["name"]]

        def send(response: Response, key: str, task: int = tasks[0].id, moment: float = number) -> None:
            with opened.store.writing() as connection:
                work.answer(connection, study, rater, task, key, [response], work.Circumstances(), now=moment)

        with pytest.raises(RefusedError, match="more than one word"):
            send(Response(item["id"], category="two words"), "wrong")
        with pytest.raises(RefusedError, match="takes a category, nothing else"):
            send(Response(item["id"], grade=1.0), "wrong")
        send(Response(item["id"], category=word), f"right-{number}")
        answered[item["name"]] = word
    return answered


def test_a_kind_is_forgotten_with_its_test() -> None:
    assert "word" not in KINDS and "one-word" not in design.SCREENS
