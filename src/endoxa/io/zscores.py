"""Reads trec_eval's file of z-scores: query, measure, mean, standard deviation."""

from __future__ import annotations

from pathlib import Path

from endoxa.errors import FileError


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Return {(query, label): (mean, standard deviation)} of a reference set of runs."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, f"cannot be read: {error}", "give a file of z-scores") from None
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split()
        try:
            query, label, mean, deviation = words
            found[query, label] = float(mean), float(deviation)
        except ValueError:
            raise FileError(
                path, f"{line[:60]!r} is not a z-score", "expected: query measure mean deviation", number
            ) from None
    return found
