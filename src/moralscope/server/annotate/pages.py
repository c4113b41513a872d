"""The pages that annotators and leads look at; what they do goes through `api` and `lead`."""

from collections import Counter
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from moralscope.annotation.forms import load_form
from moralscope.annotation.options import SHAPES
from moralscope.annotation.records import BLOCK, AnswerToReview, Decision, DisputedItem, WorkPaused
from moralscope.annotation.statement import people_groups, question_label
from moralscope.core.records import grouped
from moralscope.server.annotate import lead as leads
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, LEAD, Annotator, Anyone, Caller, Lead, access
from moralscope.server.annotate.api import next_page
from moralscope.server.app import page
from moralscope.server.errors import Refused

router = APIRouter(include_in_schema=False, dependencies=[IN_LINE])
_FAST = 10.0  # seconds: a median below is marked, for a lead to look whether items are read
_ENDED = ("declined", "failed", "blocked", "removed")


@router.get("/")
def start(request: Request) -> Response:
    """Send people where their work is."""
    try:
        caller = access(request).who(request)
    except Refused:
        return RedirectResponse("/join", 303)
    return RedirectResponse(next_page(caller.person.role), 303)


@router.get("/join")
def join(request: Request) -> Response:
    """Show the page that a personal link opens: its script exchanges the token."""
    return page("join.html", project=access(request).service.project)


@router.get("/work")
def work(caller: Annotator) -> Response:
    """Show what is to be done now: consent, test, questionnaire, an item, or a wait."""
    person = caller.person
    if person.stage in _ENDED:
        decisions = caller.service.own_decisions(person)
        block = next((one for one in decisions if one.kind == BLOCK), None)
        return draw(caller, "ended.html", decision=block)
    if person.stage == "consent":
        return draw(caller, "consent.html")
    if person.paused:
        return draw(caller, "paused.html", by_lead=False)
    if person.stage == "qualification":
        return draw(caller, "test.html", test=caller.service.test(person))
    if person.questionnaire_open:
        return draw(caller, "questionnaire.html", known=caller.service.questionnaire())
    progress = caller.service.progress(person)
    news = caller.service.news(person)
    try:
        assignment = None if person.stage == "review" else caller.service.next_item(person)
    except WorkPaused:
        return draw(caller, "paused.html", by_lead=True)
    if assignment is None:
        past = caller.service.history(person)[::-1]
        return draw(caller, "nothing.html", past=past, progress=progress, news=news)
    draft = dict(assignment.draft)
    shown = {"work": assignment, "answer": draft, "progress": progress, "news": news}
    return draw(caller, "work.html", **shown, editing=False)


@router.get("/answers")
def answers(caller: Annotator) -> Response:
    """Show one's own answers and what the lead said of them."""
    has_told = caller.service.has_told(caller.person)
    past = caller.service.history(caller.person)[::-1]
    return draw(caller, "answers.html", past=past, has_told=has_told)


@router.get("/answers/{assignment}")
def answer(caller: Annotator, assignment: s.Id) -> Response:
    """Show one's own answer as a form, to change it."""
    history = caller.service.history(caller.person)
    past = next((one for one in history if one.assignment == assignment), None)
    if past is None:
        raise Refused(404, "there is no such answer of yours")
    answer = dict(past.latest.answer)
    return draw(caller, "work.html", work=past, answer=answer, reviews=past.reviews, editing=True)


@router.get("/guide")
def guide(caller: Anyone) -> Response:
    """Show the instructions, with every definition and example."""
    return draw(caller, "guide.html", forms=caller.service.forms)


@router.get("/lead")
def lead(caller: Lead) -> Response:
    """Show the lead who did what."""
    return draw(caller, "lead.html", overview=caller.service.overview(caller.person), fast=_FAST)


@router.get("/lead/review")
def review(caller: Lead) -> Response:
    """Show what waits for the lead: appeals, the trial round, the main round."""
    lines = caller.service.overview(caller.person).people
    people = {line.person.id: line.person for line in lines if line.person.stage == "review"}
    queues: dict[str, list[AnswerToReview]] = {name: [] for name in people}
    for waiting in caller.service.review_queue(caller.person):
        people.setdefault(waiting.person.id, waiting.person)
        queues.setdefault(waiting.person.id, []).append(waiting)
    appeals = [one for one in caller.service.decisions(caller.person) if one.waits]
    return draw(
        caller,
        "review.html",
        people=people,
        queues=queues,
        runs={name: caller.service.runs(caller.person, name) for name in people},
        appeals=_with_answers(caller, appeals),
        names={line.person.id: line.person.name for line in lines},
        unread=caller.service.unread(caller.person),
        main=[line for line in lines if line.submitted or line.rejected],
    )


