"""What bodies of any application have in common. Texts lose characters that no database can store."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST = 2**31 - 1  # the largest whole number in the database


def _plain(text: str) -> str:
    """The text without lone surrogates and without control characters other than line breaks and tabs."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"})


Token = Annotated[str, Path(max_length=300)]
# strict: `true` is not 1, and "3" is not 3
Number = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Amount = Annotated[float, Field(strict=True, ge=-1e9, le=1e9, allow_inf_nan=False)]
Seconds = Annotated[float, Field(strict=True, ge=0, le=1e7, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=2000), AfterValidator(_plain)]


class Body(BaseModel):
    """A request without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class ProblemOut(BaseModel):
    """The problem, in one sentence."""

    detail: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": ProblemOut, "description": text}
    for code, text in {
        400: "the request cannot be read",
        401: "there is no session; open the link again",
        403: "not allowed, or not sent by a page of this site",
        404: "does not exist, or belongs to somebody else",
        409: "not possible at the moment",
        413: "too long",
        422: "the request is not as expected",
        503: "the database does not respond at the moment; try again",
    }.items()
}
