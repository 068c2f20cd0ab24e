"""The page of trials: its sentences say who is better and whether that is clear; its numbers are those of the trial."""

from __future__ import annotations

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
    best, other = leaders(target)
    value, rival = target.value(best), target.value(other)
    assert best.startswith("kernel") and other == "rocchio"
    text = answer(found)
    assert text.startswith(
        f"{best} needs {value['value']:.0f} pictures to find one (median {value['median']:.0f}), "
        f"rocchio {rival['value']:.0f} (median {rival['median']:.0f}): "
    )
    d, lo, hi = target.difference(best, other)
    assert ("no clear difference" in sentence(target)) == (hi >= 0)
    assert f"{-d:.0f} fewer [" in text and lo <= d <= hi
    best = leaders(kind)[0]
    assert f"feedback by {best} raises the precision of the next 3 pages from {kind.value('none')['value']:.3f}" in text


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
    assert sentence(alone).endswith("for people who think in looks and categories.") and ":" not in sentence(alone)
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
