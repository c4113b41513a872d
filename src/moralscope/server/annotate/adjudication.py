"""Items on which annotators differ, and their final answers, over HTTP and on the lead's page."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from moralscope.annotation import records
from moralscope.annotation.forms import load_form
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, Caller, Lead
from moralscope.server.annotate.pages import draw
from moralscope.server.errors import Refused, documented

router = APIRouter(dependencies=[IN_LINE])
_MOST_SHOWN = 500
_DOCUMENTED = documented(401, 403, 409, 422, 503)


@router.get("/api/lead/disputed", tags=["leads"], responses=_DOCUMENTED)
def disputed(caller: Lead) -> list[records.DisputedItem]:
    """List the items on which annotators differ, undecided ones first."""
    return list(caller.service.disputed(caller.person)[:_MOST_SHOWN])


@router.post("/api/lead/disputed", tags=["leads"], responses=_DOCUMENTED)
def adjudicate(caller: Lead, body: s.FinalAnswerBody) -> records.FinalAnswer:
    """Keep the final answer of an item; what annotators answered stays."""
    return caller.service.adjudicate(caller.person, body.item, body.answer, body.comment)


@router.get("/lead/adjudicate", include_in_schema=False)
def page(caller: Lead, item: Annotated[str, Query(max_length=300)] = "") -> Response:
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
        items=items[:_MOST_SHOWN],
        undecided=sum(one.final is None for one in items),
        one=_details(caller, chosen) if chosen else None,
        labels={
            one.item.id: [load_form(one.item.form).field(name).label for name in one.differs]
            for one in items[:_MOST_SHOWN]
        },
    )


def _details(caller: Caller, disputed: records.DisputedItem) -> dict[str, object]:
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
