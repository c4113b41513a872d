"""The pages that annotators and leads look at; what they do goes through `api` and `lead`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from moralscope.annotation.exporting import TASK_OF
from moralscope.annotation.groups import GroupShare
from moralscope.annotation.records import BLOCK, Decision, Paused, TaskForm, ToReview
from moralscope.annotation.statement import people_groups, question_label
from moralscope.server.annotate import lead as leads
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, LEAD, Annotator, Anyone, Caller, Lead, access
from moralscope.server.annotate.api import next_page
from moralscope.server.app import page
from moralscope.server.errors import Refused

router = APIRouter(include_in_schema=False, dependencies=[IN_LINE])
_ENDED = ("declined", "failed", "blocked", "removed")
SHAPES = {
    "jsonl": "JSON lines: everything, one answer a line",
    "csv": "CSV: one answer a row",
    "parquet": "Parquet: one answer a row",
    "mic": "MIC.csv: what integrity training reads",
    "stories": "Stories: what stories reads",
    "human": "Yes rates: what score --human reads",
    "people": "People: leaning and foundation weights",
    "audit": "Audit log: who did what to whom, and when",
}


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
        found = caller.service.own_decisions(person)
        block = next((each for each in found if each.kind == BLOCK), None)
        return draw(caller, "ended.html", decision=block)
    if person.stage == "consent":
        return draw(caller, "consent.html")
    if person.paused:
        return draw(caller, "paused.html", by_lead=False)
    if person.stage == "qualification":
        return draw(caller, "test.html", test=caller.service.test(person))
    if person.questionnaire_open:
        known = s.Questionnaire.model_validate(caller.service.questionnaire())
        return draw(caller, "questionnaire.html", known=known)
    return _item(caller)


def _item(caller: Caller) -> Response:
    progress = caller.service.progress(caller.person)
    try:
        found = None if caller.person.stage == "review" else caller.service.next_item(caller.person)
    except Paused:
        return draw(caller, "paused.html", by_lead=True)
    if found is None:
        news = caller.service.news(caller.person)
        return draw(caller, "nothing.html", past=_past(caller), progress=progress, news=news)
    return draw(
        caller,
        "work.html",
        work=s.Work.of(found),
        form=found.form,
        answer=dict(found.draft),
        progress=progress,
        news=caller.service.news(caller.person),
        editing=False,
    )


@router.get("/answers")
def answers(caller: Annotator) -> Response:
    """Show one's own answers and what the lead said of them."""
    has_told = caller.service.has_told(caller.person)
    return draw(caller, "answers.html", past=_past(caller), has_told=has_told)


@router.get("/answers/{assignment}")
def answer(caller: Annotator, assignment: s.Id) -> Response:
    """Show one's own answer as a form, to change it."""
    own = (one for one in caller.service.history(caller.person) if one.assignment == assignment)
    past = next(own, None)
    if past is None:
        raise Refused(404, "there is no such answer of yours")
    shown = s.Past.of(past)
    work = s.Work(
        assignment=assignment,
        stage=past.stage,
        form=past.form.name,
        title=past.form.title,
        texts=shown.texts,
        fields=s.fields(past.form, past.item.texts),
        draft=shown.answer,
        lease_until=0,
    )
    return draw(
        caller,
        "work.html",
        work=work,
        form=past.form,
        answer=shown.answer,
        reviews=shown.reviews,
        editing=True,
    )


@router.get("/guide")
def guide(caller: Anyone) -> Response:
    """Show the instructions, with every definition and example."""
    forms = [(form, s.fields(form, {})) for form in caller.service.forms]
    return draw(caller, "guide.html", forms=forms)


@router.get("/lead")
def lead(caller: Lead) -> Response:
    """Show the lead who did what."""
    return draw(caller, "lead.html", seen=caller.service.overview(caller.person))


