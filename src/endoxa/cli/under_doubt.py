"""Evaluation where the truth is in doubt: which kind of it is asked for, and how it looks on a terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from endoxa.cli import options as o
from endoxa.cli import show
from endoxa.errors import TextError

if TYPE_CHECKING:
    import polars as pl

    from endoxa.comparisons.appraisal import Appraisal
    from endoxa.comparisons.prediction import Estimates
    from endoxa.evaluations.evaluation import Evaluation

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
    labels: list[str] | None = None
    tokens: str | None = None
    systems_vote: bool = False
    plugin: bool = False
    worlds: int = 400
    confidence: float = 0.95
    level: float | None = None
    collection: int | None = None
    lenient: bool = False
    people: int | None = None

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
        self.refuse(inputs, settings)
        if inputs.kind == "answers":
            self._answers(inputs, settings, form, to)
            return
        made = self.appraise(inputs, words, settings)
        if not self.labels:
            show_appraisal(made, form=form, to=to, per_query=per_query, summary=summary)
            return
        before = self._before(inputs, made)
        estimates, why = self._estimates(before, made)
        if estimates is not None and form != "table":
            made = replace(made, summary=_beside(made.summary, estimates.frame))
        show_appraisal(made, form=form, to=to, per_query=per_query, summary=summary)
        if form == "table":
            _show_labels(before, estimates, why)

    def refuse(self, inputs: o.Inputs, settings: dict[str, Any]) -> None:
        """What does not go together; better said than ignored."""
        if self.model and inputs.qrels is None:
            raise typer.BadParameter(
                "--model says how opinions are believed, and there are none; runs make a consensus"
            )
        if self.systems_vote and (inputs.qrels is None or self.labels or inputs.kind not in {"qrels", "opinions"}):
            raise typer.BadParameter("--systems-vote needs people's opinions beside the runs, and no --labels")
        if settings["unjudged"] == "bounds" and inputs.kind != "belief":
            raise typer.BadParameter(
                "--unjudged bounds is for judgments; a belief says itself what it does not mention"
            )
        if inputs.kind == "answers" and inputs.measures:
            named = ", ".join(inputs.measures)
            raise typer.BadParameter(f"subjects' answers have their own measure, the displacement; leave {named} away")

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
        consensus: dict[str, Any] = {"prior": self.prior, "weights": self.weights, "families": self._families()}
        with show.progress_bar(2) as progress:
            how["progress"] = progress
            if self.people is not None:
                consensus["people"] = self.people
            if votes is not None:
                wanted = wanted_of(inputs, words, self)
                return doubt.appraise(None, votes, wanted, **how, **consensus)
            run = self.run(inputs, settings)
            if inputs.qrels is None:
                return doubt.appraise(run, None, wanted, **how, **consensus, depth=self.depth, labels=self._labels())
            if inputs.kind in {"qrels", "opinions"} and self.labels is None:
                opinions = read(inputs.qrels, assessors=True, lenient=self.lenient)
                more: dict[str, Any] = {"model": self.model, "systems_vote": self.systems_vote, "depth": self.depth}
                more |= {} if self.people is None else {"people": self.people}
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
        from endoxa import doubt

        return doubt.rounds_of(self.labels) if self.labels else None

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
            print("\n" + "\n".join(map(show.wrapped, made.notes)))
            return
        show.emit(render(made.frame, form), to)  # type: ignore[arg-type]
        for line in made.notes:
            show.note(line)

    def _estimates(self, before: Before, made: Appraisal) -> tuple[Estimates | None, str]:
        """Intervals that hold whatever the belief is worth, or why there are none."""
        from endoxa import doubt
        from endoxa.errors import EndoxaError

        wanted = [name for name in made.scores.measures if doubt.is_estimable(name)]
        if not wanted:
            names = ", ".join(made.scores.measures)
            return None, f"No valid interval exists from a sample of labels for {names}; ask for P@k, DCG@k, R@k, F@k."
        try:
            return doubt.estimate(before.run, before.belief, before.labels, wanted, level=self.confidence), ""
        except EndoxaError as error:
            return None, f"No interval: {error}"

    def _before(self, inputs: o.Inputs, made: Appraisal) -> Before:
        """The runs, the labels, and the belief as it was before them."""
        from endoxa import doubt

        run = self.run(inputs, {"ties": made.scores.policy.ties})
        if inputs.qrels is not None:
            return Before(run, doubt.believe(inputs.qrels, self.model, taxonomy=inputs.taxonomy), self._labels())
        held = doubt.believe(run, depth=self.depth, weights=self.weights, prior=self.prior, people=0)
        return Before(run, held, self._labels())


class Before(NamedTuple):
    """What labels are held against: the runs, and the belief without them."""

    run: Any
    belief: Any
    labels: Any


def _show_labels(before: Before, estimates: Estimates | None, why: str) -> None:
    """How far the belief can be believed, and what the labels say on their own."""
    from endoxa import doubt

    show_calibration(doubt.calibrate(before.belief, before.labels, before.run))
    if estimates is None:
        print("\n" + show.wrapped(why))
        return
    show_estimates(estimates)
    if doubt.drawn_from(before.run, before.belief, before.labels) is None:
        untold = "the labels do not say from which pairs they were drawn: all that the belief mentions are taken"
        print(show.wrapped(untold))


def _beside(summary: pl.DataFrame, estimates: pl.DataFrame) -> pl.DataFrame:
    """The summary with the estimates from labels in columns of their own."""
    import polars as pl

    kept = estimates.select("system", "measure", pl.exclude("system", "measure").name.prefix("labels_"))
    return summary.join(kept, on=["system", "measure"], how="left", maintain_order="left")


def wanted_of(inputs: o.Inputs, words: list[str] | None, doubt: Doubt) -> list[str]:
    """Measures that were named, else those of sets: these systems gave no order."""
    from endoxa.measures.grammar import parse_all

    named = list(inputs.measures)
    if doubt.tokens is not None:
        named += [word for word in words or [] if not Path(word).exists()]
    o.at_call(lambda: parse_all(named))
    return named or (["GradedP", "GradedR", "GradedF"] if doubt.plugin else ["SetP", "SetR", "SetF"])


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
        print(show.wrapped(note))


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
        print("\n" + "\n".join(map(show.wrapped, [*remarks, *([made.sentence] if made.sentence else [])])))
        return
    elif form in {"latex", "markdown"} and not per_query:
        show.emit(text_table(_contenders(made), form), to)  # type: ignore[arg-type]
    else:
        frame = made.scores.frame if per_query else made.summary
        show.emit(render(frame, form), to)  # type: ignore[arg-type]
    for line in [*remarks, *([made.sentence] if made.sentence else [])]:
        show.note(line)


def _contenders(made: Appraisal) -> pl.DataFrame:
    """The summary without the baseline, best first: a table for a paper marks the best."""
    import polars as pl

    order = ranking(made, made.scores.measures[0])["system"].to_list()
    rows = made.summary.filter(pl.col("system") != (made.baseline or ""))
    place = pl.col("system").replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
    return rows.sort(place, maintain_order=True)


def _print(made: Appraisal, *, per_query: bool, summary: bool) -> None:
    import polars as pl

    console = show.console()
    if per_query:
        console.print(show.frame_table(show.tidy(made.scores.frame)))
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


def ranking(made: Appraisal | Evaluation, measure: str) -> pl.DataFrame:
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
    for name in ("alone", "without_own_vote"):
        if name in rows.columns:
            columns["without own vote"] = rows[name]
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
    known = "what is known of the doubts" if draws is not None and draws.people is None else "all doubts in"
    drawn = (
        f", {worlds:,} possible worlds; intervals: the middle {made.level:.0%}, {known}"
        if worlds
        else ": expected grades taken as grades"
    )
    lines = [f"{queries:,} {'query' if queries == 1 else 'queries'}{drawn}"]
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
    """Print intervals from labels and belief together; nothing where the sample does not bound the value."""
    import polars as pl

    def ends(lo: float, hi: float, measure: str, outside: float) -> str:
        if outside > 0:
            return "–"
        top = float("inf") if measure.startswith("DCG") else 1.0
        return show.interval(max(lo, 0.0), min(hi, top)) if lo == lo else "–"  # noqa: PLR0124

    rows = list(made.frame.iter_rows(named=True))
    told = [row["estimate"] if row["lo"] == row["lo"] and not row["outside"] else None for row in rows]
    table = pl.DataFrame(
        {
            "system": [row["system"] for row in rows],
            "measure": [row["measure"] for row in rows],
            "estimate": pl.Series(told, dtype=pl.Float64),
            "these queries": [ends(row["lo"], row["hi"], row["measure"], row["outside"]) for row in rows],
            "queries like these": [
                ends(row["lo_queries"], row["hi_queries"], row["measure"], row["outside"]) for row in rows
            ],
            "labels": [row["labels"] for row in rows],
        }
    )
    show.console().print("\n[bold]Prediction-powered estimates[/bold] (valid however wrong the belief is)")
    show.console().print(show.frame_table(table))
    if (made.frame["outside"] > 0).any():
        print(show.wrapped("–: the measure looks at items that could not be drawn; draw as deep: endoxa next -k"))
    if made.frame["lo"].is_nan().any():
        print(show.wrapped("–: too few labels bear on the system (fewer than 10, or all alike); judge more"))
    for note in made.notes:
        print(show.wrapped(note))
