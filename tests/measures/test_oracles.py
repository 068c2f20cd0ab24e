"""Every measure against a slow, plain definition, and against trec_eval 9.0.8 itself (through pytrec_eval)."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
import pytrec_eval
from plain_lists import NUMERIC, Grade, Plain, batch, full_mark, grades_for, some_plain, some_settings, with_strata

from endoxa.errors import TableError
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import make, parse_all
from endoxa.measures.registry import REGISTRY
from endoxa.policies import Policy
from endoxa.tables import Opinions, Run

NAN = math.nan
Oracle = Callable[..., float]
ORACLES: dict[str, Oracle] = {}


def oracle(function: Oracle) -> Oracle:
    ORACLES[function.__name__] = function
    return function


def over(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else NAN


def is_relevant(grade: Grade, rel: float) -> bool:
    return grade is not None and grade >= rel


def is_judged(grade: Grade) -> bool:
    return grade is not None and grade >= 0


def found(one: Plain, rel: float, k: int | None = None) -> int:
    return sum(is_relevant(grade, rel) for grade in one.ranking[:k])


def known(one: Plain, rel: float) -> int:
    return sum(grade >= rel for grade in one.pool)


# ---- sets


@oracle
def P(one: Plain, top: float, k: int, rel: float = 1, relative: bool = False) -> float:
    return over(found(one, rel, k), min(k, known(one, rel)) if relative else k)


@oracle
def R(one: Plain, top: float, k: int, rel: float = 1) -> float:
    return over(found(one, rel, k), known(one, rel))


def f_measure(precision: float, recall: float, beta: float) -> float:
    if math.isnan(recall):
        return NAN
    if precision == 0 or recall == 0 or math.isnan(precision):
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@oracle
def F(one: Plain, top: float, k: int, rel: float = 1, beta: float = 1) -> float:
    return f_measure(P(one, top, k, rel), R(one, top, k, rel), beta)


@oracle
def SetP(one: Plain, top: float, rel: float = 1, relative: bool = False) -> float:
    size = len(one.ranking)
    return over(found(one, rel), min(size, known(one, rel)) if relative else size)


@oracle
def SetR(one: Plain, top: float, rel: float = 1) -> float:
    return over(found(one, rel), known(one, rel))


@oracle
def SetF(one: Plain, top: float, rel: float = 1, beta: float = 1) -> float:
    return f_measure(SetP(one, top, rel), SetR(one, top, rel), beta)


@oracle
def SetAP(one: Plain, top: float, rel: float = 1) -> float:
    return SetP(one, top, rel) * SetR(one, top, rel)


@oracle
def Success(one: Plain, top: float, k: int, rel: float = 1) -> float:
    return float(found(one, rel, k) > 0)


@oracle
def Utility(
    one: Plain, top: float, *, rel: float = 1, a: float = 1, b: float = -1, c: float = 0, d: float = 0, N: int = 0
) -> float:
    hits, relevant, size = found(one, rel), known(one, rel), len(one.ranking)
    left_out = max(N - size - (relevant - hits), 0) if d else 0
    return a * hits + b * (size - hits) + c * (relevant - hits) + d * left_out


@oracle
def NumQ(one: Plain, top: float) -> float:
    return 1.0


@oracle
def NumRet(one: Plain, top: float, rel: float | None = None) -> float:
    return len(one.ranking) if rel is None else found(one, rel)


@oracle
def NumRel(one: Plain, top: float, rel: float = 1) -> float:
    return known(one, rel)


@oracle
def NumRelRet(one: Plain, top: float, rel: float = 1) -> float:
    return found(one, rel)


@oracle
def NumNonrelJudgedRet(one: Plain, top: float, rel: float = 1) -> float:
    return sum(is_judged(grade) and not is_relevant(grade, rel) for grade in one.ranking)


# ---- rankings


@oracle
def AP(one: Plain, top: float, rel: float = 1, k: int | None = None, norm: str = "R") -> float:
    total = 0.0
    for place, grade in enumerate(one.ranking[:k], 1):
        if is_relevant(grade, rel):
            total += found(one, rel, place) / place
    relevant = known(one, rel)
    return over(total, min(relevant, k) if norm == "min" and k is not None else relevant)


@oracle
def GMAP(one: Plain, top: float, rel: float = 1) -> float:
    return AP(one, top, rel)


@oracle
def RR(one: Plain, top: float, rel: float = 1, k: int | None = None) -> float:
    for place, grade in enumerate(one.ranking[:k], 1):
        if is_relevant(grade, rel):
            return 1 / place
    return 0.0


def how_many(share: float, relevant: int, compat: str) -> int:
    if compat == "trec_eval-9":
        return int(share * relevant + 0.9)
    if compat == "trec_eval-10":
        return math.floor(share * relevant + 0.5)
    return math.ceil(Fraction(str(share)) * relevant)


@oracle
def Rprec(one: Plain, top: float, rel: float = 1, mult: float = 1, compat: str = "none") -> float:
    depth = how_many(mult, known(one, rel), "none" if compat == "none" else "trec_eval-9")
    return over(found(one, rel, depth), depth)


@oracle
def IPrec(one: Plain, top: float, recall: float, rel: float = 1, compat: str = "none") -> float:
    if not known(one, rel):
        return NAN
    wanted = how_many(recall, known(one, rel), compat)
    places = range(1, len(one.ranking) + 1)
    return max((found(one, rel, n) / n for n in places if found(one, rel, n) >= wanted), default=0.0)


@oracle
def AvgIPrec(
    one: Plain, top: float, rel: float = 1, recalls: tuple[float, ...] | None = None, compat: str = "none"
) -> float:
    levels = recalls or tuple(i / 10 for i in range(11))
    return sum(IPrec(one, top, level, rel, compat) for level in levels) / len(levels)


# ---- gains


def worth(grade: Grade, dcg: str = "log2", gains: dict[float, float] | None = None) -> float:
    if grade is None:
        return 0.0
    if gains and grade in gains:
        return gains[grade]
    if grade < 0:
        return 0.0
    return 2**grade - 1 if dcg == "exp-log2" else grade


def best_list(one: Plain, dcg: str = "log2", gains: dict[float, float] | None = None) -> list[float]:
    return sorted((w for grade in one.pool if (w := worth(grade, dcg, gains)) > 0), reverse=True)


def dcg_of(values: list[float]) -> float:
    return sum(value / math.log2(place + 1) for place, value in enumerate(values, 1))


@oracle
def DCG(
    one: Plain, top: float, k: int | None = None, dcg: str = "log2", gains: dict[float, float] | None = None
) -> float:
    return dcg_of([worth(grade, dcg, gains) for grade in one.ranking[:k]])


@oracle
def nDCG(
    one: Plain, top: float, k: int | None = None, dcg: str = "log2", gains: dict[float, float] | None = None
) -> float:
    return over(DCG(one, top, k, dcg, gains), dcg_of(best_list(one, dcg, gains)[:k]))


@oracle
def ERR(one: Plain, top: float, k: int | None = None, max_rel: float | None = None) -> float:
    full = max_rel or top or 1.0
    reading, total = 1.0, 0.0
    for place, grade in enumerate(one.ranking[:k], 1):
        satisfied = (2 ** max(grade or 0, 0) - 1) / 2**full
        total += reading * satisfied / place
        reading *= 1 - satisfied
    return total


@oracle
def RBP(
    one: Plain, top: float, *, p: float = 0.8, rel: float | None = None, k: int | None = None,
    max_rel: float | None = None, compat: str = "none",
) -> float:  # fmt: skip
    full = max_rel or top or 1.0
    if compat == "trec_eval-10":
        full = max([1.0, *one.pool])
    total = 0.0
    for place, grade in enumerate(one.ranking[:k], 1):
        gain = max(grade or 0, 0) / full if rel is None else float(is_relevant(grade, rel))
        total += (1 - p) * p ** (place - 1) * gain
    return total


@oracle
def RBPResidual(one: Plain, top: float, p: float = 0.8, k: int | None = None, compat: str = "none") -> float:
    if compat == "trec_eval-10" and all(is_judged(grade) for grade in one.ranking):
        return 0.0
    depth = len(one.ranking[:k])
    tail = p**depth  # the sum of (1 − p) p^(rank − 1) behind the list
    return tail + sum((1 - p) * p**i for i, grade in enumerate(one.ranking[:k]) if not is_judged(grade))


@oracle
def nDCGrel(one: Plain, top: float, gains: dict[float, float] | None = None) -> float:
    best = best_list(one, gains=gains)
    values = [worth(grade, gains=gains) for grade in one.ranking]
    at_items = [dcg_of(values[:place]) / dcg_of(best[:place]) for place, value in enumerate(values, 1) if value > 0]
    unfound = len(best) - len(at_items)
    at_end = over(dcg_of(values), dcg_of(best))
    return over(sum(at_items) + (unfound * at_end if unfound else 0.0), len(best))


@oracle
def Rndcg(one: Plain, top: float, gains: dict[float, float] | None = None, rel: float = 1) -> float:
    """The ideal list is walked past its end by one place, where its gain becomes 0; then comes the list's end."""
    if not known(one, rel):
        return NAN
    best = best_list(one, gains=gains)
    values = [worth(grade, gains=gains) for grade in one.ranking]
    changes = [depth for depth in range(1, len(best) + 1) if best[depth : depth + 1] != best[depth - 1 : depth]]
    shares = [dcg_of(values[:depth]) / dcg_of(best[:depth]) for depth in changes]
    if best and len(values) > len(best) + 1:
        shares.append(dcg_of(values) / dcg_of(best))
    return over(sum(shares), len(shares))


