"""What goes over the wire: bounded bodies in, and out only what the person may see.

An annotator gets the texts that the form shows and nothing else of an item: not who wrote it, not
the columns that a blinded sheet hides. Records that hold nothing to hide (`records.Person`, …) are
sent as they are.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from moralscope.annotation import records
from moralscope.server.errors import Storable

LONGEST = 20_000  # characters of one text; forms ask for far less


Line = Annotated[Storable, Field(max_length=200)]
Text = Annotated[Storable, Field(max_length=LONGEST)]
Key = Annotated[Storable, Field(max_length=80)]
Value = Text | bool | int | None | Annotated[list[Line], Field(max_length=60)]
Values = Annotated[dict[Key, Value], Field(max_length=60)]
Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,80}$")]
FileName = Annotated[str, Path(max_length=120)]


class Body(BaseModel):
    """What a request carries; a key that is not asked for is refused."""

    model_config = ConfigDict(extra="forbid")


class Health(BaseModel):
    """That the server is up and its database answers."""

    status: Literal["ok"]
    version: str


class Token(Body):
    token: Annotated[Storable, Field(min_length=1, max_length=200)]


class Consent(Body):
    agrees: bool


class TestAnswers(Body):
    __test__ = False

    answers: Annotated[dict[Key, Line], Field(max_length=60)]


class AboutMe(Body):
    leaning: Key | None = None
    statements: Annotated[dict[Key, Annotated[int, Field(ge=0, le=10)]], Field(max_length=100)] = {}
    about: Annotated[dict[Key, Key], Field(max_length=40)] = {}
    agrees: bool = False


class Draft(Body):
    answer: Values


class Submission(Draft):
    submission: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{8,64}$")]


class Skip(Body):
    reason: Line = ""


class Invite(Body):
    name: Annotated[Storable, Field(min_length=1, max_length=80)]
    role: Literal["annotator", "lead"] = "annotator"


class Verdict(Body):
    verdict: Literal["good", "mend"]
    feedback: Annotated[Storable, Field(max_length=4000)] = ""


Words = Annotated[Storable, Field(max_length=4000)]


class Reason(Body):
    reason: Words


class Block(Reason):
    leave_out: bool = False


class Appeal(Body):
    text: Words


class Settle(Body):
    lift: bool
    answer: Words = ""


class PauseProject(Body):
    paused: bool


class Export(Body):
    name: Annotated[Storable, Field(min_length=1, max_length=120)]
    shape: Literal["jsonl", "csv", "parquet", "mic", "stories", "human", "people", "audit"]


class Done(BaseModel):
    """It was done."""

    done: Literal[True] = True


class View(BaseModel):
    """What is sent of a record: `model_validate(record)` takes the fields named and no other."""

    model_config = ConfigDict(from_attributes=True)


class Joined(BaseModel):
    """Who one is, the token for changes, and the page to go to."""

    csrf: str
    person: records.Person
    next: str


class Standing(BaseModel):
    csrf: str
    person: records.Person
    progress: records.Progress | None


class Statement(View):
    id: str
    text: str


class Questionnaire(View):
    about: list[records.Question]
    leanings: list[records.Choice]
    statements: list[Statement]
    scale: list[records.Choice]


class FormField(View):
    name: str
    label: str
    type: str
    help: str
    required: bool
    choices: list[records.Choice]
    low: int
    high: int
    longest: int
    shortcut: str

    @property
    def labels(self) -> dict[str, str]:
        """What the values of a scale or a choice are called."""
        return {choice.value: choice.label for choice in self.choices}


class Shown(BaseModel):
    name: str
    label: str
    text: str


class Work(BaseModel):
    """An item to judge: what is shown, what is asked, and the draft kept so far."""

    assignment: str
    stage: str
    form: str
    title: str
    texts: list[Shown]
    fields: list[FormField]
    draft: dict[str, Any]
    lease_until: float

    @classmethod
    def of(cls, work: records.Work) -> "Work":
        return cls(
            assignment=work.assignment,
            stage=work.stage,
            form=work.form.name,
            title=work.form.title,
            texts=shown(work.form, work.item.texts),
            fields=fields(work.form, work.item.texts),
            draft=dict(work.draft),
            lease_until=work.lease_until,
        )


class NextWork(BaseModel):
    work: Work | None
    progress: records.Progress


class SavedDraft(BaseModel):
    saved: Literal[True] = True
    lease_until: float


class Findings(BaseModel):
    findings: list[records.Finding]


class Said(BaseModel):
    verdict: str
    feedback: str
    at: float


class OwnDecision(View):
    """A decision as its person sees it."""

    id: str
    kind: str
    assignment: str | None
    reason: str
    leave_out: bool
    created: float
    appeal: str | None
    outcome: str
    answer: str
    may_appeal: bool
    waits: bool


class Past(BaseModel):
    """One's own submission, with what the lead said of it."""

    assignment: str
    stage: str
    title: str
    texts: list[Shown]
    answer: dict[str, Any]
    revision: int
    submitted: float
    reviews: list[Said]
    decision: OwnDecision | None

    @classmethod
    def of(cls, past: records.PastWork) -> "Past":
        latest = past.revisions[-1]
        return cls(
            assignment=past.assignment,
            stage=past.stage,
            title=past.form.title,
            texts=shown(past.form, past.item.texts),
            answer=dict(latest.answer),
            revision=latest.number,
            submitted=latest.created,
            reviews=[
                Said(verdict=r.verdict, feedback=r.feedback, at=r.created) for r in past.reviews
            ],
            decision=OwnDecision.model_validate(past.decision) if past.decision else None,
        )


def shown(form: records.TaskForm, texts: Mapping[str, str]) -> list[Shown]:
    """Return the item's texts that the form shows, in its order."""
    return [
        Shown(name=each.name, label=each.label, text=texts[each.name])
        for each in form.shows
        if texts.get(each.name)
    ]


def fields(form: records.TaskForm, texts: Mapping[str, str]) -> list[FormField]:
    """Return the form's fields; choices that are texts of the item are filled in."""
    found = []
    for field in form.fields:
        fixed = FormField.model_validate(field)
        offered = [texts[name] for name in field.choices_from if texts.get(name)]
        more = [records.Choice(each, each) for each in offered]
        found.append(fixed.model_copy(update={"choices": fixed.choices + more}))
    return found
