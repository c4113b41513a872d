"""Final answers of items on which annotators differ: a lead chooses or writes one, and says why.

What annotators answered stays as it is, and agreement is computed from it alone; a final answer is
a column of its own in exports. A second decision on an item adds to the first and counts from then
on, so who decided what, and when, is never lost.
"""

from typing import Any

import sqlalchemy as sa

from moralscope.annotation.checks import clean_answer, find, plain_text
from moralscope.annotation.forms import load_form
from moralscope.annotation.records import (
    AnnotationItem,
    Answer,
    DisputedItem,
    FinalAnswer,
    Person,
    TaskForm,
)
from moralscope.annotation.service_lead import LeadService
from moralscope.annotation.storage import ADJUDICATIONS, ITEMS
from moralscope.core.errors import InputError

_LONGEST_COMMENT = 4000
_LATEST = (
    sa.select(ADJUDICATIONS.c.item, sa.func.max(ADJUDICATIONS.c.number).label("number"))
    .group_by(ADJUDICATIONS.c.item)
    .subquery()
)


class AdjudicationService(LeadService):
    """Items that divide people, and what leads decide of them."""

    def disputed(self, lead: Person) -> tuple[DisputedItem, ...]:
        """Return the items of the main round that divide people or were decided, undecided first.

        Free texts differ always: they count only where a form asks for nothing else.
        """
        finals = self.finals(lead)
        by_item: dict[str, list[Any]] = {}
        for row in self.answers(lead, "main"):
            by_item.setdefault(row.item, []).append(row)
        disputed = []
        for name, rows in by_item.items():
            form = load_form(rows[0].form)
            fields = differing(form, [row.answer for row in rows])
            if fields or name in finals:
                item = AnnotationItem(name, rows[0].texts, form.name)
                answers = {row.person: row.answer for row in rows}
                final = finals.get(name)
                late = final is not None and any(row.submitted > final.created for row in rows)
                disputed.append(DisputedItem(item, answers, fields, final, late))
        return tuple(sorted(disputed, key=lambda one: one.final is not None))

    def adjudicate(self, lead: Person, item: str, answer: Answer, comment: str = "") -> FinalAnswer:
        """Keep an item's final answer; one that no annotator gave must pass the form's checks."""
        self._lead(lead)
        said = plain_text(comment, "comment", _LONGEST_COMMENT)
        rows = [row for row in self.answers(lead, "main") if row.item == item]
        if not rows:
            raise InputError(
                f"item '{item[:60]}' has no answers of the main round", "take one of the list"
            )
        form = load_form(rows[0].form)
        values = clean_answer(answer, form)
        if values not in [dict(row.answer) for row in rows]:
            blocking = [one for one in find(form, rows[0].texts, values) if one.blocks]
            if blocking:
                label = form.field(blocking[0].field).label
                problem = f"the final answer lacks something at '{label}'"
                raise InputError(problem, blocking[0].message)
        position = sa.select(ITEMS.c.position).where(ITEMS.c.id == item).scalar_subquery()
        made = FinalAnswer(item, values, said, lead.id, self._clock())
        with self._storage.write() as connection:
            row = {"answer": values, "comment": said, "lead": lead.id, "created": made.created}
            connection.execute(sa.insert(ADJUDICATIONS).values(item=position, **row))
            self._log(connection, lead.id, "adjudicate", item, said)
        return made

    def finals(self, lead: Person) -> dict[str, FinalAnswer]:
        """Return item → its final answer, of all that were decided."""
        self._lead(lead)
        columns = ("answer", "comment", "lead", "created")
        query = (
            sa.select(ITEMS.c.id, *(ADJUDICATIONS.c[name] for name in columns))
            .join(ADJUDICATIONS, ADJUDICATIONS.c.item == ITEMS.c.position)
            .join(_LATEST, _LATEST.c.number == ADJUDICATIONS.c.number)
            .order_by(ITEMS.c.position)
        )
        with self._storage.read() as connection:
            return {row[0]: FinalAnswer(*row) for row in connection.execute(query)}


def differing(form: TaskForm, answers: list[Answer]) -> tuple[str, ...]:
    """Return the fields in which answers differ; the order of several choices does not count."""
    asked = [one for one in form.fields if one.level != "text"] or form.fields

    def comparable(value: Any) -> Any:
        return frozenset(value) if isinstance(value, list) else value

    return tuple(
        one.name
        for one in asked
        if len({comparable(answer.get(one.name)) for answer in answers}) > 1
    )