@oracle
def binG(one: Plain, top: float, rel: float = 1) -> float:
    total, misses = 0.0, 0
    for grade in one.ranking:
        if is_relevant(grade, rel):
            total += 1 / math.log2(2 + misses)
        else:
            misses += 1
    return over(total, known(one, rel))


@oracle
def G(one: Plain, top: float, gains: dict[float, float] | None = None) -> float:
    best = best_list(one, gains=gains)
    total = so_far = cost = 0.0
    for place, grade in enumerate(one.ranking):
        so_far += worth(grade, gains=gains)
        cost += max(best[place], 1.0) if place < len(best) else 1.0
        if worth(grade, gains=gains):
            total += worth(grade, gains=gains) / math.log2(2 + cost - so_far)
    return over(total, sum(best))


# ---- holes


@oracle
def Bpref(one: Plain, top: float, rel: float = 1) -> float:
    relevant = known(one, rel)
    others = sum(0 <= grade < rel for grade in one.pool)
    above, total = 0, 0.0
    for grade in one.ranking:
        if is_relevant(grade, rel):
            total += 1 - min(above, relevant) / min(others, relevant) if above else 1
        elif is_judged(grade):
            above += 1
    return over(total, relevant)


@oracle
def GMBpref(one: Plain, top: float, rel: float = 1) -> float:
    return Bpref(one, top, rel)


