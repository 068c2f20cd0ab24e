"""Consensus of systems (docs/methods/beliefs.md, Consensus): the example of Lamiroy and Sun 2011 to six decimals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from endoxa.beliefs import consensus
from endoxa.errors import JoinError, TableError, TextError
from endoxa.notes import marked, texts
from endoxa.tables import Opinions, Run

TABLE_1 = {"S1": "1245", "S2": "123", "S3": "126"}
UNIVERSE = "1234567"


def opinions_of(lists: dict[str, str], universe: str, query: str = "q") -> Opinions:
    rows = [(s, query, d, float(d in items)) for s, items in lists.items() for d in universe]
    return Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"), kind="system")


def plain(p, lists, system):
    """Pr, Rc and F by their definitions."""
    inside = [p[d] for d in lists[system]]
    pr, rc = sum(inside) / len(inside), sum(inside) / sum(p.values())
    return pr, rc, lambda beta: (1 + beta**2) * pr * rc / (beta**2 * pr + rc)


def belief(counted, **how):
    return dict(zip(counted.rows["item"], counted.p(**how), strict=True))


def test_table_2_and_3() -> None:
    counted = consensus.tally(opinions_of(TABLE_1, UNIVERSE))
    p = belief(counted)
    assert [p[d] for d in UNIVERSE] == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.2])
    lists = {"T": UNIVERSE, **TABLE_1}
    expected = {
        "T": (0.485714, 1, 0.653846, 0.825243, 0.541401),
        "S1": (0.6, 0.705882, 0.648649, 0.681818, 0.618557),
        "S2": (0.666667, 0.588235, 0.625, 0.602410, 0.649351),
        "S3": (0.666667, 0.588235, 0.625, 0.602410, 0.649351),
    }
    for system, figures in expected.items():
        pr, rc, f = plain(p, lists, system)
        assert (pr, rc, f(1), f(2), f(0.5)) == pytest.approx(figures, abs=5e-7)


@pytest.mark.parametrize(
    ("system", "figures"),
    [("S1", (0.5, 0.615385, 0.551724)), ("S2", (0.583333, 0.5, 0.538462)), ("S3", (0.583333, 0.5, 0.538462))],
)
def test_without_its_own_vote(system: str, figures: tuple[float, ...]) -> None:
    counted = consensus.tally(opinions_of(TABLE_1, UNIVERSE))
    pr, rc, f = plain(belief(counted, without=[counted.systems.index(system)]), TABLE_1, system)
    assert (pr, rc, f(1)) == pytest.approx(figures, abs=5e-7)


@pytest.mark.parametrize(
    ("size", "rc", "f"),
    [(6, (0.75, 0.625), (0.666667, 0.645161)), (7, (0.705882, 0.588235), (0.648649, 0.625)),
     (1000, (0.011881, 0.009901), (0.023301, 0.019512))],
)  # fmt: skip
def test_recall_hangs_on_the_universe(size: int, rc: tuple[float, float], f: tuple[float, float]) -> None:
    rows = [(s, "q", d, 1.0) for s, items in TABLE_1.items() for d in items]
    rows += [("S1", "q", f"extra{n}", 0.0) for n in range(size - 6)]
    counted = consensus.tally(
        Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))
    )
    p = belief(counted)
    assert len(p) == size
    for system, recall, value in zip(("S1", "S2"), rc, f, strict=True):
        _, found, measure = plain(p, TABLE_1, system)
        assert (found, measure(1)) == pytest.approx((recall, value), abs=5e-7)


CLONES = {"W1": "1278", "W2": "1278", "W3": "1278", "ARG": "123456"}


@pytest.mark.parametrize(
    ("weights", "figures"),
    [
        ("equal", (0.75, 0.5, 0.642857, 0.642857)),
        ("cluster", (0.625, 0.583333, 0.5, 0.7)),
        ("redundancy", (0.632075, 0.537736, None, None)),
        ({"W1": 1 / 3, "W2": 1 / 3, "W3": 1 / 3}, (0.625, 0.583333, 0.5, 0.7)),
    ],
)
def test_clones_outvote_a_better_system(weights, figures) -> None:
    counted = consensus.tally(opinions_of(CLONES, "1234567890"), weights=weights)
    if weights == "redundancy":
        assert counted.weights == pytest.approx([0.571429] + [0.307692] * 3, abs=5e-7)
    p = belief(counted)
    (pr_w, rc_w, _), (pr_a, rc_a, _) = plain(p, CLONES, "W1"), plain(p, CLONES, "ARG")
    for found, expected in zip((pr_w, pr_a, rc_w, rc_a), figures, strict=True):
        assert expected is None or found == pytest.approx(expected, abs=5e-7)


def test_a_cluster_is_left_out_whole() -> None:
    counted = consensus.tally(opinions_of(CLONES, "1234567890"), weights="cluster")
    families = dict(zip(counted.systems, counted.families(), strict=True))
    assert families["W1"] == [1, 2, 3]
    assert families["ARG"] == [0]
    assert plain(belief(counted, without=families["W1"]), CLONES, "W1")[0] == pytest.approx(0.5)
    assert plain(belief(counted, without=families["ARG"]), CLONES, "ARG")[0] == pytest.approx(0.444444, abs=5e-7)
    named = counted.families({"W1": "w", "W2": "w", "W3": "w"})
    assert named == counted.families()
    assert dict(zip(counted.systems, counted.unique, strict=True)) == {
        "W1": 0,
        "W2": 0,
        "W3": 0,
        "ARG": pytest.approx(4 / 6),
    }


votes = st.lists(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=5, max_size=5), min_size=2, max_size=6)


@given(votes, st.tuples(st.floats(0.1, 5), st.floats(0.1, 5)), st.data())
def test_the_formula(said, prior, data) -> None:
    weight = data.draw(st.lists(st.floats(0.1, 3), min_size=len(said), max_size=len(said)))
    rows = [(f"s{k}", "q", f"d{i}", v) for k, one in enumerate(said) for i, v in enumerate(one)]
    frame = pl.DataFrame(
        rows, schema={"source": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64}, orient="row"
    )
    names = {f"s{k}": w for k, w in enumerate(weight)}
    counted = consensus.tally(Opinions.of(frame, kind="system"), prior=prior, weights=names)
    a, b = prior

    def formula(item: int, left_out: int | None = None) -> float:
        heard = [
            (w, one[item])
            for k, (w, one) in enumerate(zip(weight, said, strict=True))
            if one[item] is not None and k != left_out
        ]
        return (a + sum(w * v for w, v in heard)) / (a + b + sum(w for w, _ in heard))

    assert counted.p() == pytest.approx([formula(i) for i in range(5)])
    for k in range(len(said)):
        assert counted.p(without=[counted.systems.index(f"s{k}")]) == pytest.approx([formula(i, k) for i in range(5)])


@given(votes)
def test_leaving_out_keeps_the_order_of_precision(said) -> None:
    """With equal weights and full answers Pr_LOO = ((a+b+s) Pr - 1) / (a+b+s-1)."""
    rows = [(f"s{k}", "q", f"d{i}", float(bool(v))) for k, one in enumerate(said) for i, v in enumerate(one)]
    counted = consensus.tally(
        Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))
    )
    counted = replace(counted, weights=np.ones(len(said)))
    s = len(said)
    for k, one in enumerate(said):
        mine = np.array([bool(v) for v in one])
        if mine.any():
            number = counted.systems.index(f"s{k}")
            pr, loo = counted.p()[mine].mean(), counted.p(without=[number])[mine].mean()
            assert loo == pytest.approx(((2 + s) * pr - 1) / (1 + s))


def test_a_confidence_is_a_soft_vote_and_silence_is_not_no() -> None:
    rows = [
        ("a", "q", "x", 1.0, 0.75),
        ("a", "q", "y", None, None),
        ("b", "q", "x", 1.0, None),
        ("b", "q", "y", 0.0, None),
    ]
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade", "confidence"], orient="row")
    assert belief(consensus.tally(Opinions.of(frame), weights="equal")) == {
        "x": pytest.approx(2.75 / 4),
        "y": pytest.approx(1 / 3),
    }


def test_confidence_in_a_no_is_not_one_in_a_yes() -> None:
    rows = [("a", "q", "x", 0.0, 0.9), ("b", "q", "x", 0.0, 0.9)]
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade", "confidence"], orient="row")
    assert consensus.tally(Opinions.of(frame), weights="equal").p() == pytest.approx([1.2 / 4])


def test_a_grade_between_0_and_1_is_a_soft_vote() -> None:
    rows = [
        ("a", "q", "x", 0.3, None),
        ("b", "q", "x", 0.3, 0.75),
        ("a", "q", "y", 3.0, None),
        ("b", "q", "y", -1.0, None),
    ]
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade", "confidence"], orient="row")
    soft = 0.3 * 0.75 + 0.7 * 0.25
    assert consensus.tally(Opinions.of(frame), weights="equal").p() == pytest.approx([(1 + 0.3 + soft) / 4, 2 / 4])


def test_a_system_that_lacks_a_query_does_not_vote_there() -> None:
    rows = [("a", "q1", "x", 1.0), ("b", "q1", "y", 1.0), ("a", "q2", "x", 1.0)]
    counted = consensus.tally(
        Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))
    )
    assert counted.p() == pytest.approx([2 / 4, 2 / 4, 2 / 3])
    assert "! 1 of 2 queries are answered by one system only" in "\n".join(marked(consensus.belief_of(counted).notes))


def run_of(lists: dict[str, str]) -> Run:
    rows = [(s, "q", d, -float(n)) for s, items in lists.items() for n, d in enumerate(items)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def test_a_run_votes_for_its_first_items() -> None:
    held = consensus.believe(run_of({"a": "xyz", "b": "yxw"}), depth=2, people=0, weights="equal")
    assert dict(held.frame.select("item", "p").iter_rows()) == {"x": 0.75, "y": 0.75}
    assert "rank ≤ 2" in texts(held.notes)[0]
    assert held.model == "consensus"


def test_resamples_of_the_voters_scatter_around_the_belief() -> None:
    lists = {f"s{k}": "xy" if k < 15 else "yz" for k in range(30)}
    held = consensus.believe(run_of(lists), people=4000, weights="equal", rng=np.random.default_rng(1))
    several = held.frame["people"].to_numpy()
    assert several.mean(1) == pytest.approx(held.frame["p"].to_numpy(), abs=0.01)
    # the share of those who vote for x varies by p(1 - p)/(S - 1); y has them all
    spread = 30 * np.sqrt(0.25 / 29) / 32
    assert several.std(1) == pytest.approx([spread, 0, spread], abs=0.002)


@pytest.mark.parametrize(
    ("lists", "how", "error", "words"),
    [
        ({"a": "x"}, {}, JoinError, "two systems or more; there is a"),
        ({"a": "x", "b": "y"}, {"weights": {"a": 0, "b": 0}}, TextError, "sum to 0"),
        ({"a": "x", "b": "y"}, {"weights": {"c": 1}}, TextError, "no system is called 'c'"),
        ({"a": "x", "b": "y"}, {"weights": {"a": -1}}, TextError, "0 or greater"),
        ({"a": "x", "b": "y"}, {"weights": "eqal"}, TextError, "did you mean equal"),
        ({"a": "x", "b": "y"}, {"prior": (-1, 1)}, TextError, "0 or greater"),
        ({"a": "x", "b": "y"}, {"depth": 0}, TextError, "at least 1"),
    ],
)
def test_what_makes_no_consensus(lists, how, error, words) -> None:
    with pytest.raises(error, match=words):
        consensus.believe(run_of(lists), people=0, **how)


def test_systems_without_a_query_in_common() -> None:
    rows = [("a", "q1", "x", 1.0), ("b", "q2", "x", 1.0)]
    frame = pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")
    with pytest.raises(JoinError, match=r"system 'a' shares no query .*: it answers 'q1', the others answer 'q2'; "):
        consensus.believe(Run.of(frame))


def test_one_of_three_systems_that_answers_other_queries_is_named() -> None:
    rows = [(system, query, "x", 1.0) for system in "bc" for query in ("q1", "q2")]
    rows += [("a", query, "x", 1.0) for query in ("p3", "p4", "p5")]
    frame = pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")
    expected = "system 'a' shares .*: it answers 'p3' and 2 others, the others answer 'q1' and 1 other; leave it out"
    with pytest.raises(JoinError, match=expected):
        consensus.believe(Run.of(frame))
    assert consensus.strangers(frame.filter(pl.col("system") != "a")) == {}


def test_confidence_outside_0_1() -> None:
    rows = [("a", "q", "x", 1.0, 1.5), ("b", "q", "x", 1.0, None)]
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade", "confidence"], orient="row")
    with pytest.raises(TableError, match="between 0 and 1"):
        consensus.tally(Opinions.of(frame))


def test_nobody_answered_and_no_prior() -> None:
    rows = [("a", "q", "x", None), ("b", "q", "x", None), ("a", "q", "y", 1.0)]
    frame = pl.DataFrame(
        rows, schema={"source": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64}, orient="row"
    )
    assert consensus.tally(Opinions.of(frame)).p()[0] == 0.5
    with pytest.raises(TableError, match="prior"):
        consensus.tally(Opinions.of(frame), prior=(0, 0)).p()


def test_a_system_without_a_yes_has_no_share_of_votes_of_its_own() -> None:
    lists = {"S1": "1245", "S2": "123", "S3": "126", "S4": ""}
    shares = consensus.tally(opinions_of(lists, UNIVERSE)).unique
    assert shares.tolist()[:3] == pytest.approx([2 / 4, 1 / 3, 1 / 3])
    assert np.isnan(shares[3])


def test_weights_of_minimum_variance_solve_their_equation() -> None:
    """Jaccard of S1 and S2 is 2/5, of S1 and S3 2/5, of S2 and S3 2/4: K w = 1, scaled to the sum of redundancy's."""
    counted = consensus.tally(opinions_of(TABLE_1, UNIVERSE))
    alike = np.array([[1, 0.4, 0.4], [0.4, 1, 0.5], [0.4, 0.5, 1]])
    raw = np.linalg.inv(alike) @ np.ones(3)
    redundancy = 1 / alike.sum(1)
    assert (raw > 0).all()
    found = consensus.weigh(counted.yes, counted.systems, "minimum-variance")
    assert found == pytest.approx(raw * redundancy.sum() / raw.sum(), rel=1e-12)
    assert consensus.weigh(counted.yes, counted.systems, "redundancy") == pytest.approx(redundancy, rel=1e-12)


