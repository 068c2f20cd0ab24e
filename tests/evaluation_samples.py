"""Small evaluations with known content, with judgments and in doubt, and a strict reader of pages."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl

from endoxa.evaluations import believed
from endoxa.evaluations.evaluation import Evaluation, File
from endoxa.evaluations.ratings import Analysis, analyse
from endoxa.evaluations.settings import Settings
from endoxa.notes import note, text, warning
from endoxa.policies import Policy
from endoxa.tables import Belief, Comparison, Draws, Opinions, Run, Scores

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "link", "br", "img", "input", "hr"}
EVERYTHING = "⊤"

FAMILIES = ("bm25", "bm25-rm3", "splade-v3", "dense-e5", "hybrid-rrf", "rerank-mono")
HOSTILE = "<script>alert(\"x\")</script> & 'q' $a_b$ 日本語"
LONG = "a-very-long-name-" * 12


def system_names(count: int) -> list[str]:
    if count <= len(FAMILIES):
        return list(FAMILIES[:count])
    return [f"{FAMILIES[i % 6]}-k{1 + i // 6}.{i:02}" for i in range(count)]


def sample_scores(
    systems: list[str], queries: int = 50, measures: tuple[str, ...] = ("AP", "nDCG@10", "P@10")
) -> Scores:
    rng = np.random.default_rng(7)
    hard = rng.beta(2, 3, queries)
    rows = []
    for place, system in enumerate(systems):
        lift = 0.12 * np.sin(1 + 1.7 * place)
        for measure in measures:
            value = np.clip(hard * 0.6 + lift + rng.normal(0, 0.09, queries), 0, 1)
            value[hard < 0.12] = np.nan
            rows += [
                (system, str(301 + query), measure, float(value[query]), int(np.isnan(value[query])))
                for query in range(queries)
            ]
    frame = pl.DataFrame(rows, schema=["system", "query", "measure", "value", "undefined"], orient="row")
    frame = frame.with_columns(*(pl.lit(None, pl.Float64).alias(name) for name in ("sd", "lo", "hi")))
    coverage = pl.DataFrame(
        {
            "system": systems,
            "queries": [queries] * len(systems),
            "missing": [2 if place == 1 else 0 for place in range(len(systems))],
            "unknown": [0] * len(systems),
            "items": [queries * 1000 - 37 * place for place in range(len(systems))],
            "judged": [queries * 412 - 390 * place for place in range(len(systems))],
            "tied": [13 * place for place in range(len(systems))],
        }
    )
    return Scores(frame.select(list(Scores.SCHEMA)), Policy(), coverage)


def sample_summary(scores: Scores) -> pl.DataFrame:
    rows = []
    for measure in scores.measures:
        systems, _, values = scores.matrix(measure)
        for system, line in zip(systems, values, strict=True):
            known = line[~np.isnan(line)]
            count = len(known)
            mean = float(known.mean()) if count else float("nan")
            se = float(known.std(ddof=1) / np.sqrt(count)) if count > 1 else None
            low, high = (mean - 1.96 * se, mean + 1.96 * se) if se is not None else (None, None)
            rows.append((system, measure, mean, low, high, se, count, len(line) - count))
    rows += [(system, "NumRet", 50_000.0, None, None, None, len(scores.queries), 0) for system in scores.systems]
    schema = {"system": pl.String, "measure": pl.String, "value": pl.Float64, "lo": pl.Float64, "hi": pl.Float64}
    return pl.DataFrame(
        rows, schema={**schema, "se": pl.Float64, "queries": pl.Int64, "undefined": pl.Int64}, orient="row"
    )


def sample_comparison(scores: Scores, baseline: str | None = None) -> Comparison:
    rows = []
    for measure in scores.measures:
        systems, _, values = scores.matrix(measure)
        for i, one in enumerate(systems):
            for j, other in enumerate(systems):
                if (baseline is None and j <= i) or (baseline is not None and (other != baseline or one == baseline)):
                    continue
                gaps = values[i] - values[j]
                gaps = gaps[~np.isnan(gaps)]
                mean, se = float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
                p = float(np.exp(-0.717 * abs(mean / se) - 0.416 * (mean / se) ** 2))
                low, high = mean - 2.01 * se, mean + 2.01 * se
                rows.append(
                    (measure, one, other, "queries", mean, low, high, None, None, p, min(1.0, 4 * p), mean / se,
                     "randomisation", len(gaps))
                )  # fmt: skip
    floats = ("difference", "lo", "hi", "p_better", "p_tie", "p_value", "p_adjusted", "effect")
    schema = {
        **dict.fromkeys(("measure", "system", "baseline", "doubt"), pl.String),
        **dict.fromkeys(floats, pl.Float64),
        "test": pl.String,
        "queries": pl.Int64,
    }
    notes = (
        text("paired randomisation test, 10000 draws, seed 0"),
        note("compared.correction", method="holm", least=1, most=1),
    )
    return Comparison(pl.DataFrame(rows, schema=schema, orient="row"), notes)


def sample_curves(systems: list[str], points: int = 101, low: float = 0.02, high: float = 0.09) -> pl.DataFrame:
    recall = np.linspace(0, 1, points)
    frames = []
    for place, system in enumerate(systems):
        start, bend = 0.55 + 0.3 * np.sin(1 + 1.7 * place) ** 2, 1 + 1.5 * np.cos(place) ** 2
        precision = 0.03 + start * (1 - recall) ** bend
        frames.append(
            pl.DataFrame({"system": [system] * points, "recall": recall, "precision": precision}).with_columns(
                generality=pl.lit((low + high) / 2), generality_low=pl.lit(low), generality_high=pl.lit(high)
            )
        )
    return pl.concat(frames)


def sample_evaluation(
    count: int = 6, *, systems: list[str] | None = None, baseline: str | None = None, queries: int = 50, **more: Any
) -> Evaluation:
    """Systems against judgments: some ties, an undefined query, an absent list."""
    systems = systems or system_names(count)
    scores = sample_scores(systems, queries)
    content: dict[str, Any] = {
        "title": f"Robust04, {len(systems)} runs",
        "scores": scores,
        "summary": sample_summary(scores),
        "compared": sample_comparison(scores, baseline) if len(systems) > 1 else None,
        "tables": {"curves": sample_curves(systems)},
        "warnings": (
            warning("scores.missing", topics="Judged topics", missing="empty", systems={"bm25-rm3": 2}),
            text(
                "58.8 % of the items returned are unjudged and count as not relevant (unjudged=nonrelevant).", "warning"
            ),
        ),
        "provenance": {
            "Endoxa": "0.1.0",
            "command": "endoxa report qrels.robust04.txt runs/*.run -m AP nDCG@10 P@10 --to report.html",
            "seed": "0",
        },
        "notes": (text("Queries are taken as a sample of those that could be asked."),),
        "files": tuple(
            File(f"runs/{system}.run", 3_412_889 + place, f"{place:02x}" * 32, "run")
            for place, system in enumerate(systems)
        ),
    }
    return Evaluation("judgments", baseline=baseline, **(content | more))


def sample_in_doubt(
    systems: list[str],
    *,
    measures: tuple[str, ...] = ("AP", "P@10"),
    queries: int = 12,
    worlds: int = 40,
    model: str = "consensus",
    virtual: str | None = EVERYTHING,
    people: float = 0.02,
    truth: float = 0.01,
    step: float = 0.02,
    **more: Any,
) -> Evaluation:
    """Systems a step apart, the first highest; the virtual one is below the second. 0: that doubt is unknown."""
    rng = np.random.default_rng(11)
    everyone = [*systems, *([virtual] if virtual else [])]
    means = 0.5 - step * np.arange(len(systems))
    if virtual:
        means = np.append(means, means[min(1, len(systems) - 1)] - step / 2)
    values = means[:, None] + rng.normal(0, 0.03, (len(everyone), queries)) + rng.normal(0, 0.1, queries)
    values += (means - values.mean(1))[:, None]
    grid = np.stack([values + 0.01 * place for place in range(len(measures))])[..., None]
    shape = (*grid.shape[:3], worlds)
    drawn = grid + rng.normal(0, truth, shape) if truth else None
    shift = np.repeat(rng.normal(0, people or 1, (1, len(everyone), 1, worlds // 2)), 2, axis=3)
    others = grid + shift + rng.normal(0, truth, shape) if people else None
    names = [str(301 + query) for query in range(queries)]
    rows = [
        (system, query, measure, float(grid[m, s, q, 0]), 0.0)
        for s, system in enumerate(everyone)
        for q, query in enumerate(names)
        for m, measure in enumerate(measures)
    ]
    frame = pl.DataFrame(rows, schema=["system", "query", "measure", "value", "undefined"], orient="row")
    frame = frame.with_columns(*(pl.lit(None, pl.Float64).alias(name) for name in ("sd", "lo", "hi")))
    coverage = pl.DataFrame({"system": everyone}).with_columns(
        pl.lit(value).alias(name)
        for name, value in (
            ("queries", queries), ("missing", 0), ("unknown", 0), ("items", 900), ("judged", 450), ("tied", 9),
        )
    )  # fmt: skip
    draws = None if drawn is None and others is None else Draws(list(measures), everyone, names, drawn, others)
    scores = Scores(frame.select(list(Scores.SCHEMA)), Policy(), coverage, draws=draws)
    belief = Belief.of(
        pl.DataFrame({"query": names, "item": ["a"] * queries, "p": [0.5] * queries}),
        model=model,
        notes=(text("votes: made for a test"), text("one query is answered by one system only", "warning")),
    )
    content: dict[str, Any] = doubtful_tables(scores, belief) | {"notes": tuple(belief.lines())}
    if model == "consensus":
        unique = {system: 0.1 + 0.8 * place / len(systems) for place, system in enumerate(systems)}
        content["summary"] = content["summary"].with_columns(
            without_own_vote=pl.when(pl.col("system") == (virtual or "")).then(None).otherwise(pl.col("value") - 0.05),
            unique=pl.col("system").replace_strict(unique, default=None, return_dtype=pl.Float64),
        )
        depths = {"depth": [10, 100], "tau": [0.62, 1.0], "leader": [systems[-1], systems[0]]}
        content["tables"] = {"depths": pl.DataFrame(depths)}
        content["warnings"] = (text("beware of <clones>", "warning"),)
        content["notes"] = (*content["notes"], note("consensus.limits"))
    kind = "consensus" if model == "consensus" else "belief"
    return Evaluation(kind, scores, belief=belief, virtual=virtual, title="Without judgments", **(content | more))


def doubtful_tables(scores: Scores, belief: Belief) -> dict[str, Any]:
    """Summary with P(best), pairs and doubts, from draws of the scores."""
    evaluation = believed.of_scores(scores, belief, Settings())
    return {"summary": evaluation.summary, "compared": evaluation.comparison, "doubts": evaluation.doubts}


def texts_of(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def titles_of(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}title")]


class Reader(HTMLParser):
    """Reads a page strictly: every tag that opens closes, in order; keeps the text and the tables."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.errors: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.tables: list[list[list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if len({name for name, _ in attrs}) != len(attrs):
            self.errors.append(f"an attribute twice in {tag}")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"th", "td"}:
            self.tables[-1][-1].append("")
        if tag == "small" and set(self.open) & {"th", "td"}:
            self.tables[-1][-1][-1] += " "
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if set(self.open) & {"script", "style"}:
            return
        self.text.append(data)
        if set(self.open) & {"th", "td"}:
            self.tables[-1][-1][-1] += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


