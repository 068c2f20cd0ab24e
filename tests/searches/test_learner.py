"""The learner: worked numbers (docs/methods/search.md, Learner), and laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_samples import clusters, worked

from endoxa.errors import TextError
from endoxa.searches.arms import Features, Group
from endoxa.searches.kernels import Rows, kernel
from endoxa.searches.learner import Evidence, concordance, learn

GOLD = {"rel": 0, "abs": 1e-6}


def test_the_kernel_is_worked_out() -> None:
    assert kernel(np.array([0.1]), 0.2) == pytest.approx(0.744514, **GOLD)
    assert kernel(np.array([4.0]), 2.0) == pytest.approx(0.370933, **GOLD)
    assert kernel(np.array([np.nan, 0.0]), 1.0).tolist() == [0.0, 1.0]


def test_the_worked_example() -> None:
    features, evidence, prior = worked()
    model = learn(features, evidence, prior=prior)
    assert model.concordance == {("one", "l1"): pytest.approx(0.857143, **GOLD), ("two", "l1"): 0.0}
    assert list(model.weights.values()) == pytest.approx([0.967211, 0.032789], **GOLD)
    assert model.alpha == pytest.approx([1.663001, 0.281794, -0.731754, 0.534223], **GOLD)
    assert model.mean[[3, 5]] == pytest.approx([0.617112, -0.272963], **GOLD)
    assert model.deviation(np.array([3, 5])) == pytest.approx([0.458064, 0.828763], **GOLD)
    d, f = model.why(3), model.why(5)
    assert list(d.groups.values()) == pytest.approx([1.593760, 0.023351], **GOLD)
    assert list(f.groups.values()) == pytest.approx([0.693383, 0.033654], **GOLD)
    assert dict(d.examples) == pytest.approx({0: 1.406672, 1: 0.241033, 2: -0.160660, 3: 0.130068}, **GOLD)
    reduced = model.reduced(np.array([3, 5]))
    covariance = model.similar(np.array([3, 5]))(0)[1] - reduced[:, 0] @ reduced[:, 1]
    assert covariance == pytest.approx(0.016113, **GOLD)


def test_the_worked_example_with_a_hint_and_with_weak_evidence() -> None:
    features, evidence, prior = worked()
    fixed = dict(learn(features, evidence, prior=prior).weights)
    hint = np.array([0.2, 0.4, 0.1, 0.9, 0.3, 0.5])
    model = learn(features, evidence, prior=prior, hint=hint, pins=fixed)
    assert model.mean[[3, 5]] == pytest.approx([1.393797, 0.092552], **GOLD)
    assert model.why(3).mean == pytest.approx(model.mean[3], abs=1e-7)
    unmarked = Evidence(
        np.append(evidence.rows, 5), np.append(evidence.y, -0.5), np.append(evidence.noise, 1.0)
    )  # fmt: skip
    assert learn(features, unmarked, prior=prior, pins=fixed).mean[3] == pytest.approx(0.614943, **GOLD)


marks = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=12)


@given(marks, st.integers(0, 5))
@settings(max_examples=40)
def test_bars_add_up_and_items_may_come_in_any_order(y: list[float], seed: int) -> None:
    features, _ = clusters(40, seed=seed)
    rng = np.random.default_rng(seed)
    rows = rng.choice(40, len(y), replace=False)
    evidence = Evidence(rows, np.array(y), np.full(len(y), 0.1))
    hint = rng.random(40) if seed % 2 else None
    model = learn(features, evidence, hint=hint)
    for place in (0, 7, int(rows[0])):
        why = model.why(place)
        assert why.mean == pytest.approx(model.mean[place], abs=1e-6)
        own = 0.0 if hint is None else hint[place]
        assert sum(value for _, value in why.examples) == pytest.approx(why.mean + 1 - own, abs=1e-6)
    order = rng.permutation(40)
    groups = tuple(replace(group, values=group.values[order]) for group in features.groups)
    other = Features(tuple(features.items[at] for at in order), groups)
    place = np.argsort(order)
    moved = learn(
        other, replace(evidence, rows=place[rows]), hint=None if hint is None else hint[order]
    )  # fmt: skip
    assert moved.mean[place] == pytest.approx(model.mean, abs=1e-6)


@given(marks, st.sampled_from([-1.0, 0.0, 1.0]), st.integers(0, 5))
@settings(max_examples=40)
def test_with_fixed_weights_a_mark_moves_its_picture_towards_the_mark(y: list[float], mark: float, seed: int) -> None:
    features, _ = clusters(40, seed=seed)
    rows = np.random.default_rng(seed).choice(40, len(y) + 1, replace=False)
    before = Evidence(rows[:-1], np.array(y), np.full(len(y), 0.1))
    after = Evidence(rows, np.array([*y, mark]), np.full(len(y) + 1, 0.1))
    old, new = (learn(features, evidence, adapts=False).mean[rows[-1]] for evidence in (before, after))
    assert abs(new - mark) <= abs(old - mark) + 1e-9


def test_weights_move_as_the_source_says() -> None:
    """Tight relevant values without irrelevant ones between them raise a group, overlap lowers it."""
    features, kind = clusters(60)
    rows = np.arange(18)
    y = np.where(kind[rows] == 0, 1.0, -1.0)
    model = learn(features, Evidence(rows, y, np.full(18, 0.1)))
    assert model.weights["colours"] < 0.1
    assert min(model.weights["look"], model.weights["layout"]) > 0.4
    assert all(model.concordance[arm] > 0.95 for arm in model.concordance if arm[0] != "colours")
    assert max(model.concordance[arm] for arm in model.concordance if arm[0] == "colours") < 0.75
    few = learn(features, Evidence(rows[:2], y[:2], np.full(2, 0.1)))
    assert list(few.weights.values()) == pytest.approx([1 / 3] * 3)  # two marks say nothing about features yet


@given(st.integers(0, 30), st.floats(0, 1))
@settings(max_examples=30)
def test_overlap_lowers_and_separation_raises(seed: int, mixed: float) -> None:
    """The more relevant and irrelevant values overlap in a group, the less it weighs beside a constant one."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], 8)
    noise = rng.random(16)
    values = [np.where(y > 0, 0.2, 5.0) + apart * noise * 5 for apart in (0.0, mixed, 50.0)]
    found = []
    for one in values:
        groups = (Group("one", one[:, None].astype(np.float32), ("l1",), {"l1": 0.5}),
                  Group("two", noise[:, None].astype(np.float32), ("l1",), {"l1": 0.1}))  # fmt: skip
        model = learn(Features(tuple(map(str, range(16))), groups), Evidence(np.arange(16), y, np.full(16, 0.1)))
        found.append(model.weights["one"])
    assert found[0] >= found[1] - 1e-9
    assert found[0] > found[2]


