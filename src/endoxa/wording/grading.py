"""What is to be known about the files of machine judges."""

from __future__ import annotations

from collections.abc import Sequence

from endoxa.wording.phrases import Template

SHOWN = 5  # reasons


def reasons_of(reasons: Sequence[Sequence[object]]) -> str:
    """Reasons with their counts and first lines: `cut off: 3 (first in line 7), refused: 1 (line 9)`."""
    shown = []
    for reason, count, line in reasons[:SHOWN]:
        place = "" if line is None else f" (line {line})" if count == 1 else f" (first in line {line})"
        shown.append(f"{reason}: {count:,}{place}")
    more = len(reasons) - SHOWN
    return ", ".join(shown) + (f", and {more} more" if more > 0 else "")


def _skipped(file: str, rows: int, reasons: Sequence[Sequence[object]]) -> str:
    count = sum(int(str(one[1])) for one in reasons)
    return (
        f"{file}: {count:,} of {rows:,} rows hold no grade of a machine judge and are left out; {reasons_of(reasons)}"
    )


NOTES: dict[str, Template] = {
    "gradings.skipped": _skipped,
    "gradings.texts_for_ids": lambda file, names: (
        f"{file}: {' and '.join(names)} have no ids in this file, and their texts stand for them; "
        f"give tables of {' and '.join(names)} (id and text), or the request file of UMBRELA"
    ),
}  # fmt: skip