@oracle
def infAP(one: Plain, top: float, rel: float = 1) -> float:
    e, total = 1e-5, 0.0
    for above, grade in enumerate(one.ranking):
        if is_relevant(grade, rel):
            before = one.ranking[:above]
            if not above:
                total += 1
                continue
            pooled = sum(other is not None for other in before)
            relevant = sum(is_relevant(other, rel) for other in before)
            other = sum(is_judged(other) for other in before) - relevant
            k = above + 1
            total += 1 / k + (k - 1) / k * pooled / (k - 1) * (relevant + e) / (relevant + other + 2 * e)
    return over(total, known(one, rel))


@oracle
def Judged(one: Plain, top: float, k: int) -> float:
    return over(sum(is_judged(grade) for grade in one.ranking[:k]), len(one.ranking[:k]))


@oracle
def Unjudged(one: Plain, top: float, k: int) -> float:
    return sum(not is_judged(grade) for grade in one.ranking[:k]) / k


# ---- Gimel'farb


def four(one: Plain, k: int | None, N: int) -> tuple[float, float, float, float]:
    first = one.ranking[:k]
    a = sum(max(grade or 0, 0) for grade in first)
    everything = sum(max(grade, 0) for grade in one.pool)
    return a, len(first) - a, everything - a, N - len(first) - (everything - a)


