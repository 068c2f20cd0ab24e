"""Ways to work on many blocks at once: on this machine, or on Spark."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from endoxa.errors import CallError
from endoxa.scale import local

Mapper = Callable[..., Any]  # like map: a function and items
ADDRESSES = "local[2] (two cores of this machine), local[*] (all of them) or spark://HOST:PORT (a cluster)"


def mapper_of(on: str | None) -> Mapper:
    """The map over queries: that of this machine, or of the Spark cluster at an address."""
    if on is None:
        return local.mapped
    from endoxa.scale import spark

    return partial(spark.mapped, on)


def address_of(on: Any) -> str | None:
    """The address in a setting: the text of one, or that of a Spark session."""
    if on is None or isinstance(on, str):
        return on
    context = getattr(on, "sparkContext", None)
    if context is None:
        raise CallError(f"on is {ADDRESSES}, or a Spark session, not a {type(on).__name__}")
    return str(context.master)


def is_frame(source: Any) -> bool:
    """Whether it is a frame of Spark."""
    return type(source).__module__.startswith("pyspark.sql.") and type(source).__name__ == "DataFrame"
