"""Judgments in TREC's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from endoxa.errors import FileError
from endoxa.io.qrels import read_qrels
from endoxa.io.read import read
from endoxa.io.sources import source_of
from endoxa.io.trec_text import Skipped
from endoxa.tables import Opinions

TEXT = "q1 ann a 2\nq1 bob a 1\nq2 ann b 0\n"


def judgments(path: Path, text: str, **settings: object) -> Opinions:
    path.write_text(text)
    return read_qrels(source_of(path), **settings)  # type: ignore[arg-type]


def test_column_two_names_the_assessor_if_asked_for(tmp_path: Path) -> None:
    table = judgments(tmp_path / "f", TEXT, assessors=True)
    assert table.frame.select("source", "query", "item", "grade").rows() == [
        ("ann", "q1", "a", 2.0), ("bob", "q1", "a", 1.0), ("ann", "q2", "b", 0.0)
    ]  # fmt: skip


def test_a_column_of_zeros_names_nobody(tmp_path: Path) -> None:
    assert judgments(tmp_path / "f", "q1 0 a 2\n", assessors=True).sources == ["qrels"]


def test_a_pair_that_is_judged_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"f:2: item 'a' of query 'q1' has two judgments; .*add --assessors mean"):
        judgments(tmp_path / "f", TEXT)
    with pytest.raises(FileError, match=r"f:3: 'ann' judges item 'a' of query 'q1' twice; remove one"):
        judgments(tmp_path / "f", "q1 ann a 2\nq1 bob a 1\nq1 ann a 0\n", assessors=True)


def test_a_lenient_reader_keeps_the_first_and_reports_the_others(tmp_path: Path) -> None:
    records: list[Skipped] = []
    table = judgments(tmp_path / "f", TEXT, lenient=True, report=records.append)
    assert table.to_dict() == {"q1": {"a": 2.0}, "q2": {"b": 0.0}}
    assert records[0].count == 1
    assert "f:2: item 'a' is judged again" in str(records[0])


def test_sampled_judgments(tmp_path: Path) -> None:
    frame = judgments(tmp_path / "f", "q1 a 2 top 0.5\nq1 b 0 - 0.25\n", sampled=True).frame
    assert frame.select("grade", "selected_by", "propensity").rows() == [(2.0, "top", 0.5), (0.0, None, 0.25)]


@pytest.mark.parametrize("lines", ["q 0 a 1\nq 0 a 0\n", "q a 1 top .5\nq a 0 top .5\n"])
def test_judged_twice_where_assessors_were_asked_for_but_none_is_named(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text(lines)
    with pytest.raises(FileError, match=r"qrels.txt:2: item 'a' of query 'q' has two judgments"):
        read(path, assessors=True)
    assert len(read(path, assessors=True, lenient=True, report=list[Skipped]().append)) == 1
