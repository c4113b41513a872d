"""Agreement so far for the lead's page: computed again only when an answer came in."""

from math import isfinite
from threading import Lock

from pydantic import BaseModel

from moralscope.annotation.agreement import desk_agreement
from moralscope.annotation.projects import Desk, Field
from moralscope.server.annotate.access import Asked


class FieldAgreement(BaseModel):
    """Krippendorff's alpha and the share of equal answers; None where there is too little."""

    field: str
    label: str
    level: str
    alpha: float | None
    low: float | None
    high: float | None
    share: float | None
    items: int
    answers: int
    people: int


class SplitItem(BaseModel):
    """An item on which people part: `disagreement` is 0 to 1, `counts` how many said what."""

    item: str
    text: str
    field: str
    label: str
    disagreement: float
    counts: dict[str, int]


class Agreement(BaseModel):
    """Agreement by question, and the items that divide people most."""

    fields: list[FieldAgreement]
    items: list[SplitItem]


class SoFar:
    """The latest figures, kept until there are other answers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._state: tuple[int, float] | None = None
        self._found = Agreement(fields=[], items=[])

    def of(self, asked: Asked) -> Agreement:
        """Return agreement so far over the main stage."""
        rows = asked.desk.answers(asked.person, "main")
        state = (len(rows), max((row.submitted for row in rows), default=0.0))
        with self._lock:
            if state != self._state:
                self._found, self._state = _computed(asked), state
            return self._found


def _computed(asked: Asked) -> Agreement:
    found = desk_agreement(asked.desk, asked.person, shown=12)
    questions = _questions(asked.desk)
    fields = [
        FieldAgreement(
            field=each.field,
            label=_label(questions, each.field),
            level=each.level,
            alpha=_number(each.alpha.value),
            low=_number(each.alpha.low),
            high=_number(each.alpha.high),
            share=_number(each.percent.value),
            items=each.items,
            answers=each.answers,
            people=each.people,
        )
        for each in found.fields
    ]
    items = [
        SplitItem(
            item=each.item,
            text=each.text,
            field=each.field,
            label=_label(questions, each.field),
            disagreement=each.disagreement,
            counts=_labelled(questions.get(each.field), dict(each.counts)),
        )
        for each in found.items
    ]
    return Agreement(fields=fields, items=items)


def _questions(desk: Desk) -> dict[str, Field]:
    forms = [desk.form, *([desk.form_named(desk.form.validation)] if desk.form.validation else [])]
    own = {field.name: field for field in desk.form.fields}
    return own | {f"{form.name}: {one.name}": one for form in forms for one in form.fields}


def _label(questions: dict[str, Field], name: str) -> str:
    """Return what a field is called; of many choices each is a field, `foundations: care`."""
    if name in questions:
        return questions[name].label
    asked, _, value = name.rpartition(": ")
    if asked not in questions:
        return name
    labels = {choice.value: choice.label for choice in questions[asked].choices}
    return f"{questions[asked].label} {labels.get(value, value)}"


def _labelled(field: Field | None, counts: dict[str, int]) -> dict[str, int]:
    labels = {choice.value: choice.label for choice in field.choices} if field else {}
    scale = field is not None and field.type == "scale"
    return {
        f"{value}: {labels[value]}" if scale and value in labels else labels.get(value, value): n
        for value, n in counts.items()
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
