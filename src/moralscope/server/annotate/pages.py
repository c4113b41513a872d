"""The pages that annotators and leads look at; what they do goes through `api` and `lead`."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from moralscope.annotation.projects import Paused, TaskForm
from moralscope.server.annotate import lead as leads
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import LEAD, Annotator, Anyone, Asked, Lead, access
from moralscope.server.annotate.api import next_page
from moralscope.server.errors import Refused
from moralscope.server.pages import page

router = APIRouter(include_in_schema=False)
_ENDED = ("declined", "failed", "removed")
SHAPES = {
    "jsonl": "JSON lines: everything, one answer a line",
    "csv": "CSV: one answer a row",
    "parquet": "Parquet: one answer a row",
    "mic": "MIC.csv: what integrity training reads",
    "stories": "Stories: what stories reads",
    "human": "Yes rates: what score --human reads",
    "people": "People: leaning and foundation weights",
}
_ONLY_OF = {"mic": "rule-of-thumb", "stories": "story-writing", "human": "action-yes-no"}


@router.get("/")
def start(request: Request) -> Response:
    """Send people where their work is."""
    try:
        asked = access(request).who(request)
    except Refused:
        return RedirectResponse("/join", 303)
    return RedirectResponse(next_page(asked.person.role), 303)


@router.get("/join")
def join(request: Request) -> Response:
    """Show the page that a personal link opens: its script exchanges the token."""
    return page("join.html", project=access(request).desk.project)


@router.get("/work")
def work(asked: Annotator) -> Response:
    """Show what is to be done now: consent, test, questionnaire, an item, or a wait."""
    person = asked.person
    if person.stage in _ENDED:
        return _draw(asked, "ended.html")
    if person.stage == "consent":
        return _draw(asked, "consent.html")
    if person.paused:
        return _draw(asked, "paused.html", by_lead=False)
    if person.stage == "qualification":
        return _draw(asked, "test.html", test=s.Test.of(asked.desk.test(person)))
    if person.questionnaire_open:
        known = s.Questionnaire.of(asked.desk.questionnaire())
        return _draw(asked, "questionnaire.html", known=known)
    return _item(asked)


def _item(asked: Asked) -> Response:
    progress = asked.desk.progress(asked.person)
    try:
        found = None if asked.person.stage == "review" else asked.desk.next_item(asked.person)
    except Paused:
        return _draw(asked, "paused.html", by_lead=True)
    if found is None:
        return _draw(asked, "nothing.html", past=_past(asked), progress=progress)
    return _draw(
        asked,
        "work.html",
        work=s.Work.of(found),
        form=found.form,
        answer=dict(found.draft),
        progress=progress,
        editing=False,
    )


@router.get("/answers")
def answers(asked: Annotator) -> Response:
    """Show one's own answers and what the lead said of them."""
    return _draw(asked, "answers.html", past=_past(asked))


@router.get("/answers/{assignment}")
def answer(asked: Annotator, assignment: s.Id) -> Response:
    """Show one's own answer as a form, to change it."""
    own = (one for one in asked.desk.history(asked.person) if one.assignment == assignment)
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
    return _draw(
        asked,
        "work.html",
        work=work,
        form=past.form,
        answer=shown.answer,
        reviews=shown.reviews,
        editing=True,
    )


@router.get("/guide")
def guide(asked: Anyone) -> Response:
    """Show the instructions, with every definition and example."""
    form = asked.desk.form
    forms = [form, *([asked.desk.form_named(form.validation)] if form.validation else [])]
    return _draw(asked, "guide.html", forms=[(one, s.fields(one, {})) for one in forms])


@router.get("/lead")
def lead(asked: Lead) -> Response:
    """Show the lead who did what."""
    return _draw(asked, "lead.html", seen=asked.desk.overview(asked.person))


@router.get("/lead/review")
def review(asked: Lead) -> Response:
    """Show what waits for the lead, person by person."""
    people: dict[str, dict[str, Any]] = {}
    for line in asked.desk.overview(asked.person).people:
        if line.person.stage == "review":
            people[line.person.id] = {"person": line.person, "queue": []}
    for each in asked.desk.review_queue(asked.person):
        entry = people.setdefault(each.person.id, {"person": each.person, "queue": []})
        told = answered(each.form, each.item.texts, each.answer)
        shown = s.shown(each.form, each.item.texts)
        entry["queue"].append({"work": each, "texts": shown, "answers": told})
    return _draw(asked, "review.html", people=list(people.values()))


@router.get("/lead/agreement")
def agreement(request: Request, asked: Lead) -> Response:
    """Show agreement so far and where people differ."""
    return _draw(asked, "agreement.html", found=request.app.state.agreement.of(asked))


@router.get("/lead/data")
def data(asked: Lead) -> Response:
    """Show exports and the audit log."""
    names = {line.person.id: line.person.name for line in asked.desk.overview(asked.person).people}
    log = asked.desk.audit_log(asked.person, 100)
    files = sorted(leads.exports(asked))
    task = asked.desk.project.task
    shapes = {name: said for name, said in SHAPES.items() if _ONLY_OF.get(name, task) == task}
    return _draw(asked, "data.html", files=files, log=log, names=names, shapes=shapes)


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


def _past(asked: Asked) -> list[dict[str, Any]]:
    found = []
    for each in asked.desk.history(asked.person):
        past = s.Past.of(each)
        told = answered(each.form, each.item.texts, each.revisions[-1].answer)
        waits = bool(each.reviews) and each.reviews[-1].verdict == "mend"
        mended = waits and each.revisions[-1].created > each.reviews[-1].created
        found.append({"past": past, "answers": told, "mend": waits and not mended})
    return found[::-1]


def _draw(asked: Asked, template: str, **values: Any) -> Response:
    return page(
        template,
        person=asked.person,
        is_lead=asked.person.role == LEAD,
        csrf=asked.csrf,
        project=asked.desk.project,
        task=asked.desk.form,
        **values,
    )
