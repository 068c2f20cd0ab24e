"""Ways to work on many blocks at once: on this machine, or on Spark."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from endoxa.scale import local

Mapper = Callable[..., Any]  # like map: a function and items


def mapper_of(on: str | None) -> Mapper:
    """The map over queries: that of this machine, or of the Spark cluster at an address."""
    if on is None:
        return local.mapped
    from endoxa.scale import spark

    return partial(spark.mapped, on)
