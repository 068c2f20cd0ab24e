"""Comparison under shared truth: exact cases, three doubts against known variances, intervals simulated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs.votes import subjects, votes
from endoxa.comparisons import shared
from endoxa.errors import JoinError, TextError
from endoxa.measures.uncertain import measure_belief
from endoxa.policies import Policy
from endoxa.tables import Belief, Draws, Opinions, Run, Scores


def lists(rows) -> Run:
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def run_of(given: dict[str, str], query: str = "q") -> Run:
    return lists([(s, query, d, -float(n)) for s, items in given.items() for n, d in enumerate(items)])


def scores_of(truth: np.ndarray, people: np.ndarray | None = None) -> Scores:
    """Scores with these worlds, [system, query, world], and their means as expectations."""
    systems, queries = [f"s{n}" for n in range(truth.shape[0])], [f"q{n}" for n in range(truth.shape[1])]
    rows = [
        (s, q, "AP", float(np.mean(truth[i, j])), None, None, None, 0.0)
        for i, s in enumerate(systems)
        for j, q in enumerate(queries)
    ]
    frame = pl.DataFrame(rows, schema=Scores.SCHEMA, orient="row")
    coverage = pl.DataFrame({"system": systems})
    drawn = Draws(["AP"], systems, queries, truth[None], None if people is None else people[None])
    return Scores(frame, Policy(), coverage, draws=drawn)


P = {"a": 0.9, "b": 0.6, "c": 0.8, "d": 0.2, "e": 0.5, "f": 0.1}


def test_the_worked_example() -> None:
    """A = abcd, B = cdef: P(A better) .702, tie .255, mean .225, var .041875; here by worlds."""
    belief = Belief.of(pl.DataFrame({"query": "q", "item": list(P), "p": list(P.values())}))
    scores = measure_belief(run_of({"A": "abcd", "B": "cdef"}), belief, ["SetP", "SetR"], worlds=20_000)
    frame = shared.compare(scores, seed=0).frame
    row = frame.filter((pl.col("measure") == "SetP") & (pl.col("doubt") == "truth")).row(0, named=True)
    assert row["difference"] == pytest.approx(0.225)
    assert row["p_better"] == pytest.approx(0.702, abs=0.01)
    assert row["p_tie"] == pytest.approx(0.255, abs=0.01)
    assert row["superiority"] == pytest.approx(0.8295, abs=0.01)
    assert row["sd"] ** 2 == pytest.approx(0.041875, abs=0.001)
    unknown = frame.filter((pl.col("measure") == "SetP") & (pl.col("doubt").is_in(["queries", "people"])))
    assert unknown["p_better"].is_nan().all()  # one query, nobody to resample
    assert frame["p_value"].null_count() == frame.height  # never a p-value on a known distribution


def test_the_three_doubts_have_the_variances_they_were_given() -> None:
    rng = np.random.default_rng(3)
    queries, worlds, resamples = 200, 4000, 2000
    level = rng.normal(0, 0.2, queries)  # queries differ
    truth = level[None, :, None] + rng.normal(0, 0.5, (1, queries, worlds))  # given the belief
    person = np.repeat(rng.normal(0, 0.05, resamples), 2)  # one deviation for both worlds of a resample
    people = level[None, :, None] + person + rng.normal(0, 0.5, (1, queries, 2 * resamples))
    doubts = shared.Doubts(scores_of(truth, people))
    made = doubts.spread("AP")
    parts = {name: value.item() for name, value in made.variances(np.arange(1)).items()}
    assert parts["truth"] == pytest.approx(0.25 / queries, rel=0.1)
    assert parts["queries"] == pytest.approx(level.var(ddof=1) / queries, rel=0.1)
    assert parts["people"] == pytest.approx(0.05**2, rel=0.15)
    whole = made.drawn("all")
    assert whole.var() == pytest.approx(sum(parts.values()), rel=0.1)  # the doubt about the truth is counted once
    told = doubts.shares("AP")
    assert told["share"].sum() == pytest.approx(1)
    assert told.filter(pl.col("doubt") == "people")["share"][0] == pytest.approx(parts["people"] / sum(parts.values()))


def test_a_draw_takes_one_query_less_than_there_are() -> None:
    """Of two queries one is drawn, with one world of it: every draw is a cell of the table, each equally often."""
    truth = np.array([[[0.1, 0.3, 0.4], [0.6, 0.7, 0.9]]])
    spread = shared.Doubts(scores_of(truth), resamples=60_000).spread("AP")
    drawn, counts = np.unique(spread.drawn("all"), return_counts=True)
    assert drawn.tolist() == sorted(truth.ravel())
    assert counts / 60_000 == pytest.approx(np.full(6, 1 / 6), abs=0.01)
    means, counts = np.unique(spread.drawn("queries"), return_counts=True)
    assert means == pytest.approx(truth.mean(-1).ravel())
    assert counts / 60_000 == pytest.approx(np.full(2, 1 / 2), abs=0.01)


@pytest.mark.parametrize("queries", [3, 4, 8])
def test_the_variance_of_a_draw(queries: int) -> None:
    """Var_q(E)/Q + mean Var/(Q - 1): Var_q is the unbiased variance between queries, Var that of a query's worlds."""
    rng = np.random.default_rng(queries)
    truth = rng.random((1, queries, 1)) + rng.choice([-0.6, 0.6], (1, queries, 40))
    spread = shared.Doubts(scores_of(truth), resamples=200_000).spread("AP")
    between = truth[0].mean(-1).var(ddof=1) / queries
    within = truth[0].var(-1).mean() / (queries - 1)
    assert spread.drawn("queries").var() == pytest.approx(between, rel=0.02)
    assert spread.drawn("all").var() == pytest.approx(between + within, rel=0.02)


