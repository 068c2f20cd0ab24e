"""The design of a study: its screen and its settings, with all checks.

A screen is one record in one table: what it shows and which grades it offers. Its kind (`endoxa.studies.kinds`) says
how tasks are planned, answers are checked, and results are shown and exported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, get_args

from endoxa.errors import TableError, TextError, did_you_mean, unknown
from endoxa.frozen import dataclass
from endoxa.tables.bundle import Task

if TYPE_CHECKING:
    from endoxa.studies.kinds import StudyKind


@dataclass(frozen=True)
class Grade:
    """A grade that a judge can give: its number, its label, its key on the keyboard.

    The key of a number is the number itself, so that a key stores what it says.
    """

    value: float
    label: str
    key: str


@dataclass(frozen=True)
class Screen:
    """What a judge sees and can answer."""

    name: str
    kind: str
    about: str
    per_task: int
    grades: tuple[Grade, ...] = ()
    asks_query: bool = True
    asks: str = ""  # the question above every task, where the organiser words no other

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest grade; without grades, relevance between 0 and 1."""
        values = [grade.value for grade in self.grades] or [0.0, 1.0]
        return min(values), max(values)

    @property
    def middle(self) -> float:
        """The default threshold: a grade above it is relevant (above 3 on a scale from 1 to 5)."""
        return sum(self.scale) / 2

    @property
    def scale_name(self) -> str:
        """The name of the scale in opinions, such as `1-5`."""
        return "{:g}-{:g}".format(*self.scale)

    @property
    def tolerance(self) -> float:
        """Grades by which an answer to a gold item may differ: 1 on a scale of five or more grades."""
        lo, hi = self.scale
        return 1.0 if hi - lo >= 4 else 0.0


def _numbered(lo: int, hi: int, worst: str, best: str) -> tuple[Grade, ...]:
    words = {lo: worst, hi: best}
    return tuple(Grade(value, words.get(value, str(value)), str(value)) for value in range(lo, hi + 1))


FIVE_LABELS = ("highly irrelevant", "irrelevant", "neutral", "relevant", "highly relevant")
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
            "five-levels", "rate", "a query and one result with five grades", 1,
            tuple(Grade(value, label, str(value)) for value, label in enumerate(FIVE_LABELS)),
            asks="How relevant is the result to the query?",
        ),
        Screen(
            "file-it", "file", "an item and a taxonomy to put it into", 1, asks_query=False,
            asks="Where does this belong? Choose the category that fits best.",
        ),
        Screen(
            "rank-it", "rank", "a set of results to put in order", 6,
            asks="Put the results in order, the best first, and say how relevant each is.",
        ),
    )
}  # fmt: skip


def register_screen(screen: Screen) -> Screen:
    """Add a screen; its name must be free."""
    if screen.name in SCREENS:
        raise TableError(f"a screen called {screen.name!r} exists already", remedy="choose another name")
    SCREENS[screen.name] = screen
    return screen


EDITABLE = ("title", "question", "instructions", "comments", "licence")  # of a study that exists
READ_BY = ("name", "screen", "per_task", "threshold", "task", "hide_tree")  # settings by which answers are read
CHOICES = {"choose": ("proposal", "pool", "pairs", "decide"), "task": get_args(Task)}


