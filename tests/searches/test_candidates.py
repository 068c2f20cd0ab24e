"""Very large collections: the pool has the nearest pictures, and the model on it is the model on all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from search_samples import clusters
from threadpoolctl import ThreadpoolController

from endoxa.searches import candidates, kernels
from endoxa.searches.candidates import hinted, scan
from endoxa.searches.distances import distances
from endoxa.searches.kernels import Rows
from endoxa.searches.learner import Evidence, learn
from endoxa.searches.paging import choose_page
from endoxa.searches.seeking import Search, replay
from endoxa.searches.session import Settings


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collections of more than 100 pictures count as very large."""
    monkeypatch.setattr(candidates, "ALL", 100)
    monkeypatch.setattr(candidates, "BACKGROUND", 40)
    monkeypatch.setattr(candidates, "NEAREST", 15)
    monkeypatch.setattr(kernels, "NEAREST", 15)


def said(count: int, kind: np.ndarray) -> Evidence:
    return Evidence(np.arange(count), np.where(kind[:count] == 0, 1.0, -1.0), np.full(count, 0.1))


def test_the_scan_finds_the_nearest() -> None:
    features, _ = clusters(400)
    for group in features.groups:
        found = scan(group, group.values[:5], 30)
        far = distances(group.metrics[0], group.values, group.values[:5])
        for j, places in enumerate(found):
            assert len(places) == 30
            assert far[j][places].max() <= np.partition(far[j], 29)[29]
    assert len(scan(features.groups[0], features.groups[0].values[:1], 900)[0]) == 400


def test_the_scan_goes_on_where_the_sample_misleads(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _ = clusters(400)
    group = features.groups[0]
    expected = scan(group, group.values[:3], 30)
    monkeypatch.setattr(candidates, "_bounds", lambda *_: np.full(3, -1, np.float32))
    assert [one.tolist() for one in scan(group, group.values[:3], 30)] == [one.tolist() for one in expected]


@pytest.mark.usefixtures("small")
def test_the_model_on_the_pool_is_the_model_on_all() -> None:
    features, kind = clusters(300)
    rows = Rows(features)
    assert rows.among is not None
    before = len(rows)
    whole_rows = Rows(features)
    whole_rows.among = None
    for count in (2, 6, 20):
        part = learn(features, said(count, kind), rows=rows)
        whole = learn(features, said(count, kind), rows=whole_rows)
        inside = np.isfinite(part.mean)
        assert sorted(rows.among) == np.flatnonzero(inside).tolist()
        assert part.mean[inside] == pytest.approx(whole.mean[inside], abs=1e-6)
        assert part.deviation(np.arange(9)) == pytest.approx(whole.deviation(np.arange(9)), abs=1e-6)
        assert part.why(3).mean == pytest.approx(whole.mean[3], abs=1e-6)
    assert before < len(rows) < 300
    unseen = np.arange(300) >= 20
    near, exact = (choose_page(features, model, unseen, 6, 0) for model in (part, whole))
    assert len(set(near.places) & set(exact.places)) >= 5


@pytest.mark.usefixtures("small")
def test_pictures_from_outside_and_hints_enter_the_pool() -> None:
    features, _ = clusters(300)
    point = {group.name: group.values[77] for group in features.groups}
    hint = np.where(np.arange(300) == 222, 0.9, 0.0)
    evidence = Evidence(np.array([-1]), np.ones(1), np.full(1, 0.1), (point,))
    model = learn(features, evidence, hint=hint)
    assert np.isfinite(model.mean[[77, 222]]).all()
    assert int(np.argmax(model.mean)) == 77
    assert hinted(hint).tolist() == [222]
    assert hinted(None).tolist() == []


@pytest.mark.usefixtures("small")
def test_the_pool_depends_on_what_is_liked_now_only() -> None:
    """A mark that was taken back, or a sketch that was removed, leaves nothing behind."""
    features, kind = clusters(300)
    expected = learn(features, said(4, kind)).mean
    rows = Rows(features)
    learn(features, said(20, kind), rows=rows, hint=np.linspace(0, 1, 300))
    assert (learn(features, said(4, kind), rows=rows).mean == expected).all()
    assert (learn(features, said(4, kind), rows=rows).mean == expected).all()


@pytest.mark.usefixtures("small")
def test_a_search_that_needs_a_pool_replays_however_it_was_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are kept in two bytes by the size of the collection, whatever the size of the pool was at first."""
    monkeypatch.setattr(kernels, "FEW", 40)
    features, kind = clusters(300)
    search = Search(features, settings=Settings(size=6))
    search.show()
    for item in search.page.items[:3]:
        search.mark(item, -2)
    search.refine()
    again = Search(features, search.events)
    for one in (search, again):
        liked = next(item for item in one.page.items if kind[features.place[item]] == 1)
        one.mark(liked, 2)
        one.refine()
    assert search.page == again.page
    assert replay(features, search.events).exact and replay(features, again.events).exact


def test_people_who_search_at_once_get_the_pages_that_replay() -> None:
    """Each fit limits the threads of BLAS; the limit must hold until the last one is done, and be gone then."""
    features, kind = clusters(200)
    before = [one["num_threads"] for one in ThreadpoolController().info()]

    def session(seed: int) -> bool:
        search = Search(features, settings=Settings(size=20), seed=seed)
        for _ in range(5):
            for item in search.show().items:
                search.mark(item, 2 if kind[features.place[item]] == seed % 3 else -1)
            search.refine()
        return replay(features, search.events).exact

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(session, range(8)))
    assert [one["num_threads"] for one in ThreadpoolController().info()] == before