@pytest.mark.parametrize(("deviation", "size"), [(0.0, 8), (1.0, round(8 / 0.75))])
def test_draws_of_people_start_from_one_query_less(deviation: float, size: int) -> None:
    """(Q - 1)/(1 - τ/2) queries: eight of nine where the truth is certain, τ = 1/2 where it varies as queries do."""
    level = np.arange(9.0)
    level *= 1 / level.std(ddof=1)
    truth = level[None, :, None] + deviation * np.tile([-1.0, 1.0], (1, 9, 10))
    spread = shared.Doubts(scores_of(truth, truth[..., :4])).spread("AP")
    sizes = {cells.shape[1] for _, cells in spread._cells(np.arange(9), 4, paired=True)}
    assert sizes == {size}


def test_more_people_or_more_queries() -> None:
    """Votes of few people on many queries: the split tells what to do, and it shrinks as it should."""
    rng = np.random.default_rng(1)

    def share(people: int, queries: int) -> dict[str, float]:
        rows = []
        for q in range(queries):
            p = rng.beta(1, 1, 20)
            for s in range(people):
                rows += [(f"s{s}", f"q{q}", f"d{i}", float(rng.random() < p[i])) for i in range(20)]
        opinions = Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))
        run = lists([("A", f"q{q}", f"d{i}", float(rng.random())) for q in range(queries) for i in range(20)])
        belief = votes(opinions, people=200, rng=np.random.default_rng(0))
        scores = measure_belief(run, belief, ["P@10"])
        made = shared.Doubts(scores).shares("P@10")
        return dict(made.select("doubt", "variance").iter_rows())

    few, many = share(4, 30), share(40, 30)
    assert many["people"] < few["people"] / 3
    assert many["queries"] > few["queries"] / 4


def test_equal_systems_tie_and_share_first_place() -> None:
    truth = np.random.default_rng(0).random((1, 30, 100)).repeat(2, 0)
    assert shared.Doubts(scores_of(truth)).best("AP") == {"s0": pytest.approx(0.5), "s1": pytest.approx(0.5)}
    frame = shared.compare(scores_of(truth), seed=0).frame
    assert frame.filter(pl.col("doubt").is_in(["truth", "queries", "all"]))["p_tie"].to_list() == [1.0, 1.0, 1.0]


