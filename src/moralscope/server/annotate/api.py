"""What annotators' pages ask of the server: one handler per thing a person can do."""

from typing import Annotated

from anyio import fail_after
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from moralscope.annotation import records
from moralscope.rules.rulebooks.show import RuleExample, RuleSearch
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, LEAD, Annotator, Anyone, Caller, access
from moralscope.server.errors import documented
from moralscope.version import __version__

router = APIRouter(
    prefix="/api",
    tags=["annotators"],
    responses=documented(401, 403, 409, 503),
    dependencies=[IN_LINE],
)
_HEALTH_SECONDS = 2.5  # a little more than a read waits
WORKING = ("staging", "review", "main")


def next_page(role: str) -> str:
    """Return where a person's work is."""
    return "/lead" if role == LEAD else "/work"


@router.get("/health", tags=["server"], responses=documented(503))
async def health(request: Request) -> s.DatabaseHealth:
    """Say whether the server is up and its database answers; it waits for neither thread nor lock.

    503 where the database cannot be read.
    """
    known = access(request)
    try:
        with fail_after(_HEALTH_SECONDS):
            await run_sync(known.service.ping, limiter=known.health, abandon_on_cancel=True)
    except TimeoutError:
        raise records.NotSaved("the database does not answer", "check that it runs") from None
    return s.DatabaseHealth(status="ok", version=__version__)


@router.post("/join")
def join(request: Request, response: Response, body: s.TokenBody) -> s.PersonStanding:
    """Exchange a personal token for a session."""
    known = access(request)
    session = known.join(request, body.token)
    known.sessions.start(response, session.secret)
    caller = Caller(known.service, session.person, "", known.sessions.csrf(session.secret))
    return _standing(caller)


@router.post("/leave")
def leave(request: Request, response: Response, caller: Anyone) -> s.Done:
    """End the session on this device."""
    caller.service.leave(caller.secret)
    access(request).sessions.end(response)
    return s.Done()


@router.get("/me")
def me(caller: Anyone) -> s.PersonStanding:
    """Say who one is and how far."""
    return _standing(caller)


def _standing(caller: Caller) -> s.PersonStanding:
    person = caller.person
    works = person.role != LEAD and person.stage in WORKING
    progress = caller.service.progress(person) if works else None
    return s.PersonStanding(caller.csrf, person, next_page(person.role), progress)


@router.post("/consent")
def consent(caller: Annotator, body: s.ConsentBody) -> records.Person:
    """Agree to take part, or decline."""
    return caller.service.consent(caller.person, body.agrees)


@router.get("/test")
def test(caller: Annotator) -> records.Test:
    """Return the questions of the open attempt."""
    return caller.service.test(caller.person)


@router.post("/test")
def answer_test(caller: Annotator, body: s.TestBody) -> records.TestResult:
    """Answer the questions."""
    return caller.service.answer_test(caller.person, body.answers)


@router.get("/questionnaire")
def questionnaire(caller: Annotator) -> records.Questionnaire:
    """Return what may be told about oneself."""
    return caller.service.questionnaire()


@router.post("/questionnaire")
def answer_questionnaire(caller: Annotator, body: s.QuestionnaireBody) -> records.Person:
    """Tell about oneself; an empty answer declines."""
    return caller.service.answer_questionnaire(
        caller.person, body.leaning, body.statements, body.about, agrees=body.agrees
    )


@router.delete("/questionnaire")
def withdraw_facts(caller: Annotator) -> s.Done:
    """Delete what one told about oneself."""
    caller.service.withdraw_facts(caller.person)
    return s.Done()


@router.get("/work")
def work(caller: Annotator) -> s.NextWork:
    """Return the item one is at, or the next one."""
    assignment = caller.service.next_item(caller.person)
    progress = caller.service.progress(caller.person)
    return s.NextWork(s.without_item(assignment) if assignment else None, progress)


@router.put("/work/{assignment}/draft")
def save_draft(caller: Annotator, assignment: s.Id, body: s.AnswerBody) -> s.DraftReceipt:
    """Keep what is written so far."""
    return s.DraftReceipt(caller.service.save_draft(caller.person, assignment, body.answer))


@router.post("/work/{assignment}/check")
def check(caller: Annotator, assignment: s.Id, body: s.AnswerBody) -> s.CheckResult:
    """Say what a submission would be asked to mend."""
    return s.CheckResult(caller.service.check(caller.person, assignment, body.answer))


@router.post("/work/{assignment}/submit")
def submit(caller: Annotator, assignment: s.Id, body: s.SubmissionBody) -> records.Receipt:
    """Submit; the same submission id again changes nothing."""
    return caller.service.submit(caller.person, assignment, body.submission, body.answer)


@router.put("/work/{assignment}/answer")
def edit(caller: Annotator, assignment: s.Id, body: s.SubmissionBody) -> records.Receipt:
    """Change one's submitted answer; the earlier one is kept."""
    return caller.service.edit(caller.person, assignment, body.submission, body.answer)


@router.post("/work/{assignment}/skip")
def skip(caller: Annotator, assignment: s.Id, body: s.SkipBody) -> s.Done:
    """Leave an item to others."""
    caller.service.skip(caller.person, assignment, body.reason)
    return s.Done()


@router.post("/pause")
def pause(caller: Annotator) -> records.Person:
    """Take a break: the open item goes back, the draft is kept."""
    return caller.service.pause(caller.person)


@router.post("/resume")
def resume(caller: Annotator) -> records.Person:
    """Go on after a break."""
    return caller.service.resume(caller.person)


@router.get("/history")
def history(caller: Annotator) -> list[records.PastWork]:
    """Return one's own submissions, the latest first."""
    return list(map(s.without_item, caller.service.history(caller.person)))


@router.get("/examples")
def examples(
    request: Request, caller: Anyone, q: Annotated[s.Line, Query(min_length=1)]
) -> list[RuleExample]:
    """Search the project's rulebooks for examples of rules."""
    search: RuleSearch = request.app.state.search
    return search.search(q, 8)


@router.get("/decisions")
def own_decisions(caller: Annotator) -> list[records.Decision]:
    """Return what leads decided on one's answers and oneself, the newest first."""
    return list(caller.service.own_decisions(caller.person))


@router.post("/decisions/{decision}/appeal")
def appeal(caller: Annotator, decision: s.Id, body: s.AppealBody) -> records.Decision:
    """Appeal against a decision, once."""
    return caller.service.appeal(caller.person, decision, body.text)
