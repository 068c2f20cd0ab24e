"""Stories: each input is opened at most twice and recognised once, and must not change in between."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import endoxa

from endoxa.io import formats, sources

ITEMS = [f"d{number}" for number in range(6)]
OPENS: list[str] = []  # paths, by a hook that cannot be removed
COUNTING: list[bool] = []


def _noted(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and COUNTING and isinstance(given[0], str | os.PathLike):
        OPENS.append(Path(given[0]).name)


sys.addaudithook(_noted)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch):
    """Opens by Python and recognitions, both by the name of the file."""
    looks: Counter[str] = Counter()
    recognised = formats._recognised

    def noted(source: sources.Source, wanted: Any) -> formats.Look:
        looks[Path(source.label).name] += 1
        return recognised(source, wanted)

    monkeypatch.setattr(formats, "_recognised", noted)
    OPENS.clear()
    COUNTING.append(True)
    yield lambda: (Counter(OPENS), looks)
    COUNTING.clear()


def written(folder: Path, name: str, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Rows in the format that the suffix names; TREC's text for every other suffix."""
    path, frame = folder / name, pl.DataFrame(rows, columns, orient="row")
    named = frame.drop(columns[1], *columns[5:])
    match path.suffix:
        case ".csv":
            named.write_csv(path)
        case ".tsv":
            named.write_csv(path, separator="\t")
        case ".jsonl":
            named.write_ndjson(path)
        case ".parquet":
            named.write_parquet(path)
        case ".json":
            nested: dict[str, dict[str, Any]] = {}
            for query, item, number in named.select("query", "item", "score" if "score" in columns else "grade").rows():
                nested.setdefault(query, {})[item] = number
            path.write_text(json.dumps(nested))
        case _:
            text = "".join(" ".join(map(str, row)) + "\n" for row in rows).encode()
            path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def files(folder: Path, suffix: str) -> None:
    """Judgments and three runs."""
    grades = [(f"q{query}", "0", item, at % 2) for query in range(4) for at, item in enumerate(ITEMS)]
    written(folder, f"qrels{suffix}", ["query", "0", "item", "grade"], grades)
    for number in range(3):
        turned = ITEMS[number:] + ITEMS[:number]
        ranked = [
            (f"q{query}", "Q0", item, rank, 6.5 - rank, f"s{number}")
            for query in range(4) for rank, item in enumerate(turned, 1)
        ]  # fmt: skip
        written(folder, f"s{number}{suffix}", ["query", "Q0", "item", "rank", "score", "tag"], ranked)


COMMANDS = {
    "eval": "eval qrels s0 AP nDCG@3",
    "eval without judgments": "eval s0 s1 s2",
    "eval of three": "eval qrels s0 s1 s2 AP",
    "compare": "compare qrels s0 s1 AP",
    "next": "next s0 s1 s2 -n 2",
    "decide": "decide s0 s1 s2 --home home --terminal",
}
FILES = ("qrels", "s0", "s1", "s2")
SUFFIXES = [".run", ".run.gz", ".csv", ".tsv", ".jsonl", ".parquet", ".json"]


def words_of(call: str, folder: Path, suffix: str) -> list[str]:
    """The words of a call; JSON in one piece may be a run or judgments, so its kind is named."""
    words: list[str] = []
    for word in call.split():
        if word in FILES and suffix == ".json":
            words.append("--qrels" if word == "qrels" else "--run")
        words.append(
            str(folder / f"{word}{suffix}") if word in FILES else str(folder / word) if word == "home" else word
        )
    return words


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_is_opened_at_most_twice_and_recognised_once(tmp_path: Path, counted, name: str, suffix: str) -> None:
    files(tmp_path, suffix)
    OPENS.clear()
    ran = endoxa(*words_of(COMMANDS[name], tmp_path, suffix))
    assert ran.exit_code == 0, ran.output
    opens, looks = counted()
    given = [f"{word}{suffix}" for word in COMMANDS[name].split() if word in FILES]
    assert {file: looks[file] for file in given} == dict.fromkeys(given, 1)
    assert all(1 <= opens[file] <= 2 for file in given), opens


@pytest.mark.parametrize("suffix", [".run", ".run.gz", ".csv", ".parquet"])
@pytest.mark.parametrize("file", ["qrels", "s0"])
def test_a_file_that_changes_after_it_was_recognised_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, suffix: str
) -> None:
    files(tmp_path, suffix)
    recognised = formats._recognised

    def changing(source: sources.Source, wanted: Any) -> formats.Look:
        look = recognised(source, wanted)
        if Path(source.label).name == f"{file}{suffix}":
            source.path.write_bytes(source.path.read_bytes() * 2)
        return look

    monkeypatch.setattr(formats, "_recognised", changing)
    ran = endoxa(*words_of("eval qrels s0 AP", tmp_path, suffix))
    assert ran.exit_code == 1
    message = f"{file}{suffix}: the file changed while it was read; wait until it is complete, and read it again"
    assert message in ran.stderr
