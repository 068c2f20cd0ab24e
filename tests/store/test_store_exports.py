"""What goes out is what was answered, and reads back."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from store_samples import NOW, Judge, fresh, held_of, rows_of, study_of
from study_samples import make

import endoxa
from endoxa.errors import EndoxaError, FileError, TableError, TextError
from endoxa.io import study_files
from endoxa.io.bundles import read_bundle, write_bundle
from endoxa.store import catalogue, exports, work
from endoxa.studies.design import Settings
from endoxa.tables import Answers, Labels, Opinions, Taxonomy

GRADES = {"ana": (1.0, 2.0, None), "ben b.": (5.0, 4.0, 3.0), "ben_b.": (2.0, 2.0, 2.0), "eve #1": (4.0, 1.0, 5.0)}


@pytest.fixture(scope="module")
def rated(place):
    """Four judges rate a practice task, a gold task and three tasks of three; one undoes, changes and skips."""
    study = study_of(
        place, screen="four-results", per_task=3, common=1, main=2, practice=1, gold=1, name=fresh("rated"),
        settings={"overlap": 4, "gold_every": 2},
    )  # fmt: skip
    for name, grades in GRADES.items():
        judge = Judge(place, study, name)
        while given := judge.tasks():
            said = [work.Response(item["id"], grade) for item, grade in zip(given[0].items, grades, strict=True)]
            how = work.Circumstances('well, "hm"\nyes', 2.5, 0.0, "1280x800", "key")
            judge.answer(given[0], responses=said, how=how)
        judge.undo()
        judge.answer(judge.tasks()[0], responses=said)
    return study


def export(place, study, target, form, **options):
    with place.store.reading() as connection:
        return exports.export(connection, study, target, form, **options)


def said(frame: pl.DataFrame) -> list[tuple]:
    return frame.select("source", "query", "item", "grade").sort("source", "query", "item").rows()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_export_is_what_was_answered_and_reads_back(place, rated, tmp_path, form):
    held = held_of(place, rated)
    path = tmp_path / f"answers.{form}"
    assert export(place, rated, path, form) == held.height == 4 * 5 * 3
    table = endoxa.read(str(path), kind="qrels", assessors=True)
    assert isinstance(table, Opinions)
    assert said(table.frame) == said(held)
    assert table.frame["grade"].null_count() == held["grade"].null_count() > 0
    alike = ("selected_by", "propensity", "role", "at")
    order = ("source", "query", "item")
    for name in alike:
        assert table.frame.sort(order)[name].to_list() == held.sort(order)[name].to_list(), name
    assert set(table.frame["scale"]) == {"1-5"} and set(table.frame["kind"]) == {"person"}
    # everything that was recorded is there
    frame = study_files.read_any(path)
    wanted = {"key", "comment", "place", "shown", "screen", "method", "active_seconds", "away_seconds", "round", "task"}
    assert wanted <= set(frame.columns)
    assert not {"category", "rank", "relevance", "number"} & set(frame.columns)
    assert [str(one) for one in frame["key"]] == held["key"].to_list()


def test_history_has_every_row(place, rated, tmp_path):
    path = tmp_path / "all.parquet"
    rows = rows_of(place, rated)
    assert export(place, rated, path, "parquet", history=True) == rows.height
    frame = pl.read_parquet(path)
    assert frame["act"].to_list() == rows["kind"].to_list()
    assert "undo" in set(frame["act"])


def test_qrels_has_the_judge_in_column_two(place, rated, tmp_path):
    path = tmp_path / "answers.qrels"
    held = held_of(place, rated).filter(pl.col("grade").is_not_null() & pl.col("role").is_in(["main", "common"]))
    assert export(place, rated, path, "qrels") == held.height
    lines = [line.split() for line in path.read_text().splitlines()]
    assert len(lines) == held.height
    assert all(len(line) == 4 for line in lines)
    table = endoxa.read(str(path), kind="qrels", assessors=True)
    assert len(table.sources) == 4, "nicknames that differ in blanks only are still two judges"
    words = dict(zip(sorted(GRADES), sorted(table.sources), strict=True))
    for name in GRADES:
        mine = held.filter(pl.col("source") == name)
        theirs = table.frame.filter(pl.col("source") == words[name])
        assert mine.height == theirs.height
    grades = sorted(table.frame["grade"].to_list())
    assert grades == sorted(held["grade"].to_list())


def test_a_pair_met_as_gold_and_in_the_main_part_is_exported_once(place, tmp_path):
    from store_samples import work_of

    from endoxa.studies.planning import Work

    main, gold = work_of(main=1), work_of(gold=1)
    both = Work(pl.concat([main.tasks, gold.tasks.with_columns(pl.lit(1, pl.Int64).alias("task"))]), main.draws)
    study = study_of(place, planned=both, settings={"gold_every": 2})
    ana = Judge(place, study)
    for task in ana.finish(4.0):
        assert task.items[0]["name"] == "item-0-0"
    assert held_of(place, study).height == 2
    for form in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"answers.{form}"
        assert export(place, study, path, form) == 1
        table = endoxa.read(str(path), kind="qrels", assessors=True)
        assert table.frame["role"].to_list() == ["main"]


def test_forms_that_are_none(place, rated, tmp_path):
    with pytest.raises(TextError, match="csv, jsonl, parquet, qrels"):
        export(place, rated, tmp_path / "x.xlsx", "xlsx")


def test_an_empty_study_exports_an_empty_table(place, tmp_path):
    study = study_of(place, main=1)
    for form in ("csv", "jsonl", "parquet"):
        assert export(place, study, tmp_path / f"x.{form}", form) == 0
    with pytest.raises(TableError, match="no answer yet"):
        export(place, study, tmp_path / "x.qrels", "qrels")
    with pytest.raises(TableError, match="nothing to bundle"), place.store.reading() as connection:
        exports.bundle(connection, study, now=NOW)


def test_all_undecided(place, tmp_path):
    study = study_of(place, main=2)
    Judge(place, study).finish(None)
    assert export(place, study, tmp_path / "x.csv", "csv") == 2
    assert endoxa.read(str(tmp_path / "x.csv"), kind="qrels", assessors=True).frame["grade"].null_count() == 2
    with pytest.raises(TableError, match="undecided"):
        export(place, study, tmp_path / "x.qrels", "qrels")
    with place.store.reading() as connection:
        made = exports.bundle(connection, study, now=NOW)
    write_bundle(made, tmp_path / "x.zip")
    assert read_bundle(tmp_path / "x.zip").opinions.frame["grade"].null_count() == 2


def test_names_with_blanks_cannot_stand_in_qrels_and_it_is_said(place, tmp_path):
    from store_samples import work_of

    from endoxa.studies.planning import Work

    plain = work_of(main=1)
    study = study_of(place, planned=Work(plain.tasks.with_columns(pl.lit("my photo").alias("item")), plain.draws))
    Judge(place, study).finish(4.0)
    with pytest.raises(EndoxaError, match="my photo"):
        export(place, study, tmp_path / "x.qrels", "qrels")
    assert not (tmp_path / "x.qrels").exists()
    assert export(place, study, tmp_path / "x.csv", "csv") == 1


def test_filed_items_read_back_as_labels(place, tmp_path):
    study = study_of(place, screen="file-it", main=3, common=1)
    tree = Taxonomy.of(pl.DataFrame({"category": ["top", "cats", "dogs"], "parent": [None, "top", "top"]}))
    with place.store.writing() as connection:
        catalogue.add_taxonomy(connection, study, tree, now=NOW)
    ana = Judge(place, study)
    filed = {}
    for at in range(4):
        task = ana.tasks()[0]
        where = ("cats", "dogs", "cats", None)[at]
        ana.answer(task, responses=[work.Response(task.items[0]["id"], category=where)])
        if where is not None:
            filed[task.items[0]["name"]] = where
    for form in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"labels.{form}"
        assert export(place, study, path, form) == 4
        table = endoxa.read(str(path), kind="labels")
        assert isinstance(table, Labels)
        assert dict(table.frame.select("item", "category").rows()) == filed
        assert table.sources == ["ana"]
    with pytest.raises(TableError, match="gives no grades"):
        export(place, study, tmp_path / "x.qrels", "qrels")
    with place.store.reading() as connection:
        made = exports.bundle(connection, study, now=NOW)
    write_bundle(made, tmp_path / "labels.zip")
    again = read_bundle(tmp_path / "labels.zip")
    assert dict(again.labels.frame.select("item", "category").rows()) == filed
    assert again.taxonomy.frame.equals(tree.frame)


def test_ranked_sets_read_back_as_answers(place, tmp_path):
    study = study_of(place, screen="rank-it", per_task=3, main=2)
    ana = Judge(place, study)
    ranked = []
    while given := ana.tasks():
        task = given[0]
        for rank, item in enumerate(task.items, 1):
            ranked.append(("ana", task.query["name"], item["name"], rank, 1 - (rank - 1) / 4))
        ana.answer(task, responses=[work.Response(i["id"], rank=r, relevance=1 - (r - 1) / 4) for r, i in
                                    enumerate(task.items, 1)])  # fmt: skip
    for form in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"answers.{form}"
        assert export(place, study, path, form) == 6
        table = endoxa.read(str(path), kind="answers")
        assert isinstance(table, Answers)
        assert sorted(table.frame.select("source", "query", "item", "rank", "relevance").rows()) == sorted(ranked)
    with place.store.reading() as connection:
        made = exports.bundle(connection, study, now=NOW)
    write_bundle(made, tmp_path / "answers.zip")
    again = read_bundle(tmp_path / "answers.zip").answers.frame
    assert sorted(again.select("source", "query", "item", "rank", "relevance").rows()) == sorted(ranked)


def test_a_bundle_of_pictures_comes_back(place, material, tmp_path):
    settings = Settings(name=fresh("bundled"), screen="four-results", common=2, title="Pets", licence="CC0", overlap=2)
    made = make(place, settings, study_files.Sources(material.items, runs=material.runs), now=NOW)
    for number, name in enumerate(("ana", "ben")):
        Judge(place, made.study, name).finish(3.0 + number)
    held = held_of(place, made.study)
    for files in (False, True):
        with place.store.reading() as connection:
            bundle = exports.bundle(connection, made.study, now=NOW, with_runs=True, with_files=files)
        path = tmp_path / f"{files}.zip"
        write_bundle(bundle, path, files=exports.files_of(bundle, place.files) if files else None)
        again = read_bundle(path)
        assert said(again.opinions.frame) == said(held)
        assert (again.title, again.licence, again.task, again.scale, again.threshold) == (
            "Pets", "CC0", "search", (1, 5), 3,
        )  # fmt: skip
        assert again.made == datetime.fromtimestamp(NOW, UTC).date().isoformat()
        assert again.runs.systems == ["colour", "texture", "words"]
        assert set(again.calibration["source"]) == {"ana", "ben"}
        with place.store.reading() as connection:
            assert again.draws.equals(catalogue.draws_of(connection, made.study))
        import hashlib

        hashes = dict(again.items.select("item", "sha256").rows())
        for item, digest in hashes.items():
            handed = (material.items / f"{item}.png").read_bytes()
            kept = place.files / (again.items.filter(pl.col("item") == item)["file"][0])
            assert digest == hashlib.sha256(kept.read_bytes() if files else handed).hexdigest()


def test_a_picture_that_vanished_is_named(place, material, tmp_path):
    import shutil

    settings = Settings(name=fresh("vanished"), screen="one-result", common=0, tasks_per_query=1)
    made = make(place, settings, study_files.Sources(material.items, runs=material.runs), now=NOW)
    ana = Judge(place, made.study)
    ana.finish(4.0)
    with place.store.reading() as connection:
        bundle = exports.bundle(connection, made.study, now=NOW, with_files=True)
    copy = tmp_path / "copy"
    shutil.copytree(place.files, copy)
    gone = bundle.items["file"][3]
    (copy / gone).unlink()
    with pytest.raises(FileError, match=f"{gone}.*vanished"):
        exports.files_of(bundle, copy)
