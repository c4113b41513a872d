"""The lead's side: who did what, what waits for review, what people answered, the audit log.

Names of people appear on the lead's own pages only; answers and facts carry random ids.
"""

import dataclasses
from statistics import median
from typing import Any

import sqlalchemy as sa

from moralscope.annotation.checks import plain_text
from moralscope.annotation.forms import mean_weights, one_of
from moralscope.annotation.options import STAGES
from moralscope.annotation.records import (
    BLOCK,
    LEAD,
    LIFTED,
    REJECT,
    STANDS,
    AnswerRevision,
    AnswerRow,
    AnswerToReview,
    AuditLine,
    Overview,
    PastWork,
    Person,
    PersonFacts,
    PersonLine,
    QualityCounts,
    Review,
)
from moralscope.annotation.service_base import (
    ITEM_COLUMNS,
    Row,
    ServiceBase,
    decision_of,
    form_of,
    item_of,
    own_id,
)
from moralscope.annotation.storage import (
    ASSIGNMENTS,
    ATTEMPTS,
    AUDIT,
    DECISIONS,
    FACTS,
    ITEMS,
    META,
    PEOPLE,
    REVIEWS,
    REVISIONS,
    TOKENS,
)
from moralscope.core.errors import InputError
from moralscope.core.records import grouped

VERDICTS = ("good", "mend")
_LONGEST_FEEDBACK = 4000
_MOST_LINES = 10_000
_LAST = (
    sa.select(REVISIONS.c.assignment, sa.func.max(REVISIONS.c.number).label("number"))
    .group_by(REVISIONS.c.assignment)
    .subquery()
)
_SUBMITTED = (
    ASSIGNMENTS.join(ITEMS, ASSIGNMENTS.c.item == ITEMS.c.position)
    .join(_LAST, _LAST.c.assignment == ASSIGNMENTS.c.id)
    .join(
        REVISIONS,
        sa.and_(REVISIONS.c.assignment == ASSIGNMENTS.c.id, REVISIONS.c.number == _LAST.c.number),
    )
)
_ANSWER_COLUMNS = (
    *ASSIGNMENTS.c,
    *ITEM_COLUMNS,
    REVISIONS.c.number.label("revision"),
    REVISIONS.c.answer,
)
_REVIEWED = (
    sa.select(REVIEWS.c.number)
    .where(REVIEWS.c.assignment == ASSIGNMENTS.c.id, REVIEWS.c.revision == REVISIONS.c.number)
    .exists()
)
_KEPT = ("submitted", "rejected", "left_out")  # what a person sees of her own
_APPEALS = sa.select(sa.func.count()).where(
    DECISIONS.c.appeal.is_not(None), DECISIONS.c.outcome == STANDS
)


