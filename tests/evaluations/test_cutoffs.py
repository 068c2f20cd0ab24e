"""Consensus beside folders at every cut-off: the source's example, brute force, and a system that consensus misses."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.errors import TextError
from endoxa.evaluations.cutoffs import Cutoffs, cutoffs
from endoxa.images.corpus import Corpus
from endoxa.tables import Run


def corpus_of(folders: dict[str, list[str]]) -> Corpus:
    rows = [(f"{item}.png", folder) for folder, items in folders.items() for item in items]
    return Corpus.of(pl.DataFrame(rows, schema=["path", "category"], orient="row"), ".")


def run_of(lists: dict[str, dict[str, list[str]]]) -> Run:
    rows = [
        (system, query, item, float(-rank))
        for system, queries in lists.items()
        for query, items in queries.items()
        for rank, item in enumerate(items)
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def values(found: Cutoffs, way: str, measure: str, k: int) -> dict[str, float]:
    rows = found.values.filter((pl.col("way") == way) & (pl.col("measure") == measure) & (pl.col("k") == k))
    return dict(rows.select("system", "value").iter_rows())


def test_the_example_of_lamiroy_and_sun() -> None:
    """Their Table 1; docs/methods/beliefs.md, Consensus: on the pool of six items, recall is .75 and .625."""
    sets = {"S1": ["1", "2", "4", "5"], "S2": ["1", "2", "3"], "S3": ["1", "2", "6"]}
    run = run_of({system: {"q": items, "r": items} for system, items in sets.items()})
    found = cutoffs(
        run, corpus_of({"a": ["q", "r", "1", "6"], "b": ["2", "3", "4", "5"]}), ["q", "r"], deepest=4, seed=0
    )
    assert found is not None and found.queries == 2
    assert values(found, "consensus", "precision", 4) == pytest.approx({"S1": 0.6, "S2": 2 / 3, "S3": 2 / 3})
    assert values(found, "consensus", "recall", 4) == pytest.approx({"S1": 0.75, "S2": 0.625, "S3": 0.625})
    assert values(found, "consensus", "precision", 1) == pytest.approx({"S1": 0.8, "S2": 0.8, "S3": 0.8})
    # The folder of q and r holds 1, 6 and the other query.
    assert values(found, "folders", "precision", 4) == pytest.approx({"S1": 1 / 4, "S2": 1 / 3, "S3": 2 / 3})
    assert values(found, "folders", "recall", 3) == pytest.approx({"S1": 1 / 3, "S2": 1 / 3, "S3": 2 / 3})


@pytest.fixture(scope="module")
def drawn() -> tuple[Run, Corpus, dict[str, dict[str, list[str]]]]:
    """Four systems that answer 12 queries by chance, over 30 items in three folders."""
    rng = np.random.default_rng(4)
    items = [f"i{number:02}" for number in range(30)]
    folders = {name: items[at::3] for at, name in enumerate("abc")}
    lists = {
        system: {query: [one for one in rng.permutation(items).tolist() if one != query][:6] for query in items[:12]}
        for system in ("s", "t", "u", "v")
    }
    return run_of(lists), corpus_of(folders), lists


def test_against_brute_force(drawn) -> None:
    run, corpus, lists = drawn
    found = cutoffs(run, corpus, [f"i{number:02}" for number in range(12)], deepest=5, seed=0)
    assert found is not None and found.queries == 12
    folder = dict(corpus.frame.select("item", "category").iter_rows())
    for k in (1, 3, 5):
        expected: dict[tuple[str, str, str], list[float]] = {}
        for query in lists["s"]:
            voted = {system: queries[query][:5] for system, queries in lists.items()}
            p = {item: (1 + sum(item in own for own in voted.values())) / 6 for own in voted.values() for item in own}
            mates = {item for item in folder if folder[item] == folder[query] and item != query}
            for system, own in voted.items():
                sums = sum(p[item] for item in own[:k]), len(mates & set(own[:k]))
                parts = {("consensus", "precision"): sums[0] / k, ("consensus", "recall"): sums[0] / sum(p.values())}
                parts |= {("folders", "precision"): sums[1] / k, ("folders", "recall"): sums[1] / len(mates)}
                for way in ("consensus", "folders"):  # the harmonic mean on this query, 0 if both are 0
                    p_, r_ = parts[way, "precision"], parts[way, "recall"]
                    parts[way, "F"] = 2 * p_ * r_ / (p_ + r_) if p_ + r_ else 0.0
                for key, value in parts.items():
                    expected.setdefault((*key, system), []).append(value)
        for (way, measure, system), one in expected.items():
            assert values(found, way, measure, k)[system] == pytest.approx(np.mean(one))
    alone = dict(found.alone.select("system", "share").iter_rows())
    for system, queries in lists.items():
        own = [
            not any(item in other[query][:5] for name, other in lists.items() if name != system)
            for query, items in queries.items()
            for item in items[:5]
        ]
        assert alone[system] == pytest.approx(np.mean(own))


def test_intervals_hold_their_means_and_the_seed_decides(drawn) -> None:
    run, corpus, _ = drawn
    one, again, other = (cutoffs(run, corpus, corpus.items[:12], deepest=5, seed=seed) for seed in (0, 0, 1))
    assert one is not None and again is not None and other is not None
    assert one.values.equals(again.values) and one.taus.equals(again.taus)
    assert not one.values.equals(other.values)
    known = one.values.filter(pl.col("lo").is_not_nan())
    assert (known["lo"] <= known["value"]).all() and (known["value"] <= known["hi"]).all()
    assert one.taus.height == 15 and (one.taus["lo"] <= one.taus["hi"]).all()
    assert one.taus["tau"].is_between(-1, 1).all()


def test_a_better_system_that_the_consensus_misses() -> None:
    """`lone` returns mates only, which nobody else does; the others share two wrong items."""
    wrong, mates = ["x", "y", "z1", "z2", "z3"], ["m1", "m2", "m3"]
    lists = {"a": ["x", "y", "z1"], "b": ["x", "y", "z2"], "c": ["x", "y", "z3"], "lone": mates}
    queries = [f"q{place:02}" for place in range(40)]  # three equal differences would not exclude 0
    run = run_of({system: dict.fromkeys(queries, items) for system, items in lists.items()})
    found = cutoffs(run, corpus_of({"f": [*queries, *mates], "g": wrong}), queries, deepest=3, seed=0)
    assert found is not None and found.shown == 3
    turned = found.turned.filter((pl.col("measure") == "precision") & (pl.col("k") == 3))
    assert turned["system"].to_list() == ["lone"] * 3 and turned["other"].to_list() == ["a", "b", "c"]
    assert (turned["folders_lo"] > 0).all() and (turned["consensus_hi"] < 0).all()
    assert found.taus.filter(pl.col("k") == 3)["tau"].to_list() == pytest.approx([-1.0, -1.0, -1.0])
    assert found.alone.row(0) == ("lone", 1.0, 1.0)


def test_f_is_that_of_quenot() -> None:
    """3 correct of 10 retrieved, 6 relevant: P .3, R .5, F = 6/16; the mean over queries is not the F of the means."""
    items = [f"x{number}" for number in range(10)]
    mates = ["q", *items[:3], "m1", "m2", "m3"]
    corpus = corpus_of({"f": mates, "g": ["r", items[3]], "h": items[4:]})
    run = run_of({name: {"q": items, "r": items} for name in ("s", "t")})
    found = cutoffs(run, corpus, ["q", "r"], deepest=10, seed=0)
    assert found is not None
    one = values(found, "folders", "F", 10)["s"]
    assert one == pytest.approx((6 / 16 + 2 / 11) / 2)
    precision, recall = (values(found, "folders", measure, 10)["s"] for measure in ("precision", "recall"))
    assert one != pytest.approx(2 * precision * recall / (precision + recall))


def test_f_where_precision_and_recall_are_one_number(drawn) -> None:
    """By folders it is R-precision, beyond the depth of the votes too; by consensus the expected number is rounded."""
    _, corpus, lists = drawn
    rng = np.random.default_rng(8)
    queries = corpus.items[:12]
    orders = {(name, query): rng.permutation(corpus.items).tolist() for name in lists for query in queries}
    full = {name: {query: [one for one in orders[name, query] if one != query] for query in queries} for name in lists}
    found = cutoffs(run_of(full), corpus, queries, deepest=5, seed=0)
    assert found is not None
    folder = dict(corpus.frame.select("item", "category").iter_rows())
    even = {row[:2]: row[2] for row in found.even.iter_rows()}
    expected: dict[tuple[str, str], list[float]] = {}
    for query in queries:
        mates = {item for item in folder if folder[item] == folder[query] and item != query}
        voted = {system: own[query][:5] for system, own in full.items()}
        p = {item: (1 + sum(item in own for own in voted.values())) / 6 for own in voted.values() for item in own}
        k = int(np.floor(sum(p.values()) + 0.5 + 1e-9))
        for system, own in full.items():
            hits = len(mates & set(own[query][: len(mates)]))
            expected.setdefault(("folders", system), []).append(hits / len(mates))
            worth = sum(p.get(item, 0.0) for item in own[query][:k])
            expected.setdefault(("consensus", system), []).append(2 * worth / (k + sum(p.values())))
    assert even == pytest.approx({key: np.mean(rows) for key, rows in expected.items()})
    assert -1 <= found.even_tau[1] <= found.even_tau[0] <= found.even_tau[2] <= 1
    assert (found.even["lo"] <= found.even["value"]).all() and (found.even["value"] <= found.even["hi"]).all()


def test_nothing_to_compare(drawn) -> None:
    run, corpus, _ = drawn
    one = Run(run.frame.filter(pl.col("system") == "s"))
    assert cutoffs(one, corpus, corpus.items, seed=0) is None
    apart = corpus_of({item: [item] for item in corpus.items})
    assert cutoffs(run, apart, apart.items, seed=0) is None
    with pytest.raises(TextError, match="cut-offs count from 1, not 0"):
        cutoffs(run, corpus, corpus.items, deepest=0, seed=0)
