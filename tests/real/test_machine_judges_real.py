"""Machine judges beside a few labels on two TREC tracks: order, certainty, circularity, and the time of a refit.

The judges are transplanted: grades of real judges of another collection, given to pairs of the same human grade. They
graded the judged pairs only, so that lists are condensed to these. Labels are drawn as `endoxa next` draws them.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from tracks import Track, taus

from endoxa.beliefs.judges import Panel
from endoxa.beliefs.learned import Judged, Universe, learn
from endoxa.comparisons.posterior import places_of, posterior
from endoxa.comparisons.robust import robust
from endoxa.evaluations.judge_cards import FAVOURED, favours_of
from endoxa.measures.grammar import parse
from endoxa.tables import Floats, Gradings, Run

TRACKS = ("covid-r1", "robust03")
PANELS = ("a", "d", "abcde")
COUNTS = (0, 1, 5, 20)
DRAWS, SURE = 20, 0.95
RERANKED = 6


def grades(folder: Path, name: str, judges: str) -> Gradings:
    parts = [
        pl.read_csv(
            folder / name / f"judge-{judge}.qrels.gz", separator=" ", has_header=False,
            schema_overrides=[pl.String] * 4, new_columns=["query", "judge", "item", "grade"],
        )
        for judge in judges
    ]  # fmt: skip
    return Gradings.of(pl.concat(parts).with_columns(pl.col("grade").cast(pl.Float64), scale=pl.lit("0-3")))


def recalibrated(track: Track, panel: Panel, rows: np.ndarray, share: Floats) -> Floats:
    """[row] the usual advice: a logistic regression of the labels on what the judges say, and nothing else."""
    X = np.column_stack([np.ones(len(panel.together)), panel.together])
    b, ridge = np.array([-1.0, 1.0]), np.eye(2) * 0.1
    for _ in range(50):
        p = expit(X[rows] @ b)
        b = b + np.linalg.solve(
            X[rows].T @ ((p * (1 - p))[:, None] * X[rows]) + ridge, X[rows].T @ (share - p) - ridge @ b
        )
    p = expit(X @ b)
    p[rows] = share
    return np.asarray(p)


def means(track: Track, m, p: Floats) -> Floats:
    return np.nanmean(m.linear.slopes(places_of(track.prior), p[None], np.ones(1)).value, axis=1)


@pytest.fixture(scope="module", params=TRACKS)
def track(request, folder) -> Track:
    return Track(request.param, folder(request.param), condensed=True)


@pytest.mark.parametrize("judges", PANELS)
def test_judges_beside_labels(track: Track, judges: str, folder) -> None:
    m, official = parse("AP"), track.official("AP")
    universe = track.universe.with_judges(grades(folder("judges"), track.name, judges))
    panel = universe.panel
    assert panel is not None
    upper = np.triu_indices(len(official), 1)
    truth = np.sign(official[:, None] - official)[upper]
    alone = taus(means(track, m, panel.mean), official)
    print(
        f"\n{track.name}, judges {judges}, AP: tau of field / best quarter; judges alone {alone[0]:.3f}/{alone[1]:.3f}"
    )
    print(
        "labels a topic | model | labels alone | recalibrated | PPI | model stated > .95, right (worst draw); "
        "best quarter"
    )
    for count in COUNTS:
        found: dict[str, list[tuple[float, float]]] = {"model": [], "labels": [], "recalibrated": [], "ppi": []}
        stated, right, worst, top = 0, 0, 1.0, np.zeros(2)
        for seed in range(DRAWS if count else 1):
            labels = track.labels("AP", count, seed) if count else None
            both = posterior(track.learned("AP", labels, universe), m)
            only = posterior(track.prior if labels is None else track.learned("AP", labels), m)
            found["model"].append(taus(both.mean, official))
            found["labels"].append(taus(only.mean, official))
            better = both.better[upper]
            sure = np.maximum(better, 1 - better) > SURE
            ok = np.where(better >= 0.5, truth > 0, truth < 0)[sure & (truth != 0)]
            stated, right = stated + len(ok), right + int(ok.sum())
            worst = min(worst, float(ok.mean()) if len(ok) >= 20 else 1.0)
            best = np.isin(np.arange(len(official)), np.argsort(-both.mean)[: max(3, len(official) // 4)])
            of_best = (best[:, None] & best)[upper] & sure & (truth != 0)
            top += [of_best.sum(), np.where(better >= 0.5, truth > 0, truth < 0)[of_best].sum()]
            if labels is None:
                continue
            judged = Judged.of(universe, labels)
            found["recalibrated"].append(
                taus(means(track, m, recalibrated(track, panel, judged.rows, judged.tails[0])), official)
            )
            pairs = universe.rows.join(labels.frame, on=["query", "item"], how="inner", maintain_order="left")
            plain = learn(track.universe, judged, [1.0])
            made = robust(plain, m, pairs["propensity"].to_numpy(), panel.mean[None])
            estimate = made.estimates(0.9).frame
            found["ppi"].append(taus(estimate["estimate"].fill_nan(0).to_numpy(), official))
        shown = {name: np.mean(values, 0) if values else (np.nan, np.nan) for name, values in found.items()}
        print(
            f"{count:2} | " + " | ".join(f"{field:.3f}/{quarter:.3f}" for field, quarter in shown.values())
            + f" | {stated:,} stated, {right / max(stated, 1):.4f} right ({worst:.3f}); "
            f"{int(top[0])} stated, {top[1] / max(top[0], 1):.3f} right"
        )  # fmt: skip
        gain = np.array([one[0] - other[0] for one, other in zip(found["model"], found["labels"], strict=True)])
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        print(f"     gain over labels alone {gain.mean():+.3f} ({error:.3f})")
        assert gain.mean() >= -2 * error
        if count != 1 and stated:
            assert right / stated >= 0.97


def test_the_best_quarter_pooled(folder) -> None:
    """Pairs stated above .95 among the best quarter by estimate, at 0, 5 and 20 labels, both tracks, all panels."""
    stated = right = 0
    for name in TRACKS:
        track, m = Track(name, folder(name), condensed=True), parse("AP")
        official = track.official("AP")
        for judges in PANELS:
            universe = track.universe.with_judges(grades(folder("judges"), name, judges))
            for count in (0, 5, 20):
                for seed in range(DRAWS if count else 1):
                    made = posterior(
                        track.learned("AP", track.labels("AP", count, seed) if count else None, universe), m
                    )
                    best = np.argsort(-made.mean)[: max(3, len(official) // 4)]
                    better = made.better[np.ix_(best, best)]
                    truth = np.sign(official[best][:, None] - official[best])
                    sure = (better > SURE) & (truth != 0)
                    stated, right = stated + int(sure.sum()), right + int((truth[sure] > 0).sum())
    print(f"\nbest quarter by estimate, 0, 5 and 20 labels: {stated} stated above .95, {right / stated:.4f} right")
    assert right / stated >= 0.97


class Circular(Track):
    """The track with six of its systems reranked by the judge's own grades beside them."""

    def __init__(self, name: str, folder: Path, gradings: Gradings) -> None:
        super().__init__(name, folder, condensed=True)
        order = np.argsort(-self.official("AP"))
        places = order[np.linspace(3, len(order) - 4, RERANKED).astype(int)]
        chosen = [self.universe.systems[place] for place in places]
        lists = self.run.frame.filter(pl.col("system").is_in(chosen) & (pl.col("rank") <= 100)).join(
            gradings.frame.select("query", "item", said="grade"), on=["query", "item"], how="left"
        )
        score = 1000 * pl.col("said").fill_null(0) - pl.col("rank").cast(pl.Float64)
        names = (pl.lit("reranked ") + pl.col("system")).alias("system")
        whole = self.run.frame.select("system", "query", "item", (-pl.col("rank").cast(pl.Float64)).alias("score"))
        self.run = Run.of(pl.concat([whole, lists.select(names, "query", "item", score.alias("score"))]))
        self.universe = Universe.of(self.run)
        given = {(q, d): max(g, 0.0) for q, d, g in self.judged.frame.select("query", "item", "grade").iter_rows()}
        self.truth = np.array([given.get(pair, 0.0) for pair in self.universe.rows.iter_rows()])
        self.prior = learn(self.universe, Judged.of(self.universe, None), [1.0])


