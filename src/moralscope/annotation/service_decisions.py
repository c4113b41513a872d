"""What leads decide: against answers and people of the main round, and on disputed items.

After Ziems et al. 2022, appendix E.3: poor work is rejected and repeat rejections lead to a block.
A lead decides and gives a reason, never a program. Its person reads the reason and may appeal, once
a decision; a lead then lifts the decision or declines the appeal. Nothing is deleted: a rejected
answer does not count and its item goes to somebody else; of a blocked person the lead says whether
her answers count. What is lifted counts again.

Where annotators differ, a lead chooses or writes a final answer. What they answered stays, and
agreement is computed from it alone. A second decision on an item adds to the first and counts from
then on, so who decided what, and when, is never lost.
"""

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from moralscope.annotation.checks import clean_answer, find, plain_text
from moralscope.annotation.forms import load_form
from moralscope.annotation.records import (
    BLOCK,
    DECLINED,
    LIFTED,
    REJECT,
    STANDS,
    AnnotationItem,
    Answer,
    Decision,
    DisputedItem,
    FinalAnswer,
    Person,
    TaskForm,
)
from moralscope.annotation.service_base import Row, change_row, decision_of, own_id, random_id
from moralscope.annotation.service_lead import LeadService
from moralscope.annotation.storage import (
    ADJUDICATIONS,
    ASSIGNMENTS,
    DECISIONS,
    ITEMS,
    PEOPLE,
    REVISIONS,
)
from moralscope.core.errors import InputError
from moralscope.core.records import grouped

_LONGEST = 4000
_BLOCKABLE = ("staging", "review", "main")


_LATEST = (
    sa.select(ADJUDICATIONS.c.item, sa.func.max(ADJUDICATIONS.c.number).label("number"))
    .group_by(ADJUDICATIONS.c.item)
    .subquery()
)


