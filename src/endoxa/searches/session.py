"""A search is a fold over events: what a person did and was shown, in order. Nothing else is state.

Events are only added. An undo is an event too: it takes back the last acts, and what is left is folded again. So a
search can be resumed, forked at any point and replayed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from functools import reduce
from typing import Any, NamedTuple, NoReturn

from endoxa.errors import RefusedError, unknown
from endoxa.frozen import dataclass

Detail = Mapping[str, Any]
SIZE = 20  # pictures on a page
LARGEST = 200
TEXT = 1_000  # characters of words
GRADES = range(-2, 3)
SLOTS = ("best", "explore", "audit", "map")


@dataclass(frozen=True)
class Event:
    """One event of a search: its number from 1, its kind, its detail (JSON), the key that its page made, its time."""

    number: int
    kind: str
    detail: Detail = field(default_factory=dict)
    key: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class Settings:
    """The settings of a search, frozen in its first event.

    size      pictures on a page, where the page does not say
    learner   the name of the learner
    explore   whether some places of a page go to the pictures that would teach most
    audit     whether one place of a page is drawn at random from the unseen pictures
    weak      whether pictures of a submitted page that are left unmarked are weak evidence against them
    thompson  whether the prior was drawn at random from what earlier searches taught
    """

    size: int = SIZE
    learner: str = "kernel"
    explore: bool = True
    audit: bool = False
    weak: bool = True
    thompson: bool = False


@dataclass(frozen=True)
class Query:
    """What a search starts from: a picture of the collection or from outside, a sketch, words, or nothing."""

    item: str | None = None
    upload: str | None = None
    crop: tuple[float, float, float, float] | None = None
    sketch: str | None = None
    words: str = ""


@dataclass(frozen=True)
class Shown:
    """A page as it was shown: the number of its event, its round, its pictures, and what was expected of them."""

    number: int
    round: int
    items: tuple[str, ...]
    slots: tuple[str, ...]
    mean: tuple[float | None, ...]
    deviation: tuple[float | None, ...]
    propensity: tuple[float | None, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)

    @property
    def expected(self) -> dict[str, float | None]:
        """The expected mark of each picture, from -2 to 2; None on a page that rests on nothing."""
        return {
            item: None if mean is None else expected_mark(mean)
            for item, mean in zip(self.items, self.mean, strict=True)
        }

    @property
    def separates(self) -> bool:
        """Whether the expected marks of its pictures differ by one mark or more; otherwise they say nothing."""
        known = [mark for mark in self.expected.values() if mark is not None]
        return bool(known) and max(known) - min(known) >= 1


def expected_mark(mean: float) -> float:
    """The mark that is expected of a picture: 2·clip(μ, -1, 1)."""
    return 2 * min(1.0, max(-1.0, mean))


@dataclass(frozen=True)
class Trail:
    """The events that still count, as a chain from the last to the first, and the number of acts among them."""

    event: Event
    before: Trail | None
    acts: int

    def __iter__(self) -> Iterator[Event]:
        """From the last event to the first."""
        link: Trail | None = self
        while link is not None:
            yield link.event
            link = link.before


@dataclass(frozen=True)
class State:
    """What follows from the events so far.

    number     the last event's
    marks      the last mark of each picture, in the order of marking
    passed     pictures of submitted pages, the oldest first; without a mark they are weak evidence
    seen       pictures that do not return: those of submitted pages
    pages      every page that still counts
    due        whether a new page is wanted
    submitted  whether a page was submitted since the query was set
    size       of the next page
    view       pictures of a map that become the next page
    """

    number: int = 0
    features: str = ""
    release: str = ""
    seed: int = 0
    prior: Mapping[str, float] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    query: Query = field(default_factory=Query)
    marks: Mapping[str, int] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    seen: frozenset[str] = frozenset()
    pages: tuple[Shown, ...] = ()
    due: bool = True
    submitted: bool = False
    size: int = SIZE
    view: tuple[str, ...] = ()
    pins: Mapping[str, float | str] = field(default_factory=dict)
    show_seen: bool = False
    found: tuple[str, ...] = ()
    closed: bool = False
    trail: Trail | None = None

    @property
    def page(self) -> Shown | None:
        """The page that is before the person; None where none was shown yet."""
        return self.pages[-1] if self.pages else None

    @property
    def round(self) -> int:
        """The round of the page that is before the person, or due; the first is 1."""
        return len(self.pages) + self.due

    @property
    def acts(self) -> int:
        """How many acts can be undone."""
        return self.trail.acts if self.trail is not None else 0

    def rated_before(self, page: Shown) -> bool:
        """Whether the page rests on what the person said of pictures: a mark before it, or the picture of the query.

        Words and a sketch put pictures in an order, and say nothing about marks.
        """
        if self.query.item is not None or self.query.upload is not None:
            return True
        later = {item for one in self.pages if one.number >= page.number for item in one.items}
        return any(item not in later for item in self.marks)

    def told(self, page: Shown) -> Mapping[str, float | None]:
        """The expected marks of a page where they tell its pictures apart, else None for all."""
        return page.expected if self.rated_before(page) and page.separates else dict.fromkeys(page.items)


# ---- what an event may say ----------------------------------------------------------------------------


def _refuse(problem: str, remedy: str = "") -> NoReturn:
    raise RefusedError(problem, 422, remedy=remedy)


def _whole(kind: str, name: str, value: Any, lo: int, hi: int) -> int:
    right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not right or value != int(value) or not lo <= value <= hi:
        _refuse(f"{name} of {kind!r} is a whole number from {lo} to {hi:,}, not {value!r}")
    return int(value)


def _word(kind: str, name: str, value: Any, longest: int = 4_096) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        _refuse(f"{name} of {kind!r} is a text, not {value!r}")
    if len(value) > longest:
        _refuse(f"{name} of {kind!r} has {len(value):,} characters", f"at most {longest:,} are taken")
    return value


def _flag(kind: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        _refuse(f"{name} of {kind!r} is true or false, not {value!r}")
    return value


def _start(detail: Detail) -> dict[str, Any]:
    prior = detail.get("prior", {})
    if not isinstance(prior, Mapping) or not all(_positive(value) for value in prior.values()):
        _refuse("the prior of 'start' is a positive number for each arm, such as look/cosine")
    return {
        "features": str(detail.get("features", "")), "release": str(detail.get("release", "")),
        "seed": _whole("start", "seed", detail.get("seed", 0), 0, 2**63 - 1),
        "prior": {str(arm): float(value) for arm, value in prior.items()},
        "settings": asdict(settings_of(detail.get("settings", {}))), "chances": dict(detail.get("chances", {})),
    }  # fmt: skip


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def settings_of(given: Any) -> Settings:
    """Settings with all checks; an unknown one is refused."""
    known = {one.name for one in fields(Settings)}
    if not isinstance(given, Mapping):
        _refuse(f"the settings of a search are names with values, not {given!r}")
    for name, value in given.items():
        if name not in known:
            raise unknown(RefusedError, f"a search has no setting {name!r}", str(name), known, status=422)
        if name == "size":
            _whole("settings", "size", value, 1, LARGEST)
        elif name == "learner":
            _word("settings", "learner", value)
        else:
            _flag("settings", name, value)
    return Settings(**given)


def _picture(detail: Detail) -> dict[str, Any]:
    item, upload, crop = (detail.get(name) for name in ("item", "upload", "crop"))
    if item is not None and upload is not None:
        _refuse("a search starts from one picture: an item or an upload, not both")
    if item is not None:
        return {"item": _word("picture", "item", item)}
    if upload is None:
        return {}
    return {"upload": _word("picture", "upload", upload, 64), "crop": None if crop is None else _crop(crop)}


def _crop(crop: Any) -> list[float]:
    """A rectangle as shares of width and height: left, top, right, bottom."""
    numbers = isinstance(crop, list | tuple) and len(crop) == 4 and all(isinstance(c, int | float) for c in crop)
    if not numbers or not all(0 <= c <= 1 for c in crop):
        _refuse(f"a crop is four numbers from 0 to 1 (left, top, right, bottom), not {crop!r}")
    left, top, right, bottom = map(float, crop)
    if not (left < right and top < bottom):
        _refuse("the crop has no area", "draw a larger rectangle, or take the whole picture")
    return [left, top, right, bottom]


def _pin(detail: Detail) -> dict[str, Any]:
    group, setting = _word("pin", "group", detail.get("group"), 100), detail.get("setting")
    if setting in {"auto", "off"}:
        return {"group": group, "setting": setting}
    if setting is None or not _positive(setting) or setting > 1:
        _refuse(f"the setting of group {group!r} is auto, off or a weight above 0 and up to 1, not {setting!r}")
    return {"group": group, "setting": float(setting)}


def _words(detail: Detail) -> dict[str, Any]:
    text = detail.get("text")
    if not isinstance(text, str) or "\0" in text:
        _refuse(f"text of 'words' is a text, not {text!r}")
    if len(text) > TEXT:
        _refuse(f"the words have {len(text):,} characters", f"at most {TEXT:,} are taken")
    return {"text": text.strip()}


def _shown(detail: Detail) -> dict[str, Any]:
    columns = {name: detail.get(name) for name in ("items", "slots", "mean", "deviation", "propensity")}
    if not all(isinstance(column, list | tuple) for column in columns.values()):
        _refuse("a page that was shown has lists of items, slots, mean, deviation and propensity")
    if len({len(column) for column in columns.values() if column is not None}) > 1:
        _refuse("the columns of a page that was shown have different lengths")
    if wrong := [slot for slot in columns["slots"] or () if slot not in SLOTS]:
        _refuse(f"a picture is shown as {', '.join(SLOTS)}, not as {wrong[0]!r}")
    whole = {
        "round": _whole("shown", "round", detail.get("round"), 1, 10**9),
        "size": _whole("shown", "size", detail.get("size", SIZE), 1, LARGEST),
    }
    return {
        **{name: list(column or ()) for name, column in columns.items()}, **whole,
        "weights": dict(detail.get("weights", {})), "metrics": dict(detail.get("metrics", {})),
    }  # fmt: skip


def _view(detail: Detail) -> dict[str, Any]:
    items = detail.get("items")
    if not isinstance(items, list | tuple) or not 1 <= len(items) <= LARGEST:
        _refuse(f"a view that becomes a page has 1 to {LARGEST} items")
    return {"items": list(dict.fromkeys(_word("view", "item", item) for item in items))}


VALUES: dict[str, Callable[[str, str, Any], Any]] = {  # checks of a value of an event: its kind, its name, the value
    "item": _word,
    "sha": lambda kind, name, value: None if value is None else _word(kind, name, value, 64),
    "grade": lambda kind, name, value: None if value is None else _whole(kind, name, value, GRADES[0], GRADES[-1]),
    "size": lambda kind, name, value: _whole(kind, name, value, 1, LARGEST),
    "n": lambda kind, name, value: _whole(kind, name, value, 1, 10**9),
    "number": lambda kind, name, value: _whole(kind, name, value, 1, 10**9),
    "search": _word,
    "show": _flag,
    "on": _flag,
    "keep": _flag,
}


class Kind(NamedTuple):
    """A kind of event: what it does, the values of its detail with their defaults (... for none), and their check.

    Without a check of its own each value is checked by its name (`VALUES`).
    """

    what: str
    values: Mapping[str, Any] = {}
    check: Callable[[Detail], dict[str, Any]] | None = None


EVENTS = {
    "start": Kind("Begin a search.", {}, _start),
    "picture": Kind("Search from a picture, or from none.", {"item": None, "upload": None, "crop": None}, _picture),
    "sketch": Kind("Search from a sketch; null removes it.", {"sha": ...}),
    "words": Kind("Search by words; an empty text removes them.", {"text": ...}, _words),
    "shown": Kind("Show a page.", {}, _shown),
    "mark": Kind("Mark a picture; null removes the mark.", {"item": ..., "grade": ...}),
    "refine": Kind("Submit the page, get the next.", {"size": SIZE}),
    "pin": Kind("Set what a group of features counts.", {"group": ..., "setting": ...}, _pin),
    "seen": Kind("Let seen pictures return, or not.", {"show": ...}),
    "explore": Kind("Explore, or not: some pictures of a page are those that would teach most.", {"on": ...}),
    "view": Kind("Submit a view of the map as a page.", {"items": ...}, _view),
    "forget": Kind("Drop earlier marks."),
    "found": Kind("Say that this is it.", {"item": ...}),
    "undo": Kind("Undo the last acts.", {"n": 1}),
    "fork": Kind("Go on from an event of another search.", {"search": ..., "number": ...}),
    "restart": Kind("Start over, empty or keeping query and marks.", {"keep": False}),
    "close": Kind("Close the search."),
}
KINDS = tuple(EVENTS)
ACTS = (  # what can be undone
    "picture", "sketch", "words", "view", "mark", "refine", "pin", "seen", "explore", "forget", "found", "restart",
)  # fmt: skip
WAYS = ("key", "mouse", "touch", "program")  # how a person acted


def checked(kind: str, detail: Any) -> dict[str, Any]:
    """The detail of an event with only what its kind knows; anything that does not fit is refused (422).

    Any event may say how it was made: `active_seconds` that the person took, and `method` (key, mouse, touch).
    """
    if kind not in EVENTS:
        there = f"there are: {', '.join(KINDS)}"
        raise unknown(RefusedError, f"no event is called {kind!r}", str(kind), KINDS, listed=there, status=422)
    if not isinstance(detail, Mapping):
        _refuse(f"the detail of {kind!r} is an object, not {detail!r}")
    _, values, check = EVENTS[kind]
    known = check(detail) if check is not None else {
        name: VALUES[name](kind, name, detail.get(name, None if default is ... else default))
        for name, default in values.items()
    }  # fmt: skip
    seconds, method = detail.get("active_seconds"), detail.get("method")
    if seconds is not None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e7:
            _refuse(f"active_seconds is a number of seconds, not {seconds!r}")
        known["active_seconds"] = float(seconds)
    if method is not None:
        if method not in WAYS:
            _refuse(f"method is one of {', '.join(WAYS)}, not {method!r}")
        known["method"] = method
    return known


# ---- the fold -----------------------------------------------------------------------------------------


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after all events."""
    return reduce(step, events, State() if state is None else state)


