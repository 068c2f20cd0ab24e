"""Whatever the bytes, a reader gives a table or an EndoxaError; no other exception comes out.

`seeds/*.bin` are inputs that once found something; each is read by every reader. The search is seeded and short;
`ENDOXA_FUZZ=5000 pytest tests/io/test_fuzz.py` searches longer, and elsewhere each time.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import EndoxaError
from endoxa.io import map_blocks, read, sniff, write
from endoxa.tables import Run

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.bin"))
KINDS = ["auto", "run", "opinions", "scores"]


def survive(data: bytes) -> None:
    """Read the bytes in every way; what comes out is a table that can be written, or an EndoxaError."""
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(directory) / "f"
        path.write_bytes(data)
        for lenient in (False, True):
            for kind in KINDS:
                try:
                    read(path, kind=kind, lenient=lenient)  # type: ignore[arg-type]
                except EndoxaError as error:
                    assert "\n" not in str(error)
                    assert len(str(error)) < 1000
            try:
                found = pl.concat(map_blocks(path, lambda run: run.frame, lenient=lenient, size=50))
            except EndoxaError:
                continue
            whole = read(path, kind="run", lenient=lenient)
            assert isinstance(whole, Run)
            assert found.height == whole.frame.height
        try:
            sniff(path)
            table = read(path)
            write(table, Path(directory) / "g.parquet")
        except EndoxaError:
            pass


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_seeds(seed: Path) -> None:
    survive(seed.read_bytes())


RUN = b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 2.5 t\n"
SAMPLES = [
    RUN,
    RUN.replace(b" ", b"\t"),
    b"q1 0 d1 1\nq1 0 d2 0\n",
    b"q1 d1 1 s 0.5\nq1 d2 0 s 0.5\n",
    b"system,query,item,score\na,q1,d1,2.5\na,q1,d2,1.5\n",
    b"query\titem\tgrade\tat\nq1\td1\t1\t2026-01-31T12:00:00Z\n",
    b'{"query":"q1","item":"d1","score":1.5}\n{"query":"q1","item":"d2","score":1}\n',
    b'{"system":"a","query":"q1","measure":"AP","value":null,"policy":"ties=trec"}\n',
    b"measure,system,baseline,difference\nAP,a,b,0.5\n",
]


def packed(suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"f{suffix}"
        write(read({"a": {"q": {"d1": 1.5, "d2": 0.5}}}), path)
        return path.read_bytes()


BINARY = [gzip.compress(RUN, mtime=0), packed(".run.zst"), packed(".parquet"), packed(".jsonl.zst")]
seeded = settings(
    derandomize="ENDOXA_FUZZ" not in os.environ, max_examples=int(os.environ.get("ENDOXA_FUZZ", "60")), deadline=None
)


@seeded
@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    survive(data)


@seeded
@given(st.text(st.sampled_from('q1 0d\t\n\r.5-#,"{}:[]e\0\ufeff\xa0'), max_size=80))
def test_random_text(text: str) -> None:
    survive(text.encode())


@st.composite
def mutated(draw: st.DrawFn, samples: list[bytes]) -> bytes:
    data = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        junk = draw(
            st.binary(max_size=3) | st.sampled_from([b" ", b"\t", b"\n", b",", b'"', b"nan", b"inf", b"\xff", b"{"])
        )
        data = data[:at] + junk + data[at + draw(st.integers(0, 3)) :]
    return data


@seeded
@given(mutated(SAMPLES))
def test_mutated_texts(data: bytes) -> None:
    survive(data)


@seeded
@given(mutated(BINARY))
def test_mutated_packed_files(data: bytes) -> None:
    survive(data)


@pytest.mark.parametrize("sample", range(len(BINARY)))
def test_truncated_packed_files(sample: int) -> None:
    whole = BINARY[sample]
    for end in range(0, len(whole), max(1, len(whole) // 10)):
        survive(whole[:end])


@pytest.mark.parametrize("start", [b"", RUN, b"query,item,score\n", b'{"query":"'])
def test_one_enormous_line(start: bytes) -> None:
    survive(start + b"a" * (3 << 20))


def test_deep_json() -> None:
    survive(b'{"query":' * 5000)
    survive(b'{"query":"q","item":"d","score":' + b"[" * 5000 + b"\n")
