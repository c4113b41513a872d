"""What leads' pages ask of the server: people, tokens, reviews, agreement, exports."""

from pathlib import Path as Folder

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import FileResponse

from moralscope.annotation.projects import Invitation
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import Asked, Lead
from moralscope.server.annotate.agreement import Agreement, SoFar
from moralscope.server.errors import Refused, documented

router = APIRouter(prefix="/api/lead", tags=["leads"], responses=documented(401, 403, 404, 409))


class PersonLine(BaseModel):
    person: s.Me
    submitted: int
    staged: int
    skipped: int
    failed_checks: int
    seconds: float | None
    last_seen: float | None
    tokens: list[str]


class Overview(BaseModel):
    items: int
    complete: int
    wanted: int
    submitted: int
    open: int
    paused: bool
    to_review: int
    people: list[PersonLine]


class ToReview(BaseModel):
    assignment: str
    person: s.Me
    title: str
    texts: list[s.Shown]
    answer: dict[str, object]
    submitted: float
    revision: int


class Invited(BaseModel):
    """A new token: shown this once."""

    person: s.Me
    token: str
    token_id: str
    link: str


class LogLine(BaseModel):
    number: int
    at: float
    actor: str
    action: str
    subject: str
    detail: str


class Exported(BaseModel):
    name: str
    address: str


@router.get("/overview")
def overview(asked: Lead) -> Overview:
    """Say who did what, how long it took and which checks failed."""
    seen = asked.desk.overview(asked.person)
    figures = ("items", "complete", "wanted", "submitted", "open", "paused", "to_review")
    lines = [
        PersonLine(
            person=s.Me.of(line.person),
            tokens=list(line.tokens),
            **{
                name: getattr(line, name)
                for name in PersonLine.model_fields
                if name not in ("person", "tokens")
            },
        )
        for line in seen.people
    ]
    return Overview(people=lines, **{name: getattr(seen, name) for name in figures})


@router.get("/review")
def review_queue(asked: Lead) -> list[ToReview]:
    """Return the staging submissions that wait for a lead."""
    return [
        ToReview(
            assignment=each.assignment,
            person=s.Me.of(each.person),
            title=each.form.title,
            texts=s.shown(each.form, each.item.texts),
            answer=dict(each.answer),
            submitted=each.submitted,
            revision=each.revision,
        )
        for each in asked.desk.review_queue(asked.person)
    ]


@router.post("/review/{assignment}")
def review(asked: Lead, assignment: s.Id, body: s.Verdict) -> s.Done:
    """Say what is good, or what to mend."""
    asked.desk.review(asked.person, assignment, body.verdict, body.feedback)
    return s.Done()


@router.post("/people")
def invite(request: Request, asked: Lead, body: s.Invite) -> Invited:
    """Invite a person: a new token."""
    return _invited(request, asked.desk.invite(asked.person, body.name, body.role))


@router.post("/people/{person}/reissue")
def reissue(request: Request, asked: Lead, person: s.Id) -> Invited:
    """Give a person a new token; earlier ones stay until they are revoked."""
    return _invited(request, asked.desk.reissue(asked.person, person))


@router.post("/people/{person}/admit")
def admit(asked: Lead, person: s.Id) -> s.Me:
    """Admit a reviewed person to the main stage."""
    return s.Me.of(asked.desk.admit(asked.person, person))


@router.post("/people/{person}/send-back")
def send_back(asked: Lead, person: s.Id) -> s.Me:
    """Ask a person to mend her staging answers by the feedback."""
    return s.Me.of(asked.desk.send_back(asked.person, person))


@router.post("/people/{person}/remove")
def remove(asked: Lead, person: s.Id) -> s.Me:
    """End a person's part; her answers stay."""
    return s.Me.of(asked.desk.remove(asked.person, person))


@router.delete("/tokens/{token}")
def revoke(asked: Lead, token: s.Id) -> s.Done:
    """Revoke a token: its sessions end at once."""
    asked.desk.revoke(asked.person, token)
    return s.Done()


@router.put("/paused")
def pause(asked: Lead, body: s.PauseProject) -> s.Done:
    """Pause the whole project, or let it go on."""
    asked.desk.set_paused(asked.person, body.paused)
    return s.Done()


@router.get("/agreement")
def agreement(request: Request, asked: Lead) -> Agreement:
    """Return agreement so far and the items on which people differ most."""
    so_far: SoFar = request.app.state.agreement
    return so_far.of(asked)


@router.get("/log")
def log(asked: Lead) -> list[LogLine]:
    """Return the last lines of the audit log."""
    return [
        LogLine(**{name: getattr(line, name) for name in LogLine.model_fields})
        for line in asked.desk.audit_log(asked.person)
    ]


@router.post("/exports")
def export(asked: Lead, body: s.Export) -> Exported:
    """Write an export into the project's folder."""
    path = asked.desk.export_to(asked.person, body.name, body.shape)
    return Exported(name=path.name, address=f"/api/lead/exports/{path.name}")


@router.get("/exports/{name}", response_class=FileResponse)
def download(asked: Lead, name: s.FileName) -> FileResponse:
    """Download an export."""
    path = exports(asked).get(name)
    if path is None:
        raise Refused(404, "there is no such export")
    return FileResponse(path, filename=name, media_type="application/octet-stream")


def exports(asked: Asked) -> dict[str, Folder]:
    """Return the exports in the project's folder by name; a name outside of it is none."""
    folder = Folder(asked.desk.project.folder) / "exports"
    if not folder.is_dir():
        return {}
    found = (p for p in folder.iterdir() if p.is_file() and not p.is_symlink())
    return {path.name: path for path in found if not path.name.startswith(".")}


def _invited(request: Request, invitation: Invitation) -> Invited:
    base = request.app.state.public_url or str(request.base_url).rstrip("/")
    return Invited(
        person=s.Me.of(invitation.person),
        token=invitation.token,
        token_id=invitation.token_id,
        link=f"{base}/join#{invitation.token}",
    )