def step(state: State, event: Event) -> State:
    """The state after one more event. A first event other than start, or one after close, is refused.

    An act that changes nothing, such as the same mark again, is not one that can be undone.
    """
    if (event.kind == "start") != (state.trail is None):
        _refuse("a search begins with the event start, and has one only")
    if state.closed:
        raise RefusedError("this search is closed", remedy="fork it to go on")
    try:
        if event.kind == "undo":
            return undo(state, event.detail["n"], event.number)
        new = STEPS[event.kind](state, event)
    except (KeyError, TypeError, ValueError):
        raise RefusedError(
            f"event {event.number} of this search ({event.kind!r:.20}) is damaged, or of a release that this one does "
            "not know",
            422,
            remedy="update endoxa, or start a new search",
        ) from None
    acts = state.acts + (event.kind in ACTS and new is not state)
    return replace(new, number=event.number, trail=Trail(event, state.trail, acts))


def undo(state: State, n: int, number: int) -> State:
    """The state before the last n acts, with the page that was shown then. Undoing more than there is is refused."""
    if not state.acts:
        raise RefusedError("there is nothing to undo")
    if n > state.acts:
        raise RefusedError(f"only {state.acts} acts can be undone, not {n}")
    assert state.trail is not None
    return replace(fold(before_act(state.trail, n)), number=number)


