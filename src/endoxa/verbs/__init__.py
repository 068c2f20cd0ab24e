"""The front door: read, measure, compare, report, write. Each takes files, frames, dicts or tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
import polars as pl

from endoxa import __version__, pools
from endoxa.comparisons import intervals, paired
from endoxa.errors import EndoxaError, FileError, TableError, TextError, did_you_mean
from endoxa.io.formats import sniff
from endoxa.io.provenance import provenance
from endoxa.io.read import judgments_of, read, run_of
from endoxa.io.runs import map_blocks
from endoxa.io.sources import Source
from endoxa.io.write import replacing, write_frame
from endoxa.io.write import write as write_table
from endoxa.measures.curves import curve_measures, curves
from endoxa.measures.evaluate import measure as measure_tables
from endoxa.measures.evaluate import prepare, score_block
from endoxa.measures.evaluate import score_empty as score_unretrieved
from endoxa.measures.explain import definition_line
from endoxa.measures.gather import Block, gather
from endoxa.measures.grammar import Measure, Wanted, parse, parse_all
from endoxa.measures.judgments import refuse_all_relevant
from endoxa.measures.preference_judgments import (
    Preferences,
    applied,
    measure_preferences,
    score_empty,
    score_preferences,
)
from endoxa.policies import CHOICES, WORLDS, Policy
from endoxa.pools import lint
from endoxa.pools.lint import Finding
from endoxa.reports import Report, page
from endoxa.reports.text import summary_table
from endoxa.reports.warnings import warnings_of
from endoxa.tables import Belief, Comparison, Opinions, Run, Scores

DEFAULT = ("AP", "nDCG@10", "P@10", "RR", "Bpref", "Judged@10")
COMPARED = ("prefs_simp", "prefs_pair", "prefs_avgjg")  # the default where judges compared items

DOUBT = ("depth", "weights", "prior", "families", "worlds", "progress")  # what matters only where truth is in doubt
POLICY = {*CHOICES, "cut", "shuffles"}

Progress = Callable[[str, int, int], None]


def measure(
    run: Any,
    judgments: Any = None,
    measures: Wanted = DEFAULT,
    *,
    worlds: int = WORLDS,
    plugin: bool = False,
    level: float | None = None,
    lenient: bool = False,
    name_from: str = "tag",
    progress: Progress | None = None,
    report: Callable[[Any], None] | None = None,
    **policy: Any,
) -> Scores:
    """Score runs against judgments, or under a belief: one value per system, query and measure.

    `run` is a Run, a dict, a frame, a path or several paths; files are read and scored block by block, so
    that memory stays bounded. `judgments` are given likewise, or are Preferences, or a Belief: then values are
    expectations, and `draws` holds `worlds` possible worlds; without judgments the systems' consensus is believed.
    plugin=True takes expected grades for grades. `level` is the least grade that
    counts as relevant for measures that do not say it themselves. The policy is given by name: ties, missing,
    unjudged, undefined, compat, assessors, cut.

    >>> scores = measure({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}}, ["RR", "AP"])
    >>> scores.to_dict()["run"]["q1"]
    {'RR': 0.5, 'AP': 0.5}
    """
    known = [*POLICY, "seed"]
    for name in policy:
        if name not in known:
            raise TextError(
                f"no setting is called {name!r}{did_you_mean(name, known)} (there are: {', '.join(sorted(known))})"
            )
    if isinstance(run, Run):
        policy.setdefault("ties", run.ties)
    chosen = Policy.like(policy.pop("compat", "none"), **policy)
    if judgments is None or isinstance(judgments, Belief) or _holds_belief(judgments):
        from endoxa import doubt
        from endoxa.measures.uncertain import measure_belief

        held = doubt.believe(run_of(run), people=0) if judgments is None else doubt.believe(judgments)
        wanted = parse_all(doubt.DEFAULT if measures is DEFAULT else measures, level=level)
        how: dict[str, Any] = {"worlds": worlds, "plugin": plugin, "progress": progress}
        return measure_belief(run_of(run), held, wanted, chosen, **how)
    if isinstance(judgments, Preferences):
        chosen, measures = applied(chosen), COMPARED if measures is DEFAULT else measures
    judged = (
        judgments if isinstance(judgments, Preferences) else judgments_of(judgments, chosen.assessors, lenient=lenient)
    )
    wanted = parse_all(measures, level=level)
    if isinstance(judged, Opinions):
        rel = [m.keywords().get("rel", 1.0) for m in wanted if "rel" in m.definition.settings]
        refuse_all_relevant(judged, rel)
    paths = _paths(run)
    if paths is None:
        table = run if isinstance(run, Run) else read(run, kind="run", ties=_reading(chosen))
        if isinstance(judged, Preferences):
            return measure_preferences(table, judged, wanted, chosen)
        return measure_tables(table, judged, wanted, chosen)
    return measure_files(
        paths, judged, wanted, chosen, lenient=lenient, name_from=name_from, progress=progress, report=report
    )


def _holds_belief(judgments: Any) -> bool:
    """Whether it is a file with a belief in it."""
    if not isinstance(judgments, str | Path) or not Path(judgments).is_file():
        return False
    try:
        return sniff(judgments) == "belief"
    except EndoxaError:  # its reader will say what is wrong, with the line
        return False


def _reading(policy: Policy) -> Any:
    return "input" if policy.ties == "input" else "trec"


def _paths(run: Any) -> list[str] | None:
    if isinstance(run, (str, Path)):
        return [str(run)]
    if isinstance(run, (list, tuple)) and run and all(isinstance(part, (str, Path)) for part in run):
        return [str(part) for part in run]
    return None


def measure_files(
    paths: Sequence[str],
    judged: Opinions | Preferences,
    measures: Sequence[Measure],
    policy: Policy,
    *,
    lenient: bool = False,
    name_from: str = "tag",
    progress: Progress | None = None,
    report: Callable[[Any], None] | None = None,
) -> Scores:
    """Score run files one after the other, each in blocks of whole queries."""
    panel: dict[str, Any] = {"": judged} if isinstance(judged, Preferences) else prepare(judged, policy)
    score: Callable[..., Block] = score_preferences if isinstance(judged, Preferences) else score_block
    gathered: dict[str, list[Block]] = {source: [] for source in panel}
    systems: list[str] = []

    def kernel(block: Run) -> dict[str, Block]:
        return {source: score(block, judgments, measures, policy) for source, judgments in panel.items()}

    for path in paths:
        scored = map_blocks(
            path,
            kernel,
            name_from="file" if name_from == "file" else "tag",
            ties=_reading(policy),
            lenient=lenient,
            progress=None if progress is None else partial(progress, path),
            report=report,
        )
        names = list(dict.fromkeys(name for made in scored for name in next(iter(made.values())).coverage["system"]))
        renamed = _distinct(names, systems, path)
        systems += [renamed[name] for name in names]
        for made in scored:
            for source, block in made.items():
                gathered[source].append(block.renamed(renamed))
    empty = score_empty if isinstance(judged, Preferences) else score_unretrieved
    return gather(panel, list(gathered.values()), measures, policy, systems=systems, empty=empty)


def _distinct(names: list[str], taken: list[str], path: str) -> dict[str, str]:
    """A name for each system that no other file uses: the tag, else the file's name, else its whole path."""
    stem = Source(Path(path), path).stem
    renamed = {}
    for name in names:
        candidates = [name, stem if len(names) == 1 else f"{stem}:{name}", f"{path}:{name}"]
        free = [candidate for candidate in candidates if candidate not in taken]
        if not free:
            raise FileError(path, "the same file is given twice", "name each run file once")
        renamed[name] = free[0]
        if free[0] != name:
            warn(f"another run has the tag {name!r}; that of {path} is called {free[0]!r}", stacklevel=4)
    return renamed