class LeadService(ServiceBase):
    """Overview, review, answers, audit log; and a person's own history."""

    def history(self, person: Person) -> tuple[PastWork, ...]:
        """Return a person's own submissions, the latest first, with history and feedback."""
        query = _submitted(ASSIGNMENTS.c.person == person.id, statuses=_KEPT)
        decided = sa.select(DECISIONS).where(DECISIONS.c.person == person.id)
        mine = sa.select(ASSIGNMENTS.c.id).where(ASSIGNMENTS.c.person == person.id)
        with self._storage.read() as connection:
            query = query.order_by(ASSIGNMENTS.c.submitted.desc())
            rows = connection.execute(query).mappings().all()
            revisions = _by_assignment(connection, REVISIONS, AnswerRevision, mine)
            reviews = _by_assignment(connection, REVIEWS, Review, mine)
            against = connection.execute(decided.order_by(DECISIONS.c.created)).mappings().all()
        latest = {row["assignment"]: decision_of(row, lead="") for row in against}
        return tuple(
            PastWork(
                assignment=row["id"],
                item=item_of(row),
                form=form_of(row),
                stage=row["stage"],
                revisions=tuple(revisions[row["id"]]),
                reviews=tuple(reviews.get(row["id"], ())),
                decision=latest.get(row["id"]),
            )
            for row in rows
        )

    def news(self, person: Person) -> int:
        """Count what leads said against a person's answers since she last submitted something."""
        mine = sa.select(ASSIGNMENTS.c.id).where(ASSIGNMENTS.c.person == person.id)
        last = (
            sa.select(sa.func.coalesce(sa.func.max(REVISIONS.c.created), 0.0))
            .where(REVISIONS.c.assignment.in_(mine))
            .scalar_subquery()
        )
        mends = sa.select(sa.func.count()).where(
            REVIEWS.c.assignment.in_(mine), REVIEWS.c.verdict == "mend", REVIEWS.c.created > last
        )
        decided = sa.select(sa.func.count()).where(
            DECISIONS.c.person == person.id,
            sa.func.coalesce(DECISIONS.c.settled, DECISIONS.c.created) > last,
        )
        with self._storage.read() as connection:
            return sum(connection.execute(query).scalar_one() for query in (mends, decided))

    def overview(self, lead: Person) -> Overview:
        """Return the figures of the lead's first page."""
        self._lead(lead)
        main = (ASSIGNMENTS.c.stage == "main", ASSIGNMENTS.c.status == "submitted")
        by_item = sa.select(ASSIGNMENTS.c.item, sa.func.count()).where(*main)
        wanted = sa.select(ITEMS.c.position, ITEMS.c.quota).where(ITEMS.c.stage == "main")
        still = sa.select(sa.func.count()).where(ASSIGNMENTS.c.status == "open")
        with self._storage.read() as connection:
            done: dict[int, int] = dict(
                iter(connection.execute(by_item.group_by(ASSIGNMENTS.c.item)))
            )
            quotas: dict[int, int] = dict(iter(connection.execute(wanted)))
            return Overview(
                items=len(quotas),
                complete=sum(done.get(item, 0) >= quota for item, quota in quotas.items()),
                wanted=sum(quotas.values()),
                submitted=sum(done.values()),
                open=connection.execute(still).scalar_one(),
                paused=self._project_paused(connection),
                to_review=len(self._waiting(connection)),
                appeals=connection.execute(_APPEALS).scalar_one(),
                people=self._people(connection),
            )

    def review_queue(self, lead: Person) -> tuple[AnswerToReview, ...]:
        """Return staging submissions whose latest revision was not reviewed, the oldest first."""
        self._lead(lead)
        with self._storage.read() as connection:
            return self._to_review(connection, self._waiting(connection))

    def unread(self, lead: Person) -> dict[str, int]:
        """Return person → answers of the main round that no lead has read."""
        self._lead(lead)
        query = _submitted(ASSIGNMENTS.c.stage == "main", ~_REVIEWED)
        count = query.with_only_columns(ASSIGNMENTS.c.person, sa.func.count())
        with self._storage.read() as connection:
            return dict(iter(connection.execute(count.group_by(ASSIGNMENTS.c.person))))

    def unread_answers(
        self, lead: Person, person_id: str, most: int = 10
    ) -> tuple[AnswerToReview, ...]:
        """Return a person's answers of the main round that no lead has read, the newest first."""
        self._lead(lead)
        query = _submitted(
            ASSIGNMENTS.c.stage == "main", ASSIGNMENTS.c.person == own_id(person_id), ~_REVIEWED
        )
        query = query.order_by(ASSIGNMENTS.c.submitted.desc()).limit(most)
        with self._storage.read() as connection:
            return self._to_review(connection, list(connection.execute(query).mappings()))

    def decided_answers(self, lead: Person) -> dict[str, AnswerToReview]:
        """Return assignment → answer, of all answers that were ever rejected."""
        self._lead(lead)
        rejected = sa.select(DECISIONS.c.assignment).where(DECISIONS.c.assignment.is_not(None))
        query = _submitted(ASSIGNMENTS.c.id.in_(rejected), statuses=_KEPT)
        with self._storage.read() as connection:
            answers = self._to_review(connection, list(connection.execute(query).mappings()))
        return {one.assignment: one for one in answers}

    def runs(self, lead: Person, person_id: str) -> tuple[int, int]:
        """Return how many staging answers in a row were good lately, and how many admit."""
        self._lead(lead)
        with self._storage.read() as connection:
            return self._runs(connection, own_id(person_id))[1:]

    def _to_review(self, connection: sa.Connection, rows: list[Row]) -> tuple[AnswerToReview, ...]:
        people = {
            name: self._record(connection, self._person(connection, name))
            for name in dict.fromkeys(row["person"] for row in rows)
        }
        return tuple(
            AnswerToReview(
                assignment=row["id"],
                person=people[row["person"]],
                item=item_of(row),
                form=form_of(row),
                answer=row["answer"],
                submitted=row["submitted"],
                revision=row["revision"],
            )
            for row in rows
        )

    def review(self, lead: Person, assignment: str, verdict: str, feedback: str) -> None:
        """Keep what the lead says of a submission; its author reads it in her history.

        Enough good staging answers in a row admit her (Ziems et al. 2022, appendix E.3: four).
        """
        self._lead(lead)
        one_of(verdict, VERDICTS, "verdict")
        said = plain_text(feedback, "feedback", _LONGEST_FEEDBACK)
        query = sa.select(sa.func.max(REVISIONS.c.number))
        with self._storage.write() as connection:
            last = connection.execute(query.where(REVISIONS.c.assignment == own_id(assignment)))
            number = last.scalar_one()
            if number is None:
                raise InputError(f"there is no submission '{assignment[:40]}'", "see the queue")
            row = {
                "assignment": assignment,
                "revision": number,
                "verdict": verdict,
                "feedback": said,
                "lead": lead.id,
                "created": self._clock(),
            }
            connection.execute(sa.insert(REVIEWS), row)
            whose = sa.select(ASSIGNMENTS.c.person).where(ASSIGNMENTS.c.id == assignment)
            person = connection.execute(whose).scalar_one()
            self._log(connection, lead.id, f"review {verdict}", assignment, person)
            if self._person(connection, person, lock=True)["stage"] in ("staging", "review"):
                longest, _, wanted = self._runs(connection, person)
                if wanted and longest >= wanted:
                    detail = f"{longest} good in a row"
                    self._log(connection, lead.id, "move to main", person, detail)
                    self._change(connection, person, stage="main")

    def set_paused(self, lead: Person, paused: bool) -> None:
        """Pause or resume the whole project."""
        self._lead(lead)
        with self._storage.write() as connection:
            connection.execute(sa.delete(META).where(META.c.key == "paused"))
            row = {"key": "paused", "value": "yes" if paused else "no"}
            connection.execute(sa.insert(META), row)
            self._log(connection, lead.id, "pause all" if paused else "resume all", "project")

    def answers(self, lead: Person, stage: str = "main") -> tuple[AnswerRow, ...]:
        """Return everybody's latest answers, by item and time; one row a person and item."""
        self._lead(lead)
        one_of(stage, STAGES, "stage")
        columns = (
            ITEMS.c.id.label("item"),
            *(ITEMS.c.form, ITEMS.c.texts, ITEMS.c.author),
            *(ASSIGNMENTS.c[name] for name in ("person", "stage", "submitted", "seconds")),
            ASSIGNMENTS.c.id.label("submission"),
            *(REVISIONS.c.number.label("revision"), REVISIONS.c.answer),
        )
        query = _submitted(*(() if stage == "all" else (ASSIGNMENTS.c.stage == stage,)))
        query = query.with_only_columns(*columns)
        query = query.order_by(ITEMS.c.position, ASSIGNMENTS.c.submitted, ASSIGNMENTS.c.id)
        return tuple(AnswerRow(**row) for row in self._storage.rows(query))

    def facts(self, lead: Person) -> tuple[PersonFacts, ...]:
        """Return what people told about themselves, under their random ids."""
        self._lead(lead)
        return tuple(
            PersonFacts(
                row["person"], row["leaning"], mean_weights(row["statements"]), row["about"] or {}
            )
            for row in self._storage.rows(sa.select(FACTS).order_by(FACTS.c.person))
        )

    def quality(self, lead: Person) -> QualityCounts:
        """Count what was done for quality: tests, reviews, decisions, appeals, in the whole."""
        self._lead(lead)
        stages = sa.select(PEOPLE.c.stage, sa.func.count()).where(PEOPLE.c.role != LEAD)
        tested = sa.select(sa.func.count(sa.distinct(ATTEMPTS.c.person)))
        read = sa.select(REVIEWS.c.verdict, sa.func.count()).group_by(REVIEWS.c.verdict)
        with self._storage.read() as connection:
            at: dict[str, int] = dict(iter(connection.execute(stages.group_by(PEOPLE.c.stage))))
            taken = connection.execute(tested).scalar_one()
            verdicts: dict[str, int] = dict(iter(connection.execute(read)))
            rows = connection.execute(sa.select(DECISIONS)).mappings().all()
        held = [row for row in rows if row["outcome"] != LIFTED]
        return QualityCounts(
            invited=sum(at.values()),
            declined=at.get("declined", 0),
            tested=taken,
            failed=at.get("failed", 0),
            reviewed_good=verdicts.get("good", 0),
            reviewed_to_mend=verdicts.get("mend", 0),
            rejected=sum(row["kind"] == REJECT for row in held),
            blocked=sum(row["kind"] == BLOCK for row in held),
            blocked_left_out=sum(bool(row["leave_out"]) for row in held),
            appeals=sum(row["appeal"] is not None for row in rows),
            lifted=len(rows) - len(held),
        )

    def audit_log(self, lead: Person, last: int | None = 200) -> tuple[AuditLine, ...]:
        """Return the last lines of the audit log, the newest first; all of them for None."""
        self._lead(lead)
        query = sa.select(AUDIT).order_by(AUDIT.c.number.desc())
        if last is not None:
            query = query.limit(max(1, min(last, _MOST_LINES)))
        return tuple(AuditLine(**row) for row in self._storage.rows(query))

    def _waiting(self, connection: sa.Connection) -> list[Row]:
        here = sa.select(PEOPLE.c.id).where(PEOPLE.c.stage.in_(("staging", "review")))
        query = _submitted(
            ASSIGNMENTS.c.stage == "staging", ASSIGNMENTS.c.person.in_(here), ~_REVIEWED
        )
        return list(connection.execute(query.order_by(ASSIGNMENTS.c.submitted)).mappings())

    def _people(self, connection: sa.Connection) -> tuple[PersonLine, ...]:
        columns = ("person", "stage", "status", "seconds", "failed_checks")
        query = sa.select(*(ASSIGNMENTS.c[name] for name in columns))
        done = grouped((row["person"], row) for row in connection.execute(query).mappings())
        valid = sa.select(TOKENS.c.person, TOKENS.c.id).where(TOKENS.c.revoked.is_(None))
        by_time = connection.execute(valid.order_by(TOKENS.c.created))
        tokens = grouped((person, token) for person, token in by_time)
        lines = []
        for row in (
            connection.execute(sa.select(PEOPLE).order_by(PEOPLE.c.created)).mappings().all()
        ):
            assigned = done.get(row["id"], [])
            submitted = [one for one in assigned if one["status"] == "submitted"]
            times = [one["seconds"] for one in submitted if one["seconds"] is not None]
            line = PersonLine(
                self._record(connection, row),
                submitted=sum(one["stage"] == "main" for one in submitted),
                staged=sum(one["stage"] == "staging" for one in submitted),
                skipped=sum(one["status"] == "skipped" for one in assigned),
                failed_checks=sum(one["failed_checks"] for one in assigned),
                seconds=median(times) if times else None,
                last_seen=row["last_seen"],
                tokens=tuple(tokens.get(row["id"], ())),
                rejected=sum(one["status"] == "rejected" for one in assigned),
            )
            lines.append(line)
        return tuple(lines)


def _submitted(
    *where: sa.ColumnElement[bool], statuses: tuple[str, ...] = ("submitted",)
) -> sa.Select[Any]:
    """Select submissions with their items and latest revisions."""
    query = sa.select(*_ANSWER_COLUMNS).select_from(_SUBMITTED)
    return query.where(ASSIGNMENTS.c.status.in_(statuses), *where)


def _by_assignment(
    connection: sa.Connection, table: sa.Table, kind: type[Any], mine: sa.Select[Any]
) -> dict[str, list[Any]]:
    """Return the rows of some assignments as records: columns are called as fields are."""
    columns = (table.c[field.name] for field in dataclasses.fields(kind))
    query = sa.select(table.c.assignment, *columns).where(table.c.assignment.in_(mine))
    rows = connection.execute(query.order_by(table.c.number))
    return grouped((assignment, kind(*values)) for assignment, *values in rows)
