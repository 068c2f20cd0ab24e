"""Frozen dataclasses that are made quickly.

    from endoxa.frozen import dataclass

Python's own writes and compiles six methods for each class: that took a fifth of the time of a small evaluation. Here
only `__init__` is compiled; the other methods are shared, and do the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


def _frozen(cls: Any, *, eq: bool, shown: bool) -> Any:
    made: Any = dataclasses.dataclass(cls, eq=False, repr=False)
    fields = dataclasses.fields(made)
    if shown and "__repr__" not in vars(cls):
        made.__repr__ = _repr([one.name for one in fields if one.repr])
    if eq and "__eq__" not in vars(cls):
        made.__eq__, made.__hash__ = _comparison([one.name for one in fields if one.compare])
    made.__setattr__, made.__delattr__ = _set_once, _refuse_delete
    return made


def _set_once(self: Any, name: str, value: Any) -> None:
    """A field is set by `__init__`, and never again."""
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    self.__dict__[name] = value


def _refuse_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def text(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return text


def _comparison(names: list[str]) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    def one_or_none(self: Any) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in names)

    values: Callable[[Any], tuple[Any, ...]] = attrgetter(*names) if len(names) > 1 else one_or_none

    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return equal, hashed


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: Any = None, /, *, frozen: bool = False, eq: bool = True, repr: bool = True) -> Any:  # noqa: A002
        """As Python's own, which type checkers take it for."""

        def make(cls: Any) -> Any:
            return _frozen(cls, eq=eq, shown=repr) if frozen else dataclasses.dataclass(cls, eq=eq, repr=repr)

        return make if cls is None else make(cls)