def test_constant_columns_change_nothing() -> None:
    features, kind = clusters(40)
    evidence = Evidence(np.arange(6), np.where(kind[:6] == 0, 1.0, -0.5), np.full(6, 0.1))
    wider = tuple(
        replace(group, values=np.hstack([group.values, np.full((40, 3), 9, group.values.dtype)]), metrics=("l1",))
        for group in features.groups
    )
    narrow = tuple(replace(group, metrics=("l1",)) for group in features.groups)
    plain, more = (learn(Features(features.items, groups), evidence).mean for groups in (narrow, wider))
    assert plain == pytest.approx(more, abs=1e-6)


def test_the_metric_that_orders_the_marks_is_chosen_and_ties_stay() -> None:
    """Direction tells the kinds apart, length only disturbs: cosine wins over distance."""
    rng = np.random.default_rng(3)
    kind = np.arange(40) % 2
    angle = np.where(kind, 0.3, 1.2) + rng.normal(size=40) * 0.05
    length = rng.uniform(0.1, 30, 40)
    look = np.stack([length * np.cos(angle), length * np.sin(angle)], 1).astype(np.float32)
    features = Features(
        tuple(map(str, range(40))), (Group("look", look, ("l2", "cosine"), {"l2": 1.0, "cosine": 0.01}),)
    )
    y = np.where(kind[:20], 1.0, -1.0)
    assert learn(features, Evidence(np.arange(20), y, np.full(20, 0.1))).metrics == {"look": "cosine"}
    nothing = Evidence(np.arange(1), np.ones(1), np.full(1, 0.1))
    assert learn(features, nothing).metrics == {"look": "l2"}
    assert learn(features, nothing, metrics={"look": "cosine"}).metrics == {"look": "cosine"}


