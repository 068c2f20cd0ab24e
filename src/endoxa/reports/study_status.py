"""The state of a study, as lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from endoxa.formatting import number

PAIRS = 10  # pairs of systems with a sentence; the rest is counted
_number = partial(number, decimals=2, minus="-")


def counted(states: Iterable[str]) -> str:
    """How many studies there are, by their states."""
    known = list(states)
    if not known:
        return "There is no study yet; endoxa study new --help shows how to set one up."
    if len(known) == 1:
        return f"There is 1 study, which is {'' if known[0] == 'open' else 'not '}open."
    return f"There are {len(known):,} studies, {known.count('open'):,} of them open."


def status_answer(found: list[dict[str, Any]]) -> str:
    """How far the studies are; of one study also what its judges say of the two best systems.

    An assignment is a task for one judge: a task that several judges get is as many assignments.
    """
    if len(found) != 1:
        return counted(one["study"]["state"] for one in found)
    (one,) = found
    name, progress = one["study"]["name"], one["progress"]
    judges = f"{progress['raters']:,} judge{'' if progress['raters'] == 1 else 's'}"
    state = "" if one["study"]["state"] == "open" else f"{name} is {one['study']['state']}: "
    done = f"{state}{progress['done']:,} of {progress['planned']:,} assignments of {name} are done, by {judges}"
    verdict = one["verdict"]
    if verdict is None or not verdict["pairs"]:
        return f"{done}."
    return " ".join([f"{done}.", *verdict["leads"], verdict["pairs"][0]["sentence"]])


def status_lines(status: dict[str, Any]) -> list[str]:
    """Progress, agreement, judges, uniformity, verdict: what the dashboard shows, in words."""
    study, progress = status["study"], status["progress"]
    lines = [
        f"{study['name']} ({study['screen']}, {study['state']}): {study['title']}",
        f"  {progress['done']:,} of {progress['planned']:,} assignments (a task for one judge each) by "
        f"{progress['raters']} judges; "
        f"{progress['answers']:,} answers, {progress['undecided']:,} undecided; {progress['skipped']:,} skipped",
    ]
    if (agreed := status["agreement"]) is not None:
        lines.append(
            f"  agreement: alpha {_number(agreed['alpha'])} [{_number(agreed['lo'])}, {_number(agreed['hi'])}] "
            f"({agreed['level']}, {agreed['units']:,} pairs rated by several)"
        )
    if (even := status["uniformity"]) is not None:
        shares = ", ".join(f"{one['grade']:g}: {one['share']:.0%}" for one in even["shares"])
        lines.append(f"  use of the scale: {shares}; deviation from even {_number(even['normalised'])} of 1")
    for rater in status["raters"]:
        gold = f", gold {rater['gold_right']} of {rater['gold_asked']}" if rater["gold_asked"] else ""
        flags = "".join(f"\n      ! {flag}" for flag in rater["flags"])
        lines.append(
            f"    {rater['nickname']}: {rater['answers']:,} answers, {number(rater['median_seconds'], 1)} s per item, "
            f"correlation {_number(rater['correlation'])}{gold}{flags}"
        )
    if (verdict := status["verdict"]) is not None:
        lines += [
            f"    {one['system']}: mean rating {_number(one['mean'])} over {one['pairs']:,} rated pairs"
            for one in verdict["systems"]
        ]
        said = [one["sentence"] for one in verdict["pairs"][:PAIRS]]
        if len(verdict["pairs"]) > PAIRS:
            said.append(f"({len(verdict['pairs']) - PAIRS:,} more pairs of systems: -o json)")
        lines += [f"  {words}" for words in (*verdict["leads"], *said, verdict["estimand"], *verdict["notes"]) if words]
    return lines