def test_first_place_goes_to_the_smallest_where_small_is_good() -> None:
    truth = np.zeros((3, 30, 100)) + np.array([0.1, 0.2, 0.3])[:, None, None]
    doubts = shared.Doubts(scores_of(truth))
    assert doubts.best("AP")["s2"] == 1
    assert doubts.best("AP", lower=True)["s0"] == 1
    assert shared.Doubts(scores_of(truth), aside=("s2",)).best("AP") == {"s0": 0.0, "s1": 1.0}
    frame = shared.compare(scores_of(truth), lower=["AP"], baseline="s0", seed=0).frame
    assert frame.filter(pl.col("doubt") == "all")["p_better"].to_list() == [0.0, 0.0]
    assert frame.filter(pl.col("doubt") == "all")["baseline"].to_list() == ["s0", "s0"]


def test_undefined_worlds_are_left_out_of_the_mean() -> None:
    truth = np.full((1, 2, 4), 0.5)
    truth[0, 0, 0] = np.nan
    made = shared.Doubts(scores_of(np.nan_to_num(truth, nan=0.5))).spread("AP")
    holed = scores_of(np.nan_to_num(truth, nan=0.5))
    holed.draws.truth[0, 0, 0, 0] = np.nan
    assert shared.Doubts(holed).spread("AP").truth == pytest.approx(made.truth)


def test_what_cannot_be_compared() -> None:
    truth = np.zeros((1, 3, 5))
    with pytest.raises(JoinError, match="two systems"):
        shared.compare(scores_of(truth))
    with pytest.raises(TextError, match="no system is called 'x'"):
        shared.compare(scores_of(truth.repeat(2, 0)), baseline="x")


@pytest.mark.parametrize("name", ["AP", "nDCG@5", "P@5", "RR"])
def test_the_mean_over_queries_lies_in_its_interval(name: str) -> None:
    """Truth drawn from the belief: the mean over 40 queries lies in the 90 % interval 88 to 92 % of the time."""
    rng = np.random.default_rng(11)
    problems, queries, items = 25, 40, 10
    inside, total = 0, 0
    for number in range(problems):
        rows = [(f"p{number}q{q}", f"d{i}", p) for q in range(queries) for i, p in enumerate(rng.beta(0.6, 1.4, items))]
        belief = Belief.of(pl.DataFrame(rows, schema=["query", "item", "p"], orient="row"))
        run = lists(
            [("s", f"p{number}q{q}", f"d{i}", float(rng.random())) for q in range(queries) for i in range(items)]
        )
        made = shared.Doubts(measure_belief(run, belief, [name], worlds=400)).summarise(doubt="truth", confidence=0.9)
        truths = measure_belief(run, belief, [name], Policy(seed=7), worlds=100).draws.truth[0, 0]
        means = np.nanmean(truths, axis=0)
        inside += int(((means >= made["lo"][0]) & (means <= made["hi"][0])).sum())
        total += len(means)
    print(
        f"{name}: the mean of {queries} queries lies in its 90 % interval in {inside / total:.3f} of {total:,} truths"
    )
    assert 0.88 <= inside / total <= 0.92


def test_readings_of_subjects_move_together() -> None:
    """Two subjects who disagree on everything: the mean is all or nothing, and the worlds show it."""
    rows = [("ann", "q", "x", 1.0), ("ann", "q", "y", 1.0), ("bob", "q", "x", 0.0), ("bob", "q", "y", 0.0)]
    held = subjects(
        Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row")), people=0
    )
    scores = measure_belief(run_of({"s": "xy"}), held, ["P@2"], worlds=2000)
    assert set(np.unique(scores.draws.truth)) == {0.0, 1.0}
    assert scores.frame["value"][0] == pytest.approx(0.5)
    assert scores.frame["sd"][0] == pytest.approx(0.5)


def rows_of(frame, doubt):
    return frame.filter(pl.col("doubt") == doubt).row(0, named=True)


@pytest.mark.parametrize("seed", range(3))
def test_ties_stay_ties_where_people_are_resampled(seed: int) -> None:
    """Two of twenty say yes to a, one to b: most worlds tie, whatever the seed."""
    rows = [(f"s{n}", q, d, float(n < yes)) for q in ("q1", "q2") for d, yes in (("a", 2), ("b", 1)) for n in range(20)]
    opinions = Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))
    held = votes(opinions, people=200, rng=np.random.default_rng(seed))
    run = lists([(s, q, d, 1.0) for s, d in (("A", "a"), ("B", "b")) for q in ("q1", "q2")])
    frame = shared.compare(measure_belief(run, held, ["P@1"]), seed=seed).frame
    told = rows_of(frame, "all")
    assert 0.6 < told["p_tie"] < 0.95
    assert told["superiority"] == pytest.approx(0.53, abs=0.06)


