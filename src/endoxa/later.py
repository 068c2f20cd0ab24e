"""NumPy and Polars, loaded when they are first used, so that help appears at once and a native evaluation stays small.

    from endoxa.later import np, pl

A module that quick commands load takes them from here; `tests/cli/test_start.py` says which commands these are.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["functions_of", "np", "on_demand", "pl"]


class _Later(ModuleType):
    """Stands for a module; takes over all that it holds when it is first asked for something."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        module = importlib.import_module(self.__name__)
        value = getattr(module, name)
        self.__dict__.update({key: one for key, one in vars(module).items() if not key.startswith("__")})
        return value


def on_demand(module: str, makers: Mapping[str, Callable[[], Any]]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose constants need NumPy or Polars: each is made when it is first asked for."""

    def get(name: str) -> Any:
        if name not in makers:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = sys.modules[module].__dict__[name] = makers[name]()
        return value

    return get


class _Functions:
    """Stands for a module of functions, which is loaded when one of them is called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        def call(*values: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(self._name), name)(*values, **named)

        return call


def functions_of(module: str) -> Any:
    """The functions of a module that is loaded when one of them is first called, not when it is named."""
    return _Functions(module)


if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    np, pl = _Later("numpy"), _Later("polars")
