"""What the organiser is told and may do: status, links, state, results, and exports that equal what was said."""

from __future__ import annotations

import io
import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest
import sqlalchemy as sa
from web_samples import START, URL, Sample, opened

from endoxa.io.read import read
from endoxa.studies.design import SCREENS, Settings
from endoxa.studies.kinds import KINDS
from endoxa.tables import Opinions
from endoxa.web.studies import hosting

DAY = 86_400.0
STATUS = {
    "study", "at", "progress", "agreement", "raters", "uniformity", "verdict", "notes", "invitations", "submissions",
    "results_open",
}  # fmt: skip
SHAPES: dict[str, set[str]] = {
    "study": {"name", "title", "screen", "state"},
    "progress": {"planned", "done", "raters", "answers", "undecided", "skipped", "per_hour"},
    "agreement": {"alpha", "lo", "hi", "level", "units", "note"},
    "raters": {
        "nickname", "answers", "median_seconds", "drift", "drift_lo", "drift_hi", "gold_right", "gold_asked",
        "correlation", "flags", "last",
    },
    "uniformity": {"deviation", "normalised", "shares", "by_round"},
    "verdict": {"estimand", "leads", "systems", "pairs", "notes", "scale"},
    "invitations": {"id", "role", "nickname", "state", "expires", "answers"},
    "submissions": {"id", "participant", "system", "at", "lines", "warnings", "accepted"},
}  # fmt: skip


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """One site for the whole file; tests take a study each."""
    with opened(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(sample: Sample) -> None:
    """Each test begins at the same time."""
    sample.clock.time = START


def status_of(sample: Sample, study: str) -> dict[str, Any]:
    """The status, of the shape that the dashboard expects."""
    answer = sample.organiser(study).get("status")
    assert answer.status_code == 200
    found: dict[str, Any] = json.loads(answer.text, parse_constant=_refuse)
    assert set(found) >= STATUS
    for name, keys in SHAPES.items():
        for part in found[name] if isinstance(found[name], list) else [found[name]]:
            assert part is None or set(part) >= keys, name
    return found


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def grades(value: float | None) -> Any:
    return lambda task: [{"item": item["id"], "grade": value} for item in task["items"]]


# Status


@pytest.mark.parametrize("screen", SCREENS)
def test_the_status_of_a_study_that_nobody_answered(sample: Sample, screen: str) -> None:
    study = sample.make(f"empty-{screen}", screen)
    found = status_of(sample, study)
    heading = Settings(name=study, screen=screen).heading
    assert found["study"] == {"name": study, "title": heading, "screen": screen, "state": "open"}
    assert found["progress"] | {"planned": 0} == {
        "planned": 0, "done": 0, "raters": 0, "answers": 0, "undecided": 0, "skipped": 0, "per_hour": [],
    }  # fmt: skip
    assert found["progress"]["planned"] > 0
    assert found["agreement"] is None
    assert found["raters"] == found["invitations"] == found["submissions"] == []
    assert found["uniformity"] is None
    assert found["results_open"] is False
    assert found["verdict"] is None


@pytest.mark.parametrize("screen", SCREENS)
def test_the_status_after_one_answer(sample: Sample, screen: str) -> None:
    study = sample.make(f"single-{screen}", screen)
    judge = sample.judge(study)
    task = judge.task()
    kind = SCREENS[screen].kind
    if kind == "file":
        said: Any = [{"item": task["items"][0]["id"], "category": "animals"}]
    elif kind == "rank":
        said = [{"item": one["id"], "rank": at, "relevance": 0.5} for at, one in enumerate(task["items"], 1)]
    else:
        said = SCREENS[screen].grades[0].value
    assert judge.answer(task, said, active_seconds=2.5).status_code == 201
    found = status_of(sample, study)
    assert found["progress"]["answers"] == len(task["items"])
    assert found["progress"]["per_hour"] == [{"hour": "2027-01-15T08:00:00+00:00", "answers": len(task["items"])}]
    [rater] = found["raters"]
    assert (rater["nickname"], rater["drift"], rater["correlation"]) == ("ana", None, None)
    assert rater["median_seconds"] == pytest.approx(2.5 / len(task["items"]))
    if found["agreement"] is not None:  # one judge agrees with nobody
        assert found["agreement"]["alpha"] is None
    if kind == "rate":
        shares = found["uniformity"]["shares"]
        assert [one["grade"] for one in shares] == [grade.value for grade in SCREENS[screen].grades]
        assert sum(one["count"] for one in shares) == len(task["items"])


@pytest.mark.parametrize("screen", ["four-results", "one-result", "yes-no", "five-levels", "file-it"])
def test_the_status_where_all_are_undecided(sample: Sample, screen: str) -> None:
    study = sample.make(f"undecided-{screen}", screen, overlap=2)
    for nickname in ("ana", "ben"):
        judge = sample.judge(study, nickname)
        judge.finish(lambda task: [{"item": item["id"]} for item in task["items"]])
    found = status_of(sample, study)
    assert found["progress"]["answers"] == found["progress"]["undecided"] > 0
    assert found["progress"]["done"] == found["progress"]["planned"]
    assert found["uniformity"] is None
    assert found["agreement"] is None or found["agreement"]["alpha"] is None
    assert len(found["raters"]) == 2


def test_the_status_of_a_study_that_is_done(sample: Sample) -> None:
    study = sample.make("done", "four-results", overlap=2, known=True)
    for at, nickname in enumerate(("ana", "ben", "eva")):
        judge = sample.judge(study, nickname)
        sample.clock.time += 3600
        for _ in range(50):
            if not (tasks := judge.get("tasks?count=1").json()["tasks"]):
                break
            said = [{"item": one["id"], "grade": 1 + (one["id"] + at % 2) % 5} for one in tasks[0]["items"]]
            judge.answer(tasks[0], said, active_seconds=3.0 + at)
    found = status_of(sample, study)
    assert found["progress"]["done"] == found["progress"]["planned"]
    assert found["progress"]["raters"] == 3
    assert [one["answers"] > 0 for one in found["progress"]["per_hour"]] == [True] * len(found["progress"]["per_hour"])
    assert -1 <= found["agreement"]["lo"] <= found["agreement"]["alpha"] <= found["agreement"]["hi"] <= 1
    assert all(one["median_seconds"] > 0 for one in found["raters"])
    assert abs(sum(one["share"] for one in found["uniformity"]["shares"]) - 1) < 1e-9
    low, high = found["verdict"]["scale"]
    for one in found["verdict"]["systems"]:
        assert low <= one["mean"] <= high
    for one in found["verdict"]["pairs"]:
        assert one["difference"] >= 0
        if one["lo"] is not None:
            assert one["lo"] < one["difference"] < one["hi"]
        assert one["decided"] == (one["state"] == "better")
    assert [one["state"] for one in found["invitations"]] == ["used"] * 3


def test_the_status_is_made_afresh_when_time_passes_or_the_organiser_acts(sample: Sample) -> None:
    study = sample.make("live", "one-result")
    organiser, judge = sample.organiser(study), sample.judge(study)
    assert organiser.get("status").json()["progress"]["answers"] == 0
    judge.answer(judge.task(), 5)
    sample.clock.time += 3
    assert organiser.get("status").json()["progress"]["answers"] == 1
    organiser.post("state", {"state": "closed"})
    assert organiser.get("status").json()["study"]["state"] == "closed"


def test_a_status_of_a_study_made_anew_elsewhere_is_not_the_old_one(sample: Sample) -> None:
    one, two = sample.make("one"), sample.make("two", title="Second")
    organiser = sample.organiser(one)
    assert organiser.get("status").json()["study"]["title"] == "One"
    assert organiser.get(f"/api/studies/{two}/status").json()["study"]["title"] == "Second"


# Pages


def test_the_pages_of_the_organiser(sample: Sample) -> None:
    study = sample.make("paged", "yes-no", title="A title & more")
    organiser = sample.organiser(study)
    listed = organiser.get("/dashboard")
    assert "A title &amp; more" in listed.text
    assert f'href="/dashboard/{study}"' in listed.text
    shown = organiser.get(f"/dashboard/{study}")
    assert "A title &amp; more" in shown.text
    for form in ("csv", "jsonl", "parquet", "qrels"):
        assert f'href="/api/studies/{study}/export?form={form}"' in shown.text
    assert organiser.get("/dashboard/none").status_code == 404


def test_an_empty_site_has_pages_too(tmp_path: Path) -> None:
    with opened(tmp_path) as sample:
        assert sample.organiser().get("/dashboard").status_code == 200
        front = sample.browser().get("/")
        assert front.status_code == 200
        assert "Open the link" in front.text


def test_a_study_named_in_any_script_has_addresses(sample: Sample) -> None:
    study = sample.make("日本-é.1_x", "one-result")
    judge, organiser = sample.judge(study), sample.organiser(study)
    judge.finish(grades(5))
    images = [item["image"] for task in judge.get("tasks").json()["tasks"] for item in task["items"]]
    assert all(judge.get(image).status_code == 200 for image in images if image)
    assert organiser.get(f"/dashboard/{study}").status_code == 200
    exported = organiser.get("export")
    assert exported.headers["content-disposition"].endswith("%E6%97%A5%E6%9C%AC-%C3%A9.1_x.csv")
    assert sample.participant(study).get(f"/submit/{study}").status_code == 200


# Links


def test_links_are_made_shown_once_and_withdrawn(sample: Sample) -> None:
    study = sample.make("linked")
    organiser = sample.organiser(study)
    made = organiser.post("invitations", {"role": "judge", "nickname": "ana", "days": 2})
    assert made.status_code == 201
    assert set(made.json()) == {"id", "url"}
    assert made.json()["url"].startswith(f"{URL}/join/")
    opened_page = sample.browser().get(urlsplit(made.json()["url"]).path)
    assert 'value="ana"' in opened_page.text
    second = organiser.post("invitations", {})
    lab = organiser.post("invitations", {"role": "participant", "nickname": "", "days": 3650})
    assert (second.status_code, lab.status_code) == (201, 201)
    told = organiser.get("status").json()["invitations"]
    assert [(one["role"], one["nickname"], one["state"]) for one in told] == [
        ("judge", "ana", "open"), ("judge", None, "open"), ("participant", None, "open")
    ]  # fmt: skip
    assert made.json()["url"].rpartition("/")[2] not in organiser.get("status").text
    again = organiser.post("invitations", {"nickname": "ANA"})
    assert again.status_code == 409
    assert "withdraw" in again.json()["detail"]
    number = made.json()["id"]
    assert organiser.post(f"invitations/{number}/withdraw").status_code == 204
    assert organiser.post(f"invitations/{number}/withdraw").status_code == 204
    assert organiser.post("invitations", {"nickname": "ana"}).status_code == 201
    sample.clock.time += 40 * DAY
    later = sample.organiser(study).get("status").json()["invitations"]
    assert [one["state"] for one in later] == ["withdrawn", "expired", "open", "expired"]


def test_who_is_invited_anew_goes_on_where_they_were(sample: Sample) -> None:
    study = sample.make("anew", "one-result")
    organiser = sample.organiser(study)

    def join(nickname: str) -> tuple[int, Any]:
        made = organiser.post("invitations", {"nickname": nickname}).json()
        return made["id"], sample.enter(urlsplit(made["url"]).path, study)

    number, first = join("ana")
    first.answer(first.task(), 5)
    waiting = first.task()
    organiser.post(f"invitations/{number}/withdraw")
    _, second = join("ana")
    assert second.get("me").json()["progress"]["done"] == 1
    assert second.task() == waiting
    assert first.get("me").status_code == 401
    assert organiser.get("status").json()["progress"]["raters"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {"role": "organiser"}, {"role": None}, {"days": 0}, {"days": 3651}, {"days": -1}, {"days": 1.5}, {"days": "x"},
        {"nickname": "x" * 61}, {"nickname": "x" * 201}, {"nickname": " "}, {"nickname": 5}, {"study": "one"}, [], "x",
        {"days": 10**30}, {"days": True, "role": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_invitations_that_make_no_sense(organised: Any, body: Any) -> None:
    answer = organised.post("invitations", body)
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)


@pytest.fixture(scope="module")
def organised(sample: Sample) -> Any:
    """The organiser of a study."""
    return sample.organiser(sample.make("organised"))


@pytest.mark.parametrize(
    "body", [{}, {"state": "paused"}, {"state": None}, {"open": "perhaps"}, {"state": ["open"]}, None]
)
def test_states_that_there_are_not(organised: Any, body: Any) -> None:
    assert organised.post("state", body).status_code == 422
    if body != {}:
        assert organised.post("results", body).status_code == 422


# Exports


def answered(sample: Sample, study: str, screen: str) -> list[dict[str, Any]]:
    """Two judges finish; one undoes and skips on the way. What was sent and stands."""
    sent = []
    for at, nickname in enumerate(("ana", "ben")):
        judge = sample.judge(study, nickname)
        first = judge.task()
        judge.answer(first, _said(screen, first, 9))
        judge.post("undo", {"key": str(uuid.uuid4())})
        skipped = False
        while tasks := judge.get("tasks?count=1").json()["tasks"]:
            task = tasks[0]
            if nickname == "ben" and not skipped and task["id"] != first["id"]:
                skipped = True
                judge.post("answers", {"key": str(uuid.uuid4()), "task": task["id"], "kind": "skip"})
                continue
            sample.clock.time += 10
            said = _said(screen, task, at)
            how = {"active_seconds": 1.5, "comment": 'a "quoted", word\nand a line', "method": "key"}
            assert judge.answer(task, said, **how).status_code == 201
            sent += [
                {"source": nickname, "task": task["id"], "query": (task["query"] or {}).get("text"), **one}
                for one in said
            ]
    return sent


def _said(screen: str, task: dict[str, Any], turn: int) -> list[dict[str, Any]]:
    items = [item["id"] for item in task["items"]]
    if screen == "file-it":
        return [{"item": items[0], "category": ("animals/cats", "places/town", "animals")[(items[0] + turn) % 3]}]
    if screen == "rank-it":
        return [{"item": one, "rank": at, "relevance": round(1 - at / 10, 2)} for at, one in enumerate(items, 1)]
    values: list[float | None] = [grade.value for grade in SCREENS[screen].grades]
    values.append(None)
    return [{"item": one, "grade": values[(one + turn) % len(values)]} for one in items]


TEXTS = {"q1": "a red thing", "q2": "a blue thing", "q3": "anything else"}


@pytest.mark.parametrize("screen", SCREENS)
def test_exports_equal_what_was_said(sample: Sample, screen: str) -> None:
    study = sample.make(f"export-{screen}", screen, overlap=2, comments=True)
    organiser = sample.organiser(study)
    sent = answered(sample, study, screen)
    numbers = _item_numbers(sample, study)
    name = {"file-it": "category", "rank-it": "rank"}.get(screen, "grade")
    wanted = sorted(
        (one["source"], str(one["query"]), numbers[one["item"]], one[name], one.get("relevance")) for one in sent
    )
    frames = {}
    for form in ("csv", "jsonl", "parquet"):
        answer = organiser.get(f"export?form={form}")
        assert answer.status_code == 200
        content = io.BytesIO(answer.content)
        frames[form] = {
            "csv": lambda c: pl.read_csv(c, infer_schema_length=None),
            "jsonl": lambda c: pl.read_ndjson(c, infer_schema_length=None), "parquet": pl.read_parquet,
        }[form](content)  # fmt: skip
    for form, frame in frames.items():
        query = [TEXTS[one] for one in frame["query"]] if "query" in frame.columns else ["None"] * frame.height
        relevance = frame["relevance"].to_list() if "relevance" in frame.columns else [None] * frame.height
        found = sorted(zip(frame["source"], query, frame["item"], frame[name], relevance, strict=True), key=str)
        assert found == sorted(wanted, key=str), form
        assert set(frame["active_seconds"]) == {1.5}
        assert set(frame["comment"]) == {'a "quoted", word\nand a line'}
        assert set(frame["kind"]) == {"person"}
    history = pl.read_csv(io.BytesIO(organiser.get("export?form=csv&history=true").content), infer_schema_length=None)
    assert history.height > frames["csv"].height
    assert set(history["act"]) == {"answer", "undo", "skip"}
    qrels = organiser.get("export?form=qrels")
    if KINDS[SCREENS[screen].kind].table is not Opinions:
        assert qrels.status_code == 422
        assert "csv" in qrels.json()["detail"]
        return
    lines = [line.split() for line in qrels.text.splitlines()]
    decided = [(query, who, item, float(grade)) for query, who, item, grade in lines]
    names = {text: query for query, text in TEXTS.items()}
    assert sorted(decided) == sorted(
        (names[query], who, item, float(grade)) for who, query, item, grade, _ in wanted if grade is not None
    )


def _item_numbers(sample: Sample, study: str) -> dict[int, str]:
    from endoxa.store import catalogue
    from endoxa.store import schema as s

    with sample.home.store.reading() as connection:
        found = catalogue.ids(connection, s.items, catalogue.find(connection, study))
    return {number: name for name, number in found.items()}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "qrels"])