@oracle
def A(one: Plain, top: float, k: int) -> float:
    return four(one, k, 0)[0]


@oracle
def B(one: Plain, top: float, k: int) -> float:
    return four(one, k, 0)[1]


@oracle
def C(one: Plain, top: float, k: int) -> float:
    return four(one, k, 0)[2]


@oracle
def D(one: Plain, top: float, k: int, N: int) -> float:
    return four(one, k, N)[3]


@oracle
def GradedP(one: Plain, top: float, k: int | None = None) -> float:
    a, b, _, _ = four(one, k, 0)
    return over(a, a + b)


@oracle
def GradedR(one: Plain, top: float, k: int | None = None, N: int | None = None) -> float:
    a, _, c, _ = four(one, k, 0)
    return over(a, a + c)


@oracle
def GradedF(one: Plain, top: float, k: int | None = None, beta: float = 1) -> float:
    a, b, c, _ = four(one, k, 0)
    precision, recall = over(a, a + b), over(a, a + c)
    if a + b + a + c == 0:
        return math.nan
    if a == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@oracle
def Fallout(one: Plain, top: float, k: int, N: int) -> float:
    _, b, _, d = four(one, k, N)
    return over(b, b + d)


@oracle
def Generality(one: Plain, top: float, N: int) -> float:
    return sum(max(grade, 0) for grade in one.pool) / N


def test_every_measure_has_an_oracle() -> None:
    lacking = sorted(set(NUMERIC) - {"xinfAP"} - set(ORACLES))
    assert not lacking, f"write a plain definition of {lacking} under @oracle in this file"
    unknown = sorted(set(ORACLES) - set(NUMERIC))
    assert not unknown, f"{unknown} are not registered; measures/grammar.py imports the modules of measures"


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_measure_is_its_plain_definition(name: str) -> None:
    random = Random(zlib.crc32(name.encode()))
    for _ in range(25):
        settings = some_settings(name, random)
        lists = [some_plain(random, grades_for(name)) for _ in range(40)]
        values = make(name, settings)(batch(lists))
        top = full_mark(lists)
        for one, value in zip(lists, values, strict=True):
            expected = ORACLES[name](one, top, **settings)
            assert value == pytest.approx(expected, rel=1e-10, abs=1e-12, nan_ok=True), (settings, one)


def test_relstring_is_its_plain_definition() -> None:
    random = Random(7)
    lists = [some_plain(random, (0, 1, 2, 9, 10, 12, 0.5)) for _ in range(200)]
    for k in (1, 4, 10, 20):
        for one, text in zip(lists, make("relstring", {"k": k})(batch(lists)), strict=True):
            signs = ""
            for grade in one.ranking[:k]:
                signs += "-" if grade is None else "." if grade < 0 else ">" if grade > 9 else str(int(grade))
            assert text == signs


