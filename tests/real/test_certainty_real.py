"""Every stated certainty is true: decisions replayed by `endoxa backtest` on TREC tracks, photographs and symbols.

Tables are printed before anything is asserted. The file takes seven minutes of one core.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.evaluations.backtest import FIELD, PARTS, QUARTER, Backtest, pooled
from endoxa.evaluations.backtest_sentences import answer, evidence, further
from endoxa.evaluations.contest import sampled
from endoxa.images.corpus import same_category
from endoxa.tables import Run
from endoxa.verbs.fetch import fetch
from endoxa.verbs.index import index
from endoxa.verbs.run import run

TRACKS = {"covid-r1": ("qrels.txt", 12), "robust03": ("qrels.txt.gz", 0)}  # judgments, random fields of ten
COURSES = {"covid-r1": 120, "robust03": 60, "stamps": 60, "symbols": 60}
SAMPLES, QUERIES = 3, 120  # of the pictures: samples of queries, as a contest draws them
LEAST, LEAST_CELL, MANY = 0.97, 0.92, 100
WRONG = 0.03  # of the settled courses


def show(*tables: pl.DataFrame) -> None:
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_width_chars=220, float_precision=3, tbl_formatting="ASCII_MARKDOWN",
        tbl_hide_column_data_types=True, tbl_hide_dataframe_shape=True, fmt_str_lengths=40,
    ):  # fmt: skip
        for table in tables:
            print(table)


@pytest.fixture(scope="module")
def tracks(folder) -> dict[str, Backtest]:
    """All runs, beside them twelve random fields of ten runs of covid-r1; three measures, four levels, 20 draws."""
    found = {}
    for name, (judgments, fields) in TRACKS.items():
        place = folder(name)
        runs = sorted(map(str, (place / "runs").iterdir()))
        found[name] = endoxa.backtest(runs, str(place / judgments), fields=fields, courses=COURSES[name])
    return found


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Backtest]]:
    """Photographs and symbols by their folders: samples of queries as a contest draws them."""
    found: dict[str, list[Backtest]] = {}
    for name in ("stamps", "symbols"):
        corpus, home = fetch(name), tmp_path_factory.mktemp(name)
        ran = run(corpus, index(corpus, home=home).systems, home=home).run
        for seed in range(SAMPLES):
            queries = sampled(corpus, corpus.items, QUERIES, seed)
            own = Run(ran.frame.filter(pl.col("query").is_in(queries)))
            judgments = same_category(corpus, queries)
            each = COURSES[name] // SAMPLES
            result = endoxa.backtest(own, judgments, ["nDCG@10"], labels=(0, 1, 5), courses=each, seed=seed)
            found.setdefault(name, []).append(result)
    return found


def statements(tracks: dict[str, Backtest]) -> pl.DataFrame:
    return pl.concat(one.statements.select(pl.lit(name).alias("track"), pl.all()) for name, one in tracks.items())


def share(rows: pl.DataFrame) -> float:
    stated = rows.filter(pl.col("stated") > 0)
    return float((stated["stated"] * stated["right"]).sum()) / max(int(stated["stated"].sum()), 1)


def test_statements_above_95_are_right(tracks: dict[str, Backtest]) -> None:
    for name, one in tracks.items():
        print(f"\n\n{name}: {answer(one)}\n{evidence(one)}")
        print(*one.notes, sep="\n")
        show(one.best, one.leaders)
    every = statements(tracks)
    for part in PARTS:
        print(f"\n{part}")
        show(every.filter(part=part).drop("part"))
        print(f"{part}, all cells: {share(every.filter(part=part)):.4f} right")
    assert every.height == 36 * len(PARTS)
    field = every.filter((pl.col("part") == FIELD) & (pl.col("stated") > 0))
    assert field["right"].min() >= LEAST  # type: ignore[operator]
    quarter = every.filter((pl.col("part") == QUARTER) & (pl.col("stated") > 0))
    assert share(quarter) >= LEAST
    many = quarter.filter(pl.col("stated") >= MANY)["right"].to_list()
    assert min(many, default=1.0) >= LEAST_CELL


def test_no_bin_says_more_than_is_true(tracks: dict[str, Backtest]) -> None:
    """The reliability by bins of the field: what is said lies in the bin, and what is true is not far below it."""
    for name, one in tracks.items():
        print(f"\n{name}")
        bins = one.reliability.filter(part=FIELD)
        show(pooled(bins, "field", "labels"))
        show(pooled(one.reliability.filter(part=QUARTER), "field", "labels"))
        far = pooled(bins).filter(pl.col("pairs") >= MANY)
        assert (far["right"] >= far["lo"] - 0.03).all()


def courses(tracks: dict[str, Backtest], pictures: dict[str, list[Backtest]]) -> Iterator[tuple[str, Backtest]]:
    yield from tracks.items()
    yield from ((name, one) for name, several in pictures.items() for one in several)


def test_settled_courses_have_the_right_winner(
    tracks: dict[str, Backtest], pictures: dict[str, list[Backtest]]
) -> None:
    parts = []
    for name, one in courses(tracks, pictures):
        print(f"\n{name}", *further(one), sep="\n")
        show(one.settled)
        parts.append(one.courses.select(pl.lit(name).alias("track"), pl.all()))
    every = pl.concat(parts)
    assert every.height >= 300
    gaps = [pl.col("gap").quantile(q, "nearest").alias(f"gap_{q}") for q in (0.25, 0.5, 0.75)]
    summary = [
        pl.len().alias("courses"), pl.col("right").mean(), (pl.col("loss") <= 0.01).mean().alias("near"),
        pl.col("labels").median(), *gaps,
    ]  # fmt: skip
    show(every.group_by("track", "settled", maintain_order=True).agg(*summary))
    show(every.group_by("measure", "settled", maintain_order=True).agg(*summary))
    settled = every.filter("settled")
    show(settled.filter(~pl.col("right")))
    wrong = 1 - float(settled["right"].mean())  # type: ignore[arg-type]
    print(f"{settled.height} of {every.height} settled, {wrong:.4f} of these with a wrong winner")
    assert wrong <= WRONG + np.sqrt(WRONG * (1 - WRONG) / settled.height)


def test_forecasts(tracks: dict[str, Backtest], pictures: dict[str, list[Backtest]]) -> None:
    for name, one in courses(tracks, pictures):
        if one.looks.height:
            print(f"\n{name}")
            show(one.forecast, one.horizons)
            likely = one.horizons.filter((pl.col("looks") >= MANY) & (pl.col("lo") >= 0.6))
            assert (likely["right"] >= likely["lo"] - 0.1).all()
