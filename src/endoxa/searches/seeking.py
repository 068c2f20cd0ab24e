"""A search in memory: pictures are shown, a person marks them, the next page is better. And its exact replay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from endoxa.errors import EndoxaError, RefusedError
from endoxa.frozen import dataclass
from endoxa.images.corpus import words_of
from endoxa.images.spoken_words import SOURCES, unknown_words
from endoxa.searches import outcomes, session
from endoxa.searches.arms import Arm, Features, Point
from endoxa.searches.kernels import Rows
from endoxa.searches.learner import Evidence, Fitted, Learner, Pins, Why, learn
from endoxa.searches.learners import LEARNERS
from endoxa.searches.maps import representatives
from endoxa.searches.paging import Page, Slot, choose_page
from endoxa.searches.priors import Counts
from endoxa.searches.session import Event, Query, Settings, Shown, State
from endoxa.searches.signals import (
    ROWS,
    Hints,
    Points,
    both_sides,
    evidence_of,
    exploring_of,
    hint_of,
    place_of,
    unseen_of,
    upload_key,
)
from endoxa.tables import Answers, Bools, Floats, Ints, Opinions, Run

Crop = tuple[float, float, float, float]
RELEASE = version("endoxa")
SAMPLE = 2_000  # pictures among which those that stand for all are chosen
KEPT = 640  # rows of kernels that are kept for one search


def learner_named(name: str) -> Learner:
    """The learner of that name; an unknown one is refused."""
    if name not in LEARNERS:
        raise RefusedError(f"no learner is called {name!r} (there are: {', '.join(LEARNERS)})", 422)
    return LEARNERS[name][0]


def start_detail(
    features: Features, *, settings: Settings | None = None, counts: Counts | None = None, seed: int = 0
) -> dict[str, Any]:
    """The detail of the first event: all that later pages rest on, frozen.

    counts  what earlier searches of the collection taught
    """
    chosen = settings or Settings()
    learner_named(chosen.learner)
    known = counts or Counts.start(features)
    detail: dict[str, Any] = {}
    prior = known.weights()
    if chosen.thompson:
        prior, detail["chances"] = known.thompson(np.random.default_rng(seed))
    return {
        "features": features.digest, "release": RELEASE, "seed": seed,
        "prior": {"/".join(arm): value for arm, value in prior.items() if arm in features.arms},
        "settings": vars(chosen), **detail,
    }  # fmt: skip


# ---- pages --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Basis:
    """What a page rests on: the fit, and the evidence for it."""

    fitted: Fitted
    evidence: Evidence


@dataclass(eq=False)
class Seeker:
    """What a search works with besides its events: features, pictures from outside, sketches, rows of kernels.

    What is kept here makes the next page quicker, never different.
    """

    features: Features
    points: Points = field(default_factory=dict)
    hints: Hints = field(default_factory=dict)
    rows: Rows | None = None
    last: tuple[tuple[str | None, str], Floats | None] = ((None, ""), None)  # the last query and its hint

    def hint(self, query: Query) -> Floats | None:
        """The hint of a query; the last one is kept."""
        key = (query.sketch, query.words)
        if self.last[0] != key:
            self.last = (key, hint_of(query, self.features, self.hints))
        return self.last[1]

    @property
    def nbytes(self) -> int:
        """The memory of the rows that are kept."""
        return 0 if self.rows is None else self.rows.nbytes

    def kernels(self) -> Rows:
        """Rows of kernels that were kept, unless they are so many that they cost more memory than they save time."""
        if self.rows is None or any(len(kept.place) > KEPT for kept in self.rows.kept.values()):
            self.rows = Rows(self.features)
        return self.rows

    def fit(self, state: State) -> Basis | None:
        """What the learner of the search makes of a state; None where nothing is known yet, or a view is shown."""
        if state.view or not knows(state, self.features):
            return None
        evidence, hint = evidence_of(state, self.features, self.points), self.hint(state.query)
        last = state.page.metrics if state.page is not None else {}
        fitted = learner_named(state.settings.learner)(
            self.features, evidence, prior=prior_of(state), hint=hint, pins=cast(Pins, state.pins), metrics=last,
            rows=self.kernels(),
        )  # fmt: skip
        return Basis(fitted, evidence)

    def page(self, state: State, basis: Basis | None) -> Page:
        """The page that is due: a view of the map, or where nothing is known yet, pictures that stand for others."""
        if state.view:
            return _map_page(np.array([place_of(self.features, item) for item in state.view], np.int64))
        unseen = unseen_of(state, self.features)
        rng = np.random.default_rng([state.seed, state.round])
        if basis is None:
            return _map_page(standing_for(self.features, unseen, state.size, rng=rng))
        audit = rng if state.settings.audit else None
        return choose_page(
            self.features, basis.fitted, unseen, state.size, exploring_of(state, self.features), audit=audit
        )

    def detail(self, state: State, basis: Basis | None) -> dict[str, Any]:
        """The detail of the event `shown` for the page that is due."""
        page = self.page(state, basis)
        weights = {} if basis is None else {name: float(weight) for name, weight in basis.fitted.weights.items()}
        return {
            "items": [self.features.items[place] for place in page.places], "slots": list(page.slots),
            "mean": _plain(page.mean), "deviation": _plain(page.deviation), "propensity": _plain(page.propensity),
            "round": state.round, "size": state.size, "weights": weights,
            "metrics": {} if basis is None else dict(basis.fitted.metrics),
        }  # fmt: skip


def prior_of(state: State) -> dict[Arm, float]:
    """π of each arm, as the first event has it."""
    return {cast(Arm, tuple(name.rsplit("/", 1))): value for name, value in state.prior.items()}


def knows(state: State, features: Features) -> bool:
    """Whether anything says what is wanted: a picture, a sketch, words that the collection may have, or a mark."""
    query = state.query
    says = bool(query.words and words_of(query.words) and any(features.spoken))
    return bool(state.marks or says or query.item or query.upload or query.sketch)


def standing_for(features: Features, among: Bools, count: int, *, rng: np.random.Generator) -> Ints:
    """Up to `count` of these pictures that stand for the others: middles of clusters by look, of a sample of 2,000.

    Without a group that tells pictures apart, and where there are few: the first by id, descending.
    """
    places = np.flatnonzero(among)
    places = places[np.argsort(features.order[places])]
    looks = sorted((one for one in features.groups if one.audible), key=lambda one: one.name != "look")
    if len(places) <= count or not looks:
        return places[:count]
    known = places[looks[0].speaks[places]]
    if len(known) <= count:
        return np.concatenate([known, places[~np.isin(places, known)]])[:count]
    sample = np.sort(rng.choice(known, min(SAMPLE, len(known)), replace=False))
    return sample[representatives(looks[0].values[sample], count, int(rng.integers(2**32)))]


def _map_page(places: Ints) -> Page:
    unknown = np.full(len(places), np.nan)
    slots: list[Slot] = ["map"] * len(places)
    return Page(places, tuple(slots), unknown, unknown, unknown)


def _plain(values: Floats) -> list[float | None]:
    """Numbers for JSON: what is undefined is null."""
    return [float(value) if math.isfinite(value) else None for value in values]


def _numbers(values: Iterable[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], np.float64)


# ---- a search -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """A group of features in a search: its weight and metric on the last page, and what the person set."""

    name: str
    weight: float
    metric: str
    setting: float | str


class Reader(Protocol):
    """What reads pictures and sketches from outside the collection."""

    def picture(self, path: Path, crop: Crop | None) -> tuple[str, Point]:
        """The digest of a file, and the numbers of the picture, or of a part of it."""

    def sketch(self, path: Path) -> tuple[str, Floats]:
        """The digest of a sketch (PNG), and the relevance of every picture to it."""


class Search:
    """A search: `show` a page, `mark` its pictures, `refine`; every act is an event, and can be undone.

    Pictures are given by name, or by place in the collection. `keep` is called with each event before it counts, for
    those who store it; if it refuses, nothing has happened. `clock` gives the time of an event. `reader` reads files.
    """

    def __init__(
        self, features: Features, events: Sequence[Event] = (), *, name: str = "search", points: Points | None = None,
        hints: Hints | None = None, settings: Settings | None = None, counts: Counts | None = None, seed: int = 0,
        keep: Callable[[Event], None] | None = None, clock: Callable[[], float] | None = None,
        reader: Reader | None = None,
    ) -> None:  # fmt: skip
        """Resume a search from its events; without events, begin one with these settings, counts and seed."""
        self.features, self.name = features, name
        self.points: dict[str, Point] = dict(points or {})
        self.hints: dict[str, Floats] = dict(hints or {})
        self.keep, self.clock, self.reader = keep, clock or (lambda: 0.0), reader
        self.seeker = Seeker(features, self.points, self.hints)
        self._events: list[Event] = list(events)
        self.state = session.fold(self._events)
        self._basis: tuple[int, Basis | None] = (0, None)  # of the last page, by the number of its event
        if not self._events:
            self.add("start", start_detail(features, settings=settings, counts=counts, seed=seed))

    def __repr__(self) -> str:
        """One line."""
        state = self.state
        return (
            f"<search {self.name!r}: round {state.round}, {len(state.marks)} marks, {len(state.found)} found, "
            f"{self.left:,} of {len(self.features):,} pictures left>"
        )

    # What there is

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return tuple(self._events)

    @property
    def changed(self) -> bool:
        """Whether the collection was indexed anew since the search began; then it can be looked at, not gone on."""
        return self.state.features != self.features.digest

    @property
    def page(self) -> Shown | None:
        """The page that is before the person, by names; None before the first `show`."""
        return self.state.page

    @property
    def rounds(self) -> tuple[Shown, ...]:
        """Every page that still counts, the first one first."""
        return self.state.pages

    @property
    def marks(self) -> Mapping[str, int]:
        """The marks that count, from -2 to 2."""
        return self.state.marks

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each group of features on the page that is before the person."""
        return self.page.weights if self.page is not None else {}

    @property
    def groups(self) -> tuple[Standing, ...]:
        """Every group of features with its weight, its metric and its setting."""
        page = self.page
        return tuple(
            Standing(
                group.name,
                page.weights.get(group.name, 0.0) if page is not None else 0.0,
                (page.metrics.get(group.name) if page is not None else None) or group.metrics[0],
                self.state.pins.get(group.name, "auto"),
            )
            for group in self.features.groups
        )

    @property
    def expected(self) -> Mapping[str, float | None]:
        """The expected mark of each picture of the page; None where nothing is known yet."""
        return self.page.expected if self.page is not None else {}

    @property
    def left(self) -> int:
        """How many pictures a page may still show; a stack of near-duplicates counts once."""
        return int(unseen_of(self.state, self.features).sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """What the person should know about the page."""
        state, notes = self.state, []
        if self.changed:
            notes.append("The collection has changed since this search began; start a new search to go on.")
        if not len(self.features):
            notes.append("The collection has no pictures.")
        elif not state.due and state.page is not None and not state.page.items:
            notes.append("You have seen all pictures. Show seen pictures again, or start over.")
        if state.query.words:
            notes += self._word_notes(words_of(state.query.words))
        if len(state.marks) > ROWS:
            notes.append(f"There are {len(state.marks):,} marks; the last {ROWS} count.")
        return tuple(notes)

    def _word_notes(self, words: tuple[str, ...]) -> list[str]:
        if not any(self.features.spoken):
            return [f"This collection has no words; the words are not used. {SOURCES[0].upper()}{SOURCES[1:]}."]
        if not words:
            return ["These words say nothing about a picture; try others."]
        return [f"{one[0].upper()}{one[1:]}." for one in unknown_words(words, self.features.spoken)]

    # What a person does

    def _turned(self, kind: str, **detail: Any) -> Page:
        """Act, and show the page that is due then."""
        self.add(kind, detail)
        return self.show()

    def show(self) -> Page:
        """The page that is before the person; if another is due, it is made now."""
        if self.state.due:
            basis = self.seeker.fit(self._current())
            event = self.add("shown", self.seeker.detail(self.state, basis))
            self._basis = (event.number, basis)
        page = self.state.page
        assert page is not None
        places = np.array([self.features.place.get(item, -1) for item in page.items], np.int64)
        columns = (_numbers(page.mean), _numbers(page.deviation), _numbers(page.propensity))
        return Page(places, cast(tuple[Slot, ...], page.slots), *columns, page.items)

    def mark(self, item: str | int, grade: int | None) -> None:
        """Mark a picture: -2 highly irrelevant, -1, 0 neutral, 1, 2 highly relevant; None takes the mark away."""
        self.add("mark", {"item": self._named(item), "grade": grade})

    def refine(self, size: int | None = None) -> Page:
        """Submit the page and get the next one. With nothing marked, the next pictures follow."""
        return self._turned("refine", size=self.state.size if size is None else size)

    def undo(self, n: int = 1) -> Page:
        """Take back the last n acts; the page is the one that was shown then."""
        return self._turned("undo", n=n)

    def picture(self, picture: str | int | Path | Point | None, *, crop: Crop | None = None, sha: str = "") -> Page:
        """Search from a picture of the collection, or from one outside: a file, or its numbers by group.

        crop  left, top, right, bottom of a part of a picture from outside, as shares of its width and height
        sha   the digest of a picture whose numbers are given
        None removes the picture.
        """
        if picture is None:
            return self._turned("picture")
        if isinstance(picture, int | np.integer) or (isinstance(picture, str) and picture in self.features.place):
            return self._turned("picture", item=self._named(picture))
        if isinstance(picture, str | Path):
            sha, picture = self._reader(picture).picture(Path(picture), crop)
        detail = session.checked("picture", {"upload": sha or "picture", "crop": crop})
        self.points[upload_key(detail["upload"], detail["crop"])] = picture
        return self._turned("picture", **detail)

    def sketch(self, hint: Floats | str | Path | None, *, sha: str = "sketch") -> Page:
        """Search by a sketch: a PNG, or the relevance of every picture to it (`searches.sketches`); None removes it."""
        if isinstance(hint, str | Path):
            sha, hint = self._reader(hint).sketch(Path(hint))
        if hint is not None:
            if len(hint) != len(self.features):
                raise RefusedError(f"the sketch has {len(hint):,} values for {len(self.features):,} pictures", 422)
            self.hints[sha] = hint
            self.seeker.last = ((None, ""), None)
        return self._turned("sketch", sha=None if hint is None else sha)

    def words(self, text: str) -> Page:
        """Search by words; an empty text removes them."""
        return self._turned("words", text=text)

    def pin(self, group: str, setting: float | str) -> Page:
        """Fix the weight of a group of features, turn it "off", or leave it to the learner ("auto")."""
        return self._turned("pin", group=group, setting=setting)

    def show_seen(self, show: bool = True) -> Page:
        """Let pictures return that were seen before, or not."""
        return self._turned("seen", show=show)

    def explore(self, on: bool = True) -> Page:
        """Give some places of a page to pictures that would teach most, or not."""
        return self._turned("explore", on=on)

    def view(self, items: Sequence[str | int]) -> Page:
        """Show these pictures, such as a part of a map, as a page that can be marked and submitted."""
        return self._turned("view", items=[self._named(item) for item in items])

    def forget(self) -> Page:
        """I changed my mind: earlier marks no longer count; seen pictures stay seen."""
        return self._turned("forget")

    def restart(self, *, keep: bool = False) -> Page:
        """Start over, with nothing, or keeping the query and the marks."""
        return self._turned("restart", keep=keep)

    def found(self, item: str | int) -> None:
        """This is it: the picture is among what was found."""
        self.add("found", {"item": self._named(item)})

    def close(self) -> None:
        """End the search."""
        self.add("close", {})

    def fork(self, number: int | None = None, *, name: str = "fork") -> Search:
        """Another search that begins as this one did, up to an event; what follows does not touch this one."""
        last = self.state.number if number is None else number
        events = session.forked(self._events, self.name, last)
        return Search(
            self.features, events, name=name, points=self.points, hints=self.hints, clock=self.clock, reader=self.reader
        )  # fmt: skip

    def why(self, item: str | int) -> Why:
        """Why a picture has its expected mark: what each group, the hint and each example adds."""
        place = place_of(self.features, self._named(item))
        basis = self._basis_of_page()
        if basis is None:
            raise RefusedError("nothing is known yet", remedy="mark a picture first")
        found = basis.fitted.why(place)
        if found is None:
            raise RefusedError(f"the learner {self.state.settings.learner!r} does not say why")
        names = [self.features.items[row] if row >= 0 else None for row in basis.evidence.rows]
        return replace(found, examples=tuple((names[row], value) for row, value in found.examples))

    def lesson(self) -> Mapping[Arm, float] | None:
        """How well each arm ordered the marks, for the prior of later searches; None without marks on both sides."""
        if not both_sides(self.state, self.features):
            return None
        evidence, hint = evidence_of(self.state, self.features, self.points), self.seeker.hint(self.state.query)
        return learn(self.features, evidence, prior=prior_of(self.state), hint=hint).concordance

    # What is recorded

    def add(self, kind: str, detail: Mapping[str, Any], *, key: str = "", at: float | None = None) -> Event:
        """Add one event, after all checks: whoever acts, by page or by program, comes through here."""
        known = session.checked(kind, detail)
        self._refuse_strange(kind, known)
        event = Event(self.state.number + 1, kind, known, key, self.clock() if at is None else at)
        state = session.step(self.state, event)
        if self.keep is not None:
            self.keep(event)
        self._events.append(event)
        self.state = state
        return event

    def _refuse_strange(self, kind: str, detail: Mapping[str, Any]) -> None:
        """Refuse what does not fit this collection."""
        if kind in session.ACTS:
            self._current()
        for item in (detail.get("item"), *(detail["items"] if kind == "view" else ())):
            if item is not None and item not in self.features.place:
                raise RefusedError(f"the collection has no picture {item!r}", 422)
        if kind != "pin":
            return
        names = [group.name for group in self.features.groups]
        if detail["group"] not in names:
            raise RefusedError(
                f"no group of features is called {detail['group']!r}", 422, remedy=f"there are: {', '.join(names)}"
            )
        off = {name for name in names if self.state.pins.get(name) == "off"} | {detail["group"]}
        audible = {group.name for group in self.features.groups if group.audible}
        if detail["setting"] == "off" and audible <= off:
            raise RefusedError("this is the last group of features that is on", 422, remedy="turn another one on first")

    def _current(self) -> State:
        if self.changed:
            raise RefusedError("the collection has changed since this search began", remedy="start a new search")
        return self.state

    def _reader(self, source: str | Path) -> Reader:
        if self.reader is None:
            raise RefusedError(f"the collection has no picture {str(source)!r}, and this search reads no files", 422)
        return self.reader

    def _named(self, item: str | int) -> str:
        if isinstance(item, str):
            return item
        if not 0 <= item < len(self.features):
            raise RefusedError(f"the collection has pictures 0 to {len(self.features) - 1:,}, no picture {item}", 422)
        return self.features.items[item]

    def _basis_of_page(self) -> Basis | None:
        """What the page rests on, without marks that were made since; computed again if the search was resumed."""
        self._current()
        if self.page is None:
            return None
        if self._basis[0] != self.page.number:
            self._basis = (self.page.number, self.seeker.fit(session.before_page(self.state)))
        return self._basis[1]

    # What it gives to others

    def opinions(self, source: str = "searcher") -> Opinions:
        """The marks as opinions, graded from 0 to 4."""
        return outcomes.opinions(self.state, self.name, source)

    def run(self) -> Run:
        """What was shown, one system per round."""
        return outcomes.run(self.state, self.name)

    def answers(self, source: str = "searcher") -> Answers:
        """What was found, in the order of finding."""
        return outcomes.answers(self.state, self.name, source)


# ---- replay -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replayed:
    """The outcome of a replay: the number of pages, and of the first that differs its round and why."""

    pages: int
    round: int | None = None
    why: str = ""

    @property
    def exact(self) -> bool:
        """Whether every page came out as it was shown."""
        return self.round is None

    def __str__(self) -> str:
        """One line."""
        if self.exact:
            return f"replays exactly: {self.pages} {'page' if self.pages == 1 else 'pages'}"
        return f"round {self.round} differs: {self.why}"


def replay(
    features: Features, events: Sequence[Event], *, points: Points | None = None, hints: Hints | None = None
) -> Replayed:
    """Compute every page again, also those that were undone, and compare it with what was shown."""
    seeker = Seeker(features, points or {}, hints or {})
    state, pages = State(), 0
    for event in events:
        if event.kind == "shown":
            pages += 1
            if problem := _differs(seeker, state, event):
                return Replayed(pages, event.detail["round"], problem)
        state = session.step(state, event)
    return Replayed(pages)


COMPARED = ("items", "slots", "mean", "deviation", "propensity", "round", "weights", "metrics")


def _differs(seeker: Seeker, state: State, event: Event) -> str:
    """What differs between a page as it is computed now and as it was shown, and why; nothing if it is the same."""
    cause = _cause(seeker.features, state)
    try:
        now = seeker.detail(state, seeker.fit(state))
    except EndoxaError as error:
        return f"it cannot be computed again: {error}" + (f"; {cause}" if cause else "")
    for name in COMPARED:
        before, after = event.detail[name], now[name]
        if before != after:
            unknown = "index and release are the same, so this is an error of endoxa; please report it"
            return f"{_difference(name, before, after)}; {cause or unknown}"
    return ""


def _difference(name: str, before: Any, after: Any) -> str:
    if isinstance(before, list) and len(before) == len(after):
        at = next(at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)
        return f"{name} of place {at + 1} was {before[at]!r}, is {after[at]!r}"
    return f"{name} differ"


def _cause(features: Features, state: State) -> str:
    """What has changed since the search began."""
    if state.features != features.digest:
        return "the collection was indexed anew since"
    if state.release != RELEASE:
        return f"endoxa was release {state.release} then, and is {RELEASE} now"
    return ""