def test_a_judge_of_its_own_reranker(folder) -> None:
    """At 20 labels a topic the mean rank of the six is within 3 places of that by all labels; the card names them."""
    gradings = grades(folder("judges"), "covid-r1", "a")
    track, m = Circular("covid-r1", folder("covid-r1"), gradings), parse("AP")
    systems = track.universe.systems
    own = np.array([name.startswith("reranked ") for name in systems])
    universe = track.universe.with_judges(gradings)

    def rank(values: Floats) -> float:
        return float((np.argsort(np.argsort(-values))[own] + 1).mean())

    people, unlabelled = rank(track.official("AP")), rank(posterior(track.learned("AP", None, universe), m).mean)
    print(
        f"\nmean rank of six reranked systems among {len(systems)}: people {people:.1f}, judge without labels "
        f"{unlabelled:.1f}"
    )
    for count in (5, 20):
        ranks, alone, named, wrongly = [], [], [], []
        for seed in range(DRAWS):
            labels = track.labels("AP", count, seed)
            learned = track.learned("AP", labels, universe)
            ranks.append(rank(posterior(learned, m).mean))
            alone.append(rank(posterior(track.learned("AP", labels), m).mean))
            assert universe.panel is not None
            found = pl.DataFrame(favours_of("judge-a", learned, universe.panel.shares[:, 0]))
            favoured = ((found["q"] <= FAVOURED) & (found["favour"] > 0)).to_numpy()
            named.append(int(favoured[own].sum()))
            wrongly.append(int(favoured[~own].sum()))
        print(
            f"{count} labels a topic: model {np.mean(ranks):.1f}, labels alone {np.mean(alone):.1f}; the card names "
            f"{np.mean(named):.1f} of 6, and {np.mean(wrongly):.2f} of the other {int((~own).sum())}"
        )
    assert abs(np.mean(ranks) - people) <= 3
    assert np.mean(named) >= 5
    assert np.mean(wrongly) <= 1


def test_a_refit_with_five_judges_is_quick(folder) -> None:
    """36 systems, 30 topics, 1,000 items a list."""
    track, m = Track("covid-r1", folder("covid-r1")), parse("AP")
    universe = track.universe.with_judges(grades(folder("judges"), "covid-r1", "abcde"))
    labels = track.labels("AP", 5, 0)
    before = track.learned("AP", labels, universe)
    posterior(before, m)
    began = time.process_time()
    posterior(learn(universe, Judged.of(universe, track.labels("AP", 6, 1)), before.levels, before), m)
    spent = time.process_time() - began
    size = f"{len(universe.systems)} systems, {universe.rows.height:,} pairs"
    print(f"\nfive judges, {size}: refit and verdict in {spent:.2f} s of processor time")
