"""What goes over the wire: bounded bodies in; out go the records themselves.

An annotator gets the texts that the form shows and nothing else of an item: not its id, not who
wrote it, not the columns that a blinded table hides (`without_item`).
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeVar

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from moralscope.annotation import records
from moralscope.annotation.options import SHAPES
from moralscope.server.errors import Storable

LONGEST = 20_000  # characters of one text; forms ask for far less


Line = Annotated[Storable, Field(max_length=200)]
Text = Annotated[Storable, Field(max_length=LONGEST)]
Words = Annotated[Storable, Field(max_length=4000)]
Key = Annotated[Storable, Field(max_length=80)]
Value = Text | bool | int | None | Annotated[list[Line], Field(max_length=60)]
Values = Annotated[dict[Key, Value], Field(max_length=60)]
Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,80}$")]
FileName = Annotated[str, Path(max_length=120)]


class Body(BaseModel):
    """What a request carries; a key that is not asked for is refused."""

    model_config = ConfigDict(extra="forbid")


class TokenBody(Body):
    token: Annotated[Storable, Field(min_length=1, max_length=200)]


class ConsentBody(Body):
    agrees: bool


class TestBody(Body):
    __test__ = False

    answers: Annotated[dict[Key, Line], Field(max_length=60)]


class QuestionnaireBody(Body):
    leaning: Key | None = None
    statements: Annotated[dict[Key, Annotated[int, Field(ge=0, le=10)]], Field(max_length=100)] = {}
    about: Annotated[dict[Key, Key], Field(max_length=40)] = {}
    agrees: bool = False


class AnswerBody(Body):
    answer: Values


class SubmissionBody(AnswerBody):
    submission: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{8,64}$")]


class SkipBody(Body):
    reason: Line = ""


class InviteBody(Body):
    name: Annotated[Storable, Field(min_length=1, max_length=80)]
    role: Literal["annotator", "lead"] = "annotator"


class ReviewBody(Body):
    verdict: Literal["good", "mend"]
    feedback: Words = ""


class RejectBody(Body):
    reason: Words


class BlockBody(RejectBody):
    leave_out: bool = False


class AppealBody(Body):
    text: Words


class SettleBody(Body):
    lift: bool
    answer: Words = ""


class PauseBody(Body):
    paused: bool


class ExportBody(Body):
    name: Annotated[Storable, Field(min_length=1, max_length=120)]
    shape: Annotated[Key, Field(json_schema_extra={"enum": list(SHAPES)})]


class FinalAnswerBody(Body):
    item: Annotated[Storable, Field(max_length=300)]
    answer: Values
    comment: Words = ""


@dataclass(frozen=True, slots=True)
class DatabaseHealth:
    """That the server is up and its database answers."""

    status: Literal["ok"]
    version: str


@dataclass(frozen=True, slots=True)
class Done:
    """It was done."""

    done: Literal[True] = True


@dataclass(frozen=True, slots=True)
class PersonStanding:
    """Who one is and how far, the token for changes, and the page to go to."""

    csrf: str
    person: records.Person
    next: str
    progress: records.PersonProgress | None


@dataclass(frozen=True, slots=True)
class NextWork:
    """The item to judge now, None where nothing is left, and how far one is."""

    work: records.OpenAssignment | None
    progress: records.PersonProgress


@dataclass(frozen=True, slots=True)
class DraftReceipt:
    """That a draft is on disk, and until when the item is kept for the person."""

    lease_until: float
    saved: Literal[True] = True


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a submission would be asked to mend."""

    findings: tuple[records.FieldFinding, ...]


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """An export and where it is downloaded."""

    name: str
    address: str


WorkT = TypeVar("WorkT", records.OpenAssignment, records.PastWork)


def without_item(work: WorkT) -> WorkT:
    """Return work as its annotator may see it: what the form shows of the item is in `form`."""
    return replace(work, item=replace(work.item, id="", texts={}, author=""))
