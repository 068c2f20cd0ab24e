"""Measures under doubt: worlds against crisp scoring, closed forms against enumeration, intervals simulated."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.beliefs.votes import crisp
from endoxa.beliefs.worlds import draw, draw_people, readings_of
from endoxa.errors import CallError, JoinError, TextError
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import parse
from endoxa.measures.registry import REGISTRY
from endoxa.measures.uncertain import distribute, expectations, measure_belief, opinions_of
from endoxa.policies import Policy
from endoxa.tables import Belief, Opinions, Run

REQUIRED = inspect.Parameter.empty
CUTOFFS = {"k": "@3", "recall": "@0.3", None: ""}
STRATA = {"xinfAP"}  # needs to know how each item was drawn; a belief has no strata
GRADED = {"A", "B", "C", "GradedP", "GradedR", "GradedF"}  # take grades up to 1


def names_of(kept) -> list[str]:
    """Each measure as plain as it goes, and with a cut-off if it takes one; those that need a collection left out."""
    made = []
    for name, definition in REGISTRY.items():
        needs = {setting for setting, default in definition.settings.items() if default is REQUIRED}
        if definition.text or "N" in needs or not kept(name):
            continue
        made += [name] if not needs else []
        made += [name + CUTOFFS[definition.cutoff]] if definition.cutoff else []
    return made


ALL = names_of(lambda name: name not in GRADED | STRATA)
UP_TO_1 = names_of(lambda name: name in GRADED)
PROBABILITIES = st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])


def run_of(lists: dict[str, str]) -> Run:
    rows = [(s, "q", d, -float(n)) for s, items in lists.items() for n, d in enumerate(items)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def belief_of(p: dict[str, float], **how) -> Belief:
    return Belief.of(pl.DataFrame({"query": "q", "item": list(p), "p": list(p.values())}), **how)


def value(scores, system: str, name: str, column: str = "value") -> float:
    return scores.frame.filter((pl.col("system") == system) & (pl.col("measure") == name))[column][0]


P = {"a": 0.9, "b": 0.6, "c": 0.8, "d": 0.2, "e": 0.5, "f": 0.1, "g": 0.3}


def test_the_worked_numbers_of_0_4() -> None:
    scores = measure_belief(
        run_of({"s": "abcdefg", "first": "abcd"}), belief_of(P), ["SetR", "SetF", "SetF(beta=2)", "AP", "R@4", "SetP"]
    )
    none = value(scores, "s", "AP", "undefined")
    assert none == pytest.approx(0.002016)
    assert value(scores, "s", "AP") * (1 - none) == pytest.approx(0.831741, abs=5e-7)
    for name, figure in (("SetR", 0.756082), ("SetF", 0.665339), ("SetF(beta=2)", 0.709251)):
        assert value(scores, "first", name) * (1 - none) == pytest.approx(figure, abs=5e-7)
    assert value(scores, "s", "R@4") == value(scores, "first", "SetR") == pytest.approx(0.757610, abs=5e-7)
    assert (value(scores, "first", "SetP"), value(scores, "first", "SetP", "sd")) == pytest.approx(
        (0.625, 0.201556), abs=5e-7
    )


def test_plugin_is_named_and_biased() -> None:
    scores = measure_belief(
        run_of({"s": "abcdefg", "first": "abcd"}), belief_of(P), ["GradedR", "GradedP"], plugin=True
    )
    assert value(scores, "first", "GradedR") == pytest.approx(0.735294, abs=5e-7)


def test_plugin_refuses_measures_whose_least_grade_no_expectation_reaches() -> None:
    run, belief = run_of({"s": "abcdefg"}), belief_of(P)
    for name, instead in (("SetP", "take GradedP,"), ("R@3", "take GradedR@3,"), ("RR", "leave out --plugin")):
        with pytest.raises(CallError, match=f"grade 1 or more.*{instead}"):
            measure_belief(run, belief, [name], plugin=True)
    assert value(measure_belief(run, belief, ["SetP(rel=0.5)"], plugin=True), "s", "SetP(rel=0.5)") > 0
    for name in ("nDCG@3", "NumRet"):
        measure_belief(run, belief, [name], plugin=True)


@st.composite
def cases(draw_, items="abcdef"):
    """A belief with one or two readings and up to two grades, and two lists that mention some of its items."""
    rows = []
    levels = draw_(st.sampled_from([(1.0,), (1.0, 2.0)]))
    for reading in range(draw_(st.integers(1, 2))):
        weight = draw_(st.sampled_from([0.25, 0.5, 1.0]))
        for item in items:
            one, two = draw_(PROBABILITIES), draw_(PROBABILITIES) if len(levels) > 1 else 0.0
            chances = (one * (1 - two), two)[: len(levels)]
            rows += [("q", f"r{reading}", weight, item, g, p) for g, p in zip(levels, chances, strict=True)]
    frame = pl.DataFrame(rows, schema=["query", "reading", "weight", "item", "grade", "p"], orient="row")
    lists = {s: "".join(draw_(st.permutations(items + "xyz"))[: draw_(st.integers(1, 9))]) for s in ("s", "t")}
    return Belief.of(frame), run_of(lists)


@settings(max_examples=20, deadline=None)
@given(cases())
def test_every_measure_in_a_world_is_its_crisp_value_there(case) -> None:
    """The whole registry: what the worlds' kernel gives is what the crisp evaluator gives for the world's grades."""
    belief, run = case
    names = ALL if belief.frame["grade"].max() > 1 else ALL + UP_TO_1
    worlds = 6
    scores = measure_belief(run, belief, names, worlds=worlds) if not belief.certain else None
    if scores is None or scores.draws is None:
        return
    (one,) = readings_of(belief)
    grades = draw(one, worlds, 0)
    top = float(one.grades[0])
    for world in range(worlds):
        # a second query holds the top grade, so that the full mark is the same as in the belief
        judged = {"q": dict(zip(one.items, grades[world], strict=True)), "top": {"x": top}}
        rows = [(query, item, grade) for query, some in judged.items() for item, grade in some.items()]
        opinions = Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))
        plain = measure(run, opinions, names, Policy()).frame.filter(pl.col("query") == "q")
        for s, system in enumerate(scores.draws.systems):
            for m, name in enumerate(scores.draws.measures):
                crisp_value = plain.filter((pl.col("system") == system) & (pl.col("measure") == name))["value"][0]
                assert scores.draws.truth[m, s, 0, world] == pytest.approx(crisp_value, nan_ok=True, abs=1e-12), name


EXACT = [
    "P@3",
    "R@3",
    "F@3",
    "F(beta=2)@3",
    "SetP",
    "SetR",
    "SetF",
    "RR",
    "RR@2",
    "Success@2",
    "AP",
    "P(rel=2)@3",
    "AP(rel=2)",
]


@settings(max_examples=25, deadline=None)
@given(cases("abcd"))
def test_closed_forms_equal_enumeration(case) -> None:
    belief, run = case
    if belief.certain:
        return
    (one,) = readings_of(belief)
    asked = [name for name in EXACT if (parse(name).rel or 1) <= one.grades.max()]  # others are refused
    scores = measure_belief(run, belief, asked, worlds=2)
    sums = np.zeros((len(asked), 2, 2))  # measure, system, (E[M; defined], P(defined))
    for weight, mass in zip(one.weights, one.mass, strict=True):
        for levels in itertools.product(*([0, *range(1, len(one.grades) + 1)] for _ in one.items)):
            chance = weight
            for item, level in enumerate(levels):
                own = np.diff(mass[item], prepend=0.0)
                chance *= 1 - mass[item, -1] if level == 0 else own[level - 1]
            if chance == 0:
                continue
            grades = {
                d: 0.0 if level == 0 else float(one.grades[level - 1])
                for d, level in zip(one.items, levels, strict=True)
            }
            for s, system in enumerate(("s", "t")):
                ranked = run.frame.filter(pl.col("system") == system)["item"].to_list()
                for m, name in enumerate(asked):
                    got = by_definition(name, ranked, grades)
                    if got is not None:
                        sums[m, s] += chance * np.array([got, 1.0])
    for m, name in enumerate(asked):
        for s, system in enumerate(("s", "t")):
            mean, defined = sums[m, s]
            assert value(scores, system, name, "undefined") == pytest.approx(1 - defined, abs=1e-9)
            expected = mean / defined if defined > 1e-12 else float("nan")
            assert value(scores, system, name) == pytest.approx(expected, nan_ok=True, abs=1e-9), name


def by_definition(name: str, ranked: list[str], grades: dict[str, float]) -> float | None:
    """The measures as one would write them on paper; None where 0/0."""
    rel = 2 if "rel=2" in name else 1
    beta = 2.0 if "beta=2" in name else 1.0
    k = int(name.split("@")[1]) if "@" in name else len(ranked)
    hits = [grades.get(d, 0.0) >= rel for d in ranked]
    total = sum(g >= rel for g in grades.values())
    kind = name.split("(", maxsplit=1)[0].split("@", maxsplit=1)[0]
    size = len(ranked) if kind.startswith("Set") else k
    found = sum(hits[:k])
    if kind in {"P", "SetP"}:
        return found / size
    if kind in {"R", "SetR"}:
        return found / total if total else None
    if kind in {"F", "SetF"}:
        return (1 + beta**2) * found / (beta**2 * total + size) if total else None
    if kind == "RR":
        return next((1 / n for n, hit in enumerate(hits[:k], 1) if hit), 0.0)
    if kind == "Success":
        return float(any(hits[:k]))
    return sum(sum(hits[:n]) / n for n, hit in enumerate(hits, 1) if hit) / total if total else None


def test_a_certain_belief_gives_the_crisp_values() -> None:
    rows = [("q", "a", 2.0), ("q", "b", 0.0), ("q", "c", 1.0), ("q", "x", -1.0)]
    opinions = Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))
    run = run_of({"s": "bazxc", "t": "cab"})
    under = measure_belief(run, crisp(opinions), ALL)
    assert under.frame.equals(measure(run, opinions, ALL, Policy()).frame)
    assert opinions_of(crisp(opinions)).to_dict() == opinions.to_dict()


def test_worlds_are_the_same_for_every_system_and_whatever_else_is_scored() -> None:
    both = measure_belief(run_of({"s": "abcdefg", "t": "gfedcba", "u": "abcdefg"}), belief_of(P), ["nDCG@5"])
    alone = measure_belief(run_of({"t": "gfedcba"}), belief_of(P), ["AP", "nDCG@5"])
    assert np.array_equal(both.draws.truth[0, 0], both.draws.truth[0, 2], equal_nan=True)
    assert np.array_equal(both.draws.truth[0, 1], alone.draws.truth[1, 0], equal_nan=True)
    other = measure_belief(run_of({"t": "gfedcba"}), belief_of(P), ["nDCG@5"], Policy(seed=1))
    assert not np.array_equal(other.draws.truth, alone.draws.truth[1:], equal_nan=True)


def test_worlds_follow_the_belief() -> None:
    frame = pl.DataFrame(
        [
            ("q", "r1", 0.3, "a", 1.0, 0.25),
            ("q", "r1", 0.3, "a", 2.0, 0.5),
            ("q", "r2", 0.7, "a", 2.0, 0.1),
            ("q", "r2", 0.7, "b", 1.0, 1.0),
        ],
        schema=["query", "reading", "weight", "item", "grade", "p"],
        orient="row",
    )
    (one,) = readings_of(Belief.of(frame))
    grades = draw(one, 40_000, 3)
    assert (grades[:, 0] == 2).mean() == pytest.approx(0.3 * 0.5 + 0.7 * 0.1, abs=0.01)
    assert (grades[:, 0] == 1).mean() == pytest.approx(0.3 * 0.25, abs=0.01)
    assert (grades[:, 1] == 1).mean() == pytest.approx(0.7, abs=0.01)
    both = (grades[:, 0] == 2) & (grades[:, 1] == 1)  # a reading is drawn once for all items
    assert both.mean() == pytest.approx(0.7 * 0.1, abs=0.01)


def test_the_peoples_worlds_come_in_pairs() -> None:
    several = np.tile(np.array([[0.0, 1.0]]), (2, 50)).astype(np.float32)  # resamples that say no, yes, no …
    frame = pl.DataFrame({"query": "q", "item": ["a", "b"], "p": [0.5, 0.5]}).with_columns(
        pl.Series("people", several, dtype=pl.Array(pl.Float32, 100))
    )
    (one,) = readings_of(Belief.of(frame))
    grades = draw_people(one, 0)
    assert grades.shape == (200, 2)
    assert np.array_equal(grades[0::2], grades[1::2])
    assert np.array_equal(grades[:, 0], np.repeat(np.tile([0.0, 1.0], 50), 2))


def test_what_is_not_mentioned() -> None:
    run = run_of({"s": "ax"})
    mention = {"a": 0.5}
    assert value(measure_belief(run, belief_of(mention), ["P@2"]), "s", "P@2") == pytest.approx(0.25)
    prior = measure_belief(run, belief_of(mention, unmentioned=0.2), ["P@2", "SetR"])
    assert value(prior, "s", "P@2") == pytest.approx(0.35)
    unknown = measure_belief(run, belief_of(mention, unmentioned="unknown"), ["P@2"], worlds=4000)
    assert (value(unknown, "s", "P@2", "lo"), value(unknown, "s", "P@2", "hi")) == pytest.approx((0.25, 0.75), abs=0.02)


@pytest.mark.parametrize(
    ("how", "words"), [(Policy(ties="average"), "ties=average"), (Policy(assessors="mean"), "assessors=mean")]
)
def test_policies_that_do_not_join_with_doubt(how: Policy, words: str) -> None:
    with pytest.raises(TextError, match=words):
        measure_belief(run_of({"s": "a"}), belief_of({"a": 0.5}), ["AP"], how)


def test_texts_and_strangers_are_refused() -> None:
    with pytest.raises(TextError, match="text"):
        measure_belief(run_of({"s": "a"}), belief_of({"a": 0.5}), [parse("relstring")])
    with pytest.raises(JoinError, match="share no query"):
        measure_belief(
            run_of({"s": "a"}), Belief.of(pl.DataFrame({"query": ["other"], "item": ["a"], "p": [0.5]})), ["AP"]
        )


def test_a_list_that_is_missing() -> None:
    frame = pl.DataFrame({"query": ["q", "other"], "item": ["a", "a"], "p": [0.5, 0.5]})
    run, belief = run_of({"s": "a"}), Belief.of(frame)
    scores = measure_belief(run, belief, ["P@1", "SetP"])
    assert scores.frame.filter(pl.col("query") == "other")["value"].to_list() == [
        0.0,
        pytest.approx(float("nan"), nan_ok=True),
    ]
    assert scores.coverage["missing"][0] == 1
    assert measure_belief(run, belief, ["P@1"], Policy(missing="skip")).queries == ["q"]
    with pytest.raises(JoinError, match="lacks query 'other'"):
        measure_belief(run, belief, ["P@1"], Policy(missing="error"))
    assert measure_belief(run, belief, ["SetP"], Policy(undefined="zero")).frame["value"].to_list() == [0.0, 0.5]
    assert measure_belief(run, belief, ["SetP"], Policy(undefined="skip")).draws.queries == ["q"]


def test_expectations_alone_are_those_of_the_scores() -> None:
    run, belief = run_of({"s": "abcdefg", "t": "gfedcba"}), belief_of(P)
    scores = measure_belief(run, belief, ["AP", "nDCG@3"], worlds=64)
    means = expectations(run, belief, ["AP", "nDCG@3"], worlds=64)
    for m, name in enumerate(("AP", "nDCG@3")):
        assert means[m] == pytest.approx([value(scores, s, name) for s in ("s", "t")])


@pytest.mark.parametrize(
    ("name", "least", "most"), [("P@5", 0.88, 1.0), ("RR", 0.88, 1.0), ("R@5", 0.88, 1.0), ("nDCG@5", 0.88, 1.0)]
)
def test_truth_drawn_from_the_belief_lies_in_the_interval_of_a_query(name: str, least: float, most: float) -> None:
    """90 % intervals; the values of a lattice measure come in lumps, so that coverage may be greater."""
    rng = np.random.default_rng(5)
    queries, items = 300, 12
    rows = [(f"q{q}", f"d{i}", p) for q in range(queries) for i, p in enumerate(rng.beta(0.7, 1.2, items))]
    belief = Belief.of(pl.DataFrame(rows, schema=["query", "item", "p"], orient="row"))
    ranked = [("s", f"q{q}", f"d{i}", -float(n)) for q in range(queries) for n, i in enumerate(rng.permutation(items))]
    run = Run.of(pl.DataFrame(ranked, schema=["system", "query", "item", "score"], orient="row"))
    scores = measure_belief(run, belief, [name], confidence=0.9)
    truth = measure_belief(run, belief, [name], Policy(seed=99), worlds=40).draws.truth[
        0, 0
    ]  # other worlds than the interval's
    ends = scores.frame.sort("query").select("lo", "hi").to_numpy()
    inside = (truth >= ends[:, :1] - 1e-9) & (truth <= ends[:, 1:] + 1e-9)
    covered = inside[~np.isnan(truth)].mean()
    print(f"{name}: {covered:.3f} of the truths lie in the 90 % interval of their query")
    assert least <= covered <= most


def test_distributions_on_request() -> None:
    """Worked distributions through the front door, and the mean of precision over queries by convolution."""
    run, belief = run_of({"s": "abcd"}), belief_of(P | {"h": 0.0})
    one = distribute(run, belief, parse("SetP"), "s", "q", worlds=10)
    assert one.mass == pytest.approx([0.0064, 0.0944, 0.3784, 0.4344, 0.0864])
    recall = distribute(run, belief, parse("SetR"), "s", "q", worlds=10)
    assert (recall.undefined, recall.mean) == pytest.approx((0.002016, 0.757610), abs=5e-7)
    frame = pl.DataFrame({"query": ["q", "r"], "item": ["a", "a"], "p": [0.5, 0.2]})
    lists = pl.DataFrame({"system": "s", "query": ["q", "r"], "item": "a", "score": 1.0})
    mean = distribute(Run.of(lists), Belief.of(frame), parse("P@1"), "s", None, worlds=10)
    assert dict(zip(mean.values, mean.mass, strict=True)) == {
        0.0: pytest.approx(0.4),
        0.5: pytest.approx(0.5),
        1.0: pytest.approx(0.1),
    }
    drawn = distribute(Run.of(lists), Belief.of(frame), parse("nDCG"), "s", None, worlds=4000)
    assert (drawn.mean, drawn.undefined) == pytest.approx((1.0, 0.4), abs=0.03)
    with pytest.raises(TextError, match="no query 'x'"):
        distribute(run, belief, parse("P@1"), "s", "x", worlds=10)
    with pytest.raises(TextError, match="no system is called 't'"):
        distribute(run, belief, parse("P@1"), "t", "q", worlds=10)


def test_draws_as_a_table() -> None:
    scores = measure_belief(run_of({"s": "abc", "t": "cba"}), belief_of(P), ["AP", "P@2"], worlds=3)
    rows = scores.draws.frame()
    assert rows.columns == ["system", "query", "measure", "doubt", "draw", "value"]
    assert rows.height == 2 * 2 * 3
    one = rows.filter((pl.col("system") == "t") & (pl.col("measure") == "P@2"))
    assert one["value"].to_list() == scores.draws.truth[1, 1, 0].tolist()
    assert one["draw"].to_list() == [0, 1, 2]


def test_the_chance_of_a_grade_counts_the_rest_as_grade_0() -> None:
    rows = [("a", 2.0, 0.25), ("a", 1.0, 0.5), ("b", 1.0, 0.125), ("b", -1.0, 0.5)]
    frame = pl.DataFrame(rows, schema=["item", "grade", "p"], orient="row").with_columns(pl.lit("q").alias("query"))
    (one,) = readings_of(Belief.of(frame))
    assert one.reaches(2).tolist() == [[0.25, 0.0]]
    assert one.reaches(1).tolist() == [[0.75, 0.125]]
    assert one.reaches(0).tolist() == [[1.0, 0.5]]  # b has grade -1 with probability .5
    (plain,) = readings_of(belief_of({"a": 0.25, "b": 1.0}))
    assert plain.reaches(0).tolist() == [[1.0, 1.0]]
    assert plain.reaches(3).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(("grade", "kind"), [(127.0, np.int8), (128.0, np.float64), (1.5, np.float64)])
def test_whole_grades_that_fit_are_drawn_as_bytes(grade: float, kind: type) -> None:
    frame = pl.DataFrame({"query": "q", "item": ["a", "b"], "grade": grade, "p": [1.0, 0.0]})
    (one,) = readings_of(Belief.of(frame))
    worlds = draw(one, 3, 0)
    assert worlds.dtype == kind
    assert worlds.tolist() == [[grade, 0.0]] * 3
