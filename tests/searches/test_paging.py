"""Pages: the best first, exploring places, ties, audits."""

from __future__ import annotations

import numpy as np
import pytest
from search_samples import clusters, worked

from endoxa.searches import paging
from endoxa.searches.arms import Features, Group, group_of
from endoxa.searches.learner import Evidence, learn
from endoxa.searches.paging import choose_page, exploring

EVERY = np.ones(6, np.bool_)


def test_how_many_explore() -> None:
    assert [exploring(20, 0, 0.0), exploring(20, 3, 0.2), exploring(20, 3, 0.5), exploring(8, 1, 0.0)] == [8, 4, 0, 2]


def test_an_exploring_picture_lowers_the_doubt_of_those_like_it() -> None:
    """The worked example: D has .617112 + .458064, F .555800, and its deviation after D is chosen is .828257."""
    features, evidence, prior = worked()
    model = learn(features, evidence, prior=prior)
    unseen = np.isin(np.arange(6), (3, 5))
    page = choose_page(features, model, unseen, 2, 2)
    assert [features.items[at] for at in page.places] == ["D", "F"]
    assert page.slots == ("explore", "explore")
    assert page.mean + page.deviation == pytest.approx([1.075176, 0.555800], abs=1e-6)
    share = 0.016113 / np.sqrt(0.458064**2 + 0.1)
    assert np.sqrt(0.828763**2 - share**2) == pytest.approx(0.828257, abs=1e-6)


@pytest.mark.parametrize(("near", "far"), [("b", "c"), ("c", "b")])
def test_of_two_equal_pictures_the_less_known_one_explores(near: str, far: str) -> None:
    """A mark of -1, as expected before any mark, leaves all values equal; what is like it is better known."""
    values = np.array([[1, 1], [1.5, 1], [7, -6]], np.float32)
    features = Features(("a", near, far), (Group("look", values, ("l2",), {"l2": 3.0}),))
    model = learn(features, Evidence(np.array([0]), -np.ones(1), np.full(1, 0.1)))
    assert model.mean.tolist() == [-1, -1, -1]
    deviation = model.deviation(np.arange(3))
    assert deviation[2] > deviation[1] + 0.1
    page = choose_page(features, model, np.arange(3) > 0, 1, 1)
    assert (page.items, page.slots) == ((far,), ("explore",))
    assert page.deviation == pytest.approx(deviation[2:])


def test_the_first_exploring_picture_has_the_greatest_sum_of_value_and_deviation() -> None:
    others = 0
    for seed in range(20):
        features, kind = clusters(60, seed=seed)
        evidence = Evidence(np.arange(4), np.where(kind[:4] == 1, 0.2, -1.0), np.full(4, 0.5))
        model, unseen = learn(features, evidence), np.arange(60) >= 4
        page = choose_page(features, model, unseen, 5, 1)
        rest = np.setdiff1d(np.flatnonzero(unseen), page.places[:4])
        value, deviation = model.mean[rest], model.deviation(rest)
        assert page.slots == (*["best"] * 4, "explore")
        assert page.places[4] == rest[np.argmax(value + deviation)]
        others += int(np.argmax(value + deviation) not in {np.argmax(value), np.argmax(value - deviation)})
    assert others >= 5  # the deviation decides


def test_exploring_spreads() -> None:
    """Of two equal pictures only one explores: after it the other would teach little."""
    values = np.array([[1, 1], [9, 9], [9, 9.01], [5, -7]], np.float32)
    features = Features(("a", "b", "c", "d"), (Group("look", values, ("l2",), {"l2": 3.0}),))
    model = learn(features, Evidence(np.array([0]), np.ones(1), np.full(1, 0.1)))
    page = choose_page(features, model, np.arange(4) > 0, 2, 2)
    assert len({"b", "c"} & {features.items[at] for at in page.places}) == 1


def test_the_best_come_first_and_seen_ones_do_not_return() -> None:
    features, evidence, prior = worked()
    model = learn(features, evidence, prior=prior)
    page = choose_page(features, model, EVERY, 4, 0)
    assert "".join(features.items[at] for at in page.places) == "ADBF"
    again = choose_page(features, model, ~np.isin(np.arange(6), page.places), 4, 0)
    assert "".join(features.items[at] for at in again.places) == "EC"
    assert len(choose_page(features, model, np.zeros(6, np.bool_), 4, 2)) == 0


def test_equal_pictures_go_by_id_descending() -> None:
    features = Features(("a", "c", "b"), (group_of("look", np.ones((3, 2), np.float32)),))
    nothing = Evidence(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    page = choose_page(features, learn(features, nothing), np.ones(3, np.bool_), 3, 0)
    assert [features.items[at] for at in page.places] == ["c", "b", "a"]


def test_an_audit_draws_evenly_from_what_is_left() -> None:
    features, evidence, prior = worked()
    model = learn(features, evidence, prior=prior)
    drawn = [choose_page(features, model, EVERY, 3, 0, audit=np.random.default_rng(seed)) for seed in range(400)]
    assert {page.slots for page in drawn} == {("best", "best", "audit")}
    assert {float(page.propensity[-1]) for page in drawn} == {0.25}
    counts = np.bincount([page.places[-1] for page in drawn], minlength=6)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert (np.abs(counts[[1, 2, 4, 5]] - 100) < 40).all()


def test_of_very_many_the_best_and_a_part_of_the_others_explore(monkeypatch: pytest.MonkeyPatch) -> None:
    features, kind = clusters(300)
    evidence = Evidence(np.arange(12), np.where(kind[:12] == 1, 1.0, -1.0), np.full(12, 0.1))
    model, unseen = learn(features, evidence), np.arange(300) >= 12
    whole = choose_page(features, model, unseen, 20, 8)
    monkeypatch.setattr(paging, "FIRST", 40)
    monkeypatch.setattr(paging, "SPREAD", 50)
    part = choose_page(features, model, unseen, 20, 8)
    assert part.slots == whole.slots
    assert (part.places[:12] == whole.places[:12]).all()
    assert len(set(part.places)) == 20