def before_act(trail: Trail, n: int) -> list[Event]:
    """The events that count before the last n acts."""
    left = trail.acts - n
    link: Trail | None = trail
    while link is not None and (link.acts > left):
        link = link.before
    return [] if link is None else list(link)[::-1]


def before_page(state: State) -> State:
    """The state from which the last page was made: its expected marks rest on this, not on later marks."""
    assert state.page is not None and state.trail is not None
    events = list(state.trail)[::-1]
    last = max(at for at, event in enumerate(events) if event.kind == "shown")
    return fold(events[:last])


def forked(events: Sequence[Event], search: str, number: int) -> list[Event]:
    """The first events of another search, up to `number`, and where they come from. All of it can be undone."""
    copied = [replace(event) for event in events if event.number <= number]
    if not copied or number > events[-1].number:
        last = events[-1].number if events else 0
        _refuse(f"search {search!r} has events 1 to {last}; it cannot be forked at {number}")
    copied = [event for event in copied if event.kind != "close"]
    return [*copied, Event(copied[-1].number + 1, "fork", {"search": search, "number": number})]


def _began(_: State, event: Event) -> State:
    detail = checked("start", event.detail)
    settings = settings_of(detail.pop("settings"))
    detail.pop("chances")
    return State(**detail, settings=settings, size=settings.size)


