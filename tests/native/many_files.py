"""Random files, read with and without the native core: the same numbers to the last bit, or the same error.

python -m tests.native.many_files 100000
"""

from __future__ import annotations

import gzip
import os
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import endoxa
from endoxa import native
from endoxa.errors import EndoxaError
from endoxa.io import native_files
from endoxa.io.run_files import map_blocks
from endoxa.tables import Run

NUMBERS = (
    "1 1 1 2 2 3 1.0 01 1. .5 0.5 5e-1 +1 -1 -0 0 0.0 1e0 1E5 1e+2 12.345678 0.1 0.30000000000000004 1e22 1e23 "
    "-inf inf Infinity 9007199254740993 123456789012345678901234567890 0.1000000000000000055511151231257827 4.9e-324 "
    "1.7e308 2.2250738585072011e-308 0.000000000000000000000000000001 16777217 16777216 1234567890.123456789012"
).split()
GRADES = "0 0 0 1 1 1 2 3 -1 0.5 1e0 +2 10".split()
FAULTY = [*"nan -NaN abc 1e400 -1e400 1e-400 0x10 1_000 １ 1e + . 1.2.3 --1 +-1 1,5 inf1 infinit 1e5e".split(), "\x0b1"]
NAMES = "q a b c d doc1 doc2 doc10 1 2 10 é ß 文書 😀 A-1 x_y #x \x0b \x1f n\u0301 \ufeff \u00a0".split(" ")
HEADERS = {4: "qid iter docno rel".split(), 6: "qid Q0 docno rank score tag".split()}
BLANKS = (" ", " ", " ", "\t", "  ", " \t ", "\t\t")
ENDS = ("\n", "\n", "\n", "\n", "\r\n", " \n", "\t\r\n", "\n\n", "\n \t\r\n")
MEASURES = ["AP", "nDCG@10", "RR", "P@3", "R@2", "Bpref", "num_ret", "NumRet", "infAP", "Judged@5", "RBP(p=0.8)"]
# what the native core scores itself, under the usual policy
PLAIN = ["AP", "AP(rel=2)", "AP@3", "nDCG", "nDCG@5", "nDCG@20", "RR", "RR@2", "P@1", "P(rel=2)@10", "R@5", "Success@2"]


def name(rng: random.Random) -> str:
    """A name: short, long, or strange."""
    kind = rng.random()
    if kind < 0.9:
        return rng.choice(NAMES) + (rng.choice(NAMES) if rng.random() < 0.4 else "")
    return "".join(rng.choice("abcxyz0189é文") for _ in range(rng.choice((15, 16, 17, 60, 64, 70, 200))))


def text(rng: random.Random, lines: list[list[str]], faults: float) -> bytes:
    """The lines as bytes, with blanks, ends and faults as they come."""
    plain, tabs = rng.random() < 0.4, rng.random() < 0.15
    header = rng.random() < faults
    lines = [*([HEADERS[len(lines[0])]] if header else []), *lines]
    parts = []
    for right in lines:
        words = spoilt(rng, right) if rng.random() < faults else right
        if tabs:  # ids have blanks within
            words = [f"{word} {word}" if at in {0, 2} and rng.random() < 0.5 else word for at, word in enumerate(words)]
        separator = "\t" if tabs else " " if plain else rng.choice(BLANKS)
        line = separator.join(words)
        if not plain and rng.random() < 0.1:
            line = rng.choice((" ", "\t", "\r", "  ")) + line
        if not plain and rng.random() < 0.05:
            parts.append(rng.choice(("\n", " \n", "\t\r\n")).encode())
        if rng.random() < faults:  # what looks like a comment is a line too
            parts.append(rng.choice(("# a comment\n", "#\n", "# caf\u00e9\r\n", "# 0 d 1\n")).encode())
        parts.append(line.encode("utf-8", "surrogateescape") + ("\n" if plain else rng.choice(ENDS)).encode())
    whole = b"".join(parts)
    if rng.random() < 0.2:
        whole = whole.rstrip(b"\n")
    if rng.random() < 0.05:
        whole = b"\xef\xbb\xbf" + whole
    if rng.random() < faults:
        at = rng.randrange(len(whole) + 1)
        whole = (
            whole[:at] + rng.choice((b"\0", b"\xff", b"\r", b"\xed\xa0\x80", b"\xc0\x80", b"x" * 70_000)) + whole[at:]
        )
    return whole


