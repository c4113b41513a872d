"""Annotating: items are leased, drafts kept, answers checked, saved once and never overwritten.

`items.held` counts who holds or has submitted an item; it only grows by an UPDATE that asks for
`held < quota`, and the table refuses more, so no item is ever done by too many. A person's own
steps are serialised by a lock on her row.
"""

import re
from typing import Any

import sqlalchemy as sa

from moralscope.annotation.checks import clean_answer, find, plain_text
from moralscope.annotation.forms import load_form
from moralscope.annotation.records import (
    Answer,
    Conflict,
    FieldFinding,
    NotAllowed,
    OpenAssignment,
    Person,
    PersonProgress,
    Receipt,
)
from moralscope.annotation.service_base import (
    ITEM_COLUMNS,
    Row,
    ServiceBase,
    change_row,
    form_of,
    item_of,
    own_id,
    random_id,
)
from moralscope.annotation.storage import ASSIGNMENTS, ITEMS, PEOPLE, REVISIONS
from moralscope.core.errors import InputError

_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
_JOINED = ASSIGNMENTS.join(ITEMS, ASSIGNMENTS.c.item == ITEMS.c.position)
_LONGEST_REASON = 500


class WorkService(ServiceBase):
    """Leases, drafts, submissions, edits."""

    def next_item(self, person: Person) -> OpenAssignment | None:
        """Return what the person has open, or lease her an item; None when nothing is left."""
        self._expire_leases()
        with self._storage.write() as connection:
            row = self._person(connection, person.id, lock=True)
            self._working(connection, row)
            if row["stage"] == "review":
                return None
            # What the person has open, or had open when there is still room for it.
            mine = self._mine(connection, person.id, "open", "expired")
            fitting = (one for one in mine if one["stage"] == row["stage"])
            held = next((one for one in fitting if self._hold(connection, one)), None)
            held = held or self._leased(connection, row)
            if held is None:
                return None
            return OpenAssignment(
                assignment=held["id"],
                item=item_of(held),
                form=form_of(held),
                draft=held["draft"],
                lease_until=self._renew(connection, held["id"], person.id),
                stage=held["stage"],
            )

    def save_draft(self, person: Person, assignment: str, answer: Answer) -> float:
        """Keep what is written so far and renew the lease; return until when it holds."""
        with self._storage.write() as connection:
            row = self._own(connection, person, assignment)
            draft = clean_answer(answer, load_form(row["item_form"]))
            if row["status"] not in ("open", "expired"):
                raise Conflict("this was submitted or skipped", "take the next item")
            if self._person(connection, person.id)["stage"] == "blocked":
                raise NotAllowed("a lead has blocked you", "read why on the page Work")
            change_row(connection, ASSIGNMENTS, assignment, draft=draft)
            if not self._hold(connection, row):
                return float(row["lease_until"])
            return self._renew(connection, assignment, person.id)

    def check(self, person: Person, assignment: str, answer: Answer) -> tuple[FieldFinding, ...]:
        """Say what the checks find, field by field, without keeping anything."""
        with self._storage.read() as connection:
            row = self._own(connection, person, assignment, lock=False)
        form = load_form(row["item_form"])
        return find(form, row["item_texts"], clean_answer(answer, form))

    def submit(self, person: Person, assignment: str, submission: str, answer: Answer) -> Receipt:
        """Save an answer. When this returns with `saved`, it is on disk, exactly once.

        The same `submission` id may be sent again and again; what a check blocks is not saved.
        """
        values, findings = self._checked(person, assignment, submission, answer)
        with self._storage.write() as connection:
            row = self._own(connection, person, assignment)
            known = self._known(connection, assignment, submission, values)
            if known is not None:
                return Receipt(submission, True, True, known, findings)
            self._working(connection, self._person(connection, person.id))
            if row["status"] not in ("open", "expired"):
                raise Conflict(f"this was {row['status']} before", "edit it, or take the next item")
            if any(one.blocks for one in findings):
                failed = ASSIGNMENTS.c.failed_checks + 1
                change_row(connection, ASSIGNMENTS, assignment, failed_checks=failed, draft=values)
                return Receipt(submission, False, findings=findings)
            late = not self._hold(connection, row)
            if late:
                change_row(connection, ASSIGNMENTS, assignment, draft=values)
            else:
                now = self._clock()
                seconds = self._stopwatch.seconds(assignment)
                if seconds is None and now >= row["started"]:  # begun before this process
                    seconds = now - row["started"]
                done = {"status": "submitted", "submitted": now, "seconds": seconds, "draft": {}}
                change_row(connection, ASSIGNMENTS, assignment, **done)
                change_row(connection, PEOPLE, person.id, last_seen=now)
                self._add_revision(connection, row, submission, 1, values)
                self._settle_staging(connection, row)
        if late:
            raise Conflict(
                "time ran out, and someone else finished this item",
                "your text is kept; take the next item",
            )
        return Receipt(submission, True, revision=1, findings=findings)

    def edit(self, person: Person, assignment: str, submission: str, answer: Answer) -> Receipt:
        """Add a revision to what was submitted; the earlier ones stay."""
        values, findings = self._checked(person, assignment, submission, answer)
        if any(one.blocks for one in findings):
            return Receipt(submission, False, findings=findings)
        with self._storage.write() as connection:
            row = self._own(connection, person, assignment)
            known = self._known(connection, assignment, submission, values)
            if known is not None:
                return Receipt(submission, True, True, known, findings)
            self._working(connection, self._person(connection, person.id))
            if row["status"] in ("rejected", "left_out"):
                raise Conflict("this was rejected", "read why under My answers; you may appeal")
            if row["status"] != "submitted":
                raise Conflict("this was not submitted yet", "submit it first")
            query = sa.select(sa.func.max(REVISIONS.c.number))
            last = connection.execute(query.where(REVISIONS.c.assignment == assignment))
            number = last.scalar_one() + 1
            self._add_revision(connection, row, submission, number, values)
            self._log(connection, person.id, "edit", assignment, f"revision {number}")
            self._settle_staging(connection, row)
            return Receipt(submission, True, revision=number, findings=findings)

    def skip(self, person: Person, assignment: str, reason: str = "") -> None:
        """Give an item back for good; nobody asks why, but she may say."""
        why = plain_text(reason, "reason", _LONGEST_REASON)
        with self._storage.write() as connection:
            row = self._own(connection, person, assignment)
            if row["status"] == "skipped":
                return
            if row["status"] == "submitted":
                raise Conflict("this was submitted before", "take the next item")
            self._give_up(connection, row, "skipped")
            self._log(connection, person.id, "skip", row["item_id"], why)
            self._settle_staging(connection, row)

    def pause(self, person: Person) -> Person:
        """Let a person pause: what she has open goes back to the others, her draft stays."""
        with self._storage.write() as connection:
            self._person(connection, person.id, lock=True)
            for row in self._mine(connection, person.id, "open"):
                self._give_up(connection, row, "expired")
            self._log(connection, person.id, "pause", person.id)
            return self._change(connection, person.id, paused=True)

    def resume(self, person: Person) -> Person:
        """Let a person go on."""
        with self._storage.write() as connection:
            self._log(connection, person.id, "resume", person.id)
            return self._change(connection, person.id, paused=False)

    def progress(self, person: Person) -> PersonProgress:
        """Count what a person did in her stage, and what she could still do."""
        stage = "main" if person.stage == "main" else "staging"
        query = sa.select(ASSIGNMENTS.c.status, sa.func.count()).where(
            ASSIGNMENTS.c.person == person.id, ASSIGNMENTS.c.stage == stage
        )
        with self._storage.read() as connection:
            rows = connection.execute(query.group_by(ASSIGNMENTS.c.status))
            counts: dict[str, int] = dict(iter(rows))
            free = sa.select(sa.func.count()).select_from(ITEMS).where(*_free(person.id, stage))
            left = connection.execute(free).scalar_one()
            waiting = counts.get("open", 0)
            paused = self._project_paused(connection)
            run = self._runs(connection, person.id)[1:] if stage == "staging" else (0, 0)
        return PersonProgress(
            counts.get("submitted", 0), counts.get("skipped", 0), left + waiting, paused, *run
        )

    def _checked(
        self, person: Person, assignment: str, submission: str, answer: Answer
    ) -> tuple[dict[str, Any], tuple[FieldFinding, ...]]:
        """Check before the write lock is taken: spelling is slow."""
        if not isinstance(submission, str) or not _ID.fullmatch(submission):
            raise InputError("the submission id is malformed", "8 to 64 letters, digits or -")
        with self._storage.read() as connection:
            row = self._own(connection, person, assignment, lock=False)
        form = load_form(row["item_form"])
        values = clean_answer(answer, form)
        return values, find(form, row["item_texts"], values)

    def _own(
        self, connection: sa.Connection, person: Person, assignment: str, *, lock: bool = True
    ) -> Row:
        """Return a person's own assignment with its item; another's is as good as none."""
        if lock:
            self._person(connection, person.id, lock=True)
        query = (
            sa.select(ASSIGNMENTS, *ITEM_COLUMNS)
            .select_from(_JOINED)
            .where(ASSIGNMENTS.c.id == own_id(assignment), ASSIGNMENTS.c.person == person.id)
        )
        if lock:
            query = query.with_for_update(of=ASSIGNMENTS)
        row = connection.execute(query).mappings().first()
        if row is None:
            raise NotAllowed("this is not your item", "take the next item")
        return row

    def _known(
        self, connection: sa.Connection, assignment: str, submission: str, values: Answer
    ) -> int | None:
        """Return the revision that this id was saved as, or None for a new id."""
        query = sa.select(REVISIONS).where(REVISIONS.c.id == submission)
        saved = connection.execute(query).mappings().first()
        if saved is None:
            return None
        if saved["assignment"] != assignment or saved["answer"] != values:
            raise Conflict("this submission id was used before", "send a new one")
        return int(saved["number"])

    def _add_revision(
        self, connection: sa.Connection, row: Row, submission: str, number: int, values: Answer
    ) -> None:
        revision = {
            "id": submission,
            "assignment": row["id"],
            "number": number,
            "answer": values,
            "created": self._clock(),
        }
        connection.execute(sa.insert(REVISIONS), revision)
        form = load_form(row["item_form"])
        quota = self.project.policies.validators_per_item
        if form.validation and row["stage"] == "main" and quota:
            # Others see the answer as an item; those of earlier revisions get no more people.
            earlier = [f"{row['id']}-r{n}" for n in range(1, number)]
            older = sa.update(ITEMS).where(ITEMS.c.id.in_(earlier))
            connection.execute(older.values(quota=ITEMS.c.held))
            item = {
                "id": f"{row['id']}-r{number}",
                "form": form.validation,
                "stage": "main",
                "texts": {name: text for name, text in values.items() if isinstance(text, str)},
                "quota": quota,
                "held": 0,
                "author": row["person"],
            }
            connection.execute(sa.insert(ITEMS), item)

    def _settle_staging(self, connection: sa.Connection, row: Row) -> None:
        """Put a person in review when she has done all staging items."""
        if row["stage"] != "staging":
            return
        done = sa.select(ASSIGNMENTS.c.item).where(
            ASSIGNMENTS.c.person == row["person"],
            ASSIGNMENTS.c.status.in_(("submitted", "skipped")),
        )
        left = sa.select(sa.func.count()).select_from(ITEMS)
        left = left.where(ITEMS.c.stage == "staging", ITEMS.c.position.not_in(done))
        if connection.execute(left).scalar_one() == 0:
            connection.execute(
                sa.update(PEOPLE)
                .where(PEOPLE.c.id == row["person"], PEOPLE.c.stage == "staging")
                .values(stage="review")
            )

    def _mine(self, connection: sa.Connection, person: str, *statuses: str) -> list[Row]:
        """Return a person's assignments, what is open first, the latest before the earlier."""
        query = (
            sa.select(ASSIGNMENTS, *ITEM_COLUMNS)
            .select_from(_JOINED)
            .where(ASSIGNMENTS.c.person == person, ASSIGNMENTS.c.status.in_(statuses))
            .order_by(ASSIGNMENTS.c.status.desc(), ASSIGNMENTS.c.lease_until.desc())
        )
        return list(connection.execute(query).mappings())

    def _leased(self, connection: sa.Connection, person: Row) -> Row | None:
        """Lease the first item that has room for this person."""
        query = sa.select(ITEMS.c.position, *ITEM_COLUMNS)
        query = query.where(*_free(person["id"], person["stage"]))
        query = query.order_by(ITEMS.c.position).limit(1)
        # First what nobody is taking this moment, then whatever is there.
        for skip_locked in (True, False, False):
            locking = query.with_for_update(skip_locked=skip_locked)
            item = connection.execute(locking).mappings().first()
            if item is not None and _take(connection, item["position"]):
                now = self._clock()
                row = {
                    "id": random_id("a"),
                    "item": item["position"],
                    "person": person["id"],
                    "stage": person["stage"],
                    "status": "open",
                    "lease_until": now,
                    "started": now,
                    "failed_checks": 0,
                    "draft": {},
                }
                connection.execute(sa.insert(ASSIGNMENTS), row)
                self._stopwatch.start(str(row["id"]))
                return {**item, **row}
        return None

    def _hold(self, connection: sa.Connection, row: Row) -> bool:
        """Make sure that the item is still this person's; take it again where there is room."""
        if row["status"] == "open":
            return True
        if not _take(connection, row["item"]):
            return False
        change_row(connection, ASSIGNMENTS, row["id"], status="open", started=self._clock())
        self._stopwatch.start(row["id"])
        return True

    def _renew(self, connection: sa.Connection, assignment: str, person: str) -> float:
        now = self._clock()
        until = now + 60 * self.project.policies.lease_minutes
        change_row(connection, ASSIGNMENTS, assignment, lease_until=until)
        change_row(connection, PEOPLE, person, last_seen=now)
        return until

    def _give_up(self, connection: sa.Connection, row: Row, status: str) -> None:
        """End an assignment and let go of the item, if it is still held."""
        change = sa.update(ASSIGNMENTS).where(ASSIGNMENTS.c.id == row["id"])
        held = change.where(ASSIGNMENTS.c.status == "open").values(status=status)
        if connection.execute(held).rowcount:
            item = sa.update(ITEMS).where(ITEMS.c.position == row["item"])
            connection.execute(item.values(held=ITEMS.c.held - 1))
        else:
            lost = change.where(ASSIGNMENTS.c.status == "expired")
            connection.execute(lost.values(status=status))

    def _expire_leases(self) -> None:
        """Return abandoned items, in a transaction of its own."""
        now, lease = self._clock(), 60 * self.project.policies.lease_minutes
        # A lease that would last longer than leases do was given by a clock that was wrong.
        late = ~ASSIGNMENTS.c.lease_until.between(now, now + 2 * lease)
        due = (ASSIGNMENTS.c.status == "open", late)
        with self._storage.read() as connection:
            if connection.execute(sa.select(ASSIGNMENTS.c.id).where(*due).limit(1)).first() is None:
                return
        # By item, so that two servers never wait for each other in a circle.
        query = sa.select(ASSIGNMENTS).where(*due).order_by(ASSIGNMENTS.c.item)
        with self._storage.write() as connection:
            locked = query.with_for_update(skip_locked=True)
            for row in connection.execute(locked).mappings().all():
                self._give_up(connection, row, "expired")


def _free(person: str, stage: str) -> tuple[sa.ColumnElement[bool], ...]:
    """Say which items this person could be given: room, not hers, not written by her."""
    had = sa.select(ASSIGNMENTS.c.item).where(ASSIGNMENTS.c.person == person)
    return (
        ITEMS.c.stage == stage,
        ITEMS.c.held < ITEMS.c.quota,
        ITEMS.c.author != person,
        ITEMS.c.position.not_in(had),  # NOT EXISTS is slow on a PostgreSQL without statistics
    )


def _take(connection: sa.Connection, position: int) -> bool:
    """Count one more holder of an item, unless its quota is reached."""
    change = sa.update(ITEMS).where(ITEMS.c.position == position, ITEMS.c.held < ITEMS.c.quota)
    return connection.execute(change.values(held=ITEMS.c.held + 1)).rowcount == 1
