"""What evaluations and readers say about machine judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from endoxa.wording.phrases import Template, few_of

SHOWN = 5  # reasons that a note names
REASONS = {
    "constant": "gave the same grade to every pair",
    "elsewhere": "graded no pair that a system returned",
}  # fmt: skip
SKIPPED = {"empty": "without a grade", "negative": "with a negative grade"}


def judges_of(count: int) -> str:
    """`1 machine judge`, `5 machine judges`."""
    return f"{count:,} machine judge{'' if count == 1 else 's'}"


def _unchecked(judges: Sequence[str]) -> str:
    one = len(judges) == 1
    return (
        f"No person has checked {'this machine judge' if one else 'these machine judges'} ({few_of(judges)}). A system "
        f"that uses the same model as {'the judge' if one else 'a judge'}, to rank or to write, is favoured, and only "
        "labels show it: endoxa decide RUNS --judge FILE."
    )


def _favoured(judges: Sequence[str], systems: Sequence[str]) -> str:
    one = len(judges) == 1
    who = f"The machine judge{'' if one else 's'} {few_of(judges)} favour{'s' if one else ''} {few_of(systems)}"
    grades = "it gives theirs higher grades" if one else "they give theirs higher grades"
    return f"{who}: of items that people graded alike, {grades}. Labels correct the order for it."


def _card(
    judge: str, tau: float | None, tau_top: float | None, top: int, agrees: float, weight: float,
    kappa: float | None = None, favoured: Sequence[str] = (),
) -> str:  # fmt: skip
    if weight <= 0 and (kappa is None or math.isnan(kappa) or kappa <= 0):
        return f"{judge}: what it calls relevant, people do not; its grades count against a pair (weight {weight:.2f})."
    if weight <= 0:
        return f"{judge}: it agrees with people, but says nothing beyond the other judges (weight {weight:.2f})."
    if tau is None or math.isnan(tau):
        return f"{judge}: its order of the systems cannot be compared on this measure."
    order = f"{judge}: its own order of the systems has tau {tau:.2f} to the learned one"
    order += "" if tau_top is None or math.isnan(tau_top) else f", {tau_top:.2f} among the best {top}"
    if favoured:
        return f"{order}, but it favours {few_of(favoured)}: do not compare these with others by its grades alone."
    if tau < agrees:
        return f"{order}: do not use it without labels."
    if tau_top is not None and tau_top >= agrees:
        return f"{order}: the labels changed little of it."
    return f"{order}: trust it for the order of the field, not among the best {top}."


def _skipped(reasons: Mapping[str, int]) -> str:
    parts = [f"{count:,} {SKIPPED.get(reason, reason)}" for reason, count in reasons.items()]
    return f"rows of machine judges that are left out: {', '.join(parts)}"


def reasons_of(reasons: Sequence[Sequence[object]]) -> str:
    """Reasons with their counts and first lines: `cut off: 3 (first in line 7), refused: 1 (line 9)`."""
    shown = []
    for reason, count, line in reasons[:SHOWN]:
        place = "" if line is None else f" (line {line})" if count == 1 else f" (first in line {line})"
        shown.append(f"{reason}: {count:,}{place}")
    more = len(reasons) - SHOWN
    return ", ".join(shown) + (f", and {more} more" if more > 0 else "")


def _without_grade(file: str, rows: int, reasons: Sequence[Sequence[object]]) -> str:
    count = sum(int(str(one[1])) for one in reasons)
    return (
        f"{file}: {count:,} of {rows:,} rows hold no grade of a machine judge and are left out; {reasons_of(reasons)}"
    )


NOTES: dict[str, Template] = {
    "bundle.machines": lambda judges: (
        f"The bundle also holds grades of {judges_of(len(judges))} ({few_of(judges)}). They are left out; give them "
        "beside the runs: --judge BUNDLE."
    ),
    "judges.unchecked": _unchecked,
    "judges.few_labels":
        "{labels:,} labels are too few to check the machine judges: nothing is settled, and nothing is said about a "
        "judge, below {each} labels a topic ({needed:,}).",
    "judges.favoured": _favoured,
    "judges.other_order":
        "The machine judges alone order the systems unlike people (Kendall's tau {tau:.2f} to the learned order): do "
        "not use them without labels.",
    "judges.uneven":
        "Machine judges graded {most_share:.0%} of the first {first} items of {most} and {least_share:.0%} of "
        "{least}: ungraded items count by the consensus alone, which can favour one side. Let them grade both.",
    "judges.left_out": lambda judge, reason: f"The machine judge {judge} {REASONS[reason]}: it is left out.",
    "judges.partial":
        "Machine judges graded {graded:,} of {pairs:,} pairs within reach. The consensus of the systems stands in for "
        "the others.",
    "judges.heard": lambda judges, graded, pairs: (
        f"{judges_of(len(judges))} ({few_of(judges)}) graded {graded:,} of {pairs:,} pairs within reach"
    ),
    "judges.card": _card,
    "judges.skipped": _skipped,
    "gradings.skipped": _without_grade,
    "gradings.texts_for_ids": lambda file, names: (
        f"{file}: {' and '.join(names)} have no ids in this file, and their texts stand for them; "
        f"give tables of {' and '.join(names)} (id and text), or the request file of UMBRELA"
    ),
}  # fmt: skip