def xinfap(one: Plain, found: list[int], missed: list[int], sizes: list[float], rel: float) -> float:
    """NIST's sample_eval.pl, one stratum after the other."""
    e = 1e-5
    strata = iter(found)
    items = [(grade, next(strata) if grade is not None else None) for grade in one.ranking]
    everything = [(grade, where) for grade, where in items if grade is not None] + list(
        zip(one.missed, missed, strict=True)
    )
    total, weights = 0.0, 0.0
    for s, size in enumerate(sizes):
        sampled = [grade for grade, where in everything if where == s and grade >= 0]
        relevant = sum(grade >= rel for grade in sampled)
        if not relevant:
            continue
        precisions = []
        for above, (grade, where) in enumerate(items):
            if where != s or grade is None or grade < rel:
                continue
            before = [pair for pair in items[:above] if pair[1] is not None]
            share = 0.0
            for t in range(len(sizes)):
                inside = [g for g, w in before if w == t and g is not None]
                hits, drawn = sum(g >= rel for g in inside), sum(g >= 0 for g in inside)
                share += len(inside) / len(before) * (hits + e) / (drawn + 3 * e) if before else 0.0
            precisions.append(1 / (above + 1) + len(before) / (above + 1) * share)
        estimate = relevant * size / len(sampled)
        total += estimate * sum(precisions) / relevant
        weights += estimate
    return over(total, weights)


@pytest.mark.parametrize("rel", [1, 2])
def test_xinfap_is_its_plain_definition(rel: float) -> None:
    random = Random(11)
    lists, strata, sizes = [], [], []
    for _ in range(150):
        one = some_plain(random, (0, 1, 2))
        pooled = sum(grade is not None for grade in one.ranking)
        lists.append(one)
        strata.append(([random.randrange(3) for _ in range(pooled)], [random.randrange(3) for _ in one.missed]))
        sizes.append([random.choice([4.0, 20.0, 55.0]) for _ in range(3)])
    values = make("xinfAP", {"rel": rel})(with_strata(lists, strata, sizes))
    for one, (here, missed), size, value in zip(lists, strata, sizes, values, strict=True):
        assert value == pytest.approx(xinfap(one, here, missed, size, rel), rel=1e-9, nan_ok=True), one


# ---- trec_eval itself

Dicts = tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]


def some_campaign(random: Random, *, lowest: int = -1) -> Dicts:
    """A run and its judgments: ties, holes, unretrieved and pooled but unjudged items."""
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for q in range(25):
        items = [f"d{i}" for i in range(30)]
        random.shuffle(items)
        run[f"q{q}"] = {item: random.randrange(12) / 4 for item in items[: random.randrange(1, 25)]}
        qrels[f"q{q}"] = {item: random.choice([0, 0, 1, 1, 2, 3, lowest]) for item in random.sample(items, 16)}
        qrels[f"q{q}"][items[0]] = random.choice([0, 1])  # at least one real judgment, or trec_eval gives up
    return run, qrels


def run_of(run: dict[str, dict[str, float]]) -> Run:
    rows = [(query, item, score) for query, scores in run.items() for item, score in scores.items()]
    return Run.of(pl.DataFrame(rows, schema=["query", "item", "score"], orient="row"))


def opinions_of(qrels: dict[str, dict[str, int]]) -> Opinions:
    rows = [(query, item, grade) for query, grades in qrels.items() for item, grade in grades.items()]
    return Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))


PARAMETERS = {
    "P.3,7", "recall.2,11", "ndcg_cut.4,6", "map_cut.3,9", "success.2,3", "relative_P.4,20",
    "iprec_at_recall.0.15,0.3", "Rprec_mult.0.35,1.7", "11pt_avg.0.25,0.5", "set_F.4",
}  # fmt: skip


def logged(measure_name: str, value: float) -> float:
    return math.log(max(value, 1e-5)) if measure_name in {"gm_map", "gm_bpref"} else value


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("wanted", ["defaults", "parameters"])
def test_trec_eval_gives_the_same(wanted: str, seed: int, level: int) -> None:
    run, qrels = some_campaign(Random(seed))
    names = pytrec_eval.supported_measures - {"runid", "relstring"} if wanted == "defaults" else PARAMETERS
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=level).evaluate(run)
    compare_with_trec_eval(run, qrels, names, theirs, level)