def summarise(scores: Scores, *, seed: int = 0, **how: Any) -> pl.DataFrame:
    """Mean (sum, geometric mean) of every system and measure with its interval over queries."""
    known = {name: parse(name).definition for name in scores.measures}
    aggregate: dict[str, str] = {name: definition.aggregate for name, definition in known.items()}
    if scores.draws is not None:
        from endoxa.comparisons import shared

        bounds = {name: (definition.low, definition.high) for name, definition in known.items()}
        return shared.Doubts(scores, seed=seed).summarise(limits=bounds, aggregate=aggregate, **how)
    limits = {name: (definition.low, definition.high) for name, definition in known.items()}
    return intervals.summarise(scores, aggregate=aggregate, limits=limits, rng=np.random.default_rng(seed), **how)


def pool(run: Any, depth: int = 100) -> pl.DataFrame:
    """The union of the first `depth` items of every system: query, item, systems, best, by."""
    return pools.pool(run_of(run), depth)


def leave_out_uniques(run: Any, judgments: Any, measure: str | Measure = "AP", **how: Any) -> pools.Uniques:
    """What each system would score without the judgments that only it brought into the pool."""
    opinions = judgments_of(judgments, (how.get("policy") or Policy()).assessors)
    return pools.leave_out_uniques(run_of(run), opinions, measure, **how)


