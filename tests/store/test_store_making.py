"""Setting studies up and adding to them: whole or not at all; a further round spreads the answers."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import sqlalchemy as sa
from store_samples import NOW, Judge, fresh, held_of, roles_of, study_of
from study_samples import make

from endoxa.errors import EndoxaError, FileError, JoinError, RefusedError
from endoxa.io.study_files import Sources
from endoxa.store import catalogue, making, status
from endoxa.store import schema as s
from endoxa.studies.design import Settings


def settings_of(**given) -> Settings:
    return Settings.of({"name": fresh(), "screen": "one-result", **given})


def texts(folder: Path, count: int = 12, name: str = "items.csv") -> Path:
    path = folder / name
    pl.DataFrame({"item": [f"d{n}" for n in range(count)], "text": [f"text {n}" for n in range(count)]}).write_csv(path)
    return path


def run_file(folder: Path, lists: dict[str, list[str]], system: str = "a") -> Path:
    path = folder / f"{system}.run"
    lines = [
        f"{query} Q0 {item} {rank} {1 / rank:.6f} {system}"
        for query, items in lists.items()
        for rank, item in enumerate(items, 1)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def csv(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def count_of(place, table=s.studies) -> int:
    with place.store.reading() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table))


def asked(place, study) -> list[tuple[str, str]]:
    with place.store.reading() as connection:
        return making._asked(connection, study).rows()


def test_a_study_of_pictures_and_runs(place, material):
    made = make(
        place, settings_of(screen="four-results", overlap=2, common=2), Sources(material.items, runs=material.runs),
        now=NOW,
    )  # fmt: skip
    with place.store.reading() as connection:
        study = catalogue.find(connection, made.study.name)
        items = catalogue.frame_of(connection, s.items, study, "item")
        queries = catalogue.frame_of(connection, s.queries, study, "query")
        run, draws = catalogue.run_of(connection, study), catalogue.draws_of(connection, study)
    assert items["item"].to_list() == [f"p{n:02d}" for n in range(12)]
    assert all((place.files / f"{name}.jpg").exists() for name in items["file"])
    # a query that is the name of an item shows that item
    assert dict(queries.select("query", "file").rows()) == dict(items.select("item", "file").head(4).rows())
    assert run.systems == ["colour", "texture", "words"]
    drawn = {(query, item) for _, query, _, item in draws.rows()}
    assert drawn == set(asked(place, study))
    assert made.tasks == len(roles_of(place, study))
    assert sorted(roles_of(place, study).values()) == ["common"] * 2 + ["main"] * (made.tasks - 2)
    ana = Judge(place, study)
    assert ana.progress().total == made.tasks
    assert len(ana.finish(3.0)) == made.tasks
    held = held_of(place, study)
    assert held["propensity"].is_between(0, 1, closed="right").all()
    assert set("+".join(held["selected_by"].unique()).split("+")) <= {"colour", "texture", "words"}


def test_a_name_that_is_taken(place, tmp_path):
    study = study_of(place, main=1)
    with pytest.raises(RefusedError, match="choose another name"):
        make(
            place, settings_of(name=study.name, choose="pairs"),
            Sources(texts(tmp_path), pairs=csv(tmp_path, "p.csv", "query,item\nq,d0\n")), now=NOW,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "parts", "message"),
    [
        ({}, {}, "there is nothing to ask|needs queries"),
        ({}, {"runs": {"q": ["d0", "nope"]}}, "runs name 1 item that the study lacks: 'nope'"),
        ({}, {"pairs": "query,item\nq,d1\nq,x1\nq,x2\nq,x3\nq,x4\n"}, r"pairs name 4 items .* 'x1', 'x2', 'x3' …"),
        ({}, {"pairs": "query,item\nq,d1\nq,d1\n"}, "twice"),
        ({}, {"pairs": "query,item\n"}, "the file has no rows"),
        ({}, {"queries": "query,text\nother,words\n", "pairs": "query,item\nq,d1\n"}, "pairs name 1 query .* 'q'"),
        ({"choose": "pairs"}, {"runs": {"q": ["d0"]}}, "needs a file of pairs"),
        ({"screen": "file-it"}, {}, "needs a taxonomy"),
        ({"screen": "file-it"}, {"taxonomy": "category,parent\na,b\nb,c\nc,a\n"}, "cycle|root|itself|loop"),
        ({}, {"pairs": "query,item\nq,d1\n", "gold": "query,item,expected\nq,d1,10\n"}, "'10' is not an answer"),
        ({}, {"pairs": "query,item\nq,d1\n", "gold": "query,item,expected\nq,d1,\n"}, "row 1"),
        ({}, {"pairs": "query,item\nq,d1\n", "gold": "query,item,expected\nq,x9,3\n"}, "no item 'x9'"),
        ({}, {"pairs": "query,item\nq,d1\n", "gold": "query,item,expected\nq,,3\n"}, "row 1"),
        (
            {"screen": "four-results"},
            {"pairs": "query,item\nq,d1\n", "practice": "query,item,expected\nq,d1,3\nq,d1,4\n"},
            "twice",
        ),
        ({}, {"pairs": "query,item\nq,d1\n", "gold": "item,expected\nd1,3\n"}, "expected query, item and expected"),
    ],
)
def test_what_cannot_be_made_is_not_begun(place, tmp_path, given, parts, message):
    sources = {}
    for name, content in parts.items():
        if name == "runs":
            sources["runs"] = (run_file(tmp_path, content),)
        else:
            sources[name] = csv(tmp_path, f"{name}.csv", content)
    before = [count_of(place, table) for table in (s.studies, s.items, s.tasks, s.documents)]
    with pytest.raises(EndoxaError, match=message):
        make(place, settings_of(**given), Sources(texts(tmp_path), **sources), now=NOW)
    assert [count_of(place, table) for table in (s.studies, s.items, s.tasks, s.documents)] == before


def test_known_answers_are_asked_as_what_they_are(place, tmp_path):
    sources = Sources(
        texts(tmp_path), pairs=csv(tmp_path, "pairs.csv", "query,item\nq,d1\nq,d2\nr,d3\n"),
        practice=csv(tmp_path, "practice.csv", "query,item,expected\nr,d4,1\nq,d5,9.0\n"),
        gold=csv(tmp_path, "gold.csv", "topic,docid,grade\nr,d6,5\n"),
        attention=csv(tmp_path, "attention.csv", "query,item,expected\nq,d7,2\n"),
    )  # fmt: skip
    made = make(place, settings_of(common=1, gold_every=2), sources, now=NOW)
    roles = roles_of(place, made.study)
    assert sorted(roles.values()) == ["attention", "common", "gold", "main", "main", "practice", "practice"]
    ana = Judge(place, made.study)
    done = ana.finish(5.0)
    assert [roles[task.id] for task in done][:2] == ["practice", "practice"]
    assert [task.items[0]["name"] for task in done][:2] == ["d4", "d5"]  # practice keeps its order
    held = held_of(place, made.study)
    expected = dict(held.filter(pl.col("expected").is_not_null()).select("item", "expected").rows())
    assert expected == {"d4": "1", "d5": "9", "d6": "5", "d7": "2"}
    assert held.filter(pl.col("expected").is_not_null())["propensity"].is_null().all()


def test_adding_items_to_file_asks_only_about_the_new(place, tmp_path):
    tree = csv(tmp_path, "tree.txt", "a/b\na/c\n")
    made = make(place, settings_of(screen="file-it", common=2), Sources(texts(tmp_path, 4), taxonomy=tree), now=NOW)
    assert made.tasks == 4
    again = making.add(place, made.study.name, Sources(texts(tmp_path, 6, "more.csv")), now=NOW + 1)
    assert again.tasks == 2
    assert again.notes[0] == "2 new items, 0 new queries, 2 new tasks"
    # the common part is what all judges know of each other; two items more do not change it
    assert sorted(roles_of(place, made.study).values()) == ["common"] * 2 + ["main"] * 4
    nothing = making.add(place, made.study.name, Sources(texts(tmp_path, 6, "more.csv")), now=NOW + 2)
    assert nothing.tasks == 0


def test_adding_pairs_and_gold(place, tmp_path):
    pairs = csv(tmp_path, "pairs.csv", "query,item\nq,d1\n")
    made = make(place, settings_of(common=0), Sources(texts(tmp_path), pairs=pairs), now=NOW)
    more = Sources(
        queries=csv(tmp_path, "queries.csv", "query,text\nr,what\n"),
        pairs=csv(tmp_path, "more.csv", "query,item\nr,d2\nq,d3\n"),
        gold=csv(tmp_path, "gold.csv", "query,item,expected\nr,d4,7\n"),
    )
    assert making.add(place, made.study.name, more, now=NOW + 1).tasks == 3
    assert sorted(asked(place, made.study)) == [("q", "d1"), ("q", "d3"), ("r", "d2"), ("r", "d4")]
    with pytest.raises(JoinError, match="lacks: 'nope'"):
        making.add(
            place, made.study.name, Sources(pairs=csv(tmp_path, "wrong.csv", "query,item\nq,nope\n")), now=NOW + 2
        )
    with pytest.raises(RefusedError, match="no study is called"):
        making.add(place, "not-there", more, now=NOW)


def test_pairs_that_were_asked_are_not_asked_again(place, tmp_path):
    pairs = csv(tmp_path, "pairs.csv", "query,item\nq,d1\nq,d2\n")
    made = make(place, settings_of(common=0), Sources(texts(tmp_path), pairs=pairs), now=NOW)
    both = csv(tmp_path, "more.csv", "query,item\nq,d2\nq,d3\n")
    again = making.add(place, made.study.name, Sources(pairs=both), now=NOW + 1)
    assert again.tasks == 1
    assert "1 of 2 pairs was asked already; it is not asked again" in again.notes
    assert sorted(asked(place, made.study)) == [("q", "d1"), ("q", "d2"), ("q", "d3")]
    assert making.add(place, made.study.name, Sources(pairs=both), now=NOW + 2).tasks == 0


def population(folder: Path, rng: np.random.Generator, queries: int = 8, size: int = 40):
    """Two systems that rank by a noisy view of what people think; most items are poor: 1 of 9."""
    truth: dict[tuple[str, str], float] = {}
    runs: dict[str, dict[str, list[str]]] = {"a": {}, "b": {}}
    names = [f"d{n}" for n in range(size)]
    for number in range(queries):
        query = f"q{number}"
        liking = np.clip(np.round(9.5 - np.arange(size)), 1, 9)[rng.permutation(size)]
        truth.update({(query, name): float(grade) for name, grade in zip(names, liking, strict=True)})
        for lists in runs.values():
            noisy = liking + rng.normal(0, 0.7, size)
            lists[query] = [names[at] for at in np.argsort(-noisy)]
    return truth, tuple(run_file(folder, lists, system) for system, lists in runs.items())


def test_a_further_round_spreads_the_answers_and_asks_nothing_twice(place, tmp_path):
    """Drawn evenly, four answers in five are 1 of 9; chosen from what they taught, many fewer."""
    rng = np.random.default_rng(11)
    truth, runs = population(tmp_path, rng)
    made = make(
        place, settings_of(gamma=0.0, common=0, tasks_per_query=6, per_task=2, rounds=3, count=48),
        Sources(texts(tmp_path, 40), runs=runs), now=NOW,
    )  # fmt: skip
    name = made.study.name
    assert not making.round_is_due(place, name)
    ana = Judge(place, made.study)

    def answer_all() -> None:
        from endoxa.store import work

        while given := ana.tasks():
            task = given[0]
            said = [work.Response(item["id"], truth[task.query["name"], item["name"]]) for item in task.items]
            ana.answer(task, responses=said)

    answer_all()
    assert making.round_is_due(place, name)
    first = set(asked(place, made.study))
    further = making.next_round(place, name, now=NOW)
    assert not making.round_is_due(place, name)
    answer_all()
    making.next_round(place, name, now=NOW)
    answer_all()
    assert not making.round_is_due(place, name)  # the third was the last
    pairs = asked(place, made.study)
    assert len(pairs) == len(set(pairs)) > len(first)
    with place.store.reading() as connection:
        found = status.status(connection, made.study, now=NOW)
    rounds = found["uniformity"]["by_round"]
    assert [one["round"] for one in rounds] == [1, 2, 3]
    assert rounds[1]["deviation"] < rounds[0]["deviation"] - 0.1
    assert found["uniformity"]["normalised"] < rounds[0]["deviation"]
    assert any("deviation from an even use" in note for note in further.notes)
    held = held_of(place, made.study)
    assert set(held.filter(pl.col("round") == 2).select("selected_by", "draw").rows()) == {("adaptive", 2)}
    assert held["propensity"].is_between(0, 1, closed="right").all()


def test_a_round_needs_runs_and_ratings(place, tmp_path):
    study = study_of(place, main=2, settings={"rounds": 2})
    with pytest.raises(RefusedError, match="lacks them"):
        making.next_round(place, study.name, now=NOW)
    assert not making.round_is_due(place, study.name)


def test_two_organisers_who_plan_at_once_plan_one_round(place, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    _, runs = population(tmp_path, np.random.default_rng(2), queries=8)
    made = make(
        place, settings_of(common=0, tasks_per_query=6, rounds=2, count=5), Sources(texts(tmp_path, 40), runs=runs),
        now=NOW,
    )  # fmt: skip
    Judge(place, made.study).finish(5.0)

    def plan(_):
        try:
            return making.next_round(place, made.study.name, now=NOW)
        except RefusedError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(plan, range(2)))
    pairs = asked(place, made.study)
    assert len(pairs) == len(set(pairs))
    with place.store.reading() as connection:
        counts = dict(
            connection.execute(
                sa.select(s.tasks.c.round, sa.func.count()).where(s.tasks.c.study_id == made.study.id).group_by(
                    s.tasks.c.round
                )
            ).all()
        )  # fmt: skip
    assert counts[2] <= 5
    assert all(number <= 3 for number in counts)


def test_pictures_that_do_not_decode_are_all_named(place, material):
    (material.items / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    (material.items / "text.jpg").write_text("no picture at all")
    with pytest.raises(FileError) as wrong:
        make(place, settings_of(), Sources(material.items, runs=material.runs), now=NOW)
    said = str(wrong.value)
    assert "2 of 14 pictures" in said
    assert str(material.items / "broken.png") in said and str(material.items / "text.jpg") in said


def test_edited_words_are_recorded_and_a_deleted_study_frees_its_name(place):
    name = f"{fresh()}-{'x' * 60}"[:60]
    study = study_of(place, name=name, main=2)
    judge = Judge(place, study)
    judge.answer(judge.tasks()[0], 7)
    with place.store.writing() as connection:
        edited = catalogue.edit(connection, study, {"question": "Is it so?"}, now=NOW)
        assert catalogue.find(connection, name).settings == edited.settings
        events = sa.select(s.events.c.detail).where(s.events.c.study_id == study.id, s.events.c.kind == "study edited")
        assert connection.scalars(events).all() == [{"old": {"question": ""}, "new": {"question": "Is it so?"}}]
    before = held_of(place, study)
    with place.store.writing() as connection:
        catalogue.delete(connection, edited, now=NOW)
    with place.store.reading() as connection:
        assert name not in [one.name for one in catalogue.listed(connection)]
        with pytest.raises(RefusedError, match="no study is called") as refused:
            catalogue.find(connection, name)
        assert "~" not in str(refused.value)  # nor is it among the names that are listed
    assert before.height == 1 and held_of(place, study).equals(before)
    again = study_of(place, name=name, main=1)
    with place.store.writing() as connection:
        catalogue.delete(connection, again, now=NOW)  # two of a name
