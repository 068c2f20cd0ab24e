"""Scores mapped to ratings: the join, the figures by slow definitions, and what is undefined."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import optimize

from endoxa.errors import JoinError, TextError
from endoxa.statistics import isotonic
from endoxa.studies.score_mapping import Readings, _resampled, clusters, dealt, held_out, mapping, pearson, rated
from endoxa.tables import Opinions, Run

Y = np.array([1, 3, 2, 2, 5, 4, 4, 3, 5, 5], dtype=float)


def rng(seed=7):
    return np.random.default_rng(seed)


def frame_of(query, score, rating, system="s"):
    items = [f"d{place:04}" for place in range(len(query))]
    return pl.DataFrame(
        {"system": system, "query": [f"q{q:03}" for q in query], "item": items, "score": score, "grade": rating}
    )


def tables(frame):
    return Run.of(frame.drop("grade")), Opinions.of(frame.select("query", "item", "grade").unique(maintain_order=True))


def sample(seed, queries=30, per=5, noise=1.0, slope=1.0):
    """Ratings that rise with the score as a logistic curve; part of the noise is shared within a query."""
    stream = rng(seed)
    query = np.repeat(np.arange(queries), per)
    score = stream.normal(size=queries * per)
    shared = stream.normal(size=queries)[query] * 0.5
    rating = 3 + slope * 2 * np.tanh(score) + noise * (shared + stream.normal(size=len(score)))
    return frame_of(query, score, rating - rating.min())


def test_worked_folds():
    """docs/methods/studies.md, Score mapping: folds by index parity, r .535447 held out against .924701 in sample."""
    x = np.arange(1.0, 11.0)
    predicted, curves = held_out(x, Y, np.arange(10) % 2, lambda a, b: isotonic.fit(a, b).predict)
    assert predicted == pytest.approx([2.5, 1.5, 2.5, 3.25, 3, 4.5, 3.5, 4.75, 4.25, 5])
    assert pearson(predicted, Y) == pytest.approx(0.535447, abs=5e-7)
    assert len(curves) == 2


def slow_held_out(frame):
    """Leave one query out, pool-adjacent-violators of scipy on distinct scores, linear between, flat beyond."""
    x, y, q = frame["score"].to_numpy(), frame["grade"].to_numpy(), frame["query"].to_numpy()
    predicted = np.empty(len(x))
    for name in set(q):
        at = np.flatnonzero(q != name)
        at = at[np.argsort(x[at])]
        fitted = optimize.isotonic_regression(y[at]).x
        predicted[q == name] = np.interp(x[q == name], x[at], fitted)
    return np.corrcoef(predicted, y)[0, 1]


def test_figures_by_slow_definitions():
    frame = sample(1, queries=12)
    made = mapping(*tables(frame), input="raw", folds=99, resamples=20, rng=rng())
    row = made.frame.row(0, named=True)
    x, y = frame["score"].to_numpy(), frame["grade"].to_numpy()
    fitted = optimize.isotonic_regression(y[np.argsort(x)]).x
    assert (row["pairs"], row["missing"], row["queries"], row["folds"]) == (60, 0, 12, 12)
    assert row["pearson"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert row["in_sample"] == pytest.approx(np.corrcoef(fitted, y[np.argsort(x)])[0, 1])
    assert row["null"] == pytest.approx(math.sqrt((sum(1 / k for k in range(1, 61)) - 1) / 59))
    assert row["held_out"] == pytest.approx(slow_held_out(frame))
    table = made.maps["s"]
    assert table["mean"].to_numpy() == pytest.approx(np.interp(table["x"].to_numpy(), np.sort(x), fitted))
    assert (table["lo"] <= table["hi"]).all()
    assert table["mean"].is_sorted()
    assert made.predict("s", np.array([-99.0, 99.0])).tolist() == [fitted[0], fitted[-1]]


def test_bootstrap_by_slow_resamples():
    """The same draws of queries, rows written out as often as drawn, folds kept: the same error and band, exactly."""
    frame = sample(11, queries=9, per=4)
    x, y = frame["score"].to_numpy(), frame["grade"].to_numpy()
    query, fold = clusters(frame["query"], dealt(frame["query"], rng()), 3)
    grid = np.linspace(x.min(), x.max(), 7)
    bent = {0: x, 1: np.round(x), 2: x}  # what the map reads that is fitted without each fold
    se, lo, hi, _ = _resampled(Readings(x, bent), y, query, fold, grid, 40, 0.9, rng(5))
    stream, figures, curves = rng(5), [], []
    for _ in range(40):
        drawn = stream.integers(9, size=9)
        rows = np.concatenate([np.flatnonzero(query == one) for one in drawn])

        def slow(train, at, x=x):
            knots = np.unique(x[train])
            means = np.array([y[train][x[train] == knot].mean() for knot in knots])
            times = np.array([(x[train] == knot).sum() for knot in knots], dtype=float)
            return np.interp(at, knots, optimize.isotonic_regression(means, weights=times).x)

        curves.append(slow(rows, grid))
        predicted = np.empty(len(rows))
        for one in np.unique(fold[rows]):
            test = fold[rows] == one
            predicted[test] = slow(rows[~test], bent[one][rows[test]], bent[one])
        figures.append(np.corrcoef(predicted, y[rows])[0, 1])
    assert se == pytest.approx(np.std(figures, ddof=1))
    assert lo == pytest.approx(np.quantile(curves, 0.05, axis=0))
    assert hi == pytest.approx(np.quantile(curves, 0.95, axis=0))


def test_a_query_is_in_one_fold():
    names = pl.Series("query", ["b", "a", "c", "a", "b", "d"])
    query, fold = clusters(names, dealt(names, rng()), 3)
    assert query.tolist() == [1, 0, 2, 0, 1, 3]
    assert fold[0] == fold[4]
    assert fold[1] == fold[3]
    assert sorted(np.bincount(fold[[0, 1, 2, 5]])) == [1, 1, 2]


def test_what_is_rated():
    """Mean over sources; undecided, not judged, practice and systems are left out, and counted."""
    rows = [
        ("ann", "person", "q", "a", 1.0, "main"),
        ("bob", "person", "q", "a", 4.0, "common"),
        ("llm", "judge", "q", "b", 2.0, None),
        ("ann", "person", "q", "c", None, "main"),
        ("ann", "person", "q", "d", -1.0, "main"),
        ("ann", "person", "q", "e", 5.0, "practice"),
        ("bm25", "system", "q", "f", 1.0, "main"),
    ]
    opinions = Opinions.of(pl.DataFrame(rows, ["source", "kind", "query", "item", "grade", "role"], orient="row"))
    pairs, notes = rated(opinions)
    assert pairs.rows() == [("q", "a", 2.5, 2), ("q", "b", 2.0, 1)]
    assert notes[0].startswith("2 opinions come from systems")
    assert notes[1].startswith("2 opinions are undecided")
    with pytest.raises(JoinError, match="none of the 1 opinions is a rating"):
        rated(Opinions(opinions.frame[-1:]))


def test_pairs_without_a_score_are_counted():
    frame = sample(2)
    run, opinions = tables(frame)
    cut = Run.of(frame.drop("grade")[::2])
    row = mapping(cut, opinions, resamples=5, rng=rng()).frame.row(0, named=True)
    assert (row["pairs"], row["missing"], row["queries"]) == (75, 75, 30)
    some = frame.drop("grade").with_columns(
        pl.when(pl.col("item") == "d0003").then(-math.inf).otherwise("score").alias("score")
    )
    assert mapping(Run.of(some), opinions, resamples=5, rng=rng()).frame["missing"].to_list() == [1]
    assert len(run) == 150


def test_systems_do_not_disturb_each_other():
    """A system has the same figures alone and beside others; the same seed gives the same figures."""
    frame = sample(3)
    other = frame.with_columns(pl.lit("t").alias("system"), -pl.col("score"))
    _, opinions = tables(frame)
    alone = mapping(Run.of(frame.drop("grade")), opinions, resamples=30, rng=rng())
    beside = mapping(Run.of(pl.concat([other, frame]).drop("grade")), opinions, resamples=30, rng=rng())
    assert beside.frame.filter(pl.col("system") == "s").equals(alone.frame)
    assert beside.maps["s"].equals(alone.maps["s"])


def test_rising_transforms_change_nothing_in_sample():
    frame = sample(4)
    bent = frame.with_columns(pl.col("score").exp())
    one, two = (mapping(*tables(f), resamples=5, rng=rng()).frame.row(0, named=True) for f in (frame, bent))
    assert one["in_sample"] == pytest.approx(two["in_sample"])
    assert one["pearson"] != pytest.approx(two["pearson"], abs=0.01)


def test_distances():
    frame = sample(5)
    far = frame.with_columns(-pl.col("score"))
    run, opinions = tables(far)
    near = mapping(*tables(frame), resamples=20, rng=rng())
    for distances in (True, "auto", ["s"]):
        made = mapping(run, opinions, distances=distances, resamples=20, rng=rng())
        row = made.frame.row(0, named=True)
        assert row["reversed"]
        assert row["pearson"] == pytest.approx(-near.frame["pearson"][0])
        assert row["held_out"] == pytest.approx(near.frame["held_out"][0])
        assert made.maps["s"]["x"].is_sorted()
        assert made.maps["s"]["mean"].is_sorted(descending=True)
        assert ("used as distances" in " ".join(made.notes)) == (distances == "auto")
    assert mapping(run, opinions, resamples=20, rng=rng()).frame["in_sample"][0] < 0.2


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (sample(6, queries=3, per=3), "9 rated pairs have a score; a map needs at least 10"),
        (
            sample(6, queries=1, per=20),
            "all rated pairs belong to one query; a map cannot be tested on others: rate results of a second query",
        ),
        (sample(6).with_columns(grade=pl.lit(2.0)), "every pair has the same rating"),
        (sample(6).with_columns(score=pl.lit(0.1)), "every pair has the same score"),
    ],
)
def test_undefined_is_nan_and_said(frame, says):
    made = mapping(*tables(frame), resamples=5, rng=rng())
    row = made.frame.row(0, named=True)
    assert all(math.isnan(row[name]) for name in ("in_sample", "null", "held_out", "se"))
    assert any(says in note for note in made.notes)
    assert not made.maps


def test_one_fold_of_one_rating():
    """Folds whose training ratings are all alike predict just that; nothing fails."""
    frame = frame_of(np.repeat([0, 1], 10), np.arange(20.0), np.repeat([1.0, 2.0], 10))
    for method in ("isotonic", "bayes", "ogive"):
        row = mapping(*tables(frame), method=method, resamples=5, rng=rng()).frame.row(0, named=True)
        assert row["held_out"] == pytest.approx(-1)  # the extreme of pooling: each fold leans on the other's mean


def scene(kind, seed, queries=24, size=12):
    """Ratings 1 to 5 of whole lists; the score is absolute, moved and stretched by the query, or bent by it."""
    stream = rng(seed)
    query = np.repeat(np.arange(queries), size)
    good = stream.normal(size=queries * size)
    rating = np.clip(np.round(3 + 1.3 * good + 0.5 * stream.normal(size=len(good))), 1, 5)
    if kind == "raw":  # some queries have hardly any good result, and the score knows
        ease = np.repeat(stream.normal(size=queries) * 1.5, size)
        score = good + ease
        rating = np.clip(np.round(3 + 1.2 * (good + ease) + 0.5 * stream.normal(size=len(good))), 1, 5)
    elif kind == "z":
        score = (
            np.repeat(stream.normal(size=queries) * 20, size) + np.repeat(stream.uniform(0.2, 9, queries), size) * good
        )
    else:  # outliers that ruin the mean and the sd of a list
        score = np.repeat(stream.normal(size=queries) * 900, size) + np.sinh(5 * good)
    return frame_of(query, score, rating)


@pytest.mark.parametrize("kind", ["raw", "z", "rank"])
def test_the_input_that_suits_a_system_is_chosen(kind):
    """Composed scenes: the chosen input is the planted one, and held-out r is that of the best fixed input."""
    gains = []
    for seed in range(4):
        run, opinions = tables(scene(kind, seed))
        fixed = {
            name: mapping(run, opinions, input=name, resamples=2, rng=rng()).frame["held_out"][0]
            for name in ("raw", "z", "rank")
        }
        made = mapping(run, opinions, resamples=2, rng=rng())
        assert max(fixed, key=fixed.get) == kind
        assert made.frame["input"].to_list() == [kind]
        assert made.frame["held_out"][0] == pytest.approx(fixed[kind], abs=0.03)
        gains.append(fixed[kind] - min(fixed.values()))
    assert np.mean(gains) > 0.05


def test_the_held_out_figure_is_nested():
    """By a slow definition: each fold is predicted with the input that the other folds prefer, not with the best."""
    frame = scene("z", 0, queries=8, size=6).with_columns(pl.col("score") / 15 + pl.col("grade"))
    run, opinions = tables(frame)
    made = mapping(run, opinions, resamples=2, rng=rng())
    points = made.points["s"].sort("query", "item")
    y = points["rating"].to_numpy()
    order = dealt(points["query"], np.random.default_rng((int(rng().integers(1 << 62)), 0)))
    fold = clusters(points["query"], order, 5)[1]
    score = frame.sort("query", "item")["score"].to_numpy()
    lists = [score[points["query"].to_numpy() == name] for name in points["query"].unique().sort()]
    given = {
        "raw": score,
        "z": np.concatenate([(one - one.mean()) / one.std() for one in lists]),
        "rank": np.concatenate([-(np.argsort(np.argsort(-one)) + 1.0) for one in lists]),
    }
    expected, used = np.empty(len(y)), []
    for out in range(5):
        inner = fold != out
        errors = {
            name: np.mean(
                (held_out(x[inner], y[inner], fold[inner], lambda a, b: isotonic.fit(a, b).predict)[0] - y[inner]) ** 2
            )
            for name, x in given.items()
        }
        used.append(min(errors, key=errors.get))
        x = given[used[-1]]
        expected[~inner] = isotonic.fit(x[inner], y[inner]).predict(x[~inner])
    assert set(used) == {"raw", "z", "rank"}  # a case in which the folds prefer different inputs
    assert points["predicted"].to_numpy() == pytest.approx(expected)
    assert made.frame["held_out"][0] == pytest.approx(np.corrcoef(expected, y)[0, 1])


@pytest.mark.parametrize("turned", [False, True])
def test_predictions_take_the_list_of_the_query(turned):
    frame = scene("z", 1)
    if turned:
        frame = frame.with_columns(-pl.col("score"))
    run, opinions = tables(frame)
    for kind in ("raw", "z", "rank"):
        made = mapping(run, opinions, input=kind, distances=turned, resamples=2, rng=rng())
        table = made.maps["s"]
        points = made.points["s"].sort("query", "item")
        scores = frame.sort("query", "item")
        at = np.interp(points["x"].to_numpy(), table["x"].to_numpy(), table["mean"].to_numpy())
        assert made.predict("s", scores["score"].to_numpy(), scores["query"]) == pytest.approx(at)
        first = scores.filter(pl.col("query") == "q000")["score"].to_numpy()
        assert made.predict("s", first) == pytest.approx(at[: len(first)])
        assert np.corrcoef(at, points["rating"].to_numpy())[0, 1] > 0.2
        moved = made.predict("s", first * 3 + 100)
        assert (moved == pytest.approx(at[: len(first)])) == (kind != "raw")
        best = first.argmin() if turned else first.argmax()
        assert made.predict("s", first)[best] == made.predict("s", first).max()


@pytest.mark.parametrize("method", ["bayes", "ogive"])
def test_other_methods(method):
    """Below the isotonic fit in sample, near it held out; the band holds the mean."""
    frame = sample(8)
    best = mapping(*tables(frame), resamples=5, rng=rng()).frame.row(0, named=True)
    made = mapping(*tables(frame), method=method, rng=rng())
    row, table = made.frame.row(0, named=True), made.maps["s"]
    assert row["in_sample"] <= best["in_sample"] + 1e-9
    assert row["held_out"] == pytest.approx(best["held_out"], abs=0.06)
    assert 0 < row["se"] < 0.2
    assert ((table["lo"] <= table["mean"]) & (table["mean"] <= table["hi"])).all()
    assert np.diff(table["mean"].to_numpy()).min() >= -1e-9
    assert "resampled queries" in made.notes[-1]
    assert math.isfinite(row["moved"]) == (method == "bayes")


def test_error_is_the_spread_over_studies():
    """The bootstrap error of the held-out r, against its spread over 40 simulated studies."""
    found = [
        mapping(*tables(sample(seed, 40, 4)), resamples=40, rng=rng(seed)).frame.row(0, named=True)
        for seed in range(40)
    ]
    spread = np.std([row["held_out"] for row in found], ddof=1)
    assert 0.7 < np.mean([row["se"] for row in found]) / spread < 1.5


def test_noise_is_seen_through():
    """Scores that say nothing: in sample near the null level, held out not above 0."""
    found = [
        mapping(*tables(sample(s, 30, 5, slope=0)), input="raw", resamples=2, rng=rng(s)).frame.row(0, named=True)
        for s in range(60)
    ]
    square = np.mean([row["in_sample"] ** 2 for row in found])
    assert math.sqrt(square) == pytest.approx(found[0]["null"], abs=0.04)
    chosen = [mapping(*tables(sample(s, 30, 5, slope=0)), resamples=2, rng=rng(s)).frame for s in range(60)]
    for held in (np.array([row["held_out"] for row in found]), np.array([one["held_out"][0] for one in chosen])):
        assert held.mean() < 2 * held.std() / math.sqrt(len(held))


def test_bad_settings():
    run, opinions = tables(sample(9))
    with pytest.raises(TextError, match="isotonic, bayes or ogive, not 'isotonik'; did you mean isotonic"):
        mapping(run, opinions, method="isotonik", rng=rng())
    with pytest.raises(TextError, match="a map reads auto, raw, z, rank, not 'zz'"):
        mapping(run, opinions, input="zz", rng=rng())
    with pytest.raises(TextError, match="1 folds"):
        mapping(run, opinions, folds=1, rng=rng())
    with pytest.raises(TextError, match="confidence must lie"):
        mapping(run, opinions, confidence=95, rng=rng())
    with pytest.raises(TextError, match="distances are True, False"):
        mapping(run, opinions, distances="yes", rng=rng())
    with pytest.raises(TextError, match="no system of the run is called 'z'"):
        mapping(run, opinions, distances=["z"], rng=rng())
    with pytest.raises(TextError, match="there is no map for 'z'"):
        mapping(run, opinions, resamples=5, rng=rng()).predict("z", np.zeros(1))


def test_pearson_is_undefined_without_spread():
    assert math.isnan(pearson(np.full(9, 0.1), np.arange(9.0)))
    assert math.isnan(pearson(np.ones(1), np.ones(1)))
    w = np.array([1.0, 2, 3, 1])
    x, y = np.array([1.0, 2, 4, 3]), np.array([2.0, 1, 3, 5])
    at = np.repeat(np.arange(4), w.astype(int))
    assert pearson(x, y, w) == pytest.approx(np.corrcoef(x[at], y[at])[0, 1])
