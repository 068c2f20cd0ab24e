"""Bodies of requests and responses of studies. Every value is bounded."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, Field, StrictBool

from endoxa.studies.design import Grade
from endoxa.web.shapes import Amount, Body, Number, Seconds, Text

Name = Annotated[str, Path(max_length=60, pattern=r"^[\w.-]+$")]  # of a study, in a path


class Said(Body):
    """The response to one item; without any value it means undecided."""

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
    """Undo the last act."""

    key: UUID


class EventBody(Body):
    """Something that happened on the page."""

    kind: Literal["pause", "resume", "hidden", "visible", "enlarge"]


class InviteBody(Body):
    """A link for somebody."""

    role: Literal["judge", "participant"] = "judge"
    nickname: Annotated[str, Field(max_length=200)] | None = None
    days: Annotated[int, Field(strict=True, ge=1, le=3650)] = 30


class StateBody(Body):
    """Open or close the study."""

    state: Literal["open", "closed"]


class EditBody(Body):
    """New texts of the study; what is left out stays."""

    title: Annotated[str, Field(max_length=200)] | None = None
    question: Annotated[str, Field(max_length=500)] | None = None
    instructions: Annotated[str, Field(max_length=20_000)] | None = None


class DeleteBody(Body):
    """The name of the study once more."""

    name: Annotated[str, Field(max_length=60)]


class ResultsBody(Body):
    """Let participants see the results, or not."""

    open: StrictBool


class ProgressOut(BaseModel):
    """The progress of a judge."""

    done: int
    total: int
    practice_left: int
    finished: bool


class ScreenOut(BaseModel):
    """What a judge sees."""

    name: str
    kind: str
    per_task: int
    grades: list[Grade]


class CategoryOut(BaseModel):
    """A category for items."""

    name: str
    label: str
    depth: int
    leaf: bool


class StudyOut(BaseModel):
    """A study as a judge sees it."""

    name: str
    title: str
    state: str
    question: str
    instructions: list[str]
    comments: bool
    skip: bool
    screen: ScreenOut
    categories: list[CategoryOut] | None


class RaterOut(BaseModel):
    """The judge."""

    nickname: str


class MeOut(BaseModel):
    """The study, the judge and the judge's progress."""

    study: StudyOut
    rater: RaterOut
    progress: ProgressOut


class QueryOut(BaseModel):
    """The query of a task."""

    text: str | None
    image: str | None
    alt: str
    missing: bool


class ItemOut(QueryOut):
    """An item of a task."""

    id: int


class SaidOut(BaseModel):
    """A response that was undone."""

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
    """The current task, and the ones after it."""

    tasks: list[TaskOut]
    progress: ProgressOut


class FeedbackOut(BaseModel):
    """After practice: the known answer beside the judge's own."""

    item: int
    expected: str | None
    expected_label: str | None
    said: str | float | None
    right: bool | None


class ReceivedOut(BaseModel):
    """The answer is saved."""

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


class SystemOut(BaseModel):
    """A system in a verdict."""

    system: str
    p_best: float
    mean: float


class PointOut(BaseModel):
    """The verdict after some labels."""

    labels: int
    leader: str
    chance: float
    decided: int


class VerdictOut(BaseModel):
    """Which system is better by the answers so far. `better` is P(row better than column) of the systems `shown`.

    The history is `complete` a little later than the verdict, for example after a restart.
    """

    measure: str
    until: float
    labels: int
    relevant: float
    disputed: int
    judges: int
    settled: bool
    leader: str
    chance: float
    sentence: str
    systems: list[SystemOut]
    shown: list[str]
    better: list[list[float]]
    decided: int
    pairs: int
    guarantee: bool
    forecast: str | None
    history: list[PointOut]
    complete: bool
