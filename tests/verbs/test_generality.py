"""generality: what it refuses, and that it takes what other verbs take."""

from __future__ import annotations

from pathlib import Path

import pytest

import endoxa
from endoxa.errors import CallError, TextError
from endoxa.verbs.generality import generality

RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0, "d": 2.0}}
QRELS = {"q": {"b": 1}, "r": {"a": 1}}


def test_dicts_files_and_either_order_give_the_same(tmp_path: Path) -> None:
    endoxa.write(endoxa.read(RUN, kind="run"), tmp_path / "a.run")
    (tmp_path / "qrels").write_text("q 0 b 1\nr 0 a 1\n")
    found = generality(RUN, QRELS, draws=4)
    files = generality(tmp_path / "qrels", tmp_path / "a.run", draws=4)
    assert found.curves.drop("system").equals(files.curves.drop("system"))
    assert found.queries == 2 and found.size == 4 and found.means["generality"].to_list() == [0.5, 0.25]


def test_what_is_no_judgment_is_refused() -> None:
    with pytest.raises(CallError, match="need judgments, not consensus"):
        generality(RUN)
    with pytest.raises(TextError, match="cannot be reached"):
        generality(RUN, QRELS, levels=[0.1])


def test_the_page_is_written(tmp_path: Path) -> None:
    generality(RUN, QRELS, draws=2, to=tmp_path / "page.html")
    assert "Systems under a common generality" in (tmp_path / "page.html").read_text()
