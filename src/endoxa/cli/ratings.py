"""endoxa ratings: what people's ratings say, of themselves and of systems."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show

if TYPE_CHECKING:
    import polars as pl

    from endoxa.evaluations.ratings import Analysis

FORMATS = ("table", "tsv", "jsonl", "markdown", "latex")
LEVELS = ("nominal", "ordinal", "interval", "ratio")
METHODS = ("isotonic", "bayes", "ogive")
NARROW = 80  # columns of a summary that is piped
SHOWN = 8  # raters, systems that a print names before it only counts them
CUTOFFS = (1, 10, 100)  # of the curves, where they have them


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("ratings")(ratings)


def ratings(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE… [RUN…]",
            help="Ratings (CSV, JSONL, Parquet, or qrels whose column 2 says who judged) and runs, told apart by "
            "content.",
            show_default=False,
        ),
    ],
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Relevant is above it; without: the middle of the scale.")
    ] = None,
    no_calibrate: Annotated[
        bool, typer.Option("--no-calibrate", help="Take every rater's grades as they are.")
    ] = False,
    shrinkage: Annotated[
        float,
        typer.Option("--shrinkage", help="Of the calibration: draws a rater to the others by so many items.", min=0),
    ] = 5.0,
    level: Annotated[
        str, typer.Option("--level", metavar="|".join(LEVELS), help="What distance between grades means, for alpha.")
    ] = "interval",
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="|".join(METHODS), help="Map from scores to ratings; all three without."),
    ] = None,
    distances: Annotated[
        bool, typer.Option("--distances", help="Scores are distances: they fall where ratings rise.")
    ] = False,
    resamples: Annotated[int, typer.Option("--resamples", help="Of pairs and queries, for intervals.", min=2)] = 500,
    form: Annotated[
        str, typer.Option("-o", "--output", metavar="|".join(FORMATS), help="The forms for programs hold every figure.")
    ] = "table",
    to: Annotated[
        str | None, typer.Option("--to", metavar="FILE", help="report.html is the page; other files take -o's form.")
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    confidence: o.Confidence = 0.95,
    seed: o.Seed = 0,
) -> None:
    """Analyse people's ratings: agreement, calibration, each rater; with runs, which system people agree with.

    The figure to compare systems by is r: the correlation of ratings with what a map from scores, made on other
    queries, predicts. Where pairs were drawn with known chances, precision and recall of whole lists.

    [bold]Examples[/bold]

      endoxa ratings answers.csv

      endoxa ratings answers.csv runs/*.gz --threshold 3 --to report.html

      endoxa ratings votes.qrels --level ordinal --no-calibrate

      endoxa ratings answers.parquet dense.run --method isotonic -o jsonl

      endoxa believe answers.csv --threshold 3 --to belief.parquet
    """  # fmt: skip
    from endoxa import ratings as front
    from endoxa.io.read import read
    from endoxa.reports.text import render

    _refuse(form, level, methods)
    o.share("--confidence", confidence)
    page = to is not None and Path(to).suffix.lower() in {".html", ".htm"}
    if page and form != "table":
        raise typer.BadParameter("a page has one form; leave -o away, or name another file")
    if not page:
        show.need_form(form, to)
    given, runs = _sorted(files)
    chosen: Any = methods or METHODS
    opinions = front.opinions_of(given)
    run = read(runs, kind="run") if runs else None
    settings: dict[str, Any] = {
        "threshold": threshold, "calibrated": not no_calibrate, "shrinkage": shrinkage, "metric": level,
        "methods": chosen, "distances": distances, "confidence": confidence, "resamples": resamples, "seed": seed,
    }  # fmt: skip
    with show.progress_bar(front.STEPS + len(chosen)) as progress:
        found = front.analyse(opinions, run, progress=progress, **settings)
    if form != "table":
        from endoxa.evaluations.ratings import figures_of

        show.emit(render(figures_of(found), form), to)  # type: ignore[arg-type]
        for line in (*(f"! {text}" for text in found.warnings), *found.remarks()):
            show.note(line)
        return
    _print(found)
    if page and to is not None:
        _write_page(found, to, title, [*given, *runs])


def _refuse(form: str, level: str, methods: list[str] | None) -> None:
    """What is wrong in the call."""
    for name, value, known in (("-o", form, FORMATS), ("--level", level, LEVELS)):
        if value not in known:
            raise typer.BadParameter(f"{name} is one of {', '.join(known)}, not {value!r}")
    for method in methods or []:
        if method not in METHODS:
            raise typer.BadParameter(f"--method is one of {', '.join(METHODS)}, not {method!r}")


def _sorted(files: list[str]) -> tuple[list[str], list[str]]:
    """Files of ratings, and runs."""
    from endoxa.errors import TextError
    from endoxa.io.formats import sniff

    given, runs = [], []
    for path in files:
        if path != "-" and not Path(path).exists():
            raise typer.BadParameter(f"{path!r}: no such file")
        kind = "opinions" if path == "-" else sniff(path)
        if kind == "run":
            runs.append(path)
        elif kind in {"opinions", "qrels", "sampled"}:
            given.append(path)
        else:
            raise TextError(
                f"{path} holds {kind}; expected ratings (a table with query, item, grade and who gave it in source) "
                f"or runs"
            )
    if not given:
        raise typer.BadParameter("no ratings were given; name a table with query, item, grade and source")
    return given, runs


def _write_page(found: Analysis, to: str, title: str, files: list[str]) -> None:
    """The page, with what it was made of."""
    from endoxa import __version__
    from endoxa.evaluations.ratings import evaluation_of
    from endoxa.io.provenance import provenance
    from endoxa.io.write import replacing
    from endoxa.reports.pages import page

    made_of = {"Endoxa": __version__, "Command": shlex.join(["endoxa", *sys.argv[1:]]), "Seed": str(found.seed)}
    with show.busy("drawing"), replacing(Path(to)) as part:
        sources = [provenance(path) for path in files if path != "-"]
        evaluation = evaluation_of(found, title=title, provenance=made_of, files=sources)
        part.write_text(page(evaluation), encoding="utf-8")
    show.note(f"wrote {to}")


def _print(found: Analysis) -> None:
    """A summary of eighty columns, or as wide as the terminal."""
    from textwrap import fill

    from endoxa.evaluations.rating_sentences import answer

    console = show.console(None if sys.stdout.isatty() else NARROW)

    def say(text: str) -> None:
        print(fill(text, min(console.width, 2 * NARROW), subsequent_indent="  ", break_on_hyphens=False))

    say(_counts(found))
    print()
    say(answer(found))
    for heading, frame in _tables(found):
        console.print(f"\n[bold]{heading}[/bold]")
        console.print(show.frame_table(frame))
    if found.selection is not None:
        print()
        say(_selection(found))
    if found.dominance is not None:
        print()
        say(_dominance(found))
    print()
    if found.first is not None:
        say(
            f"fit: r of the {found.first.method} map on the pairs it was made on, which flatters; noise: what fit is "
            f"on noise"
        )
    for line in (*found.policies(), *(f"! {text}" for text in found.warnings), *found.remarks()):
        say(line)


def _counts(found: Analysis) -> str:
    def many(count: int, one: str, several: str) -> str:
        return f"{count:,} {one if count == 1 else several}"

    aside = sum(count for role, count in found.roles.items() if role in {"practice", "gold", "attention"})
    left = f"; {aside:,} of practice, gold and attention left out" if aside else ""
    return (
        f"{many(found.raters, 'rater', 'raters')}, {many(found.pairs, 'rated pair', 'rated pairs')} of "
        f"{many(found.queries, 'query', 'queries')}, {many(found.answers, 'answer', 'answers')} "
        f"({found.undecided:,} undecided){left}"
    )


def _tables(found: Analysis) -> list[tuple[str, pl.DataFrame]]:
    """What the terminal shows: agreement, maps, raters that stand out, curves at a few cut-offs."""
    made = [("How far raters agree", _agreement(found))]
    if found.first is not None:
        made.append(("Mapped scores and ratings: r on queries not seen, ± its standard error", _maps(found)))
    if found.curves is not None:
        made.append(("Estimated for whole lists", _curves(found)))
    if (raters := _raters(found)).height:
        made.append((f"Raters{'' if raters.height == found.raters else ' that stand out'}", raters))
    return made


def _agreement(found: Analysis) -> pl.DataFrame:
    import polars as pl

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


def _maps(found: Analysis) -> pl.DataFrame:
    import polars as pl

    first = found.first
    assert first is not None
    frame = first.frame.select("system")
    for method, made in found.mappings.items():
        values = [
            f"{_short(r)}±{_short(se)}" if r == r else "–"  # noqa: PLR0124
            for r, se in made.frame.select("held_out", "se").iter_rows()
        ]
        frame = frame.with_columns(pl.Series(method, values))
    more = first.frame.select(
        pl.Series("fit", [_short(r) for r in first.frame["in_sample"]]),
        pl.Series("noise", [_short(r) for r in first.frame["null"]]),
        pl.Series("plain", [_short(r) for r in first.frame["pearson"]]),
        pl.col("pairs"),
        pl.col("held_out").fill_nan(None),
    )
    return frame.hstack(more).sort("held_out", descending=True, nulls_last=True, maintain_order=True).drop("held_out")


def _curves(found: Analysis) -> pl.DataFrame:
    import polars as pl

    assert found.curves is not None
    points = found.curves.points
    kept = points.filter(pl.col("cutoff").is_in(CUTOFFS))
    rows = kept if kept.height else points
    return pl.DataFrame(
        [
            (
                row["system"], row["cutoff"],
                *(_range(row[n], row[f"{n}_lo"], row[f"{n}_hi"], 2) for n in ("precision", "recall")),
                _short(row["rating"], 2),
                f"{row['effective']:.0f}",
            )
            for row in rows.iter_rows(named=True)
        ],
        schema=["system", "first", "precision", "recall", "rating", "effective"],
        orient="row",
    )  # fmt: skip


def _raters(found: Analysis) -> pl.DataFrame:
    """All, where they are few; else those with flags or against the others, the worst first."""
    import polars as pl

    frame = found.per_rater
    if frame.height > SHOWN:
        odd = (pl.col("correlation") < 0.2) | pl.col("flags").str.contains("constant|reversed")
        frame = frame.filter(odd.fill_null(False)).sort("correlation").head(SHOWN)
    return frame.select(
        pl.col("source").alias("rater"),
        "answers",
        pl.Series("with others", [_short(r) for r in frame["correlation"]], dtype=pl.String),
        pl.Series("shift", [_sign(x) for x in frame["shift"]], dtype=pl.String),
        pl.Series("stretch", [_short(x, 2) for x in frame["a"]], dtype=pl.String),
        pl.col("flags").fill_null(""),
    )


def _selection(found: Analysis) -> str:
    one = found.selection
    assert one is not None
    if one.advantage.gamma != one.advantage.gamma:
        return "Self-advantage cannot be worked out: a system has too few pairs chosen by another."
    return (
        "Self-advantage (on pairs that a system chose itself; drawing by rank alone makes some): "
        f"{_sign(one.advantage.gamma, 3)} "
        f"[{_sign(one.lo, 3)}, {_sign(one.hi, 3)}], p = {one.advantage.p_value:.3f}"
    )


def _dominance(found: Analysis) -> str:
    one = found.dominance
    assert one is not None
    said = one.frame.select("verdict", "system").group_by("verdict", maintain_order=True).agg("system")
    told = "; ".join(
        f"{verdict}: {', '.join(names[:SHOWN])}{' …' if len(names) > SHOWN else ''}"
        for verdict, names in said.iter_rows()
    )
    return f"{one.master} gave {one.share:.0%} of the ratings. Correlations with that rater and with the others: {told}"


def _short(value: float | None, decimals: int = 3) -> str:
    from endoxa.formatting import number

    return number(value, decimals, "-")


def _sign(value: float | None, decimals: int = 2) -> str:
    text = _short(value, decimals)
    return f"+{text}" if value is not None and value > 0 else text


def _range(value: float, lo: float, hi: float, decimals: int = 3) -> str:
    interval = "" if lo != lo else f" [{_short(lo, decimals)}, {_short(hi, decimals)}]"  # noqa: PLR0124
    return _short(value, decimals) + interval
