"""Small reports with known content: any number of systems, some ties, an undefined query, an absent list."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.policies import Policy
from endoxa.reports import Report, Source
from endoxa.tables import Comparison, Scores

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
    notes = ("paired randomisation test, 10000 draws, seed 0", "p adjusted by Holm over all pairs of one measure")
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


def sample_report(
    count: int = 6, *, systems: list[str] | None = None, baseline: str | None = None, queries: int = 50
) -> Report:
    systems = systems or system_names(count)
    scores = sample_scores(systems, queries)
    return Report(
        title=f"Robust04, {len(systems)} runs",
        scores=scores,
        summary=sample_summary(scores),
        comparison=sample_comparison(scores, baseline) if len(systems) > 1 else None,
        curves=sample_curves(systems),
        warnings=(
            "bm25-rm3 has no list for 2 of 50 judged topics; they count as empty lists (missing=empty).",
            "58.8 % of the items returned are unjudged and count as not relevant (unjudged=nonrelevant).",
        ),
        definitions={
            "AP": "Mean over the relevant items of the precision at their ranks.\n\n"
            "AP = (1/R) sum over relevant items of P@rank. Stands and falls with the number of judged items.",
            "nDCG@10": "Discounted gain of the first 10, divided by that of the best possible list.",
            "P@10": "Share of the first 10 that are relevant.",
        },
        provenance={
            "Endoxa": "0.1.0",
            "command": "endoxa report qrels.robust04.txt runs/*.run -m AP nDCG@10 P@10 --to report.html",
            "seed": "0",
        },
        baseline=baseline,
        notes=("Queries are taken as a sample of those that could be asked.",),
        files=tuple(
            Source(f"{kind}s/{system}.run", 3_412_889 + place, f"{place:02x}" * 32, kind)
            for kind in ("run",)
            for place, system in enumerate(systems)
        ),
    )