def ranges(scores: Scores) -> pl.DataFrame | None:
    """Mean over queries of the least and greatest value, where ties or unjudged items leave it open; else None."""
    if scores.policy.ties != "range" and scores.policy.unjudged != "bounds":
        return None
    if scores.frame["lo"].is_null().all():
        return None
    return (
        scores.frame.filter(pl.col("lo").is_not_null())
        .group_by("system", "measure", maintain_order=True)
        .agg(pl.col("lo").mean().alias("least"), pl.col("value").mean(), pl.col("hi").mean().alias("most"))
    )


def compare(scores: Scores, *, seed: int = 0, **how: Any) -> Comparison:
    """Differences between systems with intervals and tests; see `endoxa.comparisons.compare`.

    Scores made under a belief are compared in their possible worlds; see `endoxa.comparisons.shared.compare`.
    """
    if not isinstance(scores, Scores):
        raise TableError(f"scores are compared, and this is {type(scores).__name__}; make them with measure(...)")
    if "measures" not in how or how["measures"] is None:
        means = [name for name in scores.measures if parse(name).definition.aggregate == "mean"]
        how["measures"] = means or scores.measures
    if scores.policy.ties == "range" or scores.policy.unjudged == "bounds":
        raise TextError(
            f"there is no one value to compare under {scores.policy}; "
            "take --ties trec or average, and --unjudged nonrelevant or condensed"
        )
    if scores.draws is not None:
        from endoxa.comparisons import shared

        lower = [name for name in scores.measures if parse(name).definition.lower]
        known = {"baseline", "measures", "confidence", "resamples"}
        return shared.compare(scores, lower=lower, seed=seed, **{k: v for k, v in how.items() if k in known})
    made = paired.compare(scores, rng=np.random.default_rng(seed), **how)
    return Comparison(made.frame.with_columns(*_within_reach(scores)), made.notes)


def _within_reach(scores: Scores) -> list[pl.Expr]:
    """No difference is larger than the range of its measure."""
    spans = {name: parse(name).definition.high - parse(name).definition.low for name in scores.measures}
    reach = pl.col("measure").replace_strict(spans, return_dtype=pl.Float64)
    return [pl.col("lo").clip(lower_bound=-reach), pl.col("hi").clip(upper_bound=reach)]


def report(
    run: Any,
    judgments: Any = None,
    measures: Wanted = DEFAULT,
    *,
    title: str = "",
    baseline: str | None = None,
    N: int | None = None,
    seed: int = 0,
    command: str = "",
    level: float | None = None,
    test: str = "randomisation",
    correction: str = "holm",
    **settings: Any,
) -> Report:
    """Everything a page tells: scores, intervals, curves, comparisons, warnings, and where they come from.

    `write(report(...), "report.html")` writes one self-contained page; `.md` and `.tex` the summary table.
    N is the size of the collection, for the line of a random ranking.
    """
    policy = Policy.like(
        settings.get("compat", "none"), **{k: v for k, v in settings.items() if k in POLICY and k != "compat"}
    )
    files = [*((path, "judgments") for path in _paths(judgments) or []), *((path, "run") for path in _paths(run) or [])]
    if judgments is None or isinstance(judgments, Belief):
        votes = {name: settings[name] for name in DOUBT if name in settings}
        heading: dict[str, Any] = {"title": title, "seed": seed, "command": command, "level": level}
        return _doubtful(run, judgments, measures, policy, files, **heading, **votes)
    opinions = judgments_of(judgments, policy.assessors, lenient=bool(settings.get("lenient", False)))
    wanted = parse_all(measures, level=level)
    drawn = [m.with_level(level) if level is not None else m for m in curve_measures()]
    both = measure(run, opinions, [*wanted, *drawn], **settings)
    names = [str(m) for m in wanted]
    scores = replace(both, frame=both.frame.filter(pl.col("measure").is_in(names)))
    curve = curves(both, opinions, rel=1 if level is None else level, N=N)
    summary = summarise(scores, seed=seed)
    several = len(scores.systems) > 1
    how: dict[str, Any] = {"baseline": baseline, "test": test, "correction": correction}
    comparison = compare(scores, seed=seed, **how) if several else None
    return Report(
        title=title or _title(scores),
        scores=scores,
        summary=summary,
        comparison=comparison,
        curves=curve,
        warnings=tuple(warnings_of(scores, curve)),
        definitions={name: definition_line(name) for name in scores.measures},
        provenance={
            "Endoxa": __version__,
            "Command": command,
            "Seed": str(seed),
        },
        baseline=baseline,
        notes=(*(comparison.notes if comparison is not None else ()), _collection_note(opinions, N)),
        files=tuple(provenance(path, kind) for path, kind in files if path != "-"),
        lower=tuple(name for name in scores.measures if parse(name).definition.lower),
    )


