"""A dataclass of ours is the one of Python."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field, replace
from typing import Any

import pytest

from endoxa.frozen import dataclass as ours


def kinds(dataclass: Any) -> tuple[Any, ...]:
    """The same classes by either decorator."""

    @dataclass(frozen=True)
    class Point:
        x: float
        y: float = 2.0
        note: str = field(default="", compare=False, repr=False)
        seen: list[int] = field(default_factory=list, compare=False)

    @dataclass(frozen=True)
    class Named(Point):
        name: str = "n"

    @dataclass(frozen=True)
    class Single:
        x: Any

    @dataclass(frozen=True)
    class Nothing:
        pass

    @dataclass(frozen=True, eq=False)
    class Alone:
        x: float

    @dataclass(frozen=True, repr=False)
    class Silent:
        x: float

    @dataclass(frozen=True)
    class Own:
        x: float

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @dataclass
    class Open:
        x: float

    return Point, Named, Single, Nothing, Alone, Silent, Own, Open


def told(act: Any) -> str:
    """What comes of it, as a text without addresses."""
    try:
        return repr(act()).split(" object at ")[0].replace("ours", "theirs")
    except Exception as error:  # noqa: BLE001  the errors are compared
        return f"{type(error).__name__}: {error}"


def within(one: Any) -> str:
    """The text of something that holds itself."""
    one.x.append(one)
    return repr(one)


ACTS = {
    "a text": lambda c: (c[0](1), c[1](1, name="m"), c[2]((1,)), c[3](), c[4](1), c[5](1), c[6](1), c[7](1)),
    "equal": lambda c: (
        c[0](1) == c[0](1), c[0](1) == c[0](1, note="other", seen=[1]), c[0](1) == c[0](2), c[0](1) == c[1](1),
        c[2](1) == c[2](1), c[2](float("nan")) == c[2](float("nan")), c[3]() == c[3](), c[4](1) == c[4](1),
        c[6](1) == c[6](2), c[0](1) != c[0](2), c[0](1) == (1, 2.0),
    ),
    "hashed": lambda c: (
        hash(c[0](1)), len({c[0](1), c[0](1, note="n"), c[0](3)}), hash(c[1](1)), hash(c[2](1)), hash(c[3]()),
        hash(c[6](1)), c[4](1) in {c[4](1)},
    ),
    "open is not hashed": lambda c: hash(c[7](1)),
    "an unhashable field": lambda c: hash(c[2]([1])),
    "assigned": lambda c: setattr(c[0](1), "x", 3),
    "assigned in a subclass": lambda c: setattr(c[1](1), "name", 3),
    "assigned to no field": lambda c: setattr(c[0](1), "z", 3),
    "deleted": lambda c: delattr(c[0](1), "x"),
    "assigned where it may be": lambda c: setattr(c[7](1), "x", 3),
    "a field is missing": lambda c: c[0](),
    "one too many": lambda c: c[2](1, 2),
    "replaced": lambda c: (replace(c[0](1), y=5.0), replace(c[1](1), name="m").name),
    "replaced by an unknown": lambda c: replace(c[0](1), w=5.0),
    "as a dictionary": lambda c: (dataclasses.asdict(c[1](1)), dataclasses.astuple(c[0](1))),
    "fields": lambda c: [(one.name, one.default is dataclasses.MISSING) for one in dataclasses.fields(c[1])],
    "copied": lambda c: (copy.copy(c[1](1)), copy.deepcopy(c[1](1))),
    "matched": lambda c: (c[0].__match_args__, c[3].__match_args__),
    "in itself": lambda c: within(c[2]([])),
}  # fmt: skip


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_it_does_what_pythons_own_does(act: Any) -> None:
    mine, theirs = kinds(ours), kinds(dataclasses.dataclass)
    assert told(lambda: act(mine)) == told(lambda: act(theirs))


@ours(frozen=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    x: float
    y: tuple[int, ...] = (1,)


def test_it_is_pickled_and_stays_frozen() -> None:
    back = pickle.loads(pickle.dumps(Kept(2.0)))
    assert back == Kept(2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        back.y = (2,)
