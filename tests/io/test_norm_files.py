"""Ratings of words: the forms of the file, and what is wrong in one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from endoxa.errors import FileError
from endoxa.io.norm_files import read_norms


def written(folder: Path, text: str, name: str = "norms.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_word_and_rating_in_every_form(tmp_path: Path) -> None:
    expected = {"sky": 4.5, "polar bear": 4.9, "idea": 1.6}
    table = pl.DataFrame({"word": list(expected), "rating": list(expected.values())})
    table.write_parquet(tmp_path / "norms.parquet")
    table.write_ndjson(tmp_path / "norms.jsonl")
    for path in (
        written(tmp_path, "word,rating\nSky,4.5\npolar  bear,4.9\nIDEA,1.6\n"),
        written(tmp_path, "other\tWord\tRating\n1\tsky\t4.5\n2\tpolar bear\t4.9\n3\tidea\t1.6\n", "norms.tsv"),
        # The columns of Brysbaert et al., who distribute a text with tabs.
        written(tmp_path, "Word\tBigram\tConc.M\nsky\t0\t4.5\npolar bear\t1\t4.9\nidea\t0\t1.6\n", "norms.txt"),
        tmp_path / "norms.parquet",
        tmp_path / "norms.jsonl",
    ):
        assert read_norms(path) == expected
    assert read_norms(written(tmp_path, "word,rating\nsky,4.5\nnothing,\n")) == {"sky": 4.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word,rating\nsky,high\n", ":2: the rating 'high' is not a number; expected one, like 4.5"),
        ("word,rating\nsky,inf\n", ":2: the rating 'inf' is not a number"),
        ("word,rating\nsky,1\nSky,2\n", ":3: the word 'sky' has two ratings; remove one"),
        ("term,rating\nsky,1\n", ":2: has the columns term, rating; expected word and rating; word is missing"),
        ("word,score\nsky,1\n", "rating is missing"),
        ("word,rating\n", "holds no rating; expected the columns word and rating"),
        ("word,rating\nsky\n", ":2: 1 columns in"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError) as refused:
        read_norms(written(tmp_path, text))
    assert message in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_norms(tmp_path / "norms.csv")