def test_who_is_never_worse_is_never_called_worse() -> None:
    """Equal on 29 of 30 queries, and on the last A has one more item that may be relevant."""
    table = [(f"q{n:02}", "x", 0.4) for n in range(30)] + [("q00", "more", 0.5)]
    belief = Belief.of(pl.DataFrame(table, schema=["query", "item", "p"], orient="row"))
    rows = [(s, f"q{n:02}", "x", 2.0) for s in "AB" for n in range(30)] + [
        ("A", "q00", "more", 1.0),
        ("B", "q00", "no", 1.0),
    ]
    frame = shared.compare(measure_belief(lists(rows), belief, ["P@2"]), seed=0).frame
    for doubt in ("truth", "queries", "all"):
        told = rows_of(frame, doubt)
        assert told["p_better"] + told["p_tie"] == pytest.approx(1)
    assert rows_of(frame, "queries")["p_tie"] == pytest.approx((29 / 30) ** 29, abs=0.03)


def test_pairs_are_compared_on_the_queries_that_both_have() -> None:
    """A answers ten easy queries only; B those, better, and ten hard ones."""
    table = [
        (f"q{n:02}", d, p) for n in range(20) for d, p in (("a", 0.8 if n < 10 else 0.1), ("b", 0.9 if n < 10 else 0.1))
    ]
    belief = Belief.of(pl.DataFrame(table, schema=["query", "item", "p"], orient="row"))
    rows = [("A", f"q{n:02}", "a", 1.0) for n in range(10)] + [("B", f"q{n:02}", "b", 1.0) for n in range(20)]
    scores = measure_belief(lists(rows), belief, ["SetP"])
    frame = shared.compare(scores, seed=0).frame
    assert rows_of(frame, "all")["difference"] == pytest.approx(-0.1)
    assert rows_of(frame, "all")["queries"] == 10
    assert rows_of(frame, "all")["p_better"] < 0.5
    won = shared.Doubts(scores).best("SetP")
    assert won["B"] > won["A"]


def test_what_is_undefined_is_not_zero() -> None:
    belief = Belief.of(pl.DataFrame({"query": ["q"], "item": ["a"], "p": [0.5]}))
    run = run_of({"A": "a", "B": "ba"})
    scores = measure_belief(run, belief, ["AP"])
    made = shared.Doubts(scores).summarise().row(0, named=True)
    assert (made["value"], made["lo"], made["hi"]) == pytest.approx((1.0, 1.0, 1.0))
    assert rows_of(shared.compare(scores, seed=0).frame, "truth")["p_better"] == 1.0
    zero = measure_belief(run, belief, ["AP"], Policy(undefined="zero"))
    row = zero.frame.filter(pl.col("system") == "A").row(0, named=True)
    assert (row["value"], row["sd"], row["lo"], row["hi"]) == pytest.approx((0.5, 0.5, 0.0, 1.0))


def test_the_mean_lies_in_its_interval_where_much_is_undefined() -> None:
    rare = [(f"r{n:02}", "a", 0.05) for n in range(30)]
    deep = [(f"s{n:02}", "a", 0.99) for n in range(30)]
    belief = Belief.of(pl.DataFrame(rare + deep, schema=["query", "item", "p"], orient="row"))
    rows = [("A", q, "a", 20.0) for q, _, _ in rare]
    rows += [("A", q, d, 20.0 - n) for q, _, _ in deep for n, d in enumerate([*"bcdefghijk", "a"])]
    made = shared.Doubts(measure_belief(lists(rows), belief, ["AP"])).summarise().row(0, named=True)
    assert made["value"] == pytest.approx((1 + 1 / 11) / 2)
    assert made["lo"] < made["value"] < made["hi"]