def spoilt(rng: random.Random, words: list[str]) -> list[str]:
    """A line with something wrong, or only odd."""
    words, kind = list(words), rng.randrange(5)
    if kind == 0:
        words.pop(rng.randrange(len(words)))
    elif kind == 1:
        words.insert(rng.randrange(len(words) + 1), rng.choice(NAMES))
    elif kind == 2:
        words[-2 if len(words) == 6 else -1] = rng.choice(FAULTY)
    elif kind == 3:
        words.append("more words")
    else:
        words[rng.randrange(len(words))] = "#"
    return words


def run_lines(rng: random.Random, queries: list[str], items: list[str]) -> list[list[str]]:
    """Lines of a run: mostly grouped by query and without repeats."""
    numbers = NUMBERS if rng.random() < 0.5 else [str(rng.uniform(-5, 60)) for _ in range(20)]
    lines = []
    for tag in rng.sample(["bm25", "dense", "é", "x" * 40], rng.choice((1, 1, 1, 2))):
        for query in rng.sample(queries, rng.randint(1, len(queries))):
            chosen = rng.sample(items, rng.randint(1, len(items)))
            if rng.random() < 0.03:
                chosen.append(rng.choice(chosen))
            lines += [[query, "Q0", item, str(rank), rng.choice(numbers), tag] for rank, item in enumerate(chosen, 1)]
    if rng.random() < 0.3:
        rng.shuffle(lines)
    elif rng.random() < 0.3:
        lines.append([*lines[0][:2], "late", "1", "7", lines[0][5]])
    return lines


def settings_of(rng: random.Random) -> dict[str, Any]:
    """Settings, mostly the usual ones."""
    found: dict[str, Any] = {}
    if rng.random() < 0.3:
        found["ties"] = rng.choice(("trec", "input", "average", "range"))
    if rng.random() < 0.2 and found.get("ties") not in {"average", "range"}:
        found["cut"] = rng.choice((1, 2, 5))
    for key, values in (
        ("compat", ("trec_eval-9", "trec_eval-10")), ("missing", ("skip", "error")), ("lenient", (True,)),
        ("undefined", ("zero", "skip")), ("unjudged", ("condensed",)), ("name_from", ("file",)),
    ):  # fmt: skip
        if rng.random() < 0.15:
            found[key] = rng.choice(values)
    return found


def outcome(run: Any, qrels: Any, measures: list[str], settings: dict[str, Any], *, natively: bool) -> Any:
    """The scores, the whole run and its blocks as plain values, or the errors and what was said of skipped lines."""
    os.environ[native.SETTING] = "1" if natively else "0"
    files = [whole(run, settings), in_blocks(run, settings)] if isinstance(run, str) else []
    return scored(run, qrels, measures, settings), *files


def scored(run: Any, qrels: Any, measures: list[str], settings: dict[str, Any]) -> Any:
    """What `measure` gives or says."""
    reports: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = endoxa.measure(run, qrels, measures, report=lambda one: reports.append(str(one)), **settings)
        except EndoxaError as error:
            return type(error).__name__, str(error), reports
    frame = scores.frame
    values = np.nan_to_num(frame.select("value", "sd", "lo", "hi", "undefined").to_numpy(), nan=-7.5)
    named = frame.select("system", "query", "measure").rows()
    absent = [] if scores.absent is None else sorted(scores.absent.rows())
    return named, values.tolist(), scores.covered, scores.systems, scores.queries, absent, reports


def whole(path: str, settings: dict[str, Any]) -> Any:
    """All rows of a run, which other verbs read."""
    reports: list[str] = []
    ties, lenient = settings.get("ties", "trec"), settings.get("lenient", False)
    try:
        run = endoxa.read(path, kind="run", ties=ties, lenient=lenient, report=lambda one: reports.append(str(one)))
    except EndoxaError as error:
        return type(error).__name__, str(error), reports
    return run.frame.schema, rows_of(run), reports


