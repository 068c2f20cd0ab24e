"""What libraries raise on files that are damaged, or were made to do harm, as found by fuzzing."""

from __future__ import annotations

import zipfile
import zlib
from tokenize import TokenError
from typing import TYPE_CHECKING

from endoxa.later import on_demand, pl

if TYPE_CHECKING:
    PARQUET: tuple[type[BaseException], ...]
__getattr__ = on_demand(
    __name__, {"PARQUET": lambda: (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)}
)
JSON = (ValueError, RecursionError)
ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError)
# NumPy reads the header of an array as an expression of Python.
ARRAY = (OSError, ValueError, EOFError, SyntaxError, TokenError, RecursionError, MemoryError, OverflowError)
CONTENT = (KeyError, TypeError, AttributeError)  # of JSON or a table that is whole, but not what it should be


def first_line(error: BaseException) -> str:
    """Return the start of the message of a library."""
    return (str(error).strip() or type(error).__name__).split("\n", 1)[0][:80]
