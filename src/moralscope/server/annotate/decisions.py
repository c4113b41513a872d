"""Rejections, blocks and appeals over HTTP: what leads decide, what people say against it."""

from fastapi import APIRouter

from moralscope.annotation import records
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, Annotator, Lead
from moralscope.server.errors import documented

router = APIRouter(prefix="/api", responses=documented(401, 403, 409, 503), dependencies=[IN_LINE])


@router.get("/decisions", tags=["annotators"])
def own_decisions(caller: Annotator) -> list[records.Decision]:
    """Return what leads decided on one's answers and oneself, the newest first."""
    return list(caller.service.own_decisions(caller.person))


@router.post("/decisions/{decision}/appeal", tags=["annotators"])
def appeal(caller: Annotator, decision: s.Id, body: s.AppealBody) -> records.Decision:
    """Appeal against a decision, once."""
    return caller.service.appeal(caller.person, decision, body.text)


@router.get("/lead/decisions", tags=["leads"])
def decisions(caller: Lead) -> list[records.Decision]:
    """List all decisions, those whose appeal waits first."""
    return list(caller.service.decisions(caller.person))


@router.get("/lead/people/{person}/unread", tags=["leads"])
def unread(caller: Lead, person: s.Id) -> list[records.AnswerToReview]:
    """Return answers of a person's main round that no lead has read, the newest first."""
    return list(caller.service.unread_answers(caller.person, person))


@router.post("/lead/answers/{assignment}/reject", tags=["leads"])
def reject(caller: Lead, assignment: s.Id, body: s.RejectBody) -> records.Decision:
    """Reject an answer of the main round; its item goes to somebody else."""
    return caller.service.reject(caller.person, assignment, body.reason)


@router.post("/lead/people/{person}/block", tags=["leads"])
def block(caller: Lead, person: s.Id, body: s.BlockBody) -> records.Decision:
    """Give a person no more work; `leave_out` says that her answers do not count."""
    return caller.service.block(caller.person, person, body.reason, leave_out=body.leave_out)


@router.post("/lead/decisions/{decision}/settle", tags=["leads"])
def settle(caller: Lead, decision: s.Id, body: s.SettleBody) -> records.Decision:
    """Lift a decision, or decline the appeal against it."""
    return caller.service.settle(caller.person, decision, lift=body.lift, answer=body.answer)
