"""The page of trials of search: which learner finds more of a kind, and which finds one picture sooner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

import polars as pl

from endoxa.formatting import capitalised, html_of, number, share, signed
from endoxa.frozen import dataclass
from endoxa.reports.figures.line_chart import Line, line_chart, prominent
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render
from endoxa.searches.learners import LEARNERS
from endoxa.searches.trials import OWN, REFERENCE, Trial
from endoxa.wording.comparing import told_apart

SOON = 100  # pictures by which a target may have been found, in the table
CROWDED = 0.1  # share of sessions without a page of relevant pictures from which the reader is told
LEAST = (
    "All learners begin with the same page. A target that it lacks costs two pages at least, whatever is learnt, so "
    "that the ratio of two means is near 1 where pages are large. Beyond the least: pictures above one page, or two."
)
CAVEAT = (
    "The people are simulated. Those who think in looks see through the same features as the learner, by other "
    "metrics; categories are labels, not relevance; near-duplicates flatter every learner."
)


@dataclass(frozen=True)
class Held:
    """The content of the page: trials, and where they come from."""

    title: str
    trials: Sequence[Trial]
    facts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(held: Held) -> str:
    """The trials as one HTML file that opens offline."""
    learners = sorted({name for one in held.trials for name in one.competitors})
    return render(
        title=held.title, answer=html_of(lambda name: answer(held, name=name)), facts=held.facts,
        warnings=held.warnings, sections=[_section(one) for one in held.trials],
        policies=[f"{name}: {about(name)}" for name in learners], notes=[CAVEAT], provenance=held.provenance,
    )  # fmt: skip


def about(name: str) -> str:
    """One line about a competitor."""
    learner, _, policy = name.partition("/")
    meaning = {
        "": "", "learnt": "; the prior is learnt from the sessions before",
        "thompson": "; the prior is drawn from what the sessions before taught",
    }  # fmt: skip
    return LEARNERS[learner][1] + meaning.get(policy, f"; metric {policy} where a group has it")


def answer(held: Held, *, name: Callable[[str], str] = str) -> str:
    """One sentence per task: who is told apart from whom. Other people have their own sections."""
    firsts = {one.setting.task: one for one in reversed(held.trials)}
    return " ".join(sentence(one, name=name) for one in held.trials if firsts[one.setting.task] is one)


def sentence(trial: Trial, *, name: Callable[[str], str] = str) -> str:
    """What a trial says: which competitor is told apart from all others, or that none is; and what feedback gains."""
    whose = f"For people who think in {'categories' if trial.setting.people == 'class' else 'looks and categories'}"
    if trial.setting.task == "kind":
        return f"{whose}, {_kind(trial, name)}"
    found, best = trial.apart, trial.apart.leader
    value = trial.value(best)
    needs = f"needs {value['value']:.0f} pictures (median {value['median']:.0f})"
    if not found.order[1:]:
        return f"{whose}, {name(best)} {needs} to find one."
    other = found.order[1]
    d, lo, hi = trial.difference(best, other)
    words = told_apart("finds one picture soonest", **found.facts, name=name)
    return (
        f"{whose}, {words}. On average {name(best)} {needs}, "
        f"{-d:.0f} fewer [{number(-hi, 0)}, {number(-lo, 0)}] than {name(other)}.{_beyond(trial, name)}"
    )


def _beyond(trial: Trial, name: Callable[[str], str]) -> str:
    """The learner of `endoxa search` and the best baseline: all pictures, and those beyond the least possible."""
    own = next((one for one in trial.order if one.partition("/")[0] == OWN), None)
    other = trial.baseline
    if own is None or other is None:
        return ""
    whole, beyond = (_ratio(trial.ratio(own, other, measure)).text for measure in ("pictures", "beyond"))
    needs = [f"{trial.value(one, 'beyond')['value']:.1f}" for one in (own, other)]
    return (
        f" With pages of {trial.setting.size} no learner needs fewer than {trial.least:.1f} on average; beyond this "
        f"{name(own)} needs {needs[0]}, the best baseline {name(other)} {needs[1]}. The ratio of the two is {beyond}, "
        f"that of all pictures {whole}."
    )


def _ratio(ends: tuple[float, float, float]) -> Cell:
    value, lo, hi = ends
    return Cell(f"{number(value, 2)} [{number(lo, 2)}, {number(hi, 2)}]", value)


def _kind(trial: Trial, name: Callable[[str], str]) -> str:
    best, _ = leaders(trial)
    d, lo, hi = trial.difference(best, REFERENCE)
    old, new = (number(trial.value(one)["value"], 3) for one in (REFERENCE, best))
    pages = "page" if trial.setting.rounds == 1 else f"{trial.setting.rounds} pages"
    verb = "raises" if lo > 0 else "does not clearly raise"
    text = (
        f"feedback by {name(best)} {verb} the precision of the next {pages} from {old} to {new}: {signed(d, 3)} "
        f"[{number(lo, 3)}, {number(hi, 3)}]; {share(trial.harmed[best], 1)} of the sessions are worse off "
        "than without."
    )
    others = tuple(one for one in trial.apart.order if one not in {best, REFERENCE})
    if not others:
        return text
    words = told_apart("finds more than every other learner", **trial.apart.among((best, *others)).facts, name=name)
    return f"{text} {capitalised(words)}."


def leaders(trial: Trial) -> tuple[str, str]:
    """The best competitor, and the best one with another learner, or nothing; no feedback does not compete."""
    order = [name for name in trial.order if name != REFERENCE] or trial.order
    learner = order[0].partition("/")[0]
    return order[0], next((name for name in order[1:] if name.partition("/")[0] != learner), "")


def heads(trial: Trial) -> list[str]:
    """The columns of the table of a trial."""
    if trial.setting.task == "target":
        ratios = [f"÷ {trial.baseline}", f"beyond ÷ {trial.baseline}"] if trial.baseline else []
        return [
            "learner", "pictures", "median", "beyond the least", *ratios, f"found by {SOON}",
            f"against {leaders(trial)[0]}", "ms per round",
        ]  # fmt: skip
    rounds = [f"round {number}" for number in range(1, trial.setting.rounds + 1)]
    return ["learner", "P", *rounds, "recall", "against none", "sessions harmed", "ms per round"]


def lines(trial: Trial) -> list[list[Cell]]:
    """The rows of the table of a trial, the best competitor first."""
    return [_row(trial, name) for name in trial.order]


def _row(trial: Trial, name: str) -> list[Cell]:
    best, value = leaders(trial)[0], trial.value(name)
    wins = name == trial.apart.winner
    took = cells.number(1000 * trial.seconds[name], 1)
    if trial.setting.task == "target":
        soon = trial.curve.filter((pl.col("system") == name) & (pl.col("pictures") <= SOON))["found"]
        more, other = trial.value(name, "beyond"), trial.baseline
        ratios = [_ratio(trial.ratio(name, other, one)) for one in ("pictures", "beyond")] if other else []
        return [
            cells.name(name), cells.interval(value["value"], value["lo"], value["hi"], 1, strong=wins),
            cells.number(value["median"], 0), cells.interval(more["value"], more["lo"], more["hi"], 1), *ratios,
            cells.share(soon.max() if len(soon) else 0.0),  # type: ignore[arg-type]
            _against(trial, name, best, 1), took,
        ]  # fmt: skip
    rounds = [trial.value(name, f"P, round {at}")["value"] for at in range(1, trial.setting.rounds + 1)]
    return [
        cells.name(name), cells.interval(value["value"], value["lo"], value["hi"], 3, strong=wins),
        *(cells.number(one, 3) for one in rounds), cells.number(trial.value(name, "recall")["value"], 3),
        _against(trial, name, REFERENCE, 3), cells.share(trial.harmed[name]), took,
    ]  # fmt: skip


def _against(trial: Trial, name: str, other: str, decimals: int) -> Cell:
    if name == other:
        return Cell("–")
    d, lo, hi = trial.difference(name, other)
    return Cell(signed(d, decimals), d, f"[{number(lo, decimals)}, {number(hi, decimals)}]")


def _section(trial: Trial) -> Section:
    setting = trial.setting
    marks = {"all": "every picture of a page is marked", "likes": "only liked pictures are marked",
             "five": "five pictures of a page are marked"}[setting.marking]  # fmt: skip
    crowd = (
        f"In {share(trial.ceiling, 1)} of the sessions fewer relevant pictures than a page holds are left after the "
        "first page, so that no learner can reach a precision of 1."
    )
    said = [
        sentence(trial),
        *([crowd] if trial.ceiling > CROWDED else []),
        *([LEAST] if setting.task == "target" else []),
    ]
    note = (
        f"{setting.sessions} sessions with pages of {setting.size}; {marks}; {100 * setting.noise:g} % of the marks "
        "are one level off. Intervals of 95 % over sessions. Differences are paired, and their intervals hold together "
        "for all pairs. Bold: told apart from every other learner."
    )
    caption = {"kind": "Precision of the pages after the first", "target": "Pictures seen until the target is found"}
    grid = Grid(caption[setting.task], heads(trial), lines(trial), note=note)
    return Section(
        f"{setting.task}-{setting.people}-{setting.size}",
        f"{capitalised(setting.task)}, {setting.people}, {setting.size}",
        capitalised(str(setting)), said, [grid], [_chart(trial)],
    )  # fmt: skip


def _chart(trial: Trial) -> Chart:
    """Precision by round, or the share of targets found by the number of pictures."""
    setting = trial.setting
    frame = curve_of(trial)
    drawn = {}
    for name in prominent(trial.order, REFERENCE):
        rows = frame.filter(pl.col("system") == name)
        x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
        after = f"round {x[-1]}" if setting.task == "kind" else f"{x[-1]} pictures"
        drawn[name] = Line(x, y, f"{name}: {number(y[-1], 3)}, {after}")
    across, up = ("round", "precision of the page") if setting.task == "kind" else ("pictures seen", "targets found")
    table = frame.pivot("system", index="x", values="y").sort("x")
    rows_ = [
        [Cell(f"{row['x']}", row["x"]), *(cells.number(row[name], 3) for name in trial.order)]
        for row in table.iter_rows(named=True)
    ]
    top = 1.0 if setting.task == "target" else min(1.0, 1.1 * max(frame["y"].to_list(), default=1.0) or 1.0)
    return chart(
        partial(line_chart, drawn, across=across, up=up, top=top, start=float(frame["x"].to_numpy().min()),
                thing="learner"),
        heading=capitalised(f"{up} by {across}"),
        label=f"{capitalised(up)} by {across}, {setting}; {leaders(trial)[0]} has the best mean",
        caption=f"{capitalised(up)} by {across}. " + (
            "Round 0 is the first page, which is the same for all." if setting.task == "kind"
            else f"A search is given up after {setting.most} pictures."
        ),
        grid=Grid(f"{capitalised(up)} by {across}: {setting}", (across, *trial.order), rows_),
    )  # fmt: skip


def curve_of(trial: Trial) -> pl.DataFrame:
    """system, x, y: precision by round of a kind search, share found by pictures of a target search."""
    if trial.setting.task == "target":
        return trial.curve.select("system", pl.col("pictures").alias("x"), pl.col("found").alias("y"))
    rows = [
        (name, at, trial.value(name, f"P, round {at}" if at else "P, first page")["value"])
        for name in trial.order
        for at in range(trial.setting.rounds + 1)
    ]
    return pl.DataFrame(rows, schema=["system", "x", "y"], orient="row")
