"""trec_eval's file of z-scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from endoxa.errors import FileError
from endoxa.io.trec_text import read_zscores


def test_means_and_deviations(tmp_path: Path) -> None:
    (tmp_path / "z").write_text("#1 map 0.5 0.5\nq1 map 0.25 0.125\n\nall map 0.5 0.25\n")
    assert read_zscores(str(tmp_path / "z")) == {
        ("#1", "map"): (0.5, 0.5), ("q1", "map"): (0.25, 0.125), ("all", "map"): (0.5, 0.25),
    }  # fmt: skip


@pytest.mark.parametrize("line", ["q1 map 0.25", "q1 map x 0.1", "q1 map 0.2 0.1 0.3"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "z").write_text(f"q0 map 0 1\n{line}\n")
    with pytest.raises(FileError, match=r"z:2: .* is not a z-score; expected: query measure mean deviation"):
        read_zscores(str(tmp_path / "z"))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_zscores(str(tmp_path / "z"))