@router.get("/lead/people/{person}")
def reading(caller: Lead, person: s.Id) -> Response:
    """Show a person's main round to the lead: what to read, what was decided."""
    lines = caller.service.overview(caller.person).people
    line = next((one for one in lines if one.person.id == person), None)
    if line is None:
        raise Refused(404, "there is no such person")
    on_her = [one for one in caller.service.decisions(caller.person) if one.person == person]
    return draw(
        caller,
        "reading.html",
        line=line,
        queue=caller.service.unread_answers(caller.person, person),
        left=caller.service.unread(caller.person).get(person, 0),
        decided=_with_answers(caller, on_her),
    )


def _with_answers(
    caller: Caller, decisions: list[Decision]
) -> list[tuple[Decision, AnswerToReview | None]]:
    """Return decisions, those against an answer with the answer."""
    answers = caller.service.decided_answers(caller.person) if decisions else {}
    return [(one, answers.get(one.assignment or "")) for one in decisions]


@router.get("/lead/items")
def items(caller: Lead) -> Response:
    """Show the items; add more."""
    return draw(caller, "items.html", shows=caller.service.form.shows)


@router.get("/lead/agreement")
def agreement(request: Request, caller: Lead) -> Response:
    """Show agreement so far and where people differ."""
    return draw(caller, "agreement.html", agreement=request.app.state.agreement.of(caller))


@router.get("/lead/data")
def data(caller: Lead) -> Response:
    """Show exports and the audit log."""
    names = {
        line.person.id: line.person.name for line in caller.service.overview(caller.person).people
    }
    log = caller.service.audit_log(caller.person, 100)
    files = sorted(leads.exports(caller))
    task = caller.service.project.task
    shapes = {name: one.about for name, one in SHAPES.items() if one.task in ("", task)}
    written = Counter(row.person for row in caller.service.answers(caller.person))
    shares = people_groups(caller.service, caller.person, written)
    asked = grouped((question_label(share.question), share) for share in shares)
    who = {"people": len(written), "answers": written.total()}
    drawn = {"files": files, "log": log, "names": names, "shapes": shapes}
    return draw(caller, "data.html", **drawn, who=who, asked=asked)


@router.get("/lead/adjudicate")
def adjudicate(caller: Lead, item: Annotated[str, Query(max_length=300)] = "") -> Response:
    """Show the items that divide people, and one of them with all its answers."""
    items = caller.service.disputed(caller.person)
    chosen = next((one for one in items if one.item.id == item), None)
    if item and chosen is None:
        raise Refused(404, "annotators do not differ on such an item")
    if chosen is None and items and items[0].final is None:
        chosen = items[0]
    return draw(
        caller,
        "adjudicate.html",
        items=items[: leads.MOST_DISPUTED],
        undecided=sum(one.final is None for one in items),
        one=_details(caller, chosen) if chosen else None,
        labels={
            one.item.id: [load_form(one.item.form).field(name).label for name in one.differs]
            for one in items[: leads.MOST_DISPUTED]
        },
    )


def _details(caller: Caller, disputed: DisputedItem) -> dict[str, object]:
    form = load_form(disputed.item.form).filled(disputed.item.texts)
    lines = caller.service.overview(caller.person).people
    return {
        "item": disputed,
        "form": form,
        # The keys of fields are the work page's.
        "fields": [replace(field, shortcut="") for field in form.fields],
        "names": {line.person.id: line.person.name for line in lines},
        "answers": {person: form.said(answer) for person, answer in disputed.answers.items()},
        "begin": dict(disputed.final.answer) if disputed.final else disputed.agreed,
    }


def draw(caller: Caller, template: str, **values: Any) -> Response:
    """Return a page with what all of them show."""
    return page(
        template,
        person=caller.person,
        is_lead=caller.person.role == LEAD,
        csrf=caller.csrf,
        project=caller.service.project,
        task=caller.service.form,
        **values,
    )
