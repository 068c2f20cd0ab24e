"""A backtest in words: the answer, the evidence, and what became of courses and forecasts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from endoxa.evaluations.backtest import ALL, FIELD, NEAR, QUARTER, Backtest
from endoxa.formatting import DASH, listed, number


def answer(found: Backtest) -> str:
    """`Of 4,210 pairs stated above 0.95, 99.1 % were right; in the best quarter 97.3 % of 312.`"""
    (stated, right), (best, best_right) = (_stated(found, part) for part in (FIELD, QUARTER))
    until = f"{found.plan.until:g}"
    if not stated:
        return f"No pair of systems was stated above {until}, so nothing can be checked."
    first = f"Of {stated:,} {_noun(stated, 'pair')} stated above {until}, {percent(right)} {_were(stated)} right"
    return f"{first}; in the best quarter {f'{percent(best_right)} of {best:,}' if best else 'none was stated'}."


def evidence(found: Backtest) -> str:
    """How many draws, labels, judgments, systems and topics the answer rests on."""
    plan, levels = found.plan, [str(level) for level in found.levels]
    fields = f" and of {plan.fields} random fields of {plan.size}" if plan.fields else ""
    return (
        f"{plan.draws} draws of {listed(levels, len(levels))} labels a topic from {found.judgments:,} judgments of "
        f"{found.systems} systems{fields} on {found.topics} topics, by {listed(found.measures, len(found.measures))}. "
        f"A pair counts once for each draw; {found.distinct:,} distinct pairs of systems were stated."
    )


def further(found: Backtest) -> Iterator[str]:
    """What became of the courses, and how far the forecast was off."""
    if found.courses.height:
        yield courses(found)
    if found.looks.height and (line := forecast(found)):
        yield line


def courses(found: Backtest) -> str:
    """How many courses were settled, on the right winner, and after how many labels."""
    row = found.settled.row(-1, named=True)
    most = f"within {found.plan.most} labels"
    if not row["settled"]:
        return f"None of {row['courses']} courses was settled {most}."
    return (
        f"Of {row['courses']} courses {row['settled']} were settled {most}, {percent(row['right'])} of these with the "
        f"right winner and {percent(row['near'])} within {NEAR:g} of the best; the median was {row['labels_50']:.0f} "
        "labels."
    )


def forecast(found: Backtest) -> str:
    """How the forecast compares with the actual number of further labels."""
    row = found.forecast.filter(pl.col("measure") == ALL) if len(found.measures) > 1 else found.forecast
    last = (row if row.height else found.forecast).row(-1, named=True)
    if not last["settled"]:
        return ""
    return (
        f"The forecast was {number(last['ratio_50'], 1)} times the actual number of further labels in the median "
        f"(quartiles {number(last['ratio_25'], 1)} and {number(last['ratio_75'], 1)})."
    )


def percent(share: float) -> str:
    """`99.1 %`; 100 % only where nothing is wrong."""
    if math.isnan(share):
        return DASH
    text = f"{100 * share:.1f} %"
    return "> 99.9 %" if text == "100.0 %" and share < 1 else "all" if share == 1 else text


def _stated(found: Backtest, part: str) -> tuple[int, float]:
    """The number of pairs stated above `until` in a part, and the share that was right."""
    rows = found.statements.filter((pl.col("part") == part) & (pl.col("stated") > 0))
    stated = int(rows["stated"].sum())
    return stated, float((rows["stated"] * rows["right"]).sum()) / stated if stated else float("nan")


def _noun(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
