"""What leads' pages ask of the server: people, tokens, reviews, agreement, exports."""

from math import isfinite
from pathlib import Path as Folder
from threading import Lock

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse

from moralscope.annotation import records
from moralscope.annotation.agreement import agreement_so_far
from moralscope.annotation.groups import GroupShare
from moralscope.annotation.records import Field, Invitation
from moralscope.annotation.statement import statement_of, statement_text
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, Caller, Lead
from moralscope.server.errors import Refused, documented

router = APIRouter(
    prefix="/api/lead",
    tags=["leads"],
    responses=documented(401, 403, 404, 409, 503),
    dependencies=[IN_LINE],
)


class ToReview(BaseModel):
    assignment: str
    person: records.Person
    title: str
    texts: list[s.Shown]
    answer: dict[str, object]
    submitted: float
    revision: int


class Invited(BaseModel):
    """A new token: shown this once."""

    person: records.Person
    token: str
    token_id: str
    link: str


class Exported(BaseModel):
    name: str
    address: str


class FieldAgreement(BaseModel):
    """Krippendorff's alpha and the share of equal answers; None where there is too little."""

    field: str
    label: str
    level: str
    alpha: float | None
    low: float | None
    high: float | None
    share: float | None
    items: int
    answers: int
    people: int


class SplitItem(BaseModel):
    """An item on which people part: `disagreement` is 0 to 1, `counts` how many said what."""

    item: str
    text: str
    field: str
    label: str
    disagreement: float
    counts: dict[str, int]


class Agreement(BaseModel):
    """Agreement by question, and the items that divide people most."""

    fields: list[FieldAgreement]
    items: list[SplitItem]


class AgreementCache:
    """The latest figures, kept until there are other answers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._state: frozenset[tuple[str, int]] | None = None
        self._found = Agreement(fields=[], items=[])

    def of(self, caller: Caller) -> Agreement:
        """Return agreement so far over the main stage."""
        rows = caller.service.answers(caller.person, "main")
        state = frozenset((row.submission, row.revision) for row in rows)
        with self._lock:
            if state != self._state:
                self._found, self._state = _computed(caller), state
            return self._found


@router.get("/overview")
def overview(caller: Lead) -> records.Overview:
    """Say who did what, how long it took and which checks failed."""
    return caller.service.overview(caller.person)


@router.get("/review")
def review_queue(caller: Lead) -> list[ToReview]:
    """Return the staging submissions that wait for a lead."""
    return list(map(to_review, caller.service.review_queue(caller.person)))


@router.post("/review/{assignment}")
def review(caller: Lead, assignment: s.Id, body: s.Verdict) -> s.Done:
    """Say what is good, or what to mend."""
    caller.service.review(caller.person, assignment, body.verdict, body.feedback)
    return s.Done()


@router.post("/people")
def invite(request: Request, caller: Lead, body: s.Invite) -> Invited:
    """Invite a person: a new token."""
    return _invited(request, caller.service.invite(caller.person, body.name, body.role))


@router.post("/people/{person}/reissue")
def reissue(request: Request, caller: Lead, person: s.Id) -> Invited:
    """Give a person a new token; earlier ones stay until they are revoked."""
    return _invited(request, caller.service.reissue(caller.person, person))


@router.post("/people/{person}/admit")
def admit(caller: Lead, person: s.Id) -> records.Person:
    """Admit a reviewed person to the main stage."""
    return caller.service.admit(caller.person, person)


@router.post("/people/{person}/send-back")
def send_back(caller: Lead, person: s.Id) -> records.Person:
    """Ask a person to mend her staging answers by the feedback."""
    return caller.service.send_back(caller.person, person)


@router.post("/people/{person}/remove")
def remove(caller: Lead, person: s.Id) -> records.Person:
    """End a person's part; her answers stay."""
    return caller.service.remove(caller.person, person)


@router.delete("/tokens/{token}")
def revoke(caller: Lead, token: s.Id) -> s.Done:
    """Revoke a token: its sessions end at once."""
    caller.service.revoke(caller.person, token)
    return s.Done()


@router.put("/paused")
def pause(caller: Lead, body: s.PauseProject) -> s.Done:
    """Pause the whole project, or let it go on."""
    caller.service.set_paused(caller.person, body.paused)
    return s.Done()


@router.get("/agreement")
def agreement(request: Request, caller: Lead) -> Agreement:
    """Return agreement so far and the items on which people differ most."""
    cache: AgreementCache = request.app.state.agreement
    return cache.of(caller)


