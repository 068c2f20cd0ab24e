"""Bodies of requests and responses of searches. Every value is bounded; pictures are numbers, never paths."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, Field, StrictBool

from endoxa.web.shapes import MOST, Body, Number, Seconds, Text

SKETCH = 90_000  # characters of 64 kB in base64
WORDS = 1_000  # characters
LARGEST = 200  # pictures on a page or in a view of the map

Id = Annotated[str, Path(max_length=64, pattern=r"^[\w-]+$")]  # of a search
Place = Annotated[int, Path(ge=0, le=MOST)]  # of a picture in the index, or the number of a round
Sha = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, Field(strict=True, ge=1, le=100)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Grade = Annotated[int, Field(ge=-2, le=2, strict=True)]


class ForkBody(Body):
    """Where a new search goes on from."""

    search: Annotated[str, Field(max_length=64)]
    number: Number


class BeginBody(Body):
    """A new search."""

    key: UUID
    size: Size = 20
    fork: ForkBody | None = None


class PictureDetail(Body):
    """A picture of the collection, an uploaded one (or a part of it), or none."""

    place: Number | None = None
    upload: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    crop: Annotated[list[Share], Field(min_length=4, max_length=4)] | None = None
    size: Size | None = None


class SketchDetail(Body):
    """A sketch: a PNG of 256 × 256 pixels in base64; null removes it."""

    png: Annotated[str, Field(max_length=SKETCH)] | None
    size: Size | None = None


class WordsDetail(Body):
    """Words; an empty text removes them."""

    text: Annotated[Text, Field(max_length=WORDS)]
    size: Size | None = None


class MarkDetail(Body):
    """A mark, or its removal."""

    place: Number
    grade: Grade | None


class RefineDetail(Body):
    """The next page."""

    size: Size = 20


class ViewDetail(Body):
    """A view of the map that becomes a page."""

    places: Annotated[list[Number], Field(min_length=1, max_length=LARGEST)]


class PinDetail(Body):
    """What a group of features counts."""

    group: Annotated[str, Field(max_length=100)]
    setting: Literal["auto", "off"] | Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]


class SeenDetail(Body):
    """Whether seen pictures return."""

    show: StrictBool


class ExploreDetail(Body):
    """Whether some pictures of a page are those that would teach most."""

    on: StrictBool


class FoundDetail(Body):
    """This is it."""

    place: Number


class RestartDetail(Body):
    """Start over, empty or keeping query and marks."""

    keep: StrictBool = False


class NoDetail(Body):
    """Nothing more to say."""


class _Act(Body):
    key: UUID
    after: Number
    active_seconds: Seconds | None = None
    method: Literal["key", "mouse", "touch", "program"] | None = None


class PictureEvent(_Act):
    """Search from a picture."""

    kind: Literal["picture"]
    detail: PictureDetail


class SketchEvent(_Act):
    """Search from a sketch."""

    kind: Literal["sketch"]
    detail: SketchDetail


class WordsEvent(_Act):
    """Search by words."""

    kind: Literal["words"]
    detail: WordsDetail


class MarkEvent(_Act):
    """Mark a picture."""

    kind: Literal["mark"]
    detail: MarkDetail


class RefineEvent(_Act):
    """Submit the page, get the next."""

    kind: Literal["refine"]
    detail: RefineDetail


class ViewEvent(_Act):
    """Submit a view of the map as a page."""

    kind: Literal["view"]
    detail: ViewDetail


class PinEvent(_Act):
    """Set what a group counts."""

    kind: Literal["pin"]
    detail: PinDetail


class SeenEvent(_Act):
    """Let seen pictures return, or not."""

    kind: Literal["seen"]
    detail: SeenDetail


class ExploreEvent(_Act):
    """Explore, or not."""

    kind: Literal["explore"]
    detail: ExploreDetail


class FoundEvent(_Act):
    """Say that this is it."""

    kind: Literal["found"]
    detail: FoundDetail


class RestartEvent(_Act):
    """Start over."""

    kind: Literal["restart"]
    detail: RestartDetail


class PlainEvent(_Act):
    """Drop earlier marks, undo the last act, or close the search."""

    kind: Literal["forget", "undo", "close"]
    detail: NoDetail


EventBody = Annotated[
    PictureEvent | SketchEvent | WordsEvent | MarkEvent | RefineEvent | ViewEvent | PinEvent | SeenEvent
    | ExploreEvent | FoundEvent | RestartEvent | PlainEvent,
    Field(discriminator="kind"),
]  # fmt: skip


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
    """The collection, and who is here."""

    name: str
    nickname: str
    role: Literal["searcher", "viewer"]
    digest: str
    count: int
    groups: list[GroupOut]
    grades: list[GradeOut]
    words: bool
    map: bool


class TileOut(BaseModel):
    """A picture. `stack` is the number of its near-duplicates, `expected` the mark that is expected."""

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
