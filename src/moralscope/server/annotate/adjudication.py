"""Items on which annotators differ, and their final answers, over HTTP and on the lead's page."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from moralscope.annotation import records
from moralscope.annotation.adjudication import agreed
from moralscope.annotation.forms import load_form
from moralscope.server.annotate import schemas as s
from moralscope.server.annotate.access import IN_LINE, Caller, Lead
from moralscope.server.annotate.pages import answered, draw
from moralscope.server.errors import Refused, Storable, documented

router = APIRouter(dependencies=[IN_LINE])
_MOST_SHOWN = 500
ItemId = Annotated[Storable, Field(max_length=300)]


class Final(s.Body):
    item: ItemId
    answer: s.Values
    comment: Annotated[Storable, Field(max_length=4000)] = ""


class Disputed(BaseModel):
    """An item that divides people: their answers by person, and what a lead decided, if she did."""

    item: str
    texts: list[s.Shown]
    answers: dict[str, dict[str, object]]
    differs: list[str]
    final: records.FinalAnswer | None
    late: bool


_DOCUMENTED = documented(401, 403, 409, 422, 503)


@router.get("/api/lead/disputed", tags=["leads"], responses=_DOCUMENTED)
def disputed(caller: Lead) -> list[Disputed]:
    """List the items on which annotators differ, undecided ones first."""
    return [
        Disputed(
            item=one.item.id,
            texts=s.shown(load_form(one.item.form), one.item.texts),
            answers={person: dict(answer) for person, answer in one.answers.items()},
            differs=list(one.differs),
            final=one.final,
            late=one.late,
        )
        for one in caller.service.disputed(caller.person)[:_MOST_SHOWN]
    ]


@router.post("/api/lead/disputed", tags=["leads"], responses=_DOCUMENTED)
def adjudicate(caller: Lead, body: Final) -> records.FinalAnswer:
    """Keep the final answer of an item; what annotators answered stays."""
    return caller.service.adjudicate(caller.person, body.item, body.answer, body.comment)


@router.get("/lead/adjudicate", include_in_schema=False)
def page(caller: Lead, item: Annotated[str, Query(max_length=300)] = "") -> Response:
    """Show the items that divide people, and one of them with all its answers."""
    found = caller.service.disputed(caller.person)
    chosen = next((one for one in found if one.item.id == item), None)
    if item and chosen is None:
        raise Refused(404, "annotators do not differ on such an item")
    if chosen is None and found and found[0].final is None:
        chosen = found[0]
    return draw(
        caller,
        "adjudicate.html",
        found=found[:_MOST_SHOWN],
        undecided=sum(one.final is None for one in found),
        one=_shown(caller, chosen) if chosen else None,
        labels={
            one.item.id: [load_form(one.item.form).field(name).label for name in one.differs]
            for one in found[:_MOST_SHOWN]
        },
    )


def _shown(caller: Caller, one: records.DisputedItem) -> dict[str, object]:
    form, texts = load_form(one.item.form), one.item.texts
    lines = caller.service.overview(caller.person).people
    names = {line.person.id: line.person.name for line in lines}
    told = {
        person: [said for _, said in answered(form, texts, answer)]
        for person, answer in one.answers.items()
    }
    return {
        "item": one,
        "title": form.title,
        "texts": s.shown(form, texts),
        # The keys of fields are the work page's.
        "fields": [each.model_copy(update={"shortcut": ""}) for each in s.fields(form, texts)],
        "names": names,
        "told": told,
        "begin": dict(one.final.answer) if one.final else agreed(one),
    }