class Statement(BaseModel):
    """A data statement: who annotated, what, how; no group of too few people is named."""

    people: int
    answers: int
    smallest_group: int
    groups: list[GroupShare]
    quality: dict[str, int]
    sections: dict[str, list[str]]  # lines of Markdown


@router.get("/statement")
def statement(caller: Lead) -> Statement:
    """Return the data statement as it would be written now."""
    return Statement(**statement_of(caller.service, caller.person))


class Markdown(PlainTextResponse):
    media_type = "text/markdown"


@router.get("/statement.md", response_class=Markdown)
def statement_file(caller: Lead) -> Markdown:
    """Download the data statement as Markdown."""
    found = statement_of(caller.service, caller.person)
    text = statement_text(caller.service.project.name, found["sections"])
    attached = {"content-disposition": 'attachment; filename="statement.md"'}
    return Markdown(text, headers=attached)


@router.get("/log")
def log(caller: Lead) -> list[records.AuditLine]:
    """Return the last lines of the audit log."""
    return list(caller.service.audit_log(caller.person))


@router.post("/exports")
def export(caller: Lead, body: s.Export) -> Exported:
    """Write an export into the project's folder."""
    path = caller.service.export_to(caller.person, body.name, body.shape)
    return Exported(name=path.name, address=f"/api/lead/exports/{path.name}")


@router.get("/exports/{name}", response_class=FileResponse)
def download(caller: Lead, name: s.FileName) -> FileResponse:
    """Download an export."""
    path = exports(caller).get(name)
    if path is None:
        raise Refused(404, "there is no such export")
    return FileResponse(path, filename=name, media_type="application/octet-stream")


def exports(caller: Caller) -> dict[str, Folder]:
    """Return the exports in the project's folder by name; a name outside of it is none."""
    folder = Folder(caller.service.project.folder) / "exports"
    if not folder.is_dir():
        return {}
    found = (p for p in folder.iterdir() if p.is_file() and not p.is_symlink())
    return {path.name: path for path in found if not path.name.startswith(".")}


def to_review(each: records.ToReview) -> ToReview:
    """Return a submission with what its form shows of the item."""
    return ToReview(
        assignment=each.assignment,
        person=each.person,
        title=each.form.title,
        texts=s.shown(each.form, each.item.texts),
        answer=dict(each.answer),
        submitted=each.submitted,
        revision=each.revision,
    )


def _invited(request: Request, invitation: Invitation) -> Invited:
    base = request.app.state.public_url or str(request.base_url).rstrip("/")
    return Invited(
        person=invitation.person,
        token=invitation.token,
        token_id=invitation.token_id,
        link=f"{base}/join#{invitation.token}",
    )


def _computed(caller: Caller) -> Agreement:
    found = agreement_so_far(caller.service, caller.person, shown=12)
    questions = {field.name: field for field in caller.service.form.fields}
    for form in caller.service.forms:
        questions |= {f"{form.name}: {one.name}": one for one in form.fields}
    fields = [
        FieldAgreement(
            field=each.field,
            label=_label(questions, each.field),
            level=each.level,
            alpha=_number(each.alpha.value),
            low=_number(each.alpha.low),
            high=_number(each.alpha.high),
            share=_number(each.percent.value),
            items=each.items,
            answers=each.answers,
            people=each.people,
        )
        for each in found.fields
    ]
    items = [
        SplitItem(
            item=each.item,
            text=each.text,
            field=each.field,
            label=_label(questions, each.field),
            disagreement=each.disagreement,
            counts=_labelled(questions.get(each.field), dict(each.counts)),
        )
        for each in found.items
    ]
    return Agreement(fields=fields, items=items)


def _label(questions: dict[str, Field], name: str) -> str:
    """Return what a field is called; of many choices each is a field, `foundations: care`."""
    if name in questions:
        return questions[name].label
    asked, _, value = name.rpartition(": ")
    if asked not in questions:
        return name
    labels = {choice.value: choice.label for choice in questions[asked].choices}
    return f"{questions[asked].label} {labels.get(value, value)}"


def _labelled(field: Field | None, counts: dict[str, int]) -> dict[str, int]:
    labels = {choice.value: choice.label for choice in field.choices} if field else {}
    scale = field is not None and field.type == "scale"
    return {
        f"{value}: {labels[value]}" if scale and value in labels else labels.get(value, value): n
        for value, n in counts.items()
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
