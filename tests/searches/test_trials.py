"""Trials of learners: an example worked by hand, the protocol, and small versions of what real data shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from search_samples import clusters

from endoxa.errors import JoinError, TextError
from endoxa.searches.arms import Features, group_of
from endoxa.searches.searchers import Person, person_of
from endoxa.searches.seeking import standing_for
from endoxa.searches.trials import Competitor, Setting, Trial, drawn, evidence_of, hold, play


def collection(count: int = 240) -> tuple[Features, list[str]]:
    """Twelve kinds in four families, which look, texture and layout tell apart a little, and colours hardly."""
    rng = np.random.default_rng(5)
    kind = np.arange(count) % 12
    centres = rng.normal(size=(12, 16)) + rng.normal(size=(4, 16))[np.arange(12) % 4]
    look = centres[kind] + 2.0 * rng.normal(size=(count, 16))
    shades = np.exp(rng.normal(size=(12, 10))[kind] * 0.4 + rng.normal(size=(count, 10)))
    bands = np.exp(rng.normal(size=(12, 10))[kind] + 0.8 * rng.normal(size=(count, 10)))
    cells = 128 + 20 * rng.normal(size=(12, 12))[kind] + 40 * rng.normal(size=(count, 12))
    groups = (
        group_of("look", look.astype(np.float32)),
        group_of("colours", np.rint(255 * shades / shades.sum(1, keepdims=True)).astype(np.uint8)),
        group_of("texture", np.rint(255 * bands / bands.sum(1, keepdims=True)).astype(np.uint8)),
        group_of("layout", np.clip(cells, 0, 255).astype(np.uint8)),
    )
    features = Features(tuple(f"p{at:03d}" for at in range(count)), groups, (), "collection", np.arange(count))
    return features, [f"family{one % 4}/kind{one}" for one in kind]


def mean(trial: Trial, name: str, measure: str) -> float:
    rows = trial.summary.filter((pl.col("system") == name) & (pl.col("measure") == measure))
    return float(rows["value"][0])


def test_evidence_keeps_the_query_then_marks_then_the_newest_unmarked() -> None:
    found = evidence_of(9, {1: 2, 2: -1}, [5, 6])
    assert found.rows.tolist() == [9, 1, 2, 5, 6]
    assert found.y.tolist() == [1, 1, -0.5, -0.5, -0.5] and found.noise.tolist() == [0.1, 0.1, 0.1, 1, 1]
    assert evidence_of(1, {1: -2}, []).y.tolist() == [-1]  # the query was marked again
    many = evidence_of(900, dict.fromkeys(range(150), 1), list(range(200, 300)))
    assert len(many) == 160 and many.rows[-9:].tolist() == list(range(291, 300))
    most = evidence_of(None, dict.fromkeys(range(500), 1), [700])
    assert most.rows.tolist() == list(range(340, 500))
    assert len(evidence_of(None, {}, [])) == 0


def test_a_session_never_shows_a_picture_twice_and_ends_with_the_target() -> None:
    features, categories = collection()
    person = person_of(features, categories, 100, one=True, noise=0.2, rng=np.random.default_rng(0))
    setting = Setting(size=12, most=120)
    pages, fitted = play(features, Competitor(), person, np.arange(12), setting, {})
    shown = np.concatenate(pages)
    assert len(set(shown.tolist())) == len(shown)
    assert fitted is not None and (100 in pages[-1] or len(pages) == 10)
    known = Person(0, person.grades, person.marks)
    assert len(play(features, Competitor(), known, np.arange(12), setting, {})[0]) == 1  # on the first page already
    whole, _ = play(features, Competitor(), person, np.arange(12), Setting("kind", size=100, rounds=9), {})
    assert len(np.concatenate(whole)) == 239  # everything but the query, then it ends


@pytest.fixture(scope="module")
def kinds() -> Trial:
    features, categories = collection()
    names = ["kernel", "kernel/l1", "kernel/l2", "reweighting", "rocchio", "rbf-svm"]
    return hold(features, categories, names, Setting("kind", "class", sessions=30, size=10, noise=0.1))


@pytest.fixture(scope="module")
def targets() -> Trial:
    features, categories = collection()
    names = ["kernel", "reweighting", "rocchio", "none"]
    return hold(features, categories, names, Setting("target", "mixed", sessions=30, size=10, most=160))


def test_feedback_beats_the_next_page(kinds: Trial) -> None:
    row = kinds.pairs.filter(
        (pl.col("baseline") == "none") & (pl.col("system") == "kernel") & (pl.col("measure") == "P")
    )
    assert row["lo"][0] > 0
    assert kinds.harmed["kernel"] < 0.1 and kinds.harmed["none"] == 0
    first = kinds.summary.filter(pl.col("measure") == "P, first page")["value"]
    assert first.n_unique() == 1  # all meet the same first page
    assert mean(kinds, "kernel", "recall") > mean(kinds, "none", "recall")


def test_the_kernel_is_not_behind_and_its_choice_of_metrics_not_either(kinds: Trial) -> None:
    for other in ("reweighting", "rocchio", "rbf-svm"):
        assert mean(kinds, "kernel", "P") > mean(kinds, other, "P") - 0.02
    assert mean(kinds, "kernel", "P") > max(mean(kinds, f"kernel/{one}", "P") for one in ("l1", "l2")) - 0.02


def test_the_kernel_finds_targets_sooner(targets: Trial) -> None:
    rows = targets.pairs.filter(pl.col("system") == "kernel")
    rows = rows.filter(pl.col("measure") == "pictures")
    assert (rows["difference"] < 0).all() and rows.height == 3
    assert rows.filter(pl.col("baseline") == "none")["hi"][0] < 0
    curve = targets.curve.filter(pl.col("system") == "kernel")["found"].to_list()
    assert curve == sorted(curve) and len(curve) == 16 and curve[4] > 0.5
    assert targets.summary.filter(pl.col("system") == "kernel")["median"][0] <= 50
    assert set(targets.seconds) == {"kernel", "reweighting", "rocchio", "none"}


def test_pictures_beyond_the_least_possible() -> None:
    """A target on the first page costs one page, any other two at least. Here the first page is replayed by hand."""
    features, categories = collection(60)
    setting = Setting("target", "class", sessions=120, size=12, most=60)
    found = hold(features, categories, ["kernel", "none"], setting, seed=2)
    alone = replace(features, stacks=np.arange(60))
    wanted = drawn(categories, setting, 2)
    least = []
    for number, at in enumerate(wanted):
        first = standing_for(alone, np.ones(60, np.bool_), 12, rng=np.random.default_rng((2, 2, number)))
        least.append(12 if at in first else 24)
    assert {12, 24} == set(least)
    assert found.least == pytest.approx(np.mean(least))
    f = 12 / 60  # by the formula the least mean is (1 - f) · 2 · size + f · size
    assert found.least == pytest.approx((1 - f) * 24 + f * 12, abs=3 * 12 * np.sqrt(f * (1 - f) / 120))
    for name in ("kernel", "none"):
        rows = found.scores.frame.filter(pl.col("system") == name).sort("query")
        pictures, beyond = (rows.filter(pl.col("measure") == one)["value"].to_numpy() for one in ("pictures", "beyond"))
        assert (pictures - beyond == least).all() and (beyond >= 0).all() and (beyond == 0).any()


def test_ratios_are_those_of_the_means_with_intervals_over_sessions(targets: Trial) -> None:
    assert targets.baseline in {"reweighting", "rocchio"}  # the best that is not the kernel
    others = {name: mean(targets, name, "pictures") for name in ("reweighting", "rocchio")}
    assert targets.baseline == min(others, key=others.__getitem__)
    rng = np.random.default_rng(7)
    for measure in ("pictures", "beyond"):
        value, lo, hi = targets.ratio("kernel", targets.baseline, measure)
        assert value == pytest.approx(mean(targets, "kernel", measure) / mean(targets, targets.baseline, measure))
        rows = targets.scores.frame.filter(pl.col("measure") == measure).sort("query")
        one, other = (
            rows.filter(pl.col("system") == name)["value"].to_numpy() for name in ("kernel", targets.baseline)
        )
        draws = [one[at].mean() / other[at].mean() for at in rng.integers(30, size=(2000, 30))]
        assert (lo, hi) == pytest.approx(np.quantile(draws, [0.025, 0.975]), rel=0.08)
        assert targets.ratio("kernel", "kernel", measure) == (1.0, 1.0, 1.0)
    assert (
        targets.ratio("kernel", targets.baseline, "beyond")[0]
        < targets.ratio("kernel", targets.baseline, "pictures")[0]
    )


def test_a_ratio_to_nothing_is_undefined_and_no_feedback_is_a_baseline_only_alone() -> None:
    features, categories = collection(24)
    setting = Setting("target", "class", sessions=4, size=12, most=24)
    found = hold(features, categories, ["none", "kernel"], setting)
    assert found.baseline == "none" and mean(found, "kernel", "beyond") == 0  # two pages show everything
    assert all(np.isnan(end) for end in found.ratio("kernel", "none", "beyond"))
    assert hold(features, categories, ["kernel"], setting).baseline is None


def test_the_same_seed_gives_the_same_trial() -> None:
    features, categories = collection(60)
    setting = Setting("target", "mixed", "likes", sessions=4, size=6, most=60)
    told: list[tuple[str, int, int]] = []
    names = ["kernel/learnt", "kernel/thompson", "mars"]
    one, other = (
        hold(features, categories, names, setting, seed=3, progress=lambda *now: told.append(now)) for _ in "ab"
    )
    assert one.scores.frame.equals(other.scores.frame) and one.pairs.equals(other.pairs)
    assert told[11] == ("target search, mixed people, pages of 6", 12, 12)
    assert not hold(features, categories, names, setting, seed=4).scores.frame.equals(one.scores.frame)


def test_sessions_want_what_can_be_found() -> None:
    categories = ["a", "a", "b", None, "c", "c"]
    assert set(drawn(categories, Setting("kind", "class", sessions=4), 0).tolist()) == {0, 1, 4, 5}
    assert len(drawn(categories, Setting("kind", "class", sessions=9), 0)) == 9
    assert set(drawn(categories, Setting("kind", "mixed", sessions=6), 0).tolist()) == set(range(6))
    with pytest.raises(JoinError, match="no two pictures share a category"):
        drawn(["a", "b", None], Setting("kind", "class"), 0)


def test_competitors_by_name() -> None:
    features, _ = clusters(20)
    assert Competitor.of("kernel/thompson") == Competitor("kernel", "", "thompson")
    sees = Competitor.of("kernel/chi2").sees(features)
    assert [group.metrics for group in sees.groups] == [("cosine",), ("chi2",), ("l1",)]
    with pytest.raises(TextError, match="no learner is called 'kernal'"):
        Competitor.of("kernal")
    with pytest.raises(TextError, match="no group of features has the metric 'emd'"):
        Competitor.of("kernel/emd").sees(features)
    for bad in (
        {"task": "chat"},
        {"people": "tired"},
        {"marking": "some"},
        {"sessions": 1},
        {"size": 1},
        {"rounds": 0},
        {"most": 0},
    ):
        with pytest.raises(TextError):
            Setting(**bad)
