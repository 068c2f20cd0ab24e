"""Lifts of contenders: means, standard errors, paired differences, words, and the way to `endoxa.compare`."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from word_samples import lifts_of, pictures

import endoxa
from endoxa.errors import EndoxaError
from endoxa.statistics.resampled import resampled
from endoxa.words.annotating import Learning
from endoxa.words.contenders import Contender
from endoxa.words.lifts import Lifts
from endoxa.words.scoring import score
from endoxa.words.splits import HELD_OUT, PARTS

GOOD = Contender("good", "made", ("base",), 4, Learning(components=16))
NOISE = Contender("noise", "made", ("rgs",), 4, Learning(components=16))


@pytest.fixture(scope="module")
def lifts() -> Lifts:
    return lifts_of(pictures(300), [GOOD, NOISE], {"good": "noise"})


def test_the_summary_is_the_mean_over_resamples(lifts: Lifts) -> None:
    assert lifts.parts == list(PARTS) and lifts.order() == ["good", "noise"]
    own = lifts.resamples.filter((pl.col("arm") == "good") & (pl.col("part") == HELD_OUT))
    expected = resampled(
        own["lift"].to_numpy(),
        float((own["pictures"] + own["skipped"]).mean()),
        float(own["train"].mean()),  # type: ignore[arg-type]
    )
    found = lifts.value("good")
    assert found["lift"] == pytest.approx(expected.value) and found["se"] == pytest.approx(expected.se)
    assert found["naive"] < found["se"] and found["lift"] == pytest.approx(found["score"] - found["baseline"])
    assert found["lo"] > 0 and found["vocabulary"] == 12


def test_differences_are_paired(lifts: Lifts) -> None:
    row = lifts.differences.filter(pl.col("part") == HELD_OUT).row(0, named=True)
    assert row["difference"] == pytest.approx(lifts.value("good")["lift"] - lifts.value("noise")["lift"])
    assert row["lo"] > 0 and row["reference"] == "noise"
    mirror = lifts.difference("noise", "good")
    assert mirror.value == pytest.approx(-row["difference"]) and mirror.se == pytest.approx(row["se"])


def test_noise_gains_nothing(lifts: Lifts) -> None:
    found = lifts.value("noise")
    assert found["lo"] < 0.02 and abs(found["lift"]) < 0.05


def test_words_add_up(lifts: Lifts) -> None:
    frame = lifts.words.filter(pl.col("arm") == "good")
    assert frame["pictures"].sum() == frame["predicted"].sum()
    rows = lifts.resamples.filter((pl.col("arm") == "good") & (pl.col("part") == HELD_OUT))
    assert frame["pictures"].sum() == 4 * rows["pictures"].sum()  # every picture has four words
    known = frame["lift"].drop_nans()
    assert known.is_sorted(descending=True)


def test_pictures_are_compared_as_everything_else_is(lifts: Lifts) -> None:
    compared = endoxa.compare(lifts.scores, seed=1, baseline="frequencies").frame
    assert compared["system"].to_list() == ["good", "noise"] and compared["measure"].unique().to_list() == ["Rprec"]
    first = compared.row(0, named=True)
    assert first["lo"] > 0 and first["queries"] == len(lifts.scores.queries)
    one = lifts.scores.queries[0]
    at = lifts.items.index(one)
    held = [found.parts[HELD_OUT] for found in lifts.outcomes["good"]]
    values = [part.score[part.at == at][0] for part in held if at in part.at]
    assert lifts.scores.to_dict()["good"][one]["Rprec"] == pytest.approx(np.mean(values))


def test_the_score_is_r_precision() -> None:
    """A picture is a query, its words are relevant, the prediction is a ranking of the vocabulary."""
    rng = np.random.default_rng(2)
    truths, chances = rng.random((30, 8)) < 0.4, rng.random((30, 8))
    run = {f"q{q:02d}": {f"w{w}": chances[q, w] for w in range(8)} for q in range(30)}
    qrels = {f"q{q:02d}": {f"w{w}": int(truths[q, w]) for w in range(8)} for q in range(30)}
    scores = endoxa.measure(run, qrels, ["Rprec"]).frame
    found = score(chances, truths, np.arange(8.0))
    by_query = dict(scores.select("query", "value").iter_rows())
    np.testing.assert_allclose(found.score, [by_query[f"q{at:02d}"] for at in found.at])


def test_an_unknown_reference_is_refused() -> None:
    with pytest.raises(EndoxaError, match="god"):
        Lifts((GOOD,), (), {}, {"good": "god"})