@pytest.mark.parametrize("seed", range(5))
def test_scores_that_are_equal_in_single_precision_are_ties_as_in_trec_eval(seed: int) -> None:
    chance = Random(seed)
    run, qrels = some_campaign(chance)
    close = {
        query: {item: 10 + chance.randrange(200) * 1e-8 if chance.random() < 0.9 else 1e300 for item in items}
        for query, items in run.items()
    }
    names = pytrec_eval.supported_measures - {"runid", "relstring"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=1).evaluate(close)
    compare_with_trec_eval(close, qrels, names, theirs, 1)


def test_only_trec_eval_s_way_compares_in_single_precision() -> None:
    run, qrels = run_of({"q": {"a": 10.00000002, "b": 10.00000001}}), opinions_of({"q": {"a": 1, "b": 0}})
    for policy, value in ((Policy(), 1.0), (Policy.like("trec_eval-9"), 0.5), (Policy.like("trec_eval-10"), 0.5)):
        assert measure(run, qrels, parse_all(["RR"]), policy).frame["value"].to_list() == [value]


def compare_with_trec_eval(
    run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]], names: set[str], theirs: Any, level: int
) -> None:
    ours = parse_all(sorted(names), rel=level)
    scores = measure(run_of(run), opinions_of(qrels), ours, Policy.like("trec_eval-9")).to_dict()["run"]
    assert set(scores) == set(theirs)
    seen = set()
    for query, expected in theirs.items():
        for one in ours:
            label = label_in(expected, str(one.label))
            seen.add(label)
            value = logged(label, scores[query][str(one)])
            assert value == pytest.approx(expected[label], abs=1e-9), (query, label)
        assert seen == set(expected)


def label_in(expected: dict[str, float], label: str) -> str:
    """pytrec_eval leaves out or rewrites parameters that trec_eval prints."""
    return label if label in expected else label.split(".", maxsplit=1)[0].rsplit("_", 1)[0]


def test_text_measures_are_known() -> None:
    assert {name for name, definition in REGISTRY.items() if definition.text} == {"relstring", "runid"}


def test_no_value_is_infinite() -> None:
    random = Random(3)
    lists = [some_plain(random) for _ in range(50)]
    for name in sorted(set(ORACLES) - {"A", "B", "C", "D", "GradedP", "GradedR", "GradedF", "Fallout", "Generality"}):
        assert not np.isinf(make(name, some_settings(name, random))(batch(lists))).any()


def _big(names: str, grade: float) -> dict[str, float]:
    run = Run.of(pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]}), system="s")
    judged = Opinions.of(pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "grade": [1.0, grade]}))
    scores = measure(run, judged, parse_all(names.split()), policy=Policy()).frame
    return dict(scores.select("measure", "value").iter_rows())


def test_high_grades_are_scored_or_refused_but_never_dropped() -> None:
    assert _big("ERR nDCG", 2000.0) == {"ERR": pytest.approx(0.5), "nDCG": pytest.approx(0.631, abs=1e-3)}
    assert _big("nDCG(dcg='exp-log2')", 1000.0) == {"nDCG(dcg='exp-log2')": pytest.approx(1 / np.log2(3))}
    with pytest.raises(TableError, match=r"grade 1024 is too high for exponential gains .* use dcg='log2'"):
        _big("nDCG(dcg='exp-log2')", 1024.0)


@pytest.mark.parametrize("name", ["RBP", "ERR"])
def test_where_no_grade_is_above_0_nothing_is_gained(name: str) -> None:
    lists = batch([Plain((0, None, 0), (0,)), Plain((0,))])
    assert lists.top == 0
    assert make(name, {})(lists).tolist() == [0.0, 0.0]
