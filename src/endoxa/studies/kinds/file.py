"""The kind `file`: judges put each item into a category of a taxonomy. The answers become labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import TextError
from endoxa.studies.design import Screen, Settings
from endoxa.studies.kinds import Answered, Response, StudyKind, register
from endoxa.studies.kinds.rate import agreement_of
from endoxa.studies.latest import labels
from endoxa.studies.planning import Material, Work, certain
from endoxa.tables import COUNTED, DRAW, Labels, Opinions, Taxonomy

SHOWN = 12  # categories that a message lists


def plan(_: Settings, material: Material, rng: np.random.Generator) -> Work:
    """One task per item, in random order."""
    items = [material.items[at] for at in rng.permutation(len(material.items))]
    rows = pl.DataFrame(
        {"task": range(len(items)), "item": items}, schema={"task": pl.Int64, "item": pl.String}
    ).with_columns(pl.lit(None, pl.String).alias("query"), pl.lit(0).alias("place"), pl.lit("all").alias("selected_by"))
    return certain(rows)


def check(_: Screen, responses: Sequence[Response], taxonomy: Taxonomy | None) -> str | None:
    """A response is a category of the study's taxonomy, or undecided."""
    for response in responses:
        if response.category is not None and (taxonomy is None or response.category not in taxonomy.categories):
            return f"{response.category!r} is not a category of this study"
    return None


def read_expected(text: str, _: Screen, taxonomy: Taxonomy | None) -> str:
    """A category of the taxonomy."""
    categories = sorted(taxonomy.categories) if taxonomy is not None else []
    if text not in categories:
        raise TextError(f"expected one of {', '.join(categories[:SHOWN])}{' …' if len(categories) > SHOWN else ''}")
    return text


def is_right(expected: str, response: Response, _: float = 0.0) -> bool:
    """Whether the category is the known one."""
    return response.category == expected


def summary(_: Screen, answered: Answered) -> dict[str, Any]:
    """Agreement about the categories. They are names, so the level of measurement is nominal."""
    rows = answered.answers.filter(COUNTED & pl.col("category").is_not_null())
    if not rows.height:
        return {}
    code = rows["category"].rank("dense").cast(pl.Float64)
    filed = rows.select("source", pl.lit("filed").alias("query"), "item", code.alias("grade"))
    given = Opinions.of(filed.unique(["source", "query", "item"], keep="last", maintain_order=True))
    return {"agreement": agreement_of(given, "nominal")}


FILE = register(
    StudyKind(
        name="file", columns=("category",), table=Labels, tabulate=lambda answers, _: labels(answers), plan=plan,
        check=check, read_expected=read_expected, is_right=is_right, summary=summary, asks_every_item=True,
        needs_taxonomy=True, omitted=("query", "propensity", "selected_by", *DRAW),
    )
)  # fmt: skip