def test_pins_come_first() -> None:
    features, _ = clusters(30)
    evidence = Evidence(np.arange(5), np.array([1, 1, -1, -1, 0.5]), np.full(5, 0.1))
    model = learn(features, evidence, pins={"look": 0.2, "colours": "off"})
    assert model.weights == {"look": 0.2, "layout": pytest.approx(0.8)}
    assert sum(learn(features, evidence, pins={"look": 3.0, "layout": 1.0}).weights.values()) == pytest.approx(1)
    with pytest.raises(TextError, match="every group of features is off"):
        learn(features, evidence, pins=dict.fromkeys(["look", "colours", "layout"], "off"))


def test_without_evidence_the_hint_decides_and_without_both_nothing_does() -> None:
    features, _ = clusters(12)
    nothing = Evidence(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    assert (learn(features, nothing).mean == -1).all()
    hint = np.linspace(0, 1, 12)
    assert learn(features, nothing, hint=hint).mean == pytest.approx(hint - 1)
    assert learn(features, nothing).deviation(np.arange(3)) == pytest.approx([1, 1, 1])


def test_vectors_without_numbers_are_silent_for_their_picture() -> None:
    features, kind = clusters(20)
    look = features.groups[0].values.copy()
    look[3] = np.nan
    broken = Features(features.items, (replace(features.groups[0], values=look), *features.groups[1:]))
    evidence = Evidence(np.array([0, 1, 3]), np.array([1.0, -1.0, 1.0]), np.full(3, 0.1))
    model = learn(broken, evidence)
    assert np.isfinite(model.mean).all()
    assert model.why(3).groups["look"] == 0
    assert kind[0] == kind[3]


def test_a_picture_from_outside_is_evidence_like_any_other() -> None:
    features, _ = clusters(20)
    inside = Evidence(np.array([4, 2]), np.array([1.0, -1.0]), np.full(2, 0.1))
    point = {group.name: group.values[4] for group in features.groups}
    outside = Evidence(np.array([-1, 2]), np.array([1.0, -1.0]), np.full(2, 0.1), (point,))
    assert learn(features, inside).mean == pytest.approx(learn(features, outside).mean, abs=1e-9)


def test_kept_rows_change_nothing() -> None:
    features, _ = clusters(50)
    kept = Rows(features)
    for count in (1, 3, 9):
        evidence = Evidence(np.arange(count), np.resize([1.0, -0.5, -1.0], count), np.full(count, 0.1))
        assert (learn(features, evidence, rows=kept).mean == learn(features, evidence).mean).all()


def test_many_pictures_are_kept_in_two_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _ = clusters(50)
    evidence = Evidence(np.arange(8), np.resize([1.0, -0.5, -1.0], 8), np.full(8, 0.1))
    exact = learn(features, evidence).mean
    monkeypatch.setattr("endoxa.searches.kernels.FEW", 10)
    short = learn(features, evidence).mean
    assert short == pytest.approx(exact, abs=2e-4)
    assert (short != exact).any()


def test_concordance_by_hand() -> None:
    y = np.array([1.0, 0.0, -1.0])
    assert concordance(np.array([3.0, 2.0, 1.0]), y) == 1
    assert concordance(np.array([1.0, 2.0, 3.0]), y) == 0
    assert concordance(np.array([2.0, 2.0, 1.0]), y) == pytest.approx((0.5 * 1 + 2 + 1) / 4)
    assert concordance(np.array([1.0, 2.0]), np.zeros(2)) == 0.5
