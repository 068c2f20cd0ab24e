"""How an analysis of ratings looks on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from endoxa.evaluations.rating_sentences import by_rating, inputs_said
from endoxa.evaluations.ratings import Analysis
from endoxa.formatting import number
from endoxa.reports.sheets import escaped
from endoxa.reports.terminal import frame_table
from endoxa.studies.dominance import Dominance
from endoxa.studies.score_mapping import Mapping
from endoxa.studies.selection import Selection

SHOWN = 8  # raters, systems that a print names before it only counts them
_short = partial(number, decimals=3, minus="-")
MAPS = "Mapped scores and ratings: r on queries not seen, ± its standard error"
CUTOFFS = (1, 10, 100)  # of the curves, where they have them


def parts(found: Analysis, *, full: bool = False, width: int = 80) -> Iterator[Any]:
    """What the terminal shows below the answer, in order: tables and sentences; `full` explains every choice."""
    if said := by_rating(found):
        yield "[bold]Whose results are rated higher[/bold]"
        yield from map(escaped, said)
        yield ""
    for place, (heading, frame) in enumerate(_tables(found)):
        yield f"{chr(10) if place else ''}[bold]{heading}[/bold]"
        yield frame_table(frame, width=width)
        if heading == MAPS and found.first is not None and not full:  # otherwise the remarks have it
            yield from map(escaped, inputs_said(found.first))
    if found.selection is not None:
        yield "\n" + _selection(found.selection)
    if found.dominance is not None:
        yield "\n" + _dominance(found.dominance)
    yield ""
    yield _counts(found) if full else f"{_counts(found)} (-v explains)"
    if full and found.first is not None:
        yield (
            f"fit: r of the {found.first.method} map on the pairs that it was fitted on, which is too high; "
            "noise: the fit on random ratings"
        )
    if full:
        yield from found.policies()
    yield from (f"! {line}" for line in found.warnings)
    if full:
        yield from found.remarks()


def _counts(found: Analysis) -> str:
    numbers = ((found.raters, "rater"), (found.pairs, "rated pair"))
    raters, pairs = (f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in numbers)
    aside = sum(count for role, count in found.roles.items() if role in {"practice", "gold", "attention"})
    left = f"; {aside:,} of practice, gold and attention left out" if aside else ""
    return (
        f"{raters}, {pairs} of {found.queries:,} quer{'y' if found.queries == 1 else 'ies'}, "
        f"{found.answers:,} answer{'' if found.answers == 1 else 's'} "
        f"({found.undecided:,} undecided){left}"
    )


def _tables(found: Analysis) -> list[tuple[str, pl.DataFrame]]:
    """What the terminal shows: agreement, maps, raters that stand out, curves at a few cut-offs."""
    tables = [("How far raters agree", _agreement(found))]
    if found.first is not None:
        maps = _maps(found, found.first)
        tables.append((MAPS, maps))
    if found.curves is not None:
        tables.append(("Estimated for whole lists", _curves(found.curves.points)))
    if (raters := _raters(found)).height:
        tables.append((f"Raters{'' if raters.height == found.raters else ' that stand out'}", raters))
    return tables


def _agreement(found: Analysis) -> pl.DataFrame:
    stages = {"as given": found.agreement} | ({"calibrated": found.after} if found.after is not None else {})
    rows: dict[str, list[str]] = {f"alpha ({found.metric})": [_range(s.alpha, s.lo, s.hi) for s in stages.values()]}
    if found.benefit is not None:
        held = dict(found.benefit.frame.select("stage", "alpha").iter_rows())
        rows["alpha, on pairs held out"] = [_short(held["before"]), _short(held["held out"])]
    for name, figure in (("Cohen's kappa", "kappa"), ("quadratic kappa", "quadratic"), ("Fleiss' kappa", "fleiss")):
        values = [_short(getattr(s, figure)) for s in stages.values()]
        values[1:] = values[1:] if figure == "quadratic" else ["–"] * len(values[1:])
        rows[name] = values
    for place, form in ((1, "ICC(2,1)"), (4, "ICC(2,k)")):
        rows[form] = [_range(*s.icc.row(place)[1:]) for s in stages.values()]
    kept = {name: values for name, values in rows.items() if any(value != "–" for value in values)}
    kept = kept or {f"alpha ({found.metric})": ["–"] * len(stages)}
    columns = {stage: [values[at] for values in kept.values()] for at, stage in enumerate(stages)}
    return pl.DataFrame({"figure": list(kept)} | columns)


def _maps(found: Analysis, first: Mapping) -> pl.DataFrame:
    columns = {"system": first.frame["system"].to_list()}
    for method, mapping in found.mappings.items():
        columns[method] = [
            f"{_short(r)}±{_short(se)}" if r == r else "–"  # noqa: PLR0124
            for r, se in mapping.frame.select("held_out", "se").iter_rows()
        ]
    for head, name in (("fit", "in_sample"), ("noise", "null"), ("plain", "pearson")):
        columns[head] = [_short(r) for r in first.frame[name]]
    order = first.frame["held_out"].fill_nan(None)
    rows = pl.DataFrame(columns).with_columns(first.frame["input"].fill_null("–"), first.frame["pairs"])
    return rows.sort(order, descending=True, nulls_last=True, maintain_order=True)


def _curves(points: pl.DataFrame) -> pl.DataFrame:
    kept = points.filter(pl.col("cutoff").is_in(CUTOFFS))
    rows = kept if kept.height else points
    return pl.DataFrame(
        [
            (
                row["system"], row["cutoff"],
                *(_range(row[n], row[f"{n}_lo"], row[f"{n}_hi"], 2) for n in ("precision", "recall")),
                _short(row["rating"], decimals=2),
                f"{row['effective']:.0f}",
            )
            for row in rows.iter_rows(named=True)
        ],
        schema=["system", "first", "precision", "recall", "rating", "effective"],
        orient="row",
    )  # fmt: skip


def _raters(found: Analysis) -> pl.DataFrame:
    """All, where they are few; else those with flags or against the others, the worst first."""
    frame = found.per_rater
    if frame.height > SHOWN:
        odd = (pl.col("correlation") < 0.2) | pl.col("flags").str.contains("constant|reversed")
        frame = frame.filter(odd.fill_null(False)).sort("correlation").head(SHOWN)
    return frame.select(
        pl.col("source").alias("rater"),
        "answers",
        pl.Series("with others", [_short(r) for r in frame["correlation"]], dtype=pl.String),
        pl.Series("shift", [_sign(x) for x in frame["shift"]], dtype=pl.String),
        pl.Series("stretch", [_short(x, decimals=2) for x in frame["a"]], dtype=pl.String),
        pl.col("flags").fill_null(""),
    )


def _selection(one: Selection) -> str:
    if one.advantage.gamma != one.advantage.gamma:
        return "Self-advantage cannot be worked out: a system has too few pairs chosen by another."
    return (
        "Self-advantage (on pairs that a system chose itself; drawing by rank alone makes some): "
        f"{_sign(one.advantage.gamma, 3)} "
        f"[{_sign(one.lo, 3)}, {_sign(one.hi, 3)}], p = {one.advantage.p_value:.3f}"
    )


def _dominance(one: Dominance) -> str:
    verdicts = one.frame.select("verdict", "system").group_by("verdict", maintain_order=True).agg("system")
    listed = "; ".join(
        f"{verdict}: {', '.join(names[:SHOWN])}{' …' if len(names) > SHOWN else ''}"
        for verdict, names in verdicts.iter_rows()
    )
    return (
        f"{one.master} gave {one.share:.0%} of the ratings. Correlations with that rater and with the others: {listed}"
    )


def _sign(value: float | None, decimals: int = 2) -> str:
    text = _short(value, decimals=decimals)
    return f"+{text}" if value is not None and value > 0 else text


def _range(value: float, lo: float, hi: float, decimals: int = 3) -> str:
    interval = "" if lo != lo else f" [{number(lo, decimals, '-')}, {number(hi, decimals, '-')}]"  # noqa: PLR0124
    return number(value, decimals, "-") + interval
