"""The grammar of measure names: `nDCG@10`, `P(rel=2)@5`, `RBP(p=0.9)`, and trec_eval's `map`, `P_10`, `ndcg_cut.10`.

A `Measure` is an immutable value. Its printed form parses back to the same measure.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from endoxa.errors import TextError, did_you_mean, unknown
from endoxa.frozen import dataclass
from endoxa.measures import gains, graded, ranked, ranx_names, sets, trec_names, unjudged  # noqa: F401  (they register)
from endoxa.measures.lists import BEYOND, Lists
from endoxa.measures.pairs import PREFERENCES
from endoxa.measures.registry import ALIASES, REGISTRY, Definition
from endoxa.policies import CHOICES
from endoxa.tables import Floats

if TYPE_CHECKING:
    from endoxa.measures.closed_forms import SumForm
    from endoxa.measures.linear import LinearForm

Form = TypeVar("Form")
REQUIRED = inspect.Parameter.empty
KNOWN = ChainMap(PREFERENCES, REGISTRY)  # iterates from the last to the first


@dataclass(frozen=True)
class Measure:
    """A measure with its settings. `label` is the trec_eval name under which it was requested, if any."""

    name: str
    settings: tuple[tuple[str, Any], ...] = ()
    label: str | None = field(default=None, compare=False)

    @property
    def definition(self) -> Definition:
        """The entry of the measure in the registry."""
        return KNOWN[self.name]

    def __call__(self, lists: Lists, **more: Any) -> Floats:
        """Compute the value of each list; `more` holds defaults, as in `keywords`."""
        value: Floats = self.definition.kernel(lists, **self.keywords(**more))
        return value

    def keywords(self, **more: Any) -> dict[str, Any]:
        """The keyword arguments of the kernel. `more` holds defaults, of which it ignores those that do not apply."""
        known = self.definition.settings
        given = {name: dict(value) if name == "gains" else value for name, value in self.settings}
        return {name: value for name, value in more.items() if name in known} | given

    @property
    def rel(self) -> float | None:
        """The least relevant grade, or None if the measure has no such setting."""
        rel: float | None = dict(self.settings).get("rel", self.definition.settings.get("rel", 1))
        return rel

    def closed_form(self, form: Callable[..., Form | None] | None, *arguments: Any) -> Form | None:
        """Apply a closed form of the definition under these settings; None if there is none.

        `rel` is not passed on, because the probabilities that a closed form takes already depend on it.
        """
        settings = {name: value for name, value in self.keywords().items() if name != "rel"}
        return None if form is None or self.rel is None else form(*arguments, **settings)

    @property
    def sum_form(self) -> SumForm | None:
        """The value as a sum over items or as a ratio of such sums; None if it is neither."""
        return self.closed_form(self.definition.sum_form)

    @property
    def linear(self) -> LinearForm | None:
        """How the value moves with the relevance of single items; None where that is not known."""
        return self.closed_form(self.definition.linear)

    def with_relevant_grade(self, grade: float) -> Measure:
        """The same measure with `grade` as its least relevant grade, if it has that setting at its default."""
        given = dict(self.settings)
        if self.definition.settings.get("rel") is None or "rel" in given:
            return self
        return replace(make(self.name, given | {"rel": grade}), label=self.label)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        cutoff = self.definition.cutoff
        given = dict(self.settings)
        behind = f"@{_number(given.pop(cutoff))}" if cutoff in given else ""
        inside = ",".join(f"{name}={_literal(value)}" for name, value in given.items())
        return self.name + (f"({inside})" if inside else "") + behind


Wanted = str | Measure | Iterable[Any]  # also objects that print as the name of a measure


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _literal(value: Any) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{" + ",".join(f"{_number(grade)}:{_number(gain)}" for grade, gain in value) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(_number(item) for item in value) + ("," if len(value) == 1 else "") + ")"
    return _number(value)


def make(name: str, settings: Mapping[str, Any], text: str = "") -> Measure:
    """Check the settings and build the measure. Settings at their default value are dropped."""
    definition = _definition(name, text)
    known = definition.settings
    text = text or name
    for setting in settings:
        if setting not in known:
            have = ", ".join(known) or "none"
            raise unknown(
                TextError, f"{definition.name} has no setting {setting!r}", setting, known, listed=f"settings: {have}",
                text=text, at=_place(text, setting),
            )  # fmt: skip
    checked = {setting: _checked(definition, setting, value, text) for setting, value in settings.items()}
    for setting, default in known.items():
        if default is REQUIRED and setting not in checked:
            cut = f"@{'10' if setting == 'k' else '0.1'}"
            example = definition.name + (cut if setting == definition.cutoff else f"({setting}=…)")
            raise TextError(f"{definition.name} needs {setting}: write {example}", text, 0)
    return Measure(definition.name, tuple((s, checked[s]) for s in known if s in checked and checked[s] != known[s]))


def _definition(name: str, text: str) -> Definition:
    name = ALIASES.get(name, name)
    if name not in KNOWN:
        names = [*REGISTRY, *ALIASES, *trec_names.FAMILIES, *trec_names.NICKNAMES]
        hint = _with_cutoff(name) or did_you_mean(name, names)
        raise TextError(f"no measure is called {name!r}", text or name, 0, remedy=hint)
    return KNOWN[name]


def _with_cutoff(name: str) -> str:
    """What nDCG10 and P5 probably mean."""
    found = re.fullmatch(r"(\D+?)[_.-]?(\d+)", name)
    known = found and KNOWN.get(ALIASES.get(found[1], found[1]))
    return f"did you mean {found[1]}@{found[2]}?" if found and known and known.cutoff == "k" else ""


def _place(text: str, *names: str) -> int:
    """The position of a setting in the text: its name before the =, else the cut-off, else the beginning."""
    for name in names:
        found = re.search(rf"\b{re.escape(name)}\s*=", text)
        if found:
            return found.start()
    return max(text.find("@"), 0)


def _is_number(value: Any) -> bool:
    """Whether the value is a number that prints and parses back: finite, and not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _is_whole(value: Any, least: int, beyond: int) -> bool:
    return _is_number(value) and least <= value < beyond and value == int(value)


