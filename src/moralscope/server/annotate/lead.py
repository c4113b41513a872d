"""What leads' pages ask of the server: people, tokens, reviews, agreement, exports."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse

from moralscope.annotation import records
from moralscope.annotation.agreement import AgreementSoFar, agreement_so_far
from moralscope.annotation.item_files import read_items
from moralscope.annotation.statement import DataStatement, statement_of, statement_text
from moralscope.core.errors import InputError
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, Caller, Lead
from moralscope.server.errors import Refused, documented

router = APIRouter(
    prefix="/api/lead",
    tags=["leads"],
    responses=documented(401, 403, 404, 409, 503),
    dependencies=[IN_LINE],
)
MOST_DISPUTED = 500
_MOST_ITEMS = 5000


class AgreementCache:
    """The latest figures, kept until there are other answers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._state: frozenset[tuple[str, int]] | None = None
        self._agreement = AgreementSoFar()

    def of(self, caller: Caller) -> AgreementSoFar:
        """Return agreement so far over the main stage."""
        rows = caller.service.answers(caller.person, "main")
        state = frozenset((row.submission, row.revision) for row in rows)
        with self._lock:
            if state != self._state:
                self._agreement = agreement_so_far(caller.service, caller.person, shown=12)
                self._state = state
            return self._agreement


@router.get("/overview")
def overview(caller: Lead) -> records.Overview:
    """Say who did what, how long it took and which checks failed."""
    return caller.service.overview(caller.person)


@router.get("/review")
def review_queue(caller: Lead) -> list[records.AnswerToReview]:
    """Return the staging submissions that wait for a lead."""
    return list(caller.service.review_queue(caller.person))


@router.post("/review/{assignment}")
def review(caller: Lead, assignment: s.Id, body: s.ReviewBody) -> s.Done:
    """Say what is good, or what to mend."""
    caller.service.review(caller.person, assignment, body.verdict, body.feedback)
    return s.Done()


@router.post("/people")
def invite(request: Request, caller: Lead, body: s.InviteBody) -> records.Invitation:
    """Invite a person: a new token."""
    return _invited(request, caller.service.invite(caller.person, body.name, body.role))


@router.post("/people/{person}/reissue")
def reissue(request: Request, caller: Lead, person: s.Id) -> records.Invitation:
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
def pause(caller: Lead, body: s.PauseBody) -> s.Done:
    """Pause the whole project, or let it go on."""
    caller.service.set_paused(caller.person, body.paused)
    return s.Done()


@router.get("/agreement")
def agreement(request: Request, caller: Lead) -> AgreementSoFar:
    """Return agreement so far and the items on which people differ most."""
    cache: AgreementCache = request.app.state.agreement
    return cache.of(caller)


@router.get("/statement")
def statement(caller: Lead) -> DataStatement:
    """Return the data statement as it would be written now."""
    return statement_of(caller.service, caller.person)


class Markdown(PlainTextResponse):
    media_type = "text/markdown"


@router.get("/statement.md", response_class=Markdown)
def statement_file(caller: Lead) -> Markdown:
    """Download the data statement as Markdown."""
    sections = statement_of(caller.service, caller.person).sections
    text = statement_text(caller.service.project.name, sections)
    return Markdown(text, headers={"content-disposition": 'attachment; filename="statement.md"'})


@router.get("/log")
def log(caller: Lead) -> list[records.AuditLine]:
    """Return the last lines of the audit log."""
    return list(caller.service.audit_log(caller.person))


@router.post("/exports")
def export(caller: Lead, body: s.ExportBody) -> s.ExportedFile:
    """Write an export into the project's folder."""
    path = caller.service.export_to(caller.person, body.name, body.shape)
    return s.ExportedFile(name=path.name, address=f"/api/lead/exports/{path.name}")


