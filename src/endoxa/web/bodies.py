"""What requests and answers hold. Everything has a bound; texts lose what no database can keep."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST = 2**31 - 1  # what a whole number in the database can be


def _plain(text: str) -> str:
    """Without control characters but line breaks and tabs, and without halves of characters."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"})


Number = Annotated[int, Field(ge=0, le=MOST)]
Amount = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=2000), AfterValidator(_plain)]


class Body(BaseModel):
    """A request that says nothing we do not know."""

    model_config = ConfigDict(extra="forbid")


class Said(Body):
    """What was said about one item; nothing given is undecided."""

    item: Number
    grade: Amount | None = None
    category: Text | None = None
    rank: Number | None = None
    relevance: Amount | None = None


class AnswerBody(Body):
    """An answer to a task, or a skip."""

    key: UUID
    task: Number
    kind: Literal["answer", "skip"] = "answer"
    responses: list[Said] = Field(default_factory=list, max_length=100)
    comment: Text | None = None
    active_seconds: Seconds | None = None
    away_seconds: Seconds | None = None
    screen: Annotated[str, Field(max_length=40, pattern=r"^[0-9]{1,6}x[0-9]{1,6}(@[0-9.]{1,8})?$")] | None = None
    method: Literal["key", "pointer", "touch"] | None = None
    shown: list[Number] | None = Field(default=None, max_length=100)


class UndoBody(Body):
    """Take back the last act."""

    key: UUID


class EventBody(Body):
    """Something that happened on the page."""

    kind: Literal["pause", "resume", "hidden", "visible", "enlarge"]


class InviteBody(Body):
    """A link for somebody."""

    role: Literal["judge", "participant"] = "judge"
    nickname: Annotated[str, Field(max_length=200)] | None = None
    days: Annotated[int, Field(ge=1, le=3650)] = 30


class StateBody(Body):
    """Open or close the study."""

    state: Literal["open", "closed"]


class ResultsBody(Body):
    """Let participants see the results, or not."""

    open: bool


class ProgressOut(BaseModel):
    """How far a judge is."""

    done: int
    total: int
    practice_left: int
    finished: bool


class GradeOut(BaseModel):
    """An answer that may be given."""

    value: float
    label: str
    key: str


class ScreenOut(BaseModel):
    """What a judge sees."""

    name: str
    kind: str
    per_task: int
    grades: list[GradeOut]


class CategoryOut(BaseModel):
    """A place to file an item in."""

    name: str
    label: str
    depth: int
    leaf: bool


class StudyOut(BaseModel):
    """A study as a judge knows it."""

    name: str
    title: str
    state: str
    instructions: list[str]
    comments: bool
    skip: bool
    screen: ScreenOut
    categories: list[CategoryOut] | None


class RaterOut(BaseModel):
    """The judge."""

    nickname: str


class MeOut(BaseModel):
    """Where a judge stands."""

    study: StudyOut
    rater: RaterOut
    progress: ProgressOut


class QueryOut(BaseModel):
    """What was asked for."""

    text: str | None
    image: str | None
    alt: str
    missing: bool


class ItemOut(BaseModel):
    """A result, or an item to be filed."""

    id: int
    text: str | None
    image: str | None
    alt: str
    missing: bool


class SaidOut(BaseModel):
    """What was said before it was taken back."""

    item: int | None
    grade: float | None
    category: str | None
    rank: int | None
    relevance: float | None
    comment: str | None


class TaskOut(BaseModel):
    """A task."""

    id: int
    practice: bool
    query: QueryOut | None
    items: list[ItemOut]
    previous: list[SaidOut] | None


class TasksOut(BaseModel):
    """The task to show now, and those after it."""

    tasks: list[TaskOut]
    progress: ProgressOut


class FeedbackOut(BaseModel):
    """In practice: what was looked for."""

    item: int
    expected: str | None
    expected_label: str | None
    said: str | float | None
    right: bool | None


class ReceivedOut(BaseModel):
    """The answer is kept."""

    progress: ProgressOut
    feedback: list[FeedbackOut] | None


class UndoneOut(BaseModel):
    """The task is open again."""

    task: TaskOut
    progress: ProgressOut


class InvitedOut(BaseModel):
    """A new link; it cannot be shown again."""

    id: int
    url: str


class ProblemOut(BaseModel):
    """What is wrong, in a sentence."""

    detail: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": ProblemOut, "description": said}
    for code, said in {
        400: "cannot be read at all",
        401: "no session: open the link again",
        403: "not allowed, or not from our own page",
        404: "not there, or not yours",
        409: "not now",
        413: "too long",
        422: "not as expected",
        503: "the database does not answer at the moment; try again",
    }.items()
}
