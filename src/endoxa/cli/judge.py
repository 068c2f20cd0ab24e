"""endoxa judge: grade pairs by a machine judge: a model on a server, or a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.cli import output
from endoxa.cli.derived import derived, stages
from endoxa.errors import EndoxaError
from endoxa.verbs import judge as verbs

if TYPE_CHECKING:
    from endoxa.io.grading import Judged

DISTINCT = 12  # grades that are counted one by one; of more, the mean is printed


def print_judged(found: Judged) -> None:
    """Print the answer, where the replies are, and what to do next; what failed is an error at the end."""
    output.say(answer(found))
    if found.replies.height:
        before = f", {found.cached:,} of them from an earlier call" if found.cached else ""
        output.tell(
            f"{_many(found.replies.height, 'reply', 'replies')} in {found.path}{before}.",
            f"Next: endoxa eval RUNS --judge {found.path}",
        )
    if found.failed:
        raise EndoxaError(
            f"{_many(found.failed, 'grading')} failed: {found.why or 'stopped'}",
            remedy=f"what was graded is kept in {found.path}: the same command goes on there",
        )


def answer(found: Judged) -> str:
    """`The machine judge X graded 200 pairs: 0: 120, 1: 40 …; 3 replies held no grade; 12,300 tokens.`"""
    parts = []
    if found.replies.height:
        frame = found.gradings.frame
        pairs = frame.select("query", "item").n_unique()
        name: str = found.replies["judge"][0]
        counts = frame["grade"].value_counts().sort("grade").rows()
        grades = (
            ", ".join(f"{grade:g}: {count:,}" for grade, count in counts)
            if len(counts) <= DISTINCT
            else f"{float(frame['grade'].sum()) / frame.height:.2f} on average"
        )
        times = f" in {frame.height:,} gradings" if frame.height > pairs else ""
        parts.append(f"The machine judge {name} graded {_many(pairs, 'pair')}{times}: {grades}")
    if found.without:
        parts.append(f"{_many(found.without, 'reply', 'replies')} held no grade")
    if found.left:
        ahead = f" (about {found.ahead:,} tokens to send)" if found.ahead else ""
        parts.append(f"{_many(found.left, 'grading')} not asked yet{ahead}")
    if found.tokens is not None:
        cost = "" if found.cost is None else f", cost {found.cost:.4g}"
        parts.append(f"{sum(found.tokens):,} tokens{cost}")
    return "; ".join(parts) + "."


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


COMMANDS = (derived("judge", verbs.judge, print_judged, during=stages(1)),)