def test_ballots_are_in_order_of_query_system_and_rank() -> None:
    lines = [("b", "q2", "x"), ("a", "q2", "y"), ("b", "q1", "y"), ("a", "q1", "x"), ("a", "q1", "z"), ("b", "q1", "x")]
    rows = [(system, query, item, -float(at)) for at, (system, query, item) in enumerate(lines)]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    ballots = consensus.Ballots.of(run)
    pairs = ballots.rows.rows()
    found = [
        (*pairs[pair], ballots.systems[voter], rank)
        for pair, voter, rank in zip(ballots.pair, ballots.voter, ballots.rank, strict=True)
    ]
    assert found == [
        ("q1", "x", "a", 1), ("q1", "z", "a", 2), ("q1", "y", "b", 1), ("q1", "x", "b", 2), ("q2", "y", "a", 1),
        ("q2", "x", "b", 1),
    ]  # fmt: skip


def test_overlap_is_jaccards_index_of_the_sets() -> None:
    rng = np.random.default_rng(5)
    votes = rng.random((150, 4)) < [0.1, 0.5, 0.02, 0.0]
    sets = [set(np.flatnonzero(column)) for column in votes.T]
    expected = [[len(a & b) / len(a | b) if a | b else 0.0 for b in sets] for a in sets]
    expected = np.where(np.eye(4) > 0, 1.0, expected)
    assert consensus.overlap(sparse.csr_matrix(votes.astype(float))).tolist() == expected.tolist()


def test_ballots_count_by_default_what_votes_count() -> None:
    lists = {"a": {"q": "xyz", "r": "xv"}, "b": {"q": "zwx"}, "c": {"q": "yx", "r": "wv"}}
    rows = [(s, q, d, -float(n)) for s, by in lists.items() for q, items in by.items() for n, d in enumerate(items)]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    one, other = consensus.Ballots.of(run).tally(), consensus.tally(consensus.votes(run))
    assert one.rows.equals(other.rows) and one.prior == other.prior == (1.0, 1.0)
    assert one.p().tolist() == other.p().tolist() and one.weights.tolist() == other.weights.tolist()
