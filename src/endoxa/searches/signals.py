"""What a search tells its learner: evidence, a hint from words or a sketch; and what its next page may show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from endoxa.engines import Material
from endoxa.engines.keywords import Keywords
from endoxa.errors import JoinError, RefusedError
from endoxa.images.corpus import words_of
from endoxa.searches.arms import Features, Point
from endoxa.searches.learner import Evidence
from endoxa.searches.paging import exploring
from endoxa.searches.session import Query, State
from endoxa.tables import Bools, Floats

ROWS = 160  # of the evidence: marks first, then the newest unmarked pictures
SURE = 0.1  # the variance of a mark
VAGUE = 1.0  # the variance of what an unmarked picture of a submitted page says
UNMARKED = -0.5

Points = Mapping[str, Point]  # pictures from outside by `upload_key`
Hints = Mapping[str, Floats]  # the relevance of every picture to a sketch, by its digest


def upload_key(sha: str, crop: Iterable[float] | None = None) -> str:
    """The name of an uploaded picture, or of a part of it, among the points of a search."""
    return sha if crop is None else f"{sha}:{','.join(format(part, '.6g') for part in crop)}"


def evidence_of(state: State, features: Features, points: Points) -> Evidence:
    """What is known of pictures: y = mark/2 with a small variance, +1 for the query, -½ with a large one if unmarked.

    The last mark of a stack of near-duplicates counts. At most 160 rows: the query, the newest marks, and the newest
    unmarked pictures of submitted pages.
    """
    leaders, marked = features.leaders, marks_of(state, features)
    rows: list[tuple[int, float, float]] = []
    outside: tuple[Point, ...] = ()
    taken = set(marked)
    if state.query.item is not None:
        place = place_of(features, state.query.item)
        if int(leaders[place]) not in taken:
            rows.append((place, 1.0, SURE))
            taken.add(int(leaders[place]))
    elif state.query.upload is not None:
        outside = (_point(state.query, points),)
        rows.append((-1, 1.0, SURE))
    rows += [(place, grade / 2, SURE) for place, grade in list(marked.values())[-(ROWS - len(rows)) :]]
    rows += [(place, UNMARKED, VAGUE) for place in _unmarked(state, features, taken, ROWS - len(rows))]
    places, y, noise = zip(*rows, strict=True) if rows else ((), (), ())
    return Evidence(np.array(places, np.int64), np.array(y, np.float64), np.array(noise, np.float64), outside)


def marks_of(state: State, features: Features) -> dict[int, tuple[int, int]]:
    """The last mark of each stack, by the place that stands for it: the place that was marked, and the grade."""
    marked: dict[int, tuple[int, int]] = {}
    for item, grade in state.marks.items():
        place = place_of(features, item)
        leader = int(features.leaders[place])
        marked.pop(leader, None)
        marked[leader] = (place, grade)
    return marked


def both_sides(state: State, features: Features) -> bool:
    """Whether there are marks above and below 0, so that a search can teach later ones."""
    grades = [grade for _, grade in marks_of(state, features).values()]
    return any(grade > 0 for grade in grades) and any(grade < 0 for grade in grades)


def _unmarked(state: State, features: Features, taken: set[int], most: int) -> list[int]:
    """The newest unmarked pictures of submitted pages, the oldest of them first; one of each stack."""
    if not state.settings.weak:
        return []
    found: dict[int, int] = {}
    for item in reversed(state.passed):
        place = place_of(features, item)
        leader = int(features.leaders[place])
        if len(found) < most and leader not in taken and leader not in found:
            found[leader] = place
    return list(found.values())[::-1]


def place_of(features: Features, item: str) -> int:
    """The place of an item; an unknown one is refused."""
    if item not in features.place:
        raise JoinError(f"{item!r} is not in the collection; it was removed, or never there")
    return features.place[item]


def _point(query: Query, points: Points) -> Point:
    assert query.upload is not None
    key = upload_key(query.upload, query.crop)
    if key not in points:
        raise RefusedError(
            "the uploaded picture is no longer here", 410, remedy="upload it again, or remove it from the search"
        )
    return points[key]


def hint_of(query: Query, features: Features, hints: Hints) -> Floats | None:
    """u of every picture, 0 to 1, from the sketch, the words, or the mean of both; None without either."""
    found = []
    if query.sketch is not None:
        if query.sketch not in hints:
            raise RefusedError(
                "the sketch is no longer here", 410, remedy="draw it again, or remove it from the search"
            )
        found.append(np.clip(np.nan_to_num(hints[query.sketch]), 0.0, 1.0))
    if query.words and (words := words_of(query.words)) and any(features.spoken):
        found.append(relevance_of_words(features, words))
    return np.asarray(np.mean(found, axis=0)) if found else None


def relevance_of_words(features: Features, words: tuple[str, ...]) -> Floats:
    """The score of the keyword engine, divided by its maximum; 0 for pictures that have none of the words.

    The words of a picture include those of its name.
    """
    engine = Keywords()
    scores = engine.score_words(engine.build(Material(features.items, features.spoken)), [words])[0]
    scores = np.where(np.isfinite(scores), scores, 0.0)
    return np.asarray(scores / scores.max() if scores.any() else scores)


def unseen_of(state: State, features: Features) -> Bools:
    """Which pictures a page may show: one of each stack of near-duplicates, unless the stack was seen or marked.

    The query itself is not shown. With "show seen" every stack may be shown.
    """
    leaders = features.leaders
    open_: Bools = leaders == np.arange(len(features))
    if state.show_seen:
        return open_
    known = {*state.seen, *state.marks, *([state.query.item] if state.query.item is not None else [])}
    places = [features.place[item] for item in known if item in features.place]
    open_[leaders[places]] = False
    return open_


def exploring_of(state: State, features: Features) -> int:
    """How many pictures of the next page explore: none before a page was submitted, or where it is switched off."""
    if not state.settings.explore or not state.submitted:
        return 0
    liked = {leader for leader, (_, grade) in marks_of(state, features).items() if grade > 0}
    items = state.page.items if state.page is not None else ()
    share = sum(int(features.leaders[place_of(features, item)]) in liked for item in items) / max(1, len(items))
    return exploring(state.size, len(liked), share)
