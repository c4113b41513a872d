"""What annotators' pages ask of the server: one handler per thing a person can do."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import LEAD, Annotator, Anyone, access
from moralscope.server.errors import documented

router = APIRouter(prefix="/api", tags=["annotators"], responses=documented(401, 403, 409, 503))
WORKING = ("staging", "review", "main")


def next_page(role: str) -> str:
    """Return where a person's work is."""
    return "/lead" if role == LEAD else "/work"


@router.post("/join")
def join(request: Request, response: Response, body: s.Token) -> s.Joined:
    """Exchange a personal token for a session."""
    known = access(request)
    session = known.join(request, body.token)
    known.sessions.start(response, session.secret)
    person = session.person
    return s.Joined(
        csrf=known.sessions.csrf(session.secret),
        person=s.Me.of(person),
        next=next_page(person.role),
    )


@router.post("/leave")
def leave(request: Request, response: Response, asked: Anyone) -> s.Done:
    """End the session on this device."""
    asked.desk.leave(asked.secret)
    access(request).sessions.end(response)
    return s.Done()


@router.get("/me")
def me(asked: Anyone) -> s.Standing:
    """Say who one is and how far."""
    works = asked.person.role != LEAD and asked.person.stage in WORKING
    progress = s.Progress.of(asked.desk.progress(asked.person)) if works else None
    return s.Standing(csrf=asked.csrf, person=s.Me.of(asked.person), progress=progress)


@router.post("/consent")
def consent(asked: Annotator, body: s.Consent) -> s.Me:
    """Agree to take part, or decline."""
    return s.Me.of(asked.desk.consent(asked.person, body.agrees))


@router.get("/test")
def test(asked: Annotator) -> s.Test:
    """Return the questions of the open attempt."""
    return s.Test.of(asked.desk.test(asked.person))


@router.post("/test")
def answer_test(asked: Annotator, body: s.TestAnswers) -> s.TestOutcome:
    """Answer the questions."""
    result = asked.desk.answer_test(asked.person, body.answers)
    return s.TestOutcome(
        passed=result.passed,
        right=result.right,
        of=result.of,
        attempts_left=result.attempts_left,
        explanations=dict(result.explanations),
    )


@router.get("/questionnaire")
def questionnaire(asked: Annotator) -> s.Questionnaire:
    """Return what may be told about oneself."""
    return s.Questionnaire.of(asked.desk.questionnaire())


@router.post("/questionnaire")
def answer_questionnaire(asked: Annotator, body: s.AboutMe) -> s.Me:
    """Tell about oneself; an empty answer declines."""
    person = asked.desk.answer_questionnaire(asked.person, body.leaning, body.statements)
    return s.Me.of(person)


@router.get("/work")
def work(asked: Annotator) -> s.NextWork:
    """Return the item one is at, or the next one."""
    found = asked.desk.next_item(asked.person)
    progress = s.Progress.of(asked.desk.progress(asked.person))
    return s.NextWork(work=s.Work.of(found) if found else None, progress=progress)


@router.put("/work/{assignment}/draft")
def save_draft(asked: Annotator, assignment: s.Id, body: s.Draft) -> s.SavedDraft:
    """Keep what is written so far."""
    until = asked.desk.save_draft(asked.person, assignment, body.answer)
    return s.SavedDraft(lease_until=until)


@router.post("/work/{assignment}/check")
def check(asked: Annotator, assignment: s.Id, body: s.Draft) -> s.Findings:
    """Say what a submission would be asked to mend."""
    found = asked.desk.check(asked.person, assignment, body.answer)
    return s.Findings(findings=s.findings(found))


@router.post("/work/{assignment}/submit")
def submit(asked: Annotator, assignment: s.Id, body: s.Submission) -> s.Receipt:
    """Submit; the same submission id again changes nothing."""
    receipt = asked.desk.submit(asked.person, assignment, body.submission, body.answer)
    return s.Receipt.of(receipt)


@router.put("/work/{assignment}/answer")
def edit(asked: Annotator, assignment: s.Id, body: s.Submission) -> s.Receipt:
    """Change one's submitted answer; the earlier one is kept."""
    receipt = asked.desk.edit(asked.person, assignment, body.submission, body.answer)
    return s.Receipt.of(receipt)


@router.post("/work/{assignment}/skip")
def skip(asked: Annotator, assignment: s.Id, body: s.Skip) -> s.Done:
    """Leave an item to others."""
    asked.desk.skip(asked.person, assignment, body.reason)
    return s.Done()


@router.post("/pause")
def pause(asked: Annotator) -> s.Me:
    """Take a break: the open item goes back, the draft is kept."""
    return s.Me.of(asked.desk.pause(asked.person))


@router.post("/resume")
def resume(asked: Annotator) -> s.Me:
    """Go on after a break."""
    return s.Me.of(asked.desk.resume(asked.person))


@router.get("/history")
def history(asked: Annotator) -> list[s.Past]:
    """Return one's own submissions, newest last."""
    return [s.Past.of(each) for each in asked.desk.history(asked.person)]


@router.get("/examples")
def examples(
    request: Request, asked: Anyone, q: Annotated[s.Line, Query(min_length=1)]
) -> list[s.Example]:
    """Search the project's rulebooks for examples of rules."""
    return [
        s.Example(text=each.text, foundations=list(each.foundations), source=each.source)
        for each in request.app.state.search.search(q, 8)
    ]
