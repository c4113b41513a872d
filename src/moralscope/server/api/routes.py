"""What programs ask of the server: one handler per job, each answered with its run record."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.options import RankOptions, ScoreOptions
from moralscope.core.errors import InputError
from moralscope.core.records import values_of
from moralscope.models.options import AUDITORS, ENCODERS, GENERATORS
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.options import CheckOptions, LintOptions, WarrantOptions
from moralscope.rules.records import Exchange
from moralscope.rules.thresholds import GivenLimits, Thresholds
from moralscope.server.api import schemas as s
from moralscope.server.api.bodies import options_in
from moralscope.server.api.metrics import CONTENT_TYPE
from moralscope.server.api.work import NDJSON, Job, WorkQueue
from moralscope.server.errors import documented
from moralscope.server.security import allowed
from moralscope.server.service import AuditRules, Service
from moralscope.surveys.options import SurveyOptions
from moralscope.version import __version__

router = APIRouter(
    prefix="/v1",
    tags=["jobs"],
    dependencies=[Depends(allowed)],
    responses=documented(400, 401, 403, 408, 413, 422, 429, 500, 504),
)
open_router = APIRouter(prefix="/v1", tags=["server"])
server_router = APIRouter(
    prefix="/v1", tags=["server"], dependencies=[Depends(allowed)], responses=documented(401)
)


def _answers(name: str, lines: str = "") -> dict[int | str, dict[str, Any]]:
    """Document the record, and the lines where a route can answer with them."""
    content: dict[str, Any] = {"application/json": {"example": s.example_record(name)}}
    if lines:
        example = s.example_text("lines", lines)
        content[NDJSON] = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": "The run record", "model": s.Record, "content": content}}


def _work(request: Request) -> WorkQueue:
    work: WorkQueue = request.app.state.work
    return work


async def _answer(request: Request, make: Callable[[Service], Job]) -> Response:
    """Run the job that is made for the server's models, and answer with its record."""
    work = _work(request)
    return await work.answer(request, make(work.service))


def score_job(service: Service, body: s.ScoreRequest) -> Job:
    """Return what scores the actions of a request."""
    options = options_in(body, ScoreOptions, human=None)
    return lambda report, tell: service.score(body.actions, options, body.human, report)


def compare_job(service: Service, body: s.CompareRequest) -> Job:
    """Return what compares models on the actions of a request."""
    options = options_in(body, CompareOptions, human=None)
    return lambda report, tell: service.compare(body.actions, options, report)


def survey_job(service: Service, body: s.SurveyRequest) -> Job:
    """Return what puts the items of a request to language models."""
    options = options_in(body, SurveyOptions)
    return lambda report, tell: service.survey(body.items, options, report)


def audit_job(service: Service, body: s.AuditRequest) -> Job:
    """Return what audits the replies of a request."""
    if bool(body.exchanges) == bool(body.texts):
        problem = "both exchanges and texts were sent" if body.texts else "no text was sent"
        raise InputError(problem, "send exchanges (prompt and reply), or texts")
    options = options_in(body, AuditOptions, rulebooks=(), texts=bool(body.texts))
    rules = _rules(body)
    benign = _rows(body.benign)
    replies = _rows(body.exchanges) or [Exchange("", text) for text in body.texts]
    return lambda report, tell: service.audit(replies, options, rules, report, tell, benign)


def conversation_job(
    service: Service, body: s.AuditRequest | s.ConversationRequest, conversations: Any
) -> Job:
    """Return what audits the conversations of a request."""
    options = options_in(body, AuditOptions, rulebooks=(), texts=False)
    rules = _rules(body)
    return lambda report, tell: service.audit_conversations(conversations, options, rules, report)


def warrant_job(service: Service, body: s.WarrantRequest) -> Job:
    """Return what warrants the rules of a request."""
    options = options_in(body, WarrantOptions, rulebook="yours", benign=None, labels=None)
    books, benign = s.read_rulebooks(body.rulebooks), _rows(body.benign)
    labels = [(Exchange(row.prompt, row.reply), row.rule, row.broken) for row in body.labels]
    return lambda report, tell: service.warrant(books, options, benign, labels)


def _rules(body: s.AuditRequest | s.ConversationRequest) -> AuditRules:
    options_in(body.thresholds, Thresholds)  # refused here, in its words
    limits = body.thresholds.model_dump(exclude_unset=True)
    warrants = s.read_warrants(body.rulebooks)
    return AuditRules(s.read_rulebooks(body.rulebooks), GivenLimits(limits, warrants=warrants))


def _rows(exchanges: Sequence[s.ExchangeBody] | None) -> list[Exchange] | None:
    every = enumerate(exchanges or (), 1)
    return [Exchange(row.prompt, row.reply, row.id or str(n)) for n, row in every] or None


@router.post("/score", responses=_answers("score", "record"), summary="Score actions")
async def score(request: Request, body: s.ScoreRequest) -> Response:
    """Score actions on a moral axis; positive is good, negative is bad.

    With `Accept: application/x-ndjson` the answer is a stream of lines: progress, then the record.
    """
    return await _answer(request, lambda service: score_job(service, body))


