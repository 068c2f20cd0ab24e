"""Bodies of requests and responses of searches. Every value is bounded; pictures are numbers, never paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, Field, StrictBool, create_model

from endoxa.searches import session
from endoxa.web.shapes import MOST, Body, Number, Seconds, Text

SKETCH = 90_000  # characters of 64 kB in base64

Id = Annotated[str, Path(max_length=64, pattern=r"^[\w-]+$")]  # of a search
Place = Annotated[int, Path(ge=0, le=MOST)]  # of a picture in the index, or the number of a round
Sha = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, Field(strict=True, ge=1, le=100)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Png = Annotated[str, Field(max_length=SKETCH, description="a PNG of 256 × 256 pixels in base64")]
# The values of events as pages send them: name and type. Other values, as how many acts to undo, are not for pages.
SENT: dict[str, tuple[str, Any]] = {
    "item": ("place", Number),
    "items": ("places", Annotated[list[Number], Field(min_length=1, max_length=session.LARGEST)]),
    "upload": ("upload", Digest),
    "crop": ("crop", Annotated[list[Share], Field(min_length=4, max_length=4)]),
    "sha": ("png", Png | None),
    "text": ("text", Annotated[Text, Field(max_length=session.TEXT)]),
    "grade": ("grade", Annotated[int, Field(ge=session.GRADES[0], le=session.GRADES[-1], strict=True)] | None),
    "size": ("size", Size),
    "group": ("group", Annotated[str, Field(max_length=100)]),
    "setting": (
        "setting",
        Literal["auto", "off"] | Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)],
    ),
    "show": ("show", StrictBool),
    "on": ("on", StrictBool),
    "keep": ("keep", StrictBool),
}
SIZED = ("picture", "sketch", "words")  # pages may send a size with these too; it changes nothing


class ForkBody(Body):
    """Where a new search goes on from."""

    search: Annotated[str, Field(max_length=64)]
    number: Number


class BeginBody(Body):
    """A new search."""

    key: UUID
    size: Size = 20
    fork: ForkBody | None = None


class _Act(Body):
    key: UUID
    after: Number
    active_seconds: Seconds | None = None
    method: Literal["key", "mouse", "touch", "program"] | None = None


def _event(kind: str) -> Any:
    """The body of an event of this kind, made from `session.EVENTS`."""
    values: dict[str, Any] = {"size": (Size | None, None)} if kind in SIZED else {}
    for name, default in session.EVENTS[kind].values.items():
        if name in SENT:
            sent, type_ = SENT[name]
            values[sent] = (type_ | None if default is None else type_, default)
    detail = create_model(f"{kind.title()}Detail", __base__=Body, **values)
    own: dict[str, Any] = {"kind": (Literal.__getitem__(kind), ...), "detail": (detail, ...)}
    return create_model(f"{kind.title()}Event", __base__=_Act, __doc__=session.EVENTS[kind].what, **own)


if TYPE_CHECKING:
    EventBody = Any
else:
    SENDING = (*session.ACTS, "undo", "close")  # the other kinds are made by the server
    EventBody = Annotated[Union[tuple(map(_event, SENDING))], Field(discriminator="kind")]  # noqa: UP007


class PreviewBody(Body):
    """A sketch as it is painted."""

    sketch: Annotated[str, Field(max_length=SKETCH)]
    size: Size = 12


class LinkBody(Body):
    """An address for others."""

    fork: StrictBool = False


class GradeOut(BaseModel):
    """A mark, with its label and key."""

    value: int
    label: str
    key: str


class GroupOut(BaseModel):
    """A group of features and the metrics that may compare it."""

    name: str
    metrics: list[str]


class CollectionOut(BaseModel):
    """The collection, and who is here. `beside` pictures are nearly the same as one that stands for them."""

    name: str
    nickname: str
    role: Literal["searcher", "viewer"]
    digest: str
    count: int
    beside: int
    groups: list[GroupOut]
    grades: list[GradeOut]
    words: bool
    map: bool


class TileOut(BaseModel):
    """A picture. `stack` is the number of its near-duplicates; `expected` the mark, where marks tell pictures apart."""

    place: int
    name: str
    slot: str
    expected: float | None
    mark: int | None
    stack: int
    missing: bool
    words: str


class PageOut(BaseModel):
    """A page of results."""

    round: int
    tiles: list[TileOut]


class ItemsOut(BaseModel):
    """A page of the collection."""

    tiles: list[TileOut]
    page: int
    pages: int


class MapTileOut(TileOut):
    """A picture on the map, which stands for `count` pictures."""

    cell: int
    count: int
    opens: bool


class MapOut(BaseModel):
    """A view of the map."""

    tiles: list[MapTileOut]
    path: str


class QueryOut(BaseModel):
    """What the search starts from."""

    picture: int | None
    upload: str | None
    sketch: bool
    words: str


class MarkOut(BaseModel):
    """A mark."""

    place: int
    grade: int


class RoundOut(BaseModel):
    """A page that was shown: the number of its event, and how many of its pictures are marked."""

    number: int
    round: int
    shown: int
    marked: int


class StandingOut(BaseModel):
    """What a group of features counts now."""

    name: str
    weight: float | None
    metric: str
    setting: str | float


class SearchOut(BaseModel):
    """A search as it stands."""

    id: str
    title: str
    number: int
    round: int
    query: QueryOut
    page: PageOut
    marks: list[MarkOut]
    rounds: list[RoundOut]
    groups: list[StandingOut]
    found: list[int]
    undo: bool
    seen: int
    left: int
    show_seen: bool
    explore: bool
    notes: list[str]
    read_only: bool
    may_fork: bool


class SavedOut(BaseModel):
    """A search in the list of one's own."""

    id: str
    title: str
    rounds: int
    marks: int
    found: int
    cover: int | None
    at: float


class SavedListOut(BaseModel):
    """One's searches, the newest first."""

    searches: list[SavedOut]


class PreviewOut(BaseModel):
    """Pictures like the sketch."""

    tiles: list[TileOut]


class UploadOut(BaseModel):
    """The name of the uploaded picture."""

    sha: str


class LinkOut(BaseModel):
    """The address; it cannot be shown again."""

    url: str


class ExampleOut(BaseModel):
    """A marked picture and what it adds; without a place it is the uploaded one."""

    place: int | None
    upload: str | None
    value: float


class WhyOut(BaseModel):
    """Why a mark is expected, in marks: base + groups + hint, cut off at -2 and 2, is `expected`."""

    base: float
    groups: dict[str, float]
    hint: float
    expected: float
    examples: list[ExampleOut]
