"""Evaluation where the truth is in doubt: which kind of it is asked for, and how it looks on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show
from endoxa.errors import TextError

if TYPE_CHECKING:
    import polars as pl

    from endoxa.comparisons.appraisal import Appraisal
    from endoxa.comparisons.prediction import Estimates

WHOM = {"consensus": "voters"}  # what the people of a belief are called
HELPS = {
    "truth": "judged pairs (endoxa next) or clearer questions",
    "people": "more or other people",
    "voters": "more independent systems",
    "queries": "more queries",
}


@dataclass(frozen=True)
class Doubt:
    """The options of `eval` and its kin that matter only where the truth is in doubt."""

    depth: int = 100
    weights: Any = "cluster"
    prior: tuple[float, float] = (1.0, 1.0)
    groups: list[str] | None = None
    model: str | None = None
    labels: str | None = None
    tokens: str | None = None
    systems_vote: bool = False
    plugin: bool = False
    worlds: int = 400
    confidence: float = 0.95
    level: float | None = None
    collection: int | None = None
    lenient: bool = False

    def concerns(self, inputs: o.Inputs) -> bool:
        """Whether this is not the plain case of runs and judgments."""
        if (
            self.tokens
            or self.model
            or self.systems_vote
            or self.labels
            or inputs.kind in {"belief", "answers", "labels"}
        ):
            return True
        if inputs.qrels is None:
            return bool(inputs.runs)
        return not inputs.runs and inputs.kind == "opinions"

    def evaluate(
        self, inputs: o.Inputs, words: list[str] | None, settings: dict[str, Any], *, form: str, to: str | None,
        per_query: bool, summary: bool,
    ) -> None:  # fmt: skip
        """Evaluate, and print."""
        if inputs.kind == "answers":
            self._answers(inputs, settings, form, to)
            return
        made = self.appraise(inputs, words, settings)
        show_appraisal(made, form=form, to=to, per_query=per_query, summary=summary)
        if self.labels is not None:
            self._with_labels(inputs, made, form)

    def appraise(self, inputs: o.Inputs, words: list[str] | None, settings: dict[str, Any]) -> Appraisal:
        """Scores under the belief that the inputs call for."""
        from endoxa import doubt
        from endoxa.io.read import read
        from endoxa.policies import Policy

        policy = Policy.like(settings["compat"], **{k: v for k, v in settings.items() if k != "compat"})
        wanted: Any = inputs.measures or doubt.DEFAULT
        votes = self._votes(inputs, words)
        how: dict[str, Any] = {
            "worlds": self.worlds, "confidence": self.confidence, "plugin": self.plugin, "level": self.level,
            "policy": policy,
        }  # fmt: skip
        consensus = {"prior": self.prior, "weights": self.weights, "families": self._families()}
        with show.progress_bar(2) as progress:
            how["progress"] = progress
            if votes is not None:
                wanted = wanted_of(inputs, self.plugin)
                return doubt.appraise(None, votes, wanted, **how, **consensus)
            run = self.run(inputs, settings)
            if inputs.qrels is None:
                return doubt.appraise(run, None, wanted, **how, **consensus, depth=self.depth, labels=self._labels())
            if inputs.kind in {"qrels", "opinions"} and self.labels is None:
                opinions = read(inputs.qrels, assessors=True, lenient=self.lenient)
                more: dict[str, Any] = {"model": self.model, "systems_vote": self.systems_vote, "depth": self.depth}
                return doubt.appraise(run, opinions, wanted, **how, **more)
            belief = self.belief(inputs, settings)
            return doubt.appraise(run, belief, wanted, **how)

    def run(self, inputs: o.Inputs, settings: dict[str, Any]) -> Any:
        """All runs as one table."""
        from endoxa.io.read import read

        if not inputs.runs:
            raise typer.BadParameter("no run was given; name a file with 6 columns, or say --run FILE")
        order: Any = "input" if settings["ties"] == "input" else "trec"
        return read(inputs.runs, kind="run", ties=order, lenient=self.lenient)

    def belief(self, inputs: o.Inputs, settings: dict[str, Any]) -> Any:
        """The belief in the file, or made of what is in it; judged pairs pinned."""
        from endoxa import doubt
        from endoxa.beliefs.votes import pinned

        made = doubt.believe(inputs.qrels, self.model, taxonomy=inputs.taxonomy, seed=settings["seed"])
        labels = self._labels()
        return made if labels is None else pinned(made, labels)

    def _labels(self) -> Any:
        from endoxa.io.read import read

        return None if self.labels is None else read(self.labels, kind="qrels", lenient=self.lenient)

    def _families(self) -> Any:
        if not self.groups or self.groups == ["auto"]:
            return bool(self.groups)
        return dict(o.pair(group) for group in self.groups)

    def _votes(self, inputs: o.Inputs, words: list[str] | None) -> Any:
        """Votes of systems on named items: extracted texts, or a table of opinions without runs."""
        if self.tokens is not None:
            from endoxa.beliefs.alignment import aligned, bag_of_words
            from endoxa.io.texts import read_texts

            if self.tokens not in {"bag", "align"}:
                raise typer.BadParameter(f"--tokens is bag or align, not {self.tokens!r}")
            paths = [word for word in words or [] if Path(word).exists()]
            outputs = read_texts(paths)
            return bag_of_words(outputs) if self.tokens == "bag" else aligned(outputs)
        if inputs.runs or inputs.kind != "opinions":
            return None
        from endoxa.io.read import read

        opinions = read(inputs.qrels)
        if set(opinions.frame["kind"]) != {"system"}:
            raise TextError(
                f"{inputs.qrels} holds opinions of people; name runs to be scored, or say kind=system in the file "
                "if its sources are the systems"
            )
        return opinions

    def _answers(self, inputs: o.Inputs, settings: dict[str, Any], form: str, to: str | None) -> None:
        from endoxa import doubt
        from endoxa.io.read import read
        from endoxa.reports.text import render

        run = self.run(inputs, settings)
        made = doubt.compare_answers(
            run, read(inputs.qrels), N=self.collection, level=self.confidence, seed=settings["seed"]
        )
        if form == "table":
            show.console().print(show.frame_table(made.frame))
            print("\n" + "\n".join(made.notes))
            return
        show.emit(render(made.frame, form), to)  # type: ignore[arg-type]
        for line in made.notes:
            show.note(line)

    def _with_labels(self, inputs: o.Inputs, made: Appraisal, form: str) -> None:
        """The second product: intervals that hold whatever the belief is worth; and how far it can be believed."""
        from endoxa import doubt
        from endoxa.errors import EndoxaError

        run = self.run(inputs, {"ties": made.scores.policy.ties})
        labels = self._labels()
        belief = (
            doubt.believe(run, depth=self.depth, weights=self.weights, prior=self.prior, people=0)
            if inputs.qrels is None
            else doubt.believe(inputs.qrels, self.model, taxonomy=inputs.taxonomy)
        )
        if form != "table":
            return
        checked = doubt.calibrate(belief, labels, run)
        show_calibration(checked)
        wanted = [name for name in made.scores.measures if doubt.is_estimable(name)]
        if not wanted:
            names = ", ".join(made.scores.measures)
            print(f"\nNo valid interval exists from a sample of labels for {names}; ask for P@k, DCG@k, R@k or F@k.")
            return
        try:
            show_estimates(doubt.estimate(run, belief, labels, wanted, level=self.confidence))
        except EndoxaError as error:
            print(f"\nNo interval: {error}")


def wanted_of(inputs: o.Inputs, plugin: bool) -> list[str]:
    """Measures of sets, where systems gave no order."""
    if inputs.measures:
        return inputs.measures
    return ["GradedP", "GradedR", "GradedF"] if plugin else ["SetP", "SetR", "SetF"]


def show_calibration(made: Any) -> None:
    """Print how far a belief agrees with labels."""
    console = show.console()
    console.print("\n[bold]How far the belief agrees with the labels[/bold]")
    print(
        f"{made.labels:,} labels on {made.queries:,} queries: Brier {made.brier:.4f}, Spiegelhalter z {made.z:.2f}, "
        f"slope {made.slope:.2f} [{made.slope_lo:.2f}, {made.slope_hi:.2f}] (1 if calibrated)"
    )
    if made.systems is not None:
        console.print(show.frame_table(made.systems))
        print("gap: observed minus believed relevance of what the system returned; above 0 the belief is unjust to it")
    for note in made.notes:
        print(note)


def show_appraisal(made: Appraisal, *, form: str, to: str | None, per_query: bool, summary: bool) -> None:
    """Print or write an appraisal in the form asked for."""
    from endoxa.reports.text import render
    from endoxa.reports.text import summary_table as text_table
    from endoxa.verbs import write

    remarks = [*lines_of(made), *(f"! {line}" for line in made.warnings)]
    if form == "parquet":
        assert to is not None
        write(made.scores, to, form="parquet")
        show.note(f"wrote {to}")
    elif form == "table":
        _print(made, per_query=per_query, summary=summary)
        print("\n" + "\n".join([*remarks, *([made.sentence] if made.sentence else [])]))
        return
    elif form in {"latex", "markdown"} and not per_query:
        show.emit(text_table(made.summary, form), to)  # type: ignore[arg-type]
    else:
        frame = made.scores.frame if per_query else made.summary
        show.emit(render(frame, form), to)  # type: ignore[arg-type]
    for line in [*remarks, *([made.sentence] if made.sentence else [])]:
        show.note(line)


def _print(made: Appraisal, *, per_query: bool, summary: bool) -> None:
    import polars as pl

    console = show.console()
    if per_query:
        console.print(show.frame_table(_tidy(made.scores.frame)))
        console.print()
    if not summary:
        return
    first = made.scores.measures[0]
    within = " within this consensus" if made.belief.model.startswith("consensus") else " under this belief"
    console.print(f"[bold]{show.plain(first)}{within}[/bold]")
    console.print(show.frame_table(ranking(made, first)))
    others = made.summary.filter(pl.col("measure") != first)
    if others.height:
        console.print(f"\n[bold]Other measures{within}[/bold]")
        console.print(show.summary_table(others, width=console.width))
    if made.depths is not None:
        console.print(
            f"\n[bold]The order on {show.plain(first)} at other depths of votes[/bold] (tau to the order above)"
        )
        console.print(show.frame_table(made.depths))


def ranking(made: Appraisal, measure: str) -> pl.DataFrame:
    """The systems in order: mean with interval, level without the own vote, P(best), unique share."""
    import polars as pl

    rows = made.summary.filter(pl.col("measure") == measure)
    lower = rows.height > 1 and _lower(measure)
    rows = rows.sort("value", descending=not lower, nulls_last=True)
    columns = {
        "system": rows["system"],
        "mean": rows["value"],
        "interval": [show.interval(lo, hi) for lo, hi in rows.select("lo", "hi").iter_rows()],
    }
    if "alone" in rows.columns:
        columns["without own vote"] = rows["alone"]
    columns["P(best)"] = [_share(value) for value in rows["p_best"]]
    if "unique" in rows.columns:
        columns["unique"] = [_percent(value) for value in rows["unique"]]
    return pl.DataFrame(columns)


def _lower(measure: str) -> bool:
    from endoxa.measures.grammar import parse

    return parse(measure).definition.lower


def _share(value: float | None) -> str:
    if value is None or value != value:  # noqa: PLR0124
        return "–"
    return "<.01" if 0 < value < 0.005 else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.0%}"  # noqa: PLR0124


def lines_of(made: Appraisal) -> list[str]:
    """Under which choices the numbers were made, and which doubt weighs most."""
    draws = made.scores.draws
    worlds = 0 if draws is None or draws.truth is None else draws.truth.shape[-1]
    queries = len(made.scores.queries)
    lines = [f"{queries:,} queries, {worlds:,} possible worlds; intervals: the middle {made.level:.0%}, all doubts in"]
    if made.baseline is not None:
        lines.append(f"{made.baseline}: returns everything, in random order; the baseline, not a contender")
    return [*lines, *made.belief.lines(), *_doubt_lines(made), *made.scores.policy.lines()]


def _doubt_lines(made: Appraisal) -> list[str]:
    import polars as pl

    rows = made.doubts.filter(pl.col("system") != (made.baseline or ""))
    means = rows.group_by("doubt", maintain_order=True).agg(pl.col("share").mean())
    whom = next((word for model, word in WHOM.items() if made.belief.model.startswith(model)), "people")
    shares = {whom if doubt == "people" else doubt: share for doubt, share in means.iter_rows()}
    known = {doubt: share for doubt, share in shares.items() if share is not None and share == share}  # noqa: PLR0124
    if not known:
        return []
    told = ", ".join(f"{doubt} {share:.0%}" for doubt, share in known.items())
    most = max(known, key=lambda doubt: known[doubt])
    unknown = [doubt for doubt in shares if doubt not in known]
    silent = f"; about the {unknown[0]} nothing is known" if unknown else ""
    return [f"doubt about the means: {told}{silent}; most would help: {HELPS[most]}"]


def show_estimates(made: Estimates) -> None:
    """Print intervals from labels and belief together."""
    console = show.console()
    frame = made.frame
    import polars as pl

    table = pl.DataFrame(
        {
            "system": frame["system"],
            "measure": frame["measure"],
            "estimate": frame["estimate"],
            "these queries": [show.interval(lo, hi) for lo, hi in frame.select("lo", "hi").iter_rows()],
            "queries like these": [
                show.interval(lo, hi) for lo, hi in frame.select("lo_queries", "hi_queries").iter_rows()
            ],
            "labels": frame["labels"],
        }
    )
    console.print("\n[bold]Prediction-powered estimates[/bold] (valid however wrong the belief is)")
    console.print(show.frame_table(table))
    for note in made.notes:
        print(note)


def _tidy(frame: Any) -> Any:
    return frame.select(name for name in frame.columns if frame[name].null_count() < max(frame.height, 1))
