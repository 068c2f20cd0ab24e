"""What is written reads back as it was, and a file is written whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from io_samples import any_text, comparisons, opinions, plain_judgments, runs, tables_of_scores

from endoxa.errors import FileError, TableError
from endoxa.io.formats import sniff
from endoxa.io.read import read
from endoxa.io.write import replacing, replacing_folder, write, write_page
from endoxa.tables import Comparison, Opinions, Run, Scores, Table

PACKED = ["", ".gz", ".zst"]
TEXTS = [form + pack for form in (".csv", ".tsv", ".jsonl") for pack in PACKED]
TABLES = [*TEXTS, ".parquet"]
suffixes = st.sampled_from(TABLES)


def there_and_back(table: Table, suffix: str, **how: object) -> Table:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"f{suffix}"
        write(table, path)  # type: ignore[arg-type]
        assert list(Path(directory).iterdir()) == [path]
        return read(path, **how)  # type: ignore[no-any-return,arg-type]


def same(found: pl.DataFrame, meant: pl.DataFrame) -> None:
    assert found.schema == meant.schema
    assert repr(found.rows()) == repr(meant.rows())  # repr: NaN equals NaN, and -0.0 is not 0.0


@given(suffix=st.sampled_from([f".run{pack}" for pack in PACKED]), run=runs())
def test_runs_as_trec_text(suffix: str, run: Run) -> None:
    same(there_and_back(run, suffix).frame, run.frame)


@given(suffix=suffixes, run=runs(any_text))
def test_runs_as_tables(suffix: str, run: Run) -> None:
    same(there_and_back(run, suffix).frame, run.frame)


@given(run=runs(), ties=st.sampled_from(["trec", "input"]))
def test_the_order_of_ties_survives(run: Run, ties: str) -> None:
    again = there_and_back(run, ".run", ties=ties)
    assert again.frame.select("system", "query", "item", "rank", "block").equals(
        run.frame.select("system", "query", "item", "rank", "block")
    )


@given(plain_judgments())
def test_judgments_as_qrels(table: Opinions) -> None:
    same(there_and_back(table, ".qrels").frame, table.frame)


@given(plain_judgments(several=True))
def test_assessors_stand_in_column_two(table: Opinions) -> None:
    assume(table.sources != ["0"])  # a column of zeros is TREC's iteration, not an assessor
    same(there_and_back(table, ".qrels", assessors=True).frame, table.frame)


@given(pack=st.sampled_from(PACKED), table=plain_judgments(sampled=True))
def test_judgments_as_sampled_qrels(pack: str, table: Opinions) -> None:
    same(there_and_back(table, f".prels{pack}", kind="sampled").frame, table.frame)


@given(suffix=suffixes, table=opinions())
def test_judgments_as_tables(suffix: str, table: Opinions) -> None:
    same(there_and_back(table, suffix).frame, table.frame)


@given(suffix=suffixes, table=tables_of_scores())
def test_scores_keep_their_policy(suffix: str, table: Scores) -> None:
    again = there_and_back(table, suffix)
    assert isinstance(again, Scores)
    same(again.frame, table.frame)
    assert again.policy == table.policy
    assert again.systems == table.systems
    if suffix == ".parquet":
        same(again.coverage, table.coverage)
        assert (again.texts is None) == (table.texts is None)
        if table.texts is not None and again.texts is not None:
            same(again.texts, table.texts)


@given(suffix=suffixes, table=comparisons())
def test_comparisons_as_tables(suffix: str, table: Comparison) -> None:
    again = there_and_back(table, suffix)
    assert isinstance(again, Comparison)
    same(again.frame, table.frame)
    if suffix == ".parquet":
        assert again.notes == table.notes


def test_trec_text_is_what_other_tools_read(tmp_path: Path) -> None:
    run = read({"myrun": {"q": {"a": 1.0, "b": 2.5, "c": 1e-7}}})
    write(run, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == (b"q Q0 b 1 2.5 myrun\nq Q0 a 2 1.0 myrun\nq Q0 c 3 1e-7 myrun\n")
    write(read({"q": {"a": 1, "b": 0.5, "c": -2}}, kind="qrels"), tmp_path / "g")
    assert (tmp_path / "g").read_bytes() == b"q 0 a 1\nq 0 b 0.5\nq 0 c -2\n"


@pytest.mark.parametrize("bad", ["", "a b", "a\tb", "a\nb", "a\rb", "a\0b", " a"])
def test_names_that_trec_text_cannot_hold(tmp_path: Path, bad: str) -> None:
    for values in ({bad: {"d": 1}}, {"q": {bad: 1}}):
        for kind in ("run", "qrels"):
            with pytest.raises(TableError, match=r"cannot be written as TREC text .*; use \.csv"):
                write(read(values, kind=kind), tmp_path / "f")
    with pytest.raises(TableError, match=r"query '\\ufeffq' cannot be written"):
        write(read({"\ufeffq": {"d": 1}}, kind="run"), tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_trec_text_has_no_place_for_draws(tmp_path: Path) -> None:
    drawn = {"query": ["q"], "item": ["d"], "grade": [1], "propensity": [0.5], "selected_by": ["next"], "draw": [2]}
    with pytest.raises(TableError, match=r"no columns for how labels were drawn .*; use \.csv"):
        write(Opinions.of(pl.DataFrame(drawn)), tmp_path / "f")


def test_tables_without_trec_text(tmp_path: Path) -> None:
    comparison = Comparison(pl.DataFrame({"measure": ["AP"]}))
    with pytest.raises(FileError, match=r"Comparison cannot be written as TREC text; use the suffix \.csv"):
        write(comparison, tmp_path / "f.txt")
    undecided = Opinions.of(
        pl.DataFrame({"query": ["q"], "item": ["d"], "grade": [None]}, schema_overrides={"grade": pl.Float64})
    )
    with pytest.raises(TableError, match="item 'd' has no grade; use"):
        write(undecided, tmp_path / "f.qrels")
    half = pl.DataFrame({"query": ["q", "q"], "item": ["d", "e"], "grade": [1, 1], "propensity": [0.5, None]})
    with pytest.raises(TableError, match="a probability for every pair"):
        write(Opinions.of(half), tmp_path / "f.qrels")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("old")
    with pytest.raises(KeyError), replacing(path) as part:
        part.write_text("half")
        raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with replacing(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    run = read({"q": {"d": 1}}, kind="run")
    for suffix in ("", *TABLES):
        with pytest.raises(FileError, match="cannot be written"):
            write(run, tmp_path / "no" / f"such{suffix}")
    (tmp_path / "d").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        write(run, tmp_path / "d")


@pytest.mark.parametrize("name", ["a\0b.csv", "a\ud800.csv", "a\0b/c.csv"])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    for writes in (replacing, replacing_folder):
        with pytest.raises(FileError, match="no file can have this name; give another name"), writes(target):
            pytest.fail("there is nothing to write to")
    with pytest.raises(FileError, match="no file can have this name"):
        write_page("x", target)
    assert list(tmp_path.iterdir()) == []


def test_the_format_can_be_named(tmp_path: Path) -> None:
    write(read({"q": {"d": 1}}, kind="run"), tmp_path / "f.dat", form="csv")
    assert sniff(tmp_path / "f.dat") == "run"
    assert (tmp_path / "f.dat").read_text().startswith("system,query,item")


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "folder"
    with replacing_folder(target) as part:
        (part / "a").write_text("old")
    with pytest.raises(FileError, match="cannot be written"), replacing_folder(target) as part:
        (part / "a").write_text("new")
        (part / "none" / "b").write_text("its folder does not exist")
    with pytest.raises(KeyboardInterrupt), replacing_folder(target) as part:
        (part / "a").write_text("newer")
        raise KeyboardInterrupt
    assert (target / "a").read_text() == "old" and list(target.parent.iterdir()) == [target]
    with pytest.raises(FileError, match="cannot be written"), replacing_folder(target) as part:
        part.rmdir()  # so that it cannot take the place of the older one
    assert (target / "a").read_text() == "old" and list(target.parent.iterdir()) == [target]
    with replacing_folder(target) as part:
        (part / "b").write_text("new")
    assert [path.name for path in target.iterdir()] == ["b"] and list(target.parent.iterdir()) == [target]
