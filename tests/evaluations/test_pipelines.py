"""Pipelines compared: worked examples of texts, brute force, and pages that lack something."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest

from endoxa.errors import JoinError, TableError
from endoxa.evaluations.pipelines import ALIGNED, BAG, ON_RECALL, TRUTH, PipelineStudy, compare_pipelines
from endoxa.verbs.evaluate import evaluate

SENTENCES = {
    "S1": "John Smith visited Paris", "S2": "John Smlth visited Paris France", "S3": "John Smith visted Paris",
}  # fmt: skip
ORDERS = {"S1": "Paris met John", "S2": "John met Paris", "S3": "Paris met John Paris"}


def outputs(texts: dict[str, str], pages: int = 1) -> dict[str, dict[str, list[str]]]:
    return {name: {f"p{page}": text.split() for page in range(pages)} for name, text in texts.items()}


def values(study: PipelineStudy, way: str) -> dict[str, tuple[float, float]]:
    precision, recall = (study.means(way, measure) for measure in ("precision", "recall"))
    return {name: (precision[name], recall[name]) for name in precision}


@pytest.mark.parametrize("way", [BAG, ALIGNED])
def test_the_first_example_of_methods(way: str) -> None:
    study = compare_pipelines(outputs(SENTENCES))
    expected = {"S1": (0.7, 0.7), "S2": (0.6, 0.75), "S3": (0.65, 0.65)}
    for name, pair in expected.items():
        assert values(study, way)[name] == pytest.approx(pair)


def test_the_second_example_of_methods_where_order_matters() -> None:
    study = compare_pipelines(outputs(ORDERS), weights="equal")
    bag = {"S1": (0.8, 0.857143), "S2": (0.8, 0.857143), "S3": (0.7, 1.0)}
    aligned = {"S1": (0.666667, 0.666667), "S2": (0.6, 0.6), "S3": (0.65, 0.866667)}
    for way, expected in ((BAG, bag), (ALIGNED, aligned)):
        for name, pair in expected.items():
            assert values(study, way)[name] == pytest.approx(pair, abs=5e-7)
    assert study.virtual == "⊤" and "⊤" not in study.pipelines


@pytest.fixture(scope="module")
def drawn() -> tuple[dict[str, dict[str, list[str]]], dict[str, list[str]]]:
    """Twelve pages of ten true words; four pipelines that lose and add words, `bad` most, `good` least."""
    rng = np.random.default_rng(3)
    vocabulary = ["".join(rng.choice(list("abcdefghijklmnop"), 7)) for _ in range(40)]
    truth = {f"p{page:02}": rng.choice(vocabulary, 10).tolist() for page in range(12)}
    found: dict[str, dict[str, list[str]]] = {}
    for name, errors in (("bad", 0.6), ("poor", 0.4), ("fair", 0.25), ("good", 0.1)):
        found[name] = {
            page: [word if rng.random() > errors else f"{word}-{rng.integers(99)}" for word in words]
            for page, words in truth.items()
        }
    return found, truth


def test_truth_is_that_of_brute_force(drawn) -> None:
    found, truth = drawn
    study = compare_pipelines(found, truth)
    assert list(study.ways) == [TRUTH, BAG, ALIGNED]
    for name, own in found.items():
        hits = [(Counter(own[page]) & Counter(truth[page])).total() for page in truth]
        assert study.means(TRUTH, "precision")[name] == pytest.approx(np.mean([hit / 10 for hit in hits]))
        assert study.means(TRUTH, "recall")[name] == pytest.approx(np.mean([hit / 10 for hit in hits]))


def test_the_consensus_is_that_of_brute_force(drawn) -> None:
    found, _ = drawn
    study = compare_pipelines(found)
    for name, own in found.items():
        precision, recall = [], []
        for page, words in own.items():
            counts = [Counter(other[page]) for other in found.values()]
            most = {word: max(count[word] for count in counts) for count in counts for word in count}
            p = {
                (word, j): (1 + sum(count[word] >= j for count in counts)) / 6
                for word, top in most.items()
                for j in range(1, top + 1)
            }
            mine = sum(p[word, j] for word, top in Counter(words).items() for j in range(1, top + 1))
            precision.append(mine / len(words))
            recall.append(mine / sum(p.values()))
        assert study.means(BAG, "precision")[name] == pytest.approx(np.mean(precision))
        assert study.means(BAG, "recall")[name] == pytest.approx(np.mean(recall))


def test_the_numbers_are_those_of_evaluate(drawn) -> None:
    found, _ = drawn
    study = compare_pipelines(found, seed=4)
    for way, tokens, near in ((BAG, "bag", None), (ALIGNED, "align", 0.8)):
        other = evaluate(found, tokens=tokens, near=near, plugin=True, seed=4).summary
        own = study.values.filter(pl.col("way") == way)
        assert own["value"].to_list() == pytest.approx(other["value"].to_list(), nan_ok=True)
        assert own["lo"].to_list() == pytest.approx(other["lo"].to_list(), nan_ok=True)


def test_orders_agree_where_errors_are_independent(drawn) -> None:
    found, truth = drawn
    study = compare_pipelines(found, truth)
    order = ["good", "fair", "poor", "bad"]
    for way in study.ways:
        means = study.means(way, "precision")
        assert sorted(means, key=means.__getitem__, reverse=True) == order
    taus = study.taus.filter(pl.col("measure") == "precision")
    assert taus["tau"].to_list() == [1.0, 1.0] and (taus["lo"] <= 1).all() and (taus["lo"] > 0).all()
    known = study.values.filter(pl.col("lo").is_not_nan())
    assert (known["lo"] <= known["value"] + 1e-12).all() and (known["value"] <= known["hi"] + 1e-12).all()
    assert ON_RECALL in study.warnings
    assert study.agreed["share"].is_sorted()


def test_pairs_are_compared_page_by_page_as_by_hand(drawn) -> None:
    """F1 by truth from counted words; P(better) against all 6^6 resamples of six pages; the pages won by counting."""
    found, truth = drawn
    some = dict(list(truth.items())[:6])
    study = compare_pipelines(found, some)

    def f1(name: str, page: str) -> float:
        return 2 * (Counter(found[name][page]) & Counter(some[page])).total() / (len(found[name][page]) + 10)

    rows = study.pairs.filter((pl.col("way") == TRUTH) & (pl.col("measure") == "F1"))
    assert rows.height == 6
    for row in rows.iter_rows(named=True):
        d = np.array([f1(row["pipeline"], page) - f1(row["other"], page) for page in some])
        means = d[np.array(list(product(range(6), repeat=6)))].mean(axis=1)
        exact = np.mean(means > 1e-12) + np.mean(np.abs(means) <= 1e-12) / 2
        assert row["p_better"] == pytest.approx(exact, abs=3 * np.sqrt(max(exact * (1 - exact), 0.0005) / 2000))
        assert row["difference"] == pytest.approx(d.mean()) and row["difference"] >= 0
        assert (row["won"], row["lost"], row["pages"]) == ((d > 1e-12).sum(), (d < -1e-12).sum(), 6)
        assert row["lo"] < row["difference"] < row["hi"]
    assert set(study.pairs["way"]) == {TRUTH, BAG, ALIGNED} and study.pairs.height == 3 * 3 * 6
    assert study.pairs.filter(pl.col("way") == BAG)["pages"].to_list() == [12] * 18


def test_below_six_pages_only_pages_won_are_counted(drawn) -> None:
    found, truth = drawn
    for count, known in ((5, False), (6, True)):
        pages = list(truth)[:count]
        study = compare_pipelines({name: {page: own[page] for page in pages} for name, own in found.items()})
        for column in ("lo", "hi", "p_better"):
            assert study.pairs[column].is_not_nan().all() == known and study.pairs[column].is_not_nan().any() == known
        assert (study.pairs["won"] + study.pairs["lost"] <= count).all() and study.pairs["won"].sum() > 0
        assert not any(one.decided for one in study.compared.values()) or known


def test_a_page_without_a_value_for_one_of_a_pair_does_not_count(drawn) -> None:
    """An empty output has no precision there: eleven pages are left, drawn as eleven, and equal ones stay at .5."""
    found, truth = drawn
    silent = {**found, "bad": {**found["bad"], "p03": []}, "twin": found["good"]}
    study = compare_pipelines(silent, truth)
    rows = study.pairs.filter((pl.col("way") == TRUTH) & (pl.col("measure") == "precision"))
    at = {frozenset((row["pipeline"], row["other"])): row for row in rows.iter_rows(named=True)}
    assert at[frozenset(("bad", "good"))]["pages"] == 11 and at[frozenset(("poor", "good"))]["pages"] == 12
    twins = at[frozenset(("good", "twin"))]
    assert (twins["difference"], twins["p_better"], twins["won"], twins["lost"]) == (0, 0.5, 0, 0)


def test_the_seed_decides(drawn) -> None:
    one, again, other = (compare_pipelines(*drawn, seed=seed) for seed in (0, 0, 1))
    assert one.values.equals(again.values) and one.taus.equals(again.taus) and not one.values.equals(other.values)


def test_a_page_that_one_pipeline_lacks_is_left_out_for_all(drawn) -> None:
    found, truth = drawn
    lacking = {**found, "bad": {page: words for page, words in found["bad"].items() if page != "p03"}}
    whole = {name: {page: words for page, words in own.items() if page != "p03"} for name, own in found.items()}
    study, expected = compare_pipelines(lacking, truth), compare_pipelines(whole, truth)
    assert study.pages == expected.pages and "p03" not in study.pages
    assert study.values.equals(expected.values)
    assert any(warning.startswith("1 page (p03) could not be read by every pipeline") for warning in study.warnings)


def test_a_pipeline_that_found_nothing_is_left_out(drawn) -> None:
    found, truth = drawn
    for own in ({}, dict.fromkeys(truth, ())):
        study = compare_pipelines({**found, "broken": own}, truth)
        assert "broken" not in study.pipelines and len(study.pages) == 12
        assert "broken found nothing on any page, and is left out." in study.warnings


def test_transcriptions_that_miss_a_page(drawn) -> None:
    found, truth = drawn
    some = {page: words for page, words in truth.items() if page not in {"p00", "p07"}}
    study = compare_pipelines(found, some)
    assert len(study.pages) == 12 and len(study.judged) == 10
    assert any(warning.startswith("2 pages have no transcription (p00 and p07)") for warning in study.warnings)
    assert set(study.values.filter(pl.col("way") == TRUTH)["pages"]) == {10}
    assert set(study.values.filter(pl.col("way") == BAG)["pages"]) == {12}


def test_without_transcriptions_there_is_no_truth(drawn) -> None:
    study = compare_pipelines(drawn[0])
    assert list(study.ways) == [BAG, ALIGNED] and not study.taus.height and not study.judged


def test_pages_without_output_without_text_and_without_both() -> None:
    """Undefined is counted, never a silent 0: a has nothing on p1; p2 has no true word; p3 has nothing at all."""
    found = {
        "a": {"p0": ["x", "y"], "p1": [], "p2": ["x"], "p3": []},
        "b": {"p0": ["x", "y"], "p1": ["x"], "p2": ["x"], "p3": []},
        "c": {"p0": ["x", "z"], "p1": ["x"], "p2": [], "p3": []},
    }
    study = compare_pipelines(found, {"p0": ["x", "y"], "p1": ["x"], "p2": [], "p3": []})
    assert study.judged == ("p0", "p1", "p2") and study.pages == ("p0", "p1", "p2", "p3")
    at = {(row["way"], row["measure"], row["pipeline"]): row for row in study.values.iter_rows(named=True)}
    precision, recall = at[TRUTH, "precision", "a"], at[TRUTH, "recall", "a"]
    assert (precision["value"], precision["pages"], precision["undefined"]) == (0.5, 2, 1)  # 1 on p0, 0 on p2
    assert (recall["value"], recall["pages"], recall["undefined"]) == (0.5, 2, 1)  # 1 on p0, 0 on p1, 0/0 on p2
    assert at[BAG, "precision", "a"]["undefined"] == 1 and at[BAG, "recall", "a"]["undefined"] == 0
    assert any("No pipeline found anything on 1 page (p3)" in warning for warning in study.warnings)


def test_a_pipeline_that_found_nothing_where_a_truth_is_known_has_no_precision_and_recall_0() -> None:
    found = {"a": {"p0": ["x"], "p1": ["y"]}, "b": {"p0": ["x"], "p1": ["y"]}, "c": {"p0": [], "p1": ["y"]}}
    study = compare_pipelines(found, {"p0": ["x"]})
    assert study.pipelines == ("a", "b", "c")
    at = {(row["measure"], row["pipeline"]): row for row in study.values.filter(pl.col("way") == TRUTH).to_dicts()}
    assert np.isnan(at["precision", "c"]["value"]) and at["precision", "c"]["undefined"] == 1
    assert at["recall", "c"]["value"] == 0 and at["F1", "c"]["value"] == 0 and at["recall", "c"]["pages"] == 1
    taus = study.taus.filter(pl.col("way") == BAG)
    assert dict(taus.select("measure", "tau").iter_rows())["recall"] == pytest.approx(1.0)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(JoinError, match="two pipelines or more"):
        compare_pipelines({"a": {"p": ["x"]}})
    with pytest.raises(JoinError, match="no page that all of a and b have read"):
        compare_pipelines({"a": {"p": ["x"]}, "b": {"q": ["x"]}})
    with pytest.raises(TableError, match="no pipeline found anything on any of 1 page"):
        compare_pipelines({"a": {"p": []}, "b": {"p": []}})
    with pytest.raises(JoinError, match="nothing was found on the 1 page that all pipelines have read"):
        compare_pipelines({"a": {"p": [], "q": ["x"]}, "b": {"p": [], "r": ["x"]}})
    study = compare_pipelines({"a": {"p": ["x"]}, "b": {"p": ["x"]}})
    assert any("With only 1 page" in warning for warning in study.warnings)
    assert any("2 pipelines are few voters" in warning for warning in study.warnings)