@dataclass(frozen=True)
class Settings:
    """The settings of a study. Every field is a key of the study file.

    question    what every task asks; it stands above each. The default is that of the screen
    choose      proposal: each system draws results by rank^-gamma, mixed with a uniform floor; pool: every result
                among the first `depth` of any run; pairs: the pairs of a file (from `endoxa next`);
                decide: the pairs whose labels would settle which system is better, in rounds of `count`
    measure     with choose = "decide": the measure by which systems are compared
    about       best, order, or two systems "A,B": what is to be settled
    until       the probability at which it is settled
    guarantee   settle it by draws whose verdict holds whatever the model; needs more labels
    exactly     the best must be known exactly; else it may be within .01 of the best (with AP never)
    common      number of tasks that every judge gets first; calibration of the judges needs them
    overlap     number of judges per main task
    limit       maximum number of main tasks per judge
    gold_every  one task in this many is a gold or attention task, while there are any left
    rounds      if more than 1, later rounds of `count` pairs are chosen from the answers so far
    hold        hours after which an unanswered task may go to another judge
    threshold   a grade above it is relevant; the default is the middle of the scale
    """

    name: str
    screen: str
    title: str = ""
    question: str = ""
    instructions: str = ""
    per_task: int | None = None
    choose: str = "proposal"
    measure: str = "AP"
    about: str = "best"
    until: float = 0.95
    guarantee: bool = False
    exactly: bool = False
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
    task: Task = "search"
    licence: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, (expected, _, optional) = getattr(self, field.name), str(field.type).partition(" | ")
            allowed, words = TYPES[expected]
            wrong = isinstance(value, bool) and allowed is not bool
            if (wrong or not isinstance(value, allowed)) and not (optional and value is None):
                raise TextError(f"{field.name} is {words}, not {value!r}")
        from endoxa.studies.kinds import KINDS  # here, because kinds build on settings, and may register screens

        if self.screen not in SCREENS:
            there = f"screens: {', '.join(SCREENS)}"
            raise unknown(TextError, f"no screen is called {self.screen!r}", self.screen, SCREENS, listed=there)
        if self.shape.kind not in KINDS:
            raise TextError(f"screen {self.screen!r} is of kind {self.shape.kind!r}, which is not registered")
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise TextError(
                    f"{name} is one of {', '.join(known)}, not {value!r}", remedy=did_you_mean(value, known)
                )
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
    def kind(self) -> StudyKind:
        """The kind of study."""
        from endoxa.studies.kinds import KINDS

        return KINDS[self.shape.kind]

    @property
    def items_per_task(self) -> int:
        """Number of results on a page."""
        return self.per_task or self.shape.per_task

    @property
    def relevant_above(self) -> float:
        """A grade above it is relevant."""
        return self.shape.middle if self.threshold is None else self.threshold

    @property
    def asked(self) -> str:
        """The question above every task."""
        return " ".join(self.question.split()) or self.shape.asks

    @property
    def paragraphs(self) -> list[str]:
        """The instructions for judges, split into paragraphs at empty lines; without any, the question."""
        return [" ".join(part.split()) for part in (self.instructions or self.asked).split("\n\n") if part.strip()]

    @property
    def heading(self) -> str:
        """The title; without one, the name as words: `faq_round-2` becomes `Faq round 2`."""
        words = " ".join(self.name.replace("-", " ").replace("_", " ").split())
        return " ".join(self.title.split()) or words[:1].upper() + words[1:]

    def edited(self, changes: Mapping[str, Any]) -> Settings:
        """The settings with other texts. What stored answers and planned tasks rest on cannot be changed."""
        for name in changes:
            if name in EDITABLE:
                continue
            if name not in {field.name for field in fields(self)}:
                raise TextError(f"a study has no setting {name!r}", remedy=did_you_mean(name, EDITABLE))
            why = "the stored answers are read by it" if name in READ_BY else "the tasks were planned by it"
            raise TextError(
                f"{name} cannot be changed, because {why}",
                remedy=f"set up another study (to edit: {', '.join(EDITABLE)})",
            )
        return replace(self, **changes)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from the keys of a study file; an unknown key is refused with a suggestion."""
        known = {field.name for field in fields(cls)}
        for name in given:
            if name not in known:
                raise TextError(f"a study has no setting {name!r}", remedy=did_you_mean(name, known))
        for name in ("name", "screen"):
            if name not in given:
                raise TextError(f"a study needs a {name}" + (f": {', '.join(SCREENS)}" if name == "screen" else ""))
        return cls(**given)


TYPES: dict[str, tuple[Any, str]] = {
    "str": (str, "a text"),
    "Task": (str, "a text"),
    "int": (int, "a whole number"),
    "float": (int | float, "a number"),
    "bool": (bool, "true or false"),
}
LEAST = {
    "per_task": 1, "tasks_per_query": 1, "gamma": 0, "depth": 1, "common": 0, "overlap": 1, "limit": 1,
    "gold_every": 2, "rounds": 1, "count": 1, "hold": 0.01, "seed": 0,
}  # fmt: skip
