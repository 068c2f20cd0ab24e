"""What a study is: its screen, its settings, and what is checked before anybody is asked.

A screen is one record in one table: what is shown, which answers there are. The pages, the store and the analysis
read it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from endoxa.errors import TextError, did_you_mean

Kind = Literal["rate", "file", "rank"]


@dataclass(frozen=True)
class Grade:
    """An answer that a judge may give: its number, its words, its key on the keyboard."""

    value: float
    label: str
    key: str


@dataclass(frozen=True)
class Screen:
    """What a judge sees and may answer."""

    name: str
    kind: Kind
    about: str
    per_task: int
    grades: tuple[Grade, ...] = ()
    asks_query: bool = True
    asks: str = ""  # what judges read where the organiser gives no instructions

    @property
    def scale(self) -> tuple[float, float]:
        """Least and greatest grade; a rank screen gives relevance between 0 and 1."""
        values = [grade.value for grade in self.grades] or [0.0, 1.0]
        return min(values), max(values)

    @property
    def middle(self) -> float:
        """A grade above it is relevant, where the organiser does not say otherwise (above 3 on 1 to 5)."""
        lo, hi = self.scale
        return (lo + hi) / 2

    @property
    def scale_name(self) -> str:
        """`1-5`: how opinions name the scale."""
        lo, hi = self.scale
        return f"{lo:g}-{hi:g}"


def _numbered(lo: int, hi: int, worst: str, best: str) -> tuple[Grade, ...]:
    words = {lo: worst, hi: best}
    return tuple(Grade(value, words.get(value, str(value)), str(value)) for value in range(lo, hi + 1))


LEVELS = ("highly irrelevant", "irrelevant", "neutral", "relevant", "highly relevant")
SCREENS = {
    screen.name: screen
    for screen in (
        Screen(
            "four-results", "rate", "a query with four results of different systems", 4,
            _numbered(1, 5, "poor match", "good match"), asks="How well does each result match the query?",
        ),
        Screen(
            "one-result", "rate", "a query and one result", 1, _numbered(1, 9, "poor match", "good match"),
            asks="How well does the result match the query?",
        ),
        Screen(
            "yes-no", "rate", "a query and one result: does it answer?", 1,
            (Grade(0, "no", "n"), Grade(1, "yes", "y")), asks="Is the result what the query asks for?",
        ),
        Screen(
            "five-levels", "rate", "a query and one result on five levels", 1,
            tuple(Grade(value, label, str(value + 1)) for value, label in enumerate(LEVELS)),
            asks="How relevant is the result to the query?",
        ),
        Screen(
            "file-it", "file", "an item to be put into a taxonomy", 1, asks_query=False,
            asks="Where does this belong? Choose the category that fits best.",
        ),
        Screen(
            "rank-it", "rank", "a set of results to be put in order", 6,
            asks="Put the results in order, the best first, and say how relevant each is.",
        ),
    )
}  # fmt: skip
CHOICES = {
    "choose": ("proposal", "pool", "pairs"),
    "task": ("search", "classification"),
}


@dataclass(frozen=True)
class Settings:
    """How a study is run. Every field is a key of the study file.

    choose     proposal: each system draws results by rank^-gamma, mixed with a uniform floor; pool: every result in
               the first `depth` of some run; pairs: as a file says (from `endoxa next`)
    common     tasks that every judge gets first: calibration rests on them
    overlap    judges per task beyond the common ones
    limit      most tasks that one judge gets beyond the common ones
    gold_every one task in so many is a gold or attention task, while there are any
    rounds     more than 1: later rounds of `count` pairs are chosen from the answers so far
    hold       hours after which a task given out and not answered may go to somebody else
    threshold  a grade above it is relevant; the middle of the scale where it is not said
    """

    name: str
    screen: str
    title: str = ""
    instructions: str = ""
    per_task: int | None = None
    choose: str = "proposal"
    tasks_per_query: int = 3
    gamma: float = 1.0
    floor: float = 0.1
    depth: int | None = None
    common: int = 5
    overlap: int = 1
    limit: int | None = None
    gold_every: int = 10
    rounds: int = 1
    count: int = 100
    hold: float = 24.0
    comments: bool = False
    skip: bool = True
    hide_tree: bool = False
    threshold: float | None = None
    task: Literal["search", "classification"] = "search"
    licence: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind in KINDS.items():
            value = getattr(self, name)
            if value is None and name in OPTIONAL:
                continue
            wrong = isinstance(value, bool) and kind is not bool
            fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
            if wrong or not fits:
                raise TextError(f"{name} is {WORDS[kind]}, not {value!r}")
        if self.screen not in SCREENS:
            raise TextError(
                f"no screen is called {self.screen!r}{did_you_mean(self.screen, SCREENS)} "
                f"(there are: {', '.join(SCREENS)})"
            )
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise TextError(f"{name} is one of {', '.join(known)}, not {value!r}{did_you_mean(value, known)}")
        if not self.name or len(self.name) > 60 or not all(c.isalnum() or c in "-_." for c in self.name):
            raise TextError(f"a study's name is up to 60 letters, digits, '-', '_' or '.', not {self.name!r}")
        if not self.name[0].isalnum():
            raise TextError(f"a study's name begins with a letter or digit, not {self.name!r}")
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise TextError(f"{name} is at least {least:g}, not {value:g}")
        if not 0 <= self.floor <= 1:
            raise TextError(f"floor is a share between 0 and 1, not {self.floor:g}")
        if self.per_task is not None and self.per_task > 24:
            raise TextError(f"per_task is at most 24 (a judge must see them all), not {self.per_task}")

    @property
    def shape(self) -> Screen:
        """The record of its screen."""
        return SCREENS[self.screen]

    @property
    def items_per_task(self) -> int:
        """How many results stand on a page."""
        return self.per_task or self.shape.per_task

    @property
    def relevant_above(self) -> float:
        """A grade above it is relevant."""
        return self.shape.middle if self.threshold is None else self.threshold

    @property
    def told(self) -> list[str]:
        """What judges read before they begin, as paragraphs; an empty line parts them."""
        return [" ".join(part.split()) for part in (self.instructions or self.shape.asks).split("\n\n") if part.strip()]

    @property
    def heading(self) -> str:
        """Title, or the name where there is none."""
        return self.title or self.name

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """From a study file's keys; an unknown one is named with its nearest neighbour."""
        known = {field.name for field in fields(cls)}
        for name in given:
            if name not in known:
                raise TextError(f"a study has no setting {name!r}{did_you_mean(name, known)}")
        for name in ("name", "screen"):
            if name not in given:
                raise TextError(f"a study needs a {name}" + (f": {', '.join(SCREENS)}" if name == "screen" else ""))
        return cls(**given)


OPTIONAL = {"per_task", "depth", "limit", "threshold"}
WHOLE = ("per_task", "tasks_per_query", "depth", "common", "overlap", "limit", "gold_every", "rounds", "count", "seed")
KINDS: dict[str, type] = {
    **dict.fromkeys(("name", "screen", "title", "instructions", "choose", "task", "licence"), str),
    **dict.fromkeys(WHOLE, int),
    **dict.fromkeys(("gamma", "floor", "hold", "threshold"), float),
    **dict.fromkeys(("comments", "skip", "hide_tree"), bool),
}
WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
LEAST = {
    "per_task": 1, "tasks_per_query": 1, "gamma": 0, "depth": 1, "common": 0, "overlap": 1, "limit": 1,
    "gold_every": 2, "rounds": 1, "count": 1, "hold": 0.01, "seed": 0,
}  # fmt: skip