def test_skipped_topics_are_not_zero_under_trec_evals_habits() -> None:
    table = [(f"q{n}", d, p) for n in range(10) for d, p in (("a", 0.9), ("b", 0.8))]
    belief = Belief.of(pl.DataFrame(table, schema=["query", "item", "p"], orient="row"))
    rows = [(s, f"q{n}", d, -i) for s in "AB" for n in range(10 if s == "A" else 5) for i, d in enumerate("ab")]
    scores = measure_belief(lists(rows), belief, ["P@2"], Policy.like("trec_eval-9"))
    summary = {row["system"]: row for row in shared.Doubts(scores).summarise().iter_rows(named=True)}
    assert summary["B"]["value"] == pytest.approx(0.85)
    assert summary["B"]["lo"] < 0.85 < summary["B"]["hi"]
    assert summary["B"]["queries"] == 5


def test_counts_are_summed_and_logs_averaged() -> None:
    table = [(f"q{n}", d, p) for n in range(4) for d, p in (("a", 0.999999), ("b", 0.5))]
    belief = Belief.of(pl.DataFrame(table, schema=["query", "item", "p"], orient="row"))
    run = lists([("A", f"q{n}", "a", 1.0) for n in range(4)])
    scores = measure_belief(run, belief, ["NumRel", "GMAP"])
    ways = {"NumRel": "sum", "GMAP": "geometric"}
    made = {row["measure"]: row for row in shared.Doubts(scores).summarise(aggregate=ways).iter_rows(named=True)}
    assert made["NumRel"]["value"] == pytest.approx(6, abs=1e-4)
    assert made["GMAP"]["value"] == pytest.approx(np.sqrt(0.5), abs=0.02)  # AP is 1 or 1/2


@pytest.mark.parametrize("people", [3, 5, 20])
def test_the_peoples_variance_is_the_standard_error_over_subjects(people: int) -> None:
    """docs/methods/comparisons.md, Superiority: E[P] is linear in subjects, so that SE = sd(Δ_s)/√S is exact."""
    rng = np.random.default_rng(people)
    lean = np.linspace(-0.3, 0.3, people)[:, None, None]  # some say yes to more
    said = (rng.random((people, 30, 5)) < rng.beta(2, 2, (1, 30, 5)) + lean).astype(float)  # subject, query, item
    rows = [(f"s{s}", f"q{q:02}", f"d{i}", said[s, q, i]) for s in range(people) for q in range(30) for i in range(5)]
    held = votes(
        Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row")), people=1500, rng=rng
    )
    run = lists([("A", f"q{q:02}", f"d{i}", -float(i)) for q in range(30) for i in range(5)])
    scores = measure_belief(run, held, ["P@5"], worlds=3000)
    made = shared.Doubts(scores).spread("P@5").variances(np.arange(1))["people"].item()
    assert made == pytest.approx(said.mean((1, 2)).var(ddof=1) / people, rel=0.15)


def test_a_virtual_system_changes_nothing_about_the_others() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random((4, 12, 60))
    truth[3] *= 30  # a virtual system with another spread, and holes of its own
    people = rng.random((4, 12, 40))
    truth[3, 0, :7] = np.nan
    both, alone = scores_of(truth, people), scores_of(truth[:3], people[:3])
    both = replace(both, frame=both.frame.fill_nan(0.5))
    with_it, without = shared.Doubts(both, seed=3, aside=("s3",)), shared.Doubts(alone, seed=3)
    assert with_it.best("AP") == without.best("AP")
    assert with_it.compare().frame.equals(without.compare().frame)
    assert with_it.compare(baseline="s3").frame["system"].unique().to_list() != []
    kept = pl.col("system") != "s3"
    assert with_it.summarise().filter(kept).equals(without.summarise())
    assert with_it.shares("AP").filter(kept).equals(without.shares("AP"))


def test_one_draw_serves_all() -> None:
    """The interval of a system, P(best) and the pairs are read from the same draws."""
    rng = np.random.default_rng(2)
    doubts = shared.Doubts(scores_of(rng.random((2, 20, 100)) + np.array([0.05, 0.0])[:, None, None]))
    row = doubts.compare().frame.filter(pl.col("doubt") == "all").row(0, named=True)
    assert doubts.best("AP")["s0"] == pytest.approx(row["p_better"] + row["p_tie"] / 2)
    assert doubts.spread("AP").drawn("all") is doubts.spread("AP").drawn("all")