def _doubtful(
    run: Any, judgments: Any, measures: Wanted, policy: Policy, files: list[tuple[str, str]], *, title: str, seed: int,
    command: str, level: float | None, **settings: Any,
) -> Report:  # fmt: skip
    """The page where the truth is in doubt: no curves and no p-values, but what may be, and how likely."""
    from endoxa import doubt

    policy = replace(policy, seed=seed)
    wanted = doubt.DEFAULT if measures is DEFAULT else measures
    made = doubt.appraise(run, judgments, wanted, policy=policy, level=level, **settings)
    names = made.scores.measures
    return Report(
        title=title or _title(made.scores, aside=made.baseline),
        scores=made.scores,
        summary=made.summary,
        warnings=made.warnings,
        definitions={name: definition_line(name) for name in names},
        provenance={"Endoxa": __version__, "Command": command, "Seed": str(seed)},
        notes=tuple(made.belief.lines()),
        files=tuple(provenance(path, kind) for path, kind in files if path != "-"),
        lower=tuple(name for name in names if parse(name).definition.lower),
        level=made.level,
        appraisal=made,
    )


def _collection_note(opinions: Opinions, N: int | None) -> str:
    if N is not None:
        return f"random ranking: of a collection of {N:,} items"
    known = opinions.frame["item"].n_unique()
    return (
        f"random ranking: the size of the collection was not given (-N); the {known:,} items judged for any query "
        "stand for it, so the line is an upper bound"
    )


def _title(scores: Scores, aside: str | None = None) -> str:
    systems = [system for system in scores.systems if system != aside]
    return f"{len(systems)} systems on {len(scores.queries)} queries" if len(systems) > 1 else f"{systems[0]} evaluated"


def write(table: Any, path: str | Path, **how: Any) -> None:
    """Write a table or a report; the suffix of the path says how: .html, .md, .tex, .csv, .jsonl, .parquet, .run …"""
    if isinstance(table, pl.DataFrame):
        write_frame(table, path)
        return
    if not isinstance(table, Report):
        write_table(table, path, **how)
        return
    suffix = Path(path).suffix.lower()
    if suffix in {".html", ".htm"}:
        text = page(table)
    elif suffix in {".md", ".tex"}:
        text = summary_table(table.summary, "markdown" if suffix == ".md" else "latex", lower=table.lower)
    else:
        raise FileError(
            str(path), f"a report is not written as {suffix or 'a file without a suffix'}", "use .html, .md or .tex"
        )
    with replacing(Path(path)) as part:
        part.write_text(text, encoding="utf-8")


def write_figures(made: Report, directory: str | Path) -> list[Path]:
    """Every figure of the report as SVG and PNG; the paths written."""
    from endoxa.reports import figures
    from endoxa.reports.findings import rival

    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    drawn = {}
    if made.appraisal is not None:
        from endoxa.reports import doubts

        drawn["doubts"] = doubts.shares(made.appraisal)
        for name in made.scores.measures:
            lower = name in made.lower
            drawn[f"ridges-{_file_name(name)}"] = doubts.ridges(made.appraisal, name, lower=lower)
            if made.appraisal.comparison is not None:
                drawn[f"better-{_file_name(name)}"] = doubts.better(made.appraisal, name, lower=lower)
    if made.curves is not None:
        drawn["precision-recall"] = figures.curves(made.curves)
    for name in made.scores.measures:
        if made.appraisal is not None or parse(name).definition.aggregate != "mean":
            continue
        drawn[f"intervals-{_file_name(name)}"] = figures.intervals(made.summary, name, lower=name in made.lower)
        two = rival(made, name)
        if two is not None:
            drawn[f"differences-{_file_name(name)}"] = figures.differences(made.scores, *two, name)
        if made.comparison is not None:
            drawn[f"pairs-{_file_name(name)}"] = figures.pairs(made.comparison, name)
    written = []
    for name, figure in drawn.items():
        for suffix, data in ((".svg", figures.to_svg(figure).encode()), (".png", figures.to_png(figure))):
            path = target / (name + suffix)
            with replacing(path) as part:
                part.write_bytes(data)
            written.append(path)
    return written


def _file_name(measure: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in measure).strip("-")


def check(runs: Sequence[str], qrels: str | None, *, assessors: bool = False) -> list[Finding]:
    """What is wrong, or worth a look, in files of judgments and runs."""
    findings: list[Finding] = []
    opinions = None
    if qrels is not None:
        try:
            opinions = judgments_of(qrels, "mean" if assessors else "one")
            findings += lint.judgments(opinions, qrels)
        except EndoxaError as error:
            findings.append(Finding("error", str(error)))
    for path in runs:
        try:
            findings += lint.run(read(path, kind="run"), path, opinions)
        except EndoxaError as error:
            findings.append(Finding("error", str(error)))
    return findings