def test_endoxa_reads_its_own_exports(sample: Sample, tmp_path: Path, form: str) -> None:
    study = sample.make(f"readable-{form}", "four-results")
    sample.judge(study).finish(grades(4))
    answer = sample.organiser(study).get(f"export?form={form}")
    path = tmp_path / f"answers.{form}"
    path.write_bytes(answer.content)
    table = read(path, kind="qrels", assessors=True)
    assert table.sources == ["ana"]
    assert set(table.frame["grade"]) == {4.0}


def test_an_export_of_nothing_is_a_file_or_a_sentence(sample: Sample) -> None:
    organiser = sample.organiser(sample.make("nothing", "one-result"))
    csv = organiser.get("export?form=csv")
    assert csv.status_code == 200
    assert csv.text.startswith("source,kind,query,item,grade")
    for form in ("jsonl", "parquet"):
        assert organiser.get(f"export?form={form}").status_code == 200
    refused = organiser.get("export?form=qrels")
    assert refused.status_code == 422
    assert refused.json() == {"detail": "there is no answer yet"}


def test_names_with_blanks_do_not_break_qrels(tmp_path: Path) -> None:
    with opened(tmp_path) as sample:
        study = sample.make("blanks", "one-result")
        judge = sample.judge(study, "ana b # c")
        judge.finish(grades(5))
        lines = sample.organiser(study).get("export?form=qrels").text.splitlines()
        assert lines
        assert {len(line.split()) for line in lines} == {4}
        assert {line.split()[1].strip("_")[:5] for line in lines} == {"ana_b"}
        assert not any("#" in line for line in lines)