@router.get("/exports/{name}", response_class=FileResponse)
def download(caller: Lead, name: s.FileName) -> FileResponse:
    """Download an export."""
    path = exports(caller).get(name)
    if path is None:
        raise Refused(404, "there is no such export")
    return FileResponse(path, filename=name, media_type="application/octet-stream")


def exports(caller: Caller) -> dict[str, Path]:
    """Return the exports in the project's folder by name; a name outside of it is none."""
    folder = Path(caller.service.project.folder) / "exports"
    if not folder.is_dir():
        return {}
    files = (path for path in folder.iterdir() if path.is_file() and not path.is_symlink())
    return {path.name: path for path in files if not path.name.startswith(".")}


def _invited(request: Request, invitation: records.Invitation) -> records.Invitation:
    base = request.app.state.public_url or str(request.base_url).rstrip("/")
    return replace(invitation, link=f"{base}/join#{invitation.token}")


@router.get("/decisions")
def decisions(caller: Lead) -> list[records.Decision]:
    """List all decisions, those whose appeal waits first."""
    return list(caller.service.decisions(caller.person))


@router.get("/people/{person}/unread")
def unread(caller: Lead, person: s.Id) -> list[records.AnswerToReview]:
    """Return answers of a person's main round that no lead has read, the newest first."""
    return list(caller.service.unread_answers(caller.person, person))


@router.post("/answers/{assignment}/reject")
def reject(caller: Lead, assignment: s.Id, body: s.RejectBody) -> records.Decision:
    """Reject an answer of the main round; its item goes to somebody else."""
    return caller.service.reject(caller.person, assignment, body.reason)


@router.post("/people/{person}/block")
def block(caller: Lead, person: s.Id, body: s.BlockBody) -> records.Decision:
    """Give a person no more work; `leave_out` says that her answers do not count."""
    return caller.service.block(caller.person, person, body.reason, leave_out=body.leave_out)


@router.post("/decisions/{decision}/settle")
def settle(caller: Lead, decision: s.Id, body: s.SettleBody) -> records.Decision:
    """Lift a decision, or decline the appeal against it."""
    return caller.service.settle(caller.person, decision, lift=body.lift, answer=body.answer)


@router.get("/disputed")
def disputed(caller: Lead) -> list[records.DisputedItem]:
    """List the items on which annotators differ, undecided ones first."""
    return list(caller.service.disputed(caller.person)[:MOST_DISPUTED])


@router.post("/disputed", responses=documented(422))
def adjudicate(caller: Lead, body: s.FinalAnswerBody) -> records.FinalAnswer:
    """Keep the final answer of an item; what annotators answered stays."""
    return caller.service.adjudicate(caller.person, body.item, body.answer, body.comment)


@router.get("/items")
def list_items(caller: Lead) -> list[records.ItemLine]:
    """List the items and how many people answered each; the first thousands of very many."""
    return caller.service.items(caller.person)[:_MOST_ITEMS]


@router.post("/items", status_code=201, responses=documented(413, 422))
async def add_items(
    request: Request,
    caller: Lead,
    name: Annotated[str, Query(max_length=300)],
    staging: Annotated[int, Query(ge=0, le=1000)] = 0,
) -> dict[str, int]:
    """Add the items of a table; the first `staging` of them are for the trial round."""
    ending = Path(name).suffix.lower()
    safe = ending if re.fullmatch(r"\.[a-z0-9]{1,8}", ending) else ""
    data = await request.body()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"items{safe}")
        path.write_bytes(data)
        try:
            items = read_items(path, caller.service.project.task)
        except InputError as error:
            problem = error.problem.replace(str(path), Path(name).name[:80] or "the file")
            remedy = error.remedy
            if "--" in remedy:  # an option of the command line: there is none here
                remedy = (
                    f"name its columns {', '.join(one.name for one in caller.service.form.shows)}"
                )
            raise InputError(problem, remedy) from None
    return {"added": caller.service.add_items(caller.person, items, staging=staging)}