def _queried(state: State, **changes: Any) -> State:
    """Another query: a page is due, and the one before the person is not submitted."""
    return replace(state, query=replace(state.query, **changes), due=True, submitted=False)


def _pictured(state: State, event: Event) -> State:
    crop = event.detail.get("crop")
    return _queried(
        state,
        item=event.detail.get("item"),
        upload=event.detail.get("upload"),
        crop=None if crop is None else tuple(crop),
    )


def _displayed(state: State, event: Event) -> State:
    detail = event.detail
    columns = {name: tuple(detail[name]) for name in ("items", "slots", "mean", "deviation", "propensity")}
    page = Shown(event.number, detail["round"], **columns, weights=detail["weights"], metrics=detail["metrics"])
    return replace(state, pages=(*state.pages, page), due=False, view=())


def _marked(state: State, event: Event) -> State:
    item, grade = event.detail["item"], event.detail["grade"]
    if state.marks.get(item) == grade:
        return state
    marks = {other: value for other, value in state.marks.items() if other != item}
    return replace(state, marks=marks if grade is None else {**marks, item: grade})


def _refined(state: State, event: Event) -> State:
    """The page is submitted: what it showed is seen."""
    items = state.page.items if state.page is not None and not state.due else ()
    passed = (*(item for item in state.passed if item not in items), *items)
    return replace(
        state, passed=passed, seen=state.seen | set(items), due=True, submitted=True, size=event.detail["size"]
    )