@router.get("/lead/review")
def review(caller: Lead) -> Response:
    """Show what waits for the lead: appeals, the trial round, the main round."""
    people: dict[str, dict[str, Any]] = {}
    lines = caller.service.overview(caller.person).people
    for line in lines:
        if line.person.stage == "review":
            people[line.person.id] = {"person": line.person, "queue": []}
    for each in caller.service.review_queue(caller.person):
        entry = people.setdefault(each.person.id, {"person": each.person, "queue": []})
        entry["queue"].append(_read(each))
    for name, entry in people.items():
        entry["row"] = caller.service.runs(caller.person, name)
    found = caller.service.decisions(caller.person)
    return draw(
        caller,
        "review.html",
        people=list(people.values()),
        appeals=_decided(caller, [each for each in found if each.waits]),
        names={line.person.id: line.person.name for line in lines},
        unread=caller.service.unread(caller.person),
        main=[line for line in lines if line.submitted or line.rejected],
    )


@router.get("/lead/people/{person}")
def reading(caller: Lead, person: s.Id) -> Response:
    """Show a person's main round to the lead: what to read, what was decided."""
    found = (line for line in caller.service.overview(caller.person).people)
    line = next((each for each in found if each.person.id == person), None)
    if line is None:
        raise Refused(404, "there is no such person")
    on_her = [each for each in caller.service.decisions(caller.person) if each.person == person]
    decided = _decided(caller, on_her)
    queue = [_read(each) for each in caller.service.unread_answers(caller.person, person)]
    left = caller.service.unread(caller.person).get(person, 0)
    return draw(caller, "reading.html", line=line, queue=queue, left=left, decided=decided)


def _decided(caller: Caller, found: list[Decision]) -> list[tuple[Decision, dict[str, Any] | None]]:
    """Return decisions, those against an answer with the answer."""
    answers = caller.service.decided_answers(caller.person) if found else {}
    read = {name: _read(each) for name, each in answers.items()}
    return [(each, read.get(each.assignment or "")) for each in found]


def _read(each: ToReview) -> dict[str, Any]:
    return {
        "work": each,
        "texts": s.shown(each.form, each.item.texts),
        "answers": answered(each.form, each.item.texts, each.answer),
    }


@router.get("/lead/items")
def items(caller: Lead) -> Response:
    """Show the items; add more."""
    return draw(caller, "items.html", shows=caller.service.form.shows)


@router.get("/lead/agreement")
def agreement(request: Request, caller: Lead) -> Response:
    """Show agreement so far and where people differ."""
    return draw(caller, "agreement.html", found=request.app.state.agreement.of(caller))


@router.get("/lead/data")
def data(caller: Lead) -> Response:
    """Show exports and the audit log."""
    names = {
        line.person.id: line.person.name for line in caller.service.overview(caller.person).people
    }
    log = caller.service.audit_log(caller.person, 100)
    files = sorted(leads.exports(caller))
    task = caller.service.project.task
    shapes = {name: said for name, said in SHAPES.items() if TASK_OF.get(name, task) == task}
    written = Counter(row.person for row in caller.service.answers(caller.person))
    asked: dict[str, list[GroupShare]] = {}
    for share in people_groups(caller.service, caller.person, written):
        asked.setdefault(question_label(share.question), []).append(share)
    who = {"people": len(written), "answers": written.total()}
    drawn = {"files": files, "log": log, "names": names, "shapes": shapes}
    return draw(caller, "data.html", **drawn, who=who, asked=asked)


def answered(
    form: TaskForm, texts: Mapping[str, str], answer: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return questions and answers as people read them."""
    return [(f.label, _told(f, answer.get(f.name))) for f in s.fields(form, texts)]


def _told(field: s.FormField, value: Any) -> str:
    labels = field.labels
    if value is None or value == "":
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(labels.get(str(each), str(each)) for each in value) or "none of these"
    label = labels.get(str(value), "")
    return f"{value}: {label}" if field.type == "scale" and label else label or str(value)


def _past(caller: Caller) -> list[dict[str, Any]]:
    found = []
    for each in caller.service.history(caller.person):
        past = s.Past.of(each)
        told = answered(each.form, each.item.texts, each.revisions[-1].answer)
        waits = bool(each.reviews) and each.reviews[-1].verdict == "mend"
        mended = waits and each.revisions[-1].created > each.reviews[-1].created
        found.append({"past": past, "answers": told, "mend": waits and not mended})
    return found[::-1]


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