@router.post("/compare", responses=_answers("compare", "record"), summary="Compare encoders")
async def compare(request: Request, body: s.CompareRequest) -> Response:
    """Score the same actions with several encoders and compare each pair of them.

    A gate that is not met is no error here: see `statistics.gate.met`.
    """
    return await _answer(request, lambda service: compare_job(service, body))


@router.post("/survey", responses=_answers("survey", "record"), summary="Survey language models")
async def survey(request: Request, body: s.SurveyRequest) -> Response:
    """Put dilemmas or statements to language models, in every order, form and wording.

    A gate that is not met is no error here: see `statistics.gate.met`.
    """
    return await _answer(request, lambda service: survey_job(service, body))


@router.post("/rank", responses=_answers("rank", "record"), summary="Rank answers")
async def rank(request: Request, body: s.RankRequest) -> Response:
    """Rank candidate answers to a question by cosine similarity."""
    options = options_in(body, RankOptions)
    return await _answer(
        request, lambda service: lambda *_: service.rank(body.question, body.answers, options)
    )


@router.post(
    "/audit/conversation", responses=_answers("conversation"), summary="Audit a conversation"
)
async def audit_conversation(request: Request, body: s.ConversationRequest) -> Response:
    """Audit every turn of the assistant in its context, tool calls too; name the first wrong one.

    `results` holds one conversation: `turns`, `first`, `answered` and a `verdict` of its own.
    """
    said = {"messages": body.messages, "tools": body.tools}
    return await _answer(request, lambda service: conversation_job(service, body, said))


@router.post("/audit", responses=_answers("audit", "audit"), summary="Audit replies")
async def audit(request: Request, body: s.AuditRequest) -> Response:
    """Audit replies: rules of thumb they keep or break, severity, consensus and a verdict.

    With `Accept: application/x-ndjson` every result is a line as soon as it is there; the record
    that comes last then holds no results. A gate that is not met is no error: see
    `statistics.gate.met`.
    """
    return await _answer(request, lambda service: audit_job(service, body))


@router.post("/rules/lint", responses=_answers("lint"), summary="Lint a rulebook")
async def lint(request: Request, body: s.LintRequest) -> Response:
    """Say what a reader would object to in rulebooks: duplicates, contradictions, vague rules."""
    options = options_in(body, LintOptions, rulebooks=())
    books = s.read_rulebooks(body.rulebooks)
    return await _answer(request, lambda service: lambda *_: service.lint(books, options))


@router.post("/rules/check", responses=_answers("check"), summary="Check a rulebook")
async def check(request: Request, body: s.CheckRequest) -> Response:
    """Find rules that contradict each other, overlap, never fire or fire on everything."""
    options = options_in(body, CheckOptions, rulebooks=())
    books, replies = s.read_rulebooks(body.rulebooks), _rows(body.exchanges)
    return await _answer(request, lambda service: lambda *_: service.check(books, options, replies))


@router.post("/rules/warrant", responses=_answers("warrant"), summary="Warrant a rulebook")
async def warrant(request: Request, body: s.WarrantRequest) -> Response:
    """Say of each rule whether the model can enforce it, by minimal pairs; nothing is stored."""
    return await _answer(request, lambda service: warrant_job(service, body))


@server_router.get("/models", summary="List models")
def models(request: Request) -> s.ModelList:
    """List the models of the catalogue: what they are, whether they are here and in memory."""
    entries: list[tuple[Any, bool]] = _work(request).service.listed()
    listed = [
        s.ModelListed(
            id=status.name,
            owned_by=status.official.partition("/")[0] or "moralscope",
            loaded=loaded,
            **values_of(status, "kind", "about", "licence", "revision", "megabytes", "state"),
        )
        for status, loaded in entries
    ]
    return s.ModelList(
        data=listed, encoders=list(ENCODERS), experts=list(AUDITORS), generators=list(GENERATORS)
    )


@server_router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=PlainTextResponse,
    responses={
        200: {
            "description": "Prometheus' text form",
            "content": {
                "text/plain": {"schema": {"type": "string"}, "example": s.example_text("metrics")}
            },
        }
    },
)
def metrics(request: Request) -> Response:
    """Return counts of requests, batches and memory; no text of anybody."""
    return Response(_work(request).metrics.text(), media_type=CONTENT_TYPE)


@open_router.get("/health", summary="Is the server up?")
def health(request: Request) -> s.Health:
    """Say that the server answers, and how much it has to do; needs no token."""
    work, upstream = _work(request), request.app.state.proxy.upstream
    full = work.is_full or (upstream is not None and upstream.is_full)
    return s.Health(
        status="saturated" if full else "ok",
        version=__version__,
        waiting=work.waiting,
        most_waiting=work.bounds.threads + work.bounds.queue,
        upstream_calls=None if upstream is None else upstream.calls,
        most_upstream_calls=None if upstream is None else upstream.most,
    )