class DecisionService(LeadService):
    """Rejections, blocks, appeals, final answers."""

    def reject(self, lead: Person, assignment: str, reason: str) -> Decision:
        """Reject an answer of the main round: it counts no more, its item goes to another."""
        self._lead(lead)
        why = _said(reason, "reason")
        with self._storage.write() as connection:
            row = self._answer(connection, assignment)
            if row["stage"] != "main" or row["status"] != "submitted":
                raise InputError(
                    f"the answer is {row['status']}, in the {row['stage']} round",
                    "only a submitted answer of the main round can be rejected",
                )
            self._set_aside(connection, row, "rejected")
            self._log(connection, lead.id, REJECT, row["person"], f"{assignment}: {why}")
            values = {"assignment": assignment, "leave_out": False, "stage": None}
            return self._decide(connection, lead, REJECT, row["person"], why, values)

    def block(
        self, lead: Person, person_id: str, reason: str, *, leave_out: bool = False
    ) -> Decision:
        """Give a person no more work; her answers stay, and count unless they are left out."""
        self._lead(lead)
        why = _said(reason, "reason")
        with self._storage.write() as connection:
            row = self._person(connection, person_id, lock=True)
            if row["stage"] not in _BLOCKABLE:
                raise InputError(
                    f"the person is at '{row['stage']}'", f"from {', '.join(_BLOCKABLE)}"
                )
            for one in self._answers_of(connection, person_id, "open"):
                self._set_aside(connection, one, "expired")
            if leave_out:
                for one in self._answers_of(connection, person_id, "submitted"):
                    self._set_aside(connection, one, "left_out")
            self._change(connection, person_id, stage="blocked")
            counted = "answers left out" if leave_out else "answers count"
            self._log(connection, lead.id, BLOCK, person_id, f"{counted}: {why}")
            values = {"assignment": None, "leave_out": leave_out, "stage": row["stage"]}
            return self._decide(connection, lead, BLOCK, person_id, why, values)

    def appeal(self, person: Person, decision: str, text: str) -> Decision:
        """Keep what a person says against a decision on her, once."""
        said = _said(text, "appeal")
        with self._storage.write() as connection:
            row = self._decision(connection, decision)
            if row["person"] != person.id:
                raise InputError(f"there is no decision '{decision[:40]}'", "see your own")
            if not decision_of(row).may_appeal:
                raise InputError("you appealed before, or it is settled", "one appeal per decision")
            self._log(connection, person.id, "appeal", decision, said)
            now = self._clock()
            return replace(self._settle(connection, decision, appeal=said, appealed=now), lead="")

    def settle(self, lead: Person, decision: str, *, lift: bool, answer: str = "") -> Decision:
        """Lift a decision, asked to or not, or decline the appeal against it."""
        self._lead(lead)
        said = plain_text(answer, "answer", _LONGEST)
        with self._storage.write() as connection:
            row = self._decision(connection, decision)
            record = decision_of(row)
            if not record.holds or not (lift or record.waits):
                raise InputError(
                    "no appeal waits here" if record.holds else "the decision was lifted before",
                    "see the list of decisions",
                )
            if lift:
                self._lift(connection, row)
            action = "lift" if lift else "decline appeal"
            detail = f"{decision} ({row['kind']})" + (f": {said}" if said else "")
            self._log(connection, lead.id, action, row["person"], detail)
            outcome = LIFTED if lift else DECLINED
            when = self._clock()
            return self._settle(connection, decision, outcome=outcome, answer=said, settled=when)

    def decisions(self, lead: Person) -> tuple[Decision, ...]:
        """Return all decisions: where an appeal waits first, then the newest."""
        self._lead(lead)
        rows = self._storage.rows(sa.select(DECISIONS).order_by(DECISIONS.c.created.desc()))
        return tuple(sorted(map(decision_of, rows), key=lambda one: not one.waits))

    def own_decisions(self, person: Person) -> tuple[Decision, ...]:
        """Return the decisions on a person, the newest first."""
        query = sa.select(DECISIONS).where(DECISIONS.c.person == person.id)
        rows = self._storage.rows(query.order_by(DECISIONS.c.created.desc()))
        return tuple(decision_of(row, lead="") for row in rows)

    def disputed(self, lead: Person) -> tuple[DisputedItem, ...]:
        """Return the items of the main round that divide people or were decided, undecided first.

        Free texts differ always: they count only where a form asks for nothing else.
        """
        finals = self.finals(lead)
        by_item = grouped((row.item, row) for row in self.answers(lead, "main"))
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
        said = plain_text(comment, "comment", _LONGEST)
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

    def _decide(
        self,
        connection: sa.Connection,
        lead: Person,
        kind: str,
        person: str,
        why: str,
        values: dict[str, object],
    ) -> Decision:
        row = {
            "id": random_id("d"),
            "kind": kind,
            "person": person,
            "reason": why,
            "lead": lead.id,
            "created": self._clock(),
            "outcome": STANDS,
            "answer": "",
            **values,
        }
        connection.execute(sa.insert(DECISIONS), row)
        return decision_of(self._decision(connection, str(row["id"])))

    def _decision(self, connection: sa.Connection, decision: str) -> Row:
        query = sa.select(DECISIONS).where(DECISIONS.c.id == own_id(decision)).with_for_update()
        row = connection.execute(query).mappings().first()
        if row is None:
            raise InputError(f"there is no decision '{decision[:40]}'", "see the list")
        return row

    def _settle(self, connection: sa.Connection, decision: str, **values: object) -> Decision:
        change_row(connection, DECISIONS, decision, **values)
        return decision_of(self._decision(connection, decision))

    def _lift(self, connection: sa.Connection, row: Row) -> None:
        """Undo what a decision did."""
        person = self._person(connection, row["person"], lock=True)
        if row["kind"] == BLOCK:
            for one in self._answers_of(connection, row["person"], "left_out"):
                self._count_again(connection, one)
            back = sa.update(PEOPLE).where(PEOPLE.c.id == person["id"], PEOPLE.c.stage == "blocked")
            connection.execute(back.values(stage=row["stage"]))
            return
        answer = self._answer(connection, row["assignment"])
        block = sa.select(DECISIONS.c.id).where(
            DECISIONS.c.person == row["person"],
            DECISIONS.c.kind == BLOCK,
            DECISIONS.c.leave_out,
            DECISIONS.c.outcome != LIFTED,
        )
        if connection.execute(block.limit(1)).first():  # all her answers are left out
            change_row(connection, ASSIGNMENTS, answer["id"], status="left_out")
        else:
            self._count_again(connection, answer)

    def _answer(self, connection: sa.Connection, assignment: str) -> Row:
        """Return somebody's assignment, after her row is locked: submissions lock it first too."""
        query = sa.select(ASSIGNMENTS, ITEMS.c.form).where(
            ASSIGNMENTS.c.id == own_id(assignment), ITEMS.c.position == ASSIGNMENTS.c.item
        )
        row = connection.execute(query).mappings().first()
        if row is None:
            raise InputError(f"there is no submission '{assignment[:40]}'", "see the list")
        self._person(connection, row["person"], lock=True)
        return connection.execute(query).mappings().one()

    def _answers_of(self, connection: sa.Connection, person: str, status: str) -> list[Row]:
        """Return a person's assignments of the main round; by item, as all who lock many."""
        query = (
            sa.select(ASSIGNMENTS, ITEMS.c.form)
            .join(ITEMS, ITEMS.c.position == ASSIGNMENTS.c.item)
            .where(ASSIGNMENTS.c.person == person, ASSIGNMENTS.c.status == status)
        )
        if status != "open":
            query = query.where(ASSIGNMENTS.c.stage == "main")
        return list(connection.execute(query.order_by(ASSIGNMENTS.c.item)).mappings())

    def _set_aside(self, connection: sa.Connection, row: Row, status: str) -> None:
        """Let an assignment count no more: another may do its item, nobody checks its story."""
        change_row(connection, ASSIGNMENTS, row["id"], status=status)
        item = sa.update(ITEMS).where(ITEMS.c.position == row["item"])
        connection.execute(item.values(held=ITEMS.c.held - 1))
        self._validators(connection, row, 0)

    def _count_again(self, connection: sa.Connection, row: Row) -> None:
        """Let an answer count again, also where somebody else has done the item meanwhile."""
        change_row(connection, ASSIGNMENTS, row["id"], status="submitted")
        held = ITEMS.c.held + 1
        room = sa.case((ITEMS.c.quota < held, held), else_=ITEMS.c.quota)
        item = sa.update(ITEMS).where(ITEMS.c.position == row["item"])
        connection.execute(item.values(held=held, quota=room))
        self._validators(connection, row, self.project.policies.validators_per_item)

    def _validators(self, connection: sa.Connection, row: Row, wanted: int) -> None:
        """Say how many others check a written story; none is taken from those who did."""
        if not load_form(row["form"]).validation:
            return
        last = sa.select(sa.func.max(REVISIONS.c.number))
        number = connection.execute(last.where(REVISIONS.c.assignment == row["id"])).scalar_one()
        quota = sa.case((ITEMS.c.held > wanted, ITEMS.c.held), else_=wanted)
        change = sa.update(ITEMS).where(ITEMS.c.id == f"{row['id']}-r{number}")
        connection.execute(change.values(quota=quota))


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


def _said(text: str, what: str) -> str:
    said = plain_text(text, what, _LONGEST)
    if not said:
        raise InputError(f"the {what} is empty", "write what the other side should know")
    return said
