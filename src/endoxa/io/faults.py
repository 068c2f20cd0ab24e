"""What libraries raise on files that are damaged, or were made to do harm, as found by fuzzing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from endoxa.later import on_demand, pl

JSON = (ValueError, RecursionError)
CONTENT = (KeyError, TypeError, AttributeError)  # of JSON or a table that is whole, but not what it should be

if TYPE_CHECKING:
    PARQUET: Any
    ZIP: Any
    ARRAY: Any  # NumPy reads the header of an array as an expression of Python


def _of(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


__getattr__ = on_demand(
    __name__,
    {
        "PARQUET": lambda: (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError),
        "ZIP": lambda: (
            _of("zipfile", "BadZipFile"), _of("zlib", "error"), EOFError, RuntimeError, OSError, ValueError
        ),  # RuntimeError: a member is encrypted, or packed by an unknown method
        "ARRAY": lambda: (
            OSError, ValueError, EOFError, SyntaxError, _of("tokenize", "TokenError"), RuntimeError, MemoryError,
            OverflowError, TypeError, IndexError,
        ),
    },
)  # fmt: skip


def first_line(error: BaseException) -> str:
    """Return the start of the message of a library."""
    return (str(error).strip() or type(error).__name__).split("\n", 1)[0][:80]