def in_blocks(path: str, settings: dict[str, Any]) -> Any:
    """The rows of blocks of whole queries, which belief, consensus and the workers of a cluster read."""
    reports: list[str] = []
    reading = {name: settings[name] for name in ("ties", "lenient", "name_from") if name in settings}
    try:
        read = map_blocks(path, rows_of, **reading, report=lambda one: reports.append(str(one)), size=150, workers=0)
    except EndoxaError as error:
        return type(error).__name__, str(error), reports
    return read, reports


def rows_of(run: Run) -> list[tuple[str, ...]]:
    """The rows as texts, in which no digit is lost."""
    return [tuple(map(repr, row)) for row in run.frame.iter_rows()]


def case(seed: int, folder: Path) -> tuple[Any, Any, list[str], dict[str, Any]]:
    """A run, judgments, measures and settings."""
    rng = random.Random(seed)
    faults = rng.choice((0.0, 0.0, 0.0, 0.02, 0.1))
    queries = list({name(rng) for _ in range(rng.randint(1, 6))})
    items = list({name(rng) for _ in range(rng.randint(2, 25))})
    judged = [
        [query, "0", item, rng.choice(GRADES)]
        for query in (rng.sample(queries, rng.randint(1, len(queries))) if rng.random() < 0.7 else queries)
        for item in rng.sample(items, rng.randint(1, len(items)))
    ]
    if rng.random() < 0.2:
        rng.shuffle(judged)
    if rng.random() < 0.02:
        judged.append(rng.choice(judged))
    lines = run_lines(rng, queries, items)
    measures = rng.sample(PLAIN if rng.random() < 0.5 else MEASURES, rng.randint(1, 4))
    settings = settings_of(rng) if rng.random() < 0.7 else {}
    if rng.random() < 0.15:  # dicts
        run: dict[Any, Any] = {}
        for query, _, item, _, score, _ in lines:
            value: Any = float(score) if rng.random() < 0.95 else rng.choice((1, True, None, "x", 10**30, float("nan")))
            run.setdefault(query, {})[item if rng.random() < 0.999 else 7] = value
        grades: dict[str, dict[str, Any]] = {}
        for query, _, item, grade in judged:
            grades.setdefault(query, {})[item] = float(grade) if rng.random() < 0.5 else int(float(grade))
        settings.pop("lenient", None), settings.pop("name_from", None)
        return run, grades, measures, settings
    packed = rng.random() < 0.1
    path, qrels = folder / ("run.gz" if packed else "run.txt"), folder / "qrels.txt"
    content = text(rng, lines, faults)
    if packed:
        content = gzip.compress(content, 1)[: -rng.choice((1, 9)) if rng.random() < 0.1 else None]
    path.write_bytes(content)
    qrels.write_bytes(text(rng, judged, faults / 4))
    native_files.CHUNK = rng.choice((3, 17, 63, 64, 65, 200, 1 << 18))
    native_files.SMALL = rng.choice((0, 100, 2 << 20))
    native_files.SLICE = rng.choice((1, 40, 300, 1 << 22))
    return str(path), str(qrels), measures, settings


def differing(seed: int, folder: Path) -> tuple[Any, Any] | None:
    """What the two ways give, where it is not the same."""
    run, qrels, measures, settings = case(seed, folder)
    found = [outcome(run, qrels, measures, settings, natively=natively) for natively in (True, False)]
    return None if found[0] == found[1] else (found[0], found[1])


def main(count: int, first: int = 0) -> int:
    """Compare; print what differs."""
    begun, wrong = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            found = differing(seed, Path(folder))
            if found is not None:
                wrong += 1
                print(f"seed {seed}: {case(seed, Path(folder))[2:]}")
                print(f"  native {found[0]!s:.600}\n  python {found[1]!s:.600}")
            if (seed - first + 1) % 5000 == 0:
                print(f"{seed - first + 1:,} files, {wrong} differ, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{count:,} files: {wrong} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