def test_rounds_are_planned_again_after_the_database_was_away(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, asked = threading.Event(), 0

    def listed(_: object) -> list[Any]:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise sa.exc.OperationalError("select", {}, OSError("gone"))
        stop.set()
        return []

    monkeypatch.setattr(hosting, "INTERVAL", 0.001)
    monkeypatch.setattr("endoxa.store.catalogue.listed", listed)
    hosting._plan(sample.studio, stop)
    assert asked == 2


def test_an_organiser_on_both_databases(tmp_path: Path, database: str | None) -> None:
    with opened(tmp_path, database) as sample:
        study = sample.make("both", "four-results", overlap=2)
        sent = answered(sample, study, "four-results")
        found = status_of(sample, study)
        assert found["progress"]["answers"] == len(sent)
        assert found["progress"]["skipped"] == 1
        organiser = sample.organiser(study)
        for form in ("csv", "jsonl", "parquet", "qrels"):
            assert organiser.get(f"export?form={form}").status_code == 200
        made = organiser.post("invitations", {"nickname": "Ünï"}).json()
        assert organiser.post("invitations", {"nickname": "Ünï"}).status_code == 409
        assert organiser.post(f"invitations/{made['id']}/withdraw").status_code == 204
        assert organiser.post("state", {"state": "closed"}).status_code == 204
        assert organiser.post("results", {"open": True}).status_code == 204
