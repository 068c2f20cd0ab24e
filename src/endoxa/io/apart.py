"""Reads the run of a stranger in a process of its own, so that a file can neither stop nor break the server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl

from endoxa.errors import EndoxaError, FileError
from endoxa.io.read import read
from endoxa.io.sources import Source
from endoxa.tables import Run

SECONDS = 60.0  # a run of a million lines takes less than two


def read_apart(path: Path, label: str) -> Run:
    """Return the run in a file; refuse what takes longer than the limit, and what ends the process."""
    table = path.with_name(f"{path.name}.parquet")
    call = [sys.executable, "-m", __name__, str(path), label, str(table)]
    try:
        done = subprocess.run(call, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise FileError(label, f"cannot be read within {SECONDS:g} s", "submit fewer results") from None
    if done.returncode == 1 and (problem := done.stdout.decode("utf-8", "replace").strip()):
        raise EndoxaError(problem)
    if done.returncode:
        raise FileError(label, "cannot be read", "check that it is a run, and submit fewer results")
    return Run(pl.read_parquet(table, glob=False))


def main() -> None:
    """Read the run, and write its table or, on standard output, what is wrong with it."""
    path, label, table = sys.argv[1:]
    try:
        run = read(Source(Path(path), label), kind="run")
    except EndoxaError as error:
        sys.stdout.buffer.write(str(error).encode())
        sys.exit(1)
    run.frame.write_parquet(table)


if __name__ == "__main__":
    main()