def _checked(definition: Definition, setting: str, value: Any, text: str) -> Any:
    """Convert the value to the form that the kernel takes, or raise a TextError with a caret."""

    def refuse(expected: str) -> TextError:
        return TextError(f"{definition.name}: {setting} must be {expected}, not {value!r}", text, _place(text, setting))

    number = _is_number(value)
    if setting == "k":
        if not _is_whole(value, 1, BEYOND):
            raise TextError(f"a cut-off is a whole number from 1 on, not {value!r}", text, _place(text, "k", "cutoff"))
        return int(value)
    if setting == "N":
        if not _is_whole(value, 0, 2**53):
            raise refuse("a whole number")
        return int(value)
    if setting == "recall" and not (number and 0 <= value <= 1):
        raise TextError(f"a level of recall lies between 0 and 1, not at {value!r}", text, _place(text, "recall"))
    if setting == "p" and not (number and 0 < value < 1):
        raise refuse("a probability between 0 and 1")
    if setting in {"beta", "mult"} and not (number and value > 0):
        raise refuse("a number above 0")
    if setting == "gains":
        if not isinstance(value, dict) or not value or not all(map(_is_number, [*value, *value.values()])):
            raise refuse("like {1: 3.5, 2: 9}")
        return tuple(sorted((float(grade), float(gain)) for grade, gain in value.items()))
    if setting == "recalls":
        several = isinstance(value, (list, tuple)) and len(value) > 0
        if not several or not all(_is_number(recall) and 0 <= recall <= 1 for recall in value):
            raise refuse("like (0.2, 0.5, 0.8)")
        return tuple(float(recall) for recall in value)
    words = {"dcg": ("log2", "exp-log2"), "norm": ("R", "min"), "compat": CHOICES["compat"]}
    if setting in words:
        if value not in words[setting]:
            raise refuse("one of " + ", ".join(words[setting]))
    elif setting == "relative":
        if not isinstance(value, bool):
            raise refuse("True or False")
    elif not number:
        raise refuse("a number")
    return value