def _pinned(state: State, event: Event) -> State:
    group, setting = event.detail["group"], event.detail["setting"]
    pins = {name: value for name, value in state.pins.items() if name != group}
    return replace(state, pins=pins if setting == "auto" else {**pins, group: setting}, due=True)


def _found(state: State, event: Event) -> State:
    item = event.detail["item"]
    return state if item in state.found else replace(state, found=(*state.found, item))


def _restarted(state: State, event: Event) -> State:
    """Start over: nothing is seen. Empty, or with the query, the marks and the pins kept; what was found stays."""
    new = replace(state, passed=(), seen=frozenset(), due=True, submitted=False, show_seen=False)
    return new if event.detail["keep"] else replace(new, query=Query(), marks={}, pins={})


STEPS: dict[str, Callable[[State, Event], State]] = {
    "start": _began,
    "picture": _pictured,
    "sketch": lambda state, event: _queried(state, sketch=event.detail["sha"]),
    "words": lambda state, event: _queried(state, words=event.detail["text"]),
    "shown": _displayed,
    "mark": _marked,
    "refine": _refined,
    "pin": _pinned,
    "seen": lambda state, event: replace(state, show_seen=event.detail["show"], due=True),
    "explore": lambda state, event: replace(
        state, settings=replace(state.settings, explore=event.detail["on"]), due=True
    ),
    "view": lambda state, event: replace(state, view=tuple(event.detail["items"]), due=True),
    "forget": lambda state, _: replace(state, marks={}, passed=(), due=True),
    "found": _found,
    "fork": lambda state, _: state,
    "restart": _restarted,
    "close": lambda state, _: replace(state, closed=True),
}
