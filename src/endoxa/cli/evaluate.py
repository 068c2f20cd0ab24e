"""endoxa eval: score runs against judgments, under a belief, or within their own consensus."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show
from endoxa.cli.under_doubt import Doubt
from endoxa.errors import TextError

FORMATS = ("table", "trec", "tsv", "jsonl", "parquet", "latex", "markdown")
JUDGMENTS = {"qrels": "official", "qrels_jg": "qrels_jg", "prefs": "prefs", "qrels_prefs": "prefs"}  # and the default


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("eval")(evaluate)


def evaluate(
    words: o.Words = None,
    measures: o.Measures = None,
    per_query: Annotated[bool, typer.Option("-q", help="Print every query too.")] = False,
    no_summary: Annotated[bool, typer.Option("-n", help="Print no summary over queries.")] = False,
    complete: o.Complete = False,
    level: o.Level = None,
    cut: o.Cut = None,
    judged_only: o.JudgedOnly = False,
    form: Annotated[
        str, typer.Option("-o", "--output", metavar="|".join(FORMATS), help="trec prints trec_eval's own lines.")
    ] = "table",
    to: o.To = None,
    compat: o.Compat = "none",
    ties: o.Ties = "trec",
    missing: o.Missing = None,
    unjudged: o.Unjudged = "nonrelevant",
    undefined: o.Undefined = None,
    assessors: o.Assessors = "one",
    judgments_format: Annotated[
        str, typer.Option("-R", metavar="|".join(JUDGMENTS), help="trec_eval's name for the judgments' format.")
    ] = "qrels",
    zscores: Annotated[
        str | None, typer.Option("-Z", metavar="FILE", help="Print z-scores against means and deviations in FILE.")
    ] = None,
    depth: o.Depth = 100,
    weights: o.Weights = "cluster",
    prior: o.Prior = "1,1",
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group", metavar="SYSTEM=TEAM|auto", help="Systems whose votes are left out together; auto finds clones."
        ),
    ] = None,
    model: o.Model = None,
    systems_vote: Annotated[
        bool,
        typer.Option(
            "--systems-vote", help="With people's opinions: the runs vote beside them (their first --depth items)."
        ),
    ] = False,
    labels: Annotated[
        list[str] | None,
        typer.Option("--labels", metavar="FILE", help="A few judged pairs; several rounds: the last one last."),
    ] = None,
    people: Annotated[
        int | None, typer.Option("--people", help="Resamples of the people, or of the systems that vote.", min=0)
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option("--tokens", metavar="bag|align", help="The files are texts that pipelines extracted, not runs."),
    ] = None,
    plugin: Annotated[
        bool, typer.Option("--plugin", help="Score expected grades as if they were grades (biased; for comparison).")
    ] = False,
    worlds: o.Worlds = 400,
    collection: Annotated[int | None, typer.Option("-N", help="Size of the collection, for answers.")] = None,
    lenient: o.Lenient = False,
    name_from: o.NameFrom = "tag",
    confidence: o.Confidence = 0.95,
    seed: o.Seed = 0,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
) -> None:
    """Score runs against judgments, with an interval on every mean; without judgments, within their consensus.

    [bold]Examples[/bold]

      endoxa eval runs/*.gz

      endoxa eval runs/*.gz --labels judged.csv P@10

      endoxa eval votes.txt bm25.run dense.run --model dawid-skene AP

      endoxa eval qrels.txt bm25.run dense.run nDCG@10 AP

      endoxa eval -q -c -m official -o trec --compat trec_eval-9 qrels.txt bm25.run

      endoxa eval qrels.txt runs/*.gz --unjudged bounds P@10 RBP -o tsv --to scores.tsv
    """
    from endoxa.measures.grammar import parse_all
    from endoxa.verbs import COMPARED, DEFAULT, measure

    if form not in FORMATS:
        raise typer.BadParameter(f"-o is one of {', '.join(FORMATS)}, not {form!r}")
    show.need_form(form, to)
    o.share("--confidence", confidence)
    doubt = Doubt(
        depth=depth, weights=o.weights_of(weights), prior=o.prior_of(prior), groups=groups, model=model,
        systems_vote=systems_vote, labels=labels, tokens=tokens, plugin=plugin, worlds=worlds, confidence=confidence,
        level=level, collection=collection, lenient=lenient, people=people,
    )  # fmt: skip
    inputs = (
        o.Inputs(None, [], list(measures or [])) if tokens else o.sort_words(words, measures, qrels, runs, bundles=True)
    )
    if inputs.bundle is not None:
        from endoxa.cli.bundled import Bundled

        other = {
            "-q": per_query, "-n": no_summary, "-c": complete, "-l": level is not None, "-M": cut is not None,
            "-J": judged_only, "--compat": compat != "none", "--missing": missing is not None,
            "--unjudged": unjudged != "nonrelevant", "--undefined": undefined is not None,
            "--assessors": assessors != "one", "-R": judgments_format != "qrels", "-Z": zscores is not None,
            "-o trec": form == "trec", "--group": bool(groups), "--model": model is not None,
            "--systems-vote": systems_vote, "--labels": bool(labels), "--people": people is not None,
            "--plugin": plugin, "--depth": depth != 100, "--weights": weights != "cluster", "--prior": prior != "1,1",
        }  # fmt: skip
        bundled = Bundled(ties, lenient, name_from, worlds, confidence, collection, seed)
        bundled.evaluate(inputs, [name for name, given in other.items() if given], form=form, to=to)
        return
    if doubt.concerns(inputs):
        settings = o.policy_of(
            compat=compat, ties=ties, missing=missing, unjudged=unjudged, undefined=undefined, assessors=assessors,
            cut=cut, complete=complete, judged_only=judged_only, seed=seed,
        )  # fmt: skip
        if form == "trec" or zscores is not None:
            raise typer.BadParameter("trec_eval's lines are for judgments; without them use -o tsv or jsonl")
        doubt.evaluate(inputs, words, settings, form=form, to=to, per_query=per_query, summary=not no_summary)
        return
    judged, paths = o.need_both(inputs)
    if judgments_format not in JUDGMENTS:
        raise typer.BadParameter(f"-R is one of {', '.join(JUDGMENTS)}, not {judgments_format!r}")
    if judgments_format == "qrels_jg":
        assessors = "mean"
    compared = judgments_format in {"prefs", "qrels_prefs"}
    default = JUDGMENTS[judgments_format] if form == "trec" else COMPARED if compared else DEFAULT
    wanted = parse_all(inputs.measures or default, level=level)
    settings = o.policy_of(
        compat=compat, ties=ties, missing=missing, unjudged=unjudged, undefined=undefined, assessors=assessors,
        cut=cut, complete=complete, judged_only=judged_only, seed=seed,
    )  # fmt: skip
    judgments = _preferences(judged, judgments_format, compat, lenient) if compared else judged
    with show.progress_bar(len(paths)) as progress:
        scores = measure(
            paths, judgments, wanted, lenient=lenient, name_from=name_from, progress=progress, report=_tell, **settings
        )
    show_scores(
        scores, wanted, form=form, to=to, per_query=per_query, summary=not no_summary, confidence=confidence,
        seed=seed, zscores=zscores,
    )  # fmt: skip


def _preferences(path: str, judgments_format: str, compat: str, lenient: bool) -> Any:
    """Preferences as they stand in the file, or as grades imply them."""
    from endoxa.io.read import read
    from endoxa.measures.preference_judgments import Preferences

    if judgments_format == "prefs":
        return read(path, kind="preferences", lenient=lenient, report=_tell)
    opinions = read(path, kind="qrels", assessors=True, lenient=lenient, report=_tell)
    return Preferences.of_opinions(opinions, unjudged=compat != "none")


def _tell(skipped: Any) -> None:
    show.note(f"endoxa: {skipped}")


def show_scores(
    scores: Any, wanted: Any, *, form: str, to: str | None, per_query: bool, summary: bool, confidence: float,
    seed: int, zscores: str | None = None,
) -> None:  # fmt: skip
    """Print or write scores in the form asked for."""
    from endoxa.reports.text import render
    from endoxa.reports.text import summary_table as text_table
    from endoxa.reports.trec import lines
    from endoxa.reports.warnings import warnings_of
    from endoxa.verbs import ranges, summarise, write

    if form == "trec":
        reference = None
        if zscores is not None:
            from endoxa.io.zscores import read_zscores

            reference = read_zscores(zscores)
        show.emit("\n".join(lines(scores, wanted, per_query=per_query, summary=summary, zscores=reference)), to)
        return
    if zscores is not None:
        raise TextError("z-scores are printed in trec_eval's form: add -o trec")
    if form == "parquet":
        assert to is not None
        write(scores, to, form="parquet")
        show.note(f"wrote {to}")
        return
    made = summarise(scores, confidence=confidence, seed=seed)
    remarks = [*show.policies(scores, confidence=confidence), *(f"! {line}" for line in warnings_of(scores))]
    lower = [str(m) for m in wanted if m.definition.lower]
    if form == "table":
        console = show.console()
        if per_query:
            console.print(show.frame_table(show.tidy(scores.frame, "undefined")))
            console.print()
        if summary:
            console.print(show.summary_table(made, lower, console.width))
        if summary and (reach := ranges(scores)) is not None:
            console.print(f"\n[bold]{_reach(scores)}[/bold]")
            console.print(show.frame_table(reach))
        print("\n" + "\n".join(remarks))
        return
    if form in {"latex", "markdown"} and not per_query:
        show.emit(text_table(made, form, lower=lower), to)  # type: ignore[arg-type]
    else:
        frame = scores.frame if per_query else made
        if not per_query and (reach := ranges(scores)) is not None:
            frame = made.join(reach.drop("value"), on=["system", "measure"], how="left", maintain_order="left")
        show.emit(render(frame, form), to)  # type: ignore[arg-type]
    for line in remarks:
        show.note(line)


def _reach(scores: Any) -> str:
    ties = scores.policy.ties == "range"
    return (
        "Mean over queries with ties at their worst and at their best" if ties else "Mean over queries, least and most"
    )