@cache
def _parse_own(text: str) -> Measure:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        at = (getattr(error, "offset", None) or 1) - 1
        raise TextError(
            f"a measure reads Name(setting=value)@k, like nDCG@10 or P(rel=2)@5; this does not: {text}",
            text, min(max(at, 0), len(text)),
        ) from None  # fmt: skip
    cutoff: Any = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        cutoff, node = _value(node.right, text), node.left
    keywords: list[ast.keyword] = []
    if isinstance(node, ast.Call):
        if node.args:
            raise TextError("settings are named, like rel=2", text, _at(node.args[0], text))
        keywords, node = node.keywords, node.func
    if not isinstance(node, ast.Name):
        raise TextError("a measure reads Name(setting=value)@k, like nDCG@10 or P(rel=2)@5", text, _at(node, text))
    definition = _definition(node.id, text)
    settings: dict[str, Any] = {}
    for keyword in keywords:
        name = definition.cutoff if keyword.arg == "cutoff" and definition.cutoff else keyword.arg or "**"
        if name in settings:
            raise TextError(f"{definition.name}: {name} is given twice", text, _at(keyword, text))
        settings[name] = _value(keyword.value, text)
    if cutoff is not None:
        if definition.cutoff is None:
            raise TextError(f"{definition.name} has no cut-off", text, text.find("@"))
        if definition.cutoff in settings:
            raise TextError(f"{definition.name}: {definition.cutoff} is given twice", text, text.find("@"))
        settings[definition.cutoff] = cutoff
    return make(node.id, settings, text)


def _at(node: ast.expr | ast.keyword, text: str) -> int:
    """The position of a node in the text, in characters; Python counts bytes."""
    return len(text.encode()[: node.col_offset].decode(errors="ignore"))


def _value(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise TextError(
            "a setting is a number, a word in quotes, True, False or a dict", text, _at(node, text)
        ) from None


def parse_all(texts: Wanted, *, rel: float | None = None) -> list[Measure]:
    """All measures that the texts name, in the order given. A nickname such as `official` names several.

    `rel` is the least relevant grade of the measures that do not set their own. If two trec_eval labels (Rprec,
    Rprec_mult_1.00) name one measure, both are kept.
    """
    wanted = [texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else texts
    given = tuple(one if isinstance(one, Measure) else str(one) for one in wanted)
    named = not any(isinstance(one, Measure) for one in given)  # measures are equal whatever their labels
    return list(_known(given, rel) if named else _parsed(given, rel))


@lru_cache(1000, typed=True)
def _known(wanted: tuple[str | Measure, ...], rel: float | None) -> tuple[Measure, ...]:
    """What texts name, kept: one who scores many small runs asks for the same measures again."""
    return _parsed(wanted, rel)


def _parsed(wanted: tuple[str | Measure, ...], rel: float | None) -> tuple[Measure, ...]:
    texts = [text for one in wanted for text in ([one] if isinstance(one, Measure) else _listed(one))]
    splits = (trec_names.split_name(text) for text in texts if isinstance(text, str))
    given = frozenset(split[0] for split in splits if split is not None and split[1])
    found = [measure for text in texts for measure in _expand(text, given)]
    if rel is not None:
        found = [measure.with_relevant_grade(rel) for measure in found]
    return tuple({(measure, measure.label): measure for measure in found}.values())


def _listed(text: str) -> list[str]:
    """The names in a list with commas: `nDCG@10,AP`. In `P.5,10` and in parentheses a comma belongs to the measure."""
    ends = [
        found.start()
        for found in re.finditer(r",(?=\s*[A-Za-z])", text)
        if text.count("(", 0, found.start()) <= text.count(")", 0, found.start())
    ]
    return [text[first:last] for first, last in zip([0, *(end + 1 for end in ends)], [*ends, None], strict=True)]


def _expand(text: str | Measure, given: frozenset[str] = frozenset()) -> list[Measure]:
    if isinstance(text, Measure):
        return [text]
    text = text.strip()
    theirs = None if text in trec_names.FAMILIES else ranx_names.expand(text)
    if theirs is not None:
        return [make(*theirs, text)]
    named = trec_names.expand(text, given=given)
    if named is None:
        return [_parse_own(text)]
    return [replace(make(name, settings, text), label=label) for label, name, settings in named]


def parse(text: str) -> Measure:
    """Parse the name of one measure.

    >>> parse("nDCG@10")
    nDCG@10
    """
    measures = _expand(text)
    if len(measures) > 1:
        raise TextError(f"{text!r} names {len(measures)} measures, not one: {', '.join(map(str, measures[:4]))}, …")
    return measures[0]
