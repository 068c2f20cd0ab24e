"""The page of trials: its sentences say who is better and whether that is clear; its numbers are those of the trial."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from endoxa.reports.pages.trials import CAVEAT, Held, about, answer, curve_of, heads, leaders, lines, page, sentence
from endoxa.searches.arms import Features, group_of
from endoxa.searches.trials import Setting, Trial, hold


@pytest.fixture(scope="module")
def collection() -> tuple[Features, list[str]]:
    rng = np.random.default_rng(2)
    kind = np.arange(90) % 6
    look = (rng.normal(size=(6, 8))[kind] * 1.5 + rng.normal(size=(90, 8))).astype(np.float32)
    return Features(tuple(f"p{at:02d}" for at in range(90)), (group_of("look", look),)), [f"k{one}" for one in kind]


@pytest.fixture(scope="module")
def found(collection: tuple[Features, list[str]]) -> Held:
    features, categories = collection
    names = ["kernel", "kernel/l1", "rocchio", "none"]
    settings = [Setting(task, "class", sessions=20, size=6, most=60) for task in ("target", "kind")]
    trials = [hold(features, categories, names, setting) for setting in settings]
    return Held("Trials", trials, ["90 pictures"], provenance={"Seed": "0"})


def test_the_answer_comes_first(found: Held) -> None:
    target, kind = found.trials
    best = target.order[0]
    value = target.value(best)
    text = answer(found)
    level = target.apart.level
    assert best.startswith("kernel") and level and target.apart.winner is None
    assert text.startswith(f"For people who think in categories, {best}, {level[0]}")
    assert "cannot be told apart" in text and "soonest" not in text
    d, lo, hi = target.difference(best, target.order[1])
    assert f"{best} needs {value['value']:.0f} pictures (median {value['median']:.0f}), {-d:.0f} fewer [" in text
    assert lo <= d <= hi
    best = leaders(kind)[0]
    assert f"feedback by {best} raises the precision of the next 3 pages from {kind.value('none')['value']:.3f}" in text


def test_the_answer_compares_with_the_best_baseline_beyond_the_least(found: Held) -> None:
    target = found.trials[0]
    own = target.order[0]
    assert target.baseline == "rocchio" and own.startswith("kernel")
    whole, beyond = (target.ratio(own, "rocchio", one)[0] for one in ("pictures", "beyond"))
    excess = [target.value(name, "beyond")["value"] for name in (own, "rocchio")]
    text = sentence(target)
    assert (
        f"With pages of 6 no learner needs fewer than {target.least:.1f} on average; beyond this {own} needs " in text
    )
    assert f" needs {excess[0]:.1f}, the best baseline rocchio {excess[1]:.1f}. The ratio of the two is " in text
    assert f"is {beyond:.2f} [" in text and f"that of all pictures {whole:.2f} [" in text
    row = next(row for row in lines(target) if row[0].text == own)
    at = heads(target)
    assert row[at.index("beyond the least")].sort == excess[0]
    assert row[at.index("÷ rocchio")].sort == whole and row[at.index("beyond ÷ rocchio")].sort == beyond


def test_a_best_learner_is_named_only_where_it_is_told_apart_from_all(found: Held) -> None:
    trial = found.trials[0]
    best, *others = trial.order
    rows = [(best, other, -9.0, -12.0, -6.0) for other in others]
    rows += [(one, other, 0.0, -3.0, 3.0) for one, other in combinations(others, 2)]
    schema = ["system", "baseline", "difference", "lo", "hi"]
    pairs = pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.lit("pictures").alias("measure"))
    clear = replace(trial, pairs=pairs)
    assert f"{best} finds one picture soonest. On average {best} needs" in sentence(clear)
    assert [row[1].strong for row in lines(clear)] == [True, *[False] * len(others)]
    near = pl.when(pl.col("baseline") == others[0]).then(1.0).otherwise("hi")
    close = replace(trial, pairs=pairs.with_columns(near.alias("hi")))
    assert f"{best} and {others[0]} cannot be told apart; " in sentence(close)
    assert not any(row[1].strong for row in lines(close))


def test_tables_have_the_numbers_of_the_trial(found: Held) -> None:
    for trial in found.trials:
        rows = lines(trial)
        assert [row[0].text for row in rows] == trial.order
        assert all(len(row) == len(heads(trial)) for row in rows)
        for row in rows:
            assert row[1].sort == trial.value(row[0].text)["value"]
    target, kind = found.trials
    values = [target.value(name)["value"] for name in target.order]
    assert values == sorted(values)
    values = [kind.value(name)["value"] for name in kind.order]
    assert values == sorted(values, reverse=True)
    at = heads(kind).index("against none")
    differences = {row[0].text: row[at].sort for row in lines(kind)}
    assert differences["rocchio"] == pytest.approx(kind.value("rocchio")["value"] - kind.value("none")["value"])
    assert next(row[at].text for row in lines(kind) if row[0].text == "none") == "–"


def test_the_curves(found: Held) -> None:
    target, kind = found.trials
    by_round = curve_of(kind).filter(pl.col("system") == "kernel")
    assert by_round["x"].to_list() == [0, 1, 2, 3]
    assert by_round["y"][1:].mean() == pytest.approx(kind.value("kernel")["value"])
    share = curve_of(target).filter(pl.col("system") == "kernel")["y"].to_list()
    assert len(share) == 10 and share == sorted(share)


def test_the_page(found: Held) -> None:
    html = page(found)
    assert html == page(found)
    assert "Target search, class people" in html and "Kind search, class people" in html
    assert CAVEAT in html and "kernel/l1" in html
    assert "fewer relevant pictures than a page holds" not in html
    assert html.count("<figure>") == 2


def test_nobody_to_compare_with(collection: tuple[Features, list[str]]) -> None:
    features, categories = collection
    alone = hold(features, categories, ["kernel"], Setting("target", "mixed", sessions=3, size=6, most=60))
    assert sentence(alone).startswith("For people who think in looks and categories, kernel needs ")
    assert sentence(alone).endswith(" to find one.")
    assert "<figure>" in page(Held("One", [alone]))


def test_every_competitor_is_explained() -> None:
    assert about("kernel/learnt").endswith("the prior is learnt from the sessions before")
    assert about("kernel/chi2").endswith("metric chi2 where a group has it")
    assert about("none") == "no feedback: the next page of the first ranking"


def crowded(trial: Trial) -> bool:
    return "fewer relevant pictures than a page holds" in page(Held("t", [trial]))


def test_a_ceiling_is_said(collection: tuple[Features, list[str]]) -> None:
    features, categories = collection
    full = hold(features, categories, ["rocchio"], Setting("kind", "class", sessions=5, size=14, rounds=1))
    assert full.ceiling == 1 and crowded(full)
    assert "of the next page from" in sentence(full)
