"""Whatever the bytes, a reader gives a value or an EndoxaError, soon and in little memory; nothing else comes out.

`seeds/*.bin` are inputs that once found something; each is read by every reader. The search here is seeded and short;
`make fuzz` searches longer, guided by the lines that are reached.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from pathlib import Path

import pytest
from fuzz import targets
from fuzz.targets import TARGETS, Target
from fuzz.trial import finding, smallest
from hypothesis import given, settings
from hypothesis import strategies as st

import endoxa.io
from endoxa.errors import EndoxaError

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.bin"))
SLOW = "command-line"  # a call takes as long as a hundred files
READERS = [target for target in TARGETS.values() if target.name != SLOW]
TABLES = [target for target in READERS if target.name.startswith("table-")]
READS = re.compile(r"(?:read|decode|load|open|sniff)(?:_|$)")
EXCUSED = {
    "clip_art.read_clip_art": "notes_of reads what is in a file",
    "decoding.decode_canvas": "called by read_sketch",
    "emoji.read_emoji": "its files come from packages whose hashes are checked",
    "opening.open_corpus": "called with what read_corpus reads",
    "worded_qrels.read_worded": "called by read",
    "qrels.read_preferences": "called by read",
    "qrels.read_qrels": "called by read",
    "read.read_runs": "calls read",
    "reading.read_pages": "reads pictures, which are a target, and what load_texts reads",
    "run_files.read_run": "called by read",
    "search_features.open_features": "calls load",
    "search_maps.open_map": "its sheets are a target; it begins anew if vectors are damaged",
    "study_files.read_any": "called by read_shown, read_known and read_pairs",
    "symbols.read_symbols": "element_of reads what is in a file",
    "table_files.read_paths": "called by read",
    "table_files.read_table": "called by read",
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_seeds(seed: Path, tmp_path: Path) -> None:
    data = seed.read_bytes()
    read_by = [TARGETS[SLOW]] if seed.stem.startswith(SLOW) else READERS
    assert {target.name: what for target in read_by if (what := finding(target, data, tmp_path))} == {}


@st.composite
def mutated(draw: st.DrawFn, samples: list[bytes], words: tuple[str, ...]) -> bytes:
    data = draw(st.sampled_from(samples))
    junk = st.binary(max_size=3) | st.sampled_from([word.encode() for word in words] or [b"\0"])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(junk) + data[at + draw(st.integers(0, 3)) :]
    return data


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_mutated_samples(target: Target, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("fuzz")

    @settings(derandomize=True, max_examples=3 if target.name == SLOW else 20, deadline=None, database=None)
    @given(mutated(target.samples(), target.words))
    def survives(data: bytes) -> None:
        assert finding(target, data, folder) is None

    survives()


@pytest.mark.filterwarnings("ignore")  # of lines that are skipped
@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_samples_are_good(target: Target, tmp_path: Path) -> None:
    """At least one input of each target is read, so that mutations of it go deep."""
    refused = 0
    samples = target.samples()[:1] if target.name == SLOW else target.samples()
    for sample in samples:
        try:
            target.feed(sample, tmp_path)
        except EndoxaError:
            refused += 1
    assert refused < len(samples)


def survive(data: bytes, folder: Path) -> None:
    assert {target.name: what for target in TABLES if (what := finding(target, data, folder))} == {}


@pytest.mark.parametrize("sample", range(4))
def test_truncated_packed_files(sample: int, tmp_path: Path) -> None:
    whole = targets.packed()[sample]
    for end in range(0, len(whole), max(1, len(whole) // 10)):
        survive(whole[:end], tmp_path)


@pytest.mark.parametrize("start", [b"", targets.RUN, b"query,item,score\n", b'{"query":"'])
def test_one_enormous_line(start: bytes, tmp_path: Path) -> None:
    survive(start + b"a" * (3 << 20), tmp_path)


def test_deep_json(tmp_path: Path) -> None:
    survive(b'{"query":' * 5000, tmp_path)
    survive(b'{"query":"q","item":"d","score":' + b"[" * 5000 + b"\n", tmp_path)


def test_every_reader_is_a_target() -> None:
    text = inspect.getsource(targets)
    missing = set()
    for found in pkgutil.iter_modules(endoxa.io.__path__):
        module = importlib.import_module(f"endoxa.io.{found.name}")
        for name, value in vars(module).items():
            reads = inspect.isfunction(value) and value.__module__ == module.__name__ and READS.match(name)
            if reads and not re.search(rf"\b{name}\b", text):
                missing.add(f"{found.name}.{name}")
    assert missing == set(EXCUSED), "add a target to tests/fuzz/targets.py, or say here why none is needed"


# ---- a test of the test ---------------------------------------------------------------------------------------


def toy(feed: targets.Feed) -> Target:
    return Target("toy", feed, lambda: [b""])


def test_what_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(data: bytes, _: Path) -> None:
        raise KeyError(data)

    def refuses(data: bytes, _: Path) -> None:
        raise EndoxaError("x" * len(data))

    def fills(data: bytes, _: Path) -> None:
        bytearray(b"x" * (100 << 20))

    def works(data: bytes, _: Path) -> None:
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass

    assert finding(toy(fails), b"x", tmp_path) == "KeyError at test_fuzz.py:fails"
    assert finding(toy(refuses), b"x", tmp_path) is None
    assert "a message of more than" in (finding(toy(refuses), b"x" * 6000, tmp_path) or "")
    assert "more than 20 times its size" in (finding(toy(fills), b"x", tmp_path) or "")
    assert finding(toy(works), b"x", tmp_path) is None
    monkeypatch.setattr("fuzz.trial.SECONDS", 0.01)
    assert "longer than" in (finding(toy(works), b"x", tmp_path) or "")


def test_a_finding_is_made_smaller() -> None:
    assert smallest(lambda part: b"a" in part and b"z" in part, b"123a456z789" * 50) in {b"az", b"za"}
    assert smallest(lambda part: True, b"123") == b""