SCRIPT = '<script>alert("x")</script>'


def sample_ratings(people: int = 5, queries: int = 12, names: tuple[str, ...] = ("good", "fair", SCRIPT)) -> Analysis:
    """Pairs drawn by three systems, raters of which the last is upside down and called a script."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(queries, 8))
    rows, lists = [], []
    for q in range(queries):
        for i in range(8):
            pair = (f"q{q:02}", f"i{i}")
            chosen = names[(q + i) % len(names)]
            for p in range(people):
                sign = -1 if p == people - 1 and people > 2 else 1
                said = 3 + sign * 1.2 * truth[q, i] + 0.4 * rng.normal() + 0.4 * p - 0.8
                grade = None if rng.random() < 0.03 else float(np.clip(round(said), 1, 5))
                who = SCRIPT if sign < 0 else f"p{p}"
                rows.append((who, *pair, grade, "1-5", chosen, 0.5))
            lists += [(name, *pair, truth[q, i] + (s + 0.2) * rng.normal()) for s, name in enumerate(names)]
    columns = ["source", "query", "item", "grade", "scale", "selected_by", "propensity"]
    opinions = Opinions.of(pl.DataFrame(rows, schema=columns, orient="row"))
    run = Run.of(pl.DataFrame(lists, schema=["system", "query", "item", "score"], orient="row"))
    return analyse(opinions, run, methods=("isotonic", "ogive"), resamples=100)
