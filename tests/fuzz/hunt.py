"""make fuzz: looks for inputs on which a reader or the command line hangs, fills the memory, or fails with a traceback.

    make fuzz [SECONDS=600] [INPUTS=1000000] [TARGETS="study bundle"]

Every target runs in a process of its own. Inputs that reach new lines are kept in .fuzz, so that the next run goes on
from there. A finding is made smaller and put into tests/fuzz/seeds, which `make test` reads; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fuzz.targets import TARGETS, Target

HERE = Path(__file__).parent
SEEDS, CORPUS = HERE / "seeds", HERE.parents[1] / ".fuzz"
LONGEST = 4096  # bytes of an input
HANG = 60  # seconds of a clock after which a process is ended; slow inputs are found by the time of the processor
MEMORY = 3000  # megabytes after which a process is ended


@dataclass(frozen=True)
class Outcome:
    """What a run of one target found."""

    inputs: int
    seconds: float
    edges: int  # edges of the code that were reached
    findings: tuple[str, ...]


def main() -> int:
    """Fuzz all targets, and print the table."""
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--seconds", type=float, default=600, help="of all targets together")
    parser.add_argument("--inputs", type=int, default=0, help="of all targets together, however long it takes")
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], help="default: all")
    call = parser.parse_args()
    if find_spec("atheris") is None:
        print("make fuzz needs atheris, whose wheels are for Linux on x86-64; make test reads its seeds everywhere")
        return 2
    chosen = [TARGETS[name] for name in call.targets or TARGETS]
    whole = sum(one.share for one in chosen)
    print(f"{'':16} {'inputs':>9} {'seconds':>8} {'edges':>6} {'findings':>9}")
    found = []
    for one in chosen:
        part = one.share / whole
        bound = (
            f"-runs={int(call.inputs * part) + 1}"
            if call.inputs
            else f"-max_total_time={int(call.seconds / len(chosen)) + 1}"
        )
        outcome = fuzz(one, bound)
        found.append(outcome)
        print(
            f"{one.name:16} {outcome.inputs:9,} {outcome.seconds:8.0f} {outcome.edges:6,} {len(outcome.findings):9}",
            *outcome.findings, sep="\n    " if outcome.findings else "", flush=True,
        )  # fmt: skip
    inputs, findings = sum(one.inputs for one in found), sum(len(one.findings) for one in found)
    print(f"{inputs:,} inputs in {sum(one.seconds for one in found):.0f} s: {findings} findings")
    return 1 if findings else 0


def fuzz(target: Target, bound: str) -> Outcome:
    """Run one target in a process of its own."""
    corpus, findings = CORPUS / target.name, Path(tempfile.mkdtemp(prefix="endoxa-fuzz-"))
    corpus.mkdir(parents=True, exist_ok=True)
    for number, sample in enumerate(target.samples()):
        (corpus / f"sample-{number}").write_bytes(sample)
    for seed in SEEDS.glob("*.bin"):
        shutil.copy(seed, corpus)
    words = findings / "words"
    words.write_text("".join(f'"{escaped(word)}"\n' for word in target.words))
    command = [
        sys.executable, "-m", "fuzz.one", target.name, str(findings), bound, f"-max_len={LONGEST}", f"-timeout={HANG}",
        f"-rss_limit_mb={MEMORY}", f"-dict={words}", f"-artifact_prefix={findings}/end-", "-print_final_stats=1",
        str(corpus),
    ]  # fmt: skip
    begin = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False,
        env=os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "ENDOXA_TRUST_FILES": ""},
    )  # fmt: skip
    seconds = time.monotonic() - begin
    told = [path.read_text().strip() for path in sorted(findings.glob("*.txt"))]
    for artifact in findings.glob("end-*"):  # the process itself ended: a hang, or a fault in a library
        shutil.copy(artifact, SEEDS / f"{target.name}-{artifact.name[-8:]}.bin")
        told.append(f"{target.name}: the process ended: {artifact.name}")
    for finding in findings.glob("*.bin"):
        shutil.copy(finding, SEEDS)
    inputs = re.findall(r"#(\d+)\s+[A-Z]|executed_units: (\d+)", done.stderr)
    edges = re.findall(r" cov: (\d+)", done.stderr)
    if done.returncode and not told:
        told.append(f"{target.name}: the process ended with {done.returncode}: {done.stderr[-2000:]}")
    shutil.rmtree(findings)
    count = max((int("".join(one)) for one in inputs), default=0)
    return Outcome(count, seconds, int(edges[-1]) if edges else 0, tuple(told))


def escaped(word: str) -> str:
    """A word as libFuzzer's dictionary spells it."""
    return "".join(chr(byte) if 32 < byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}" for byte in word.encode())


if __name__ == "__main__":
    sys.exit(main())
