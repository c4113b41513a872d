"""From the first page to the main stage: consent, test, questionnaire, the lead's admission."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from moralscope.annotation import qualification, questionnaire
from moralscope.annotation.desk_base import DeskBase, Row
from moralscope.annotation.errors import NotAllowed
from moralscope.annotation.records import Person, Questionnaire, Test, TestResult
from moralscope.annotation.tables import ATTEMPTS, FACTS, ITEMS
from moralscope.core.errors import InputError


class AdmissionDesk(DeskBase):
    """Consent, qualification, questionnaire, admission."""

    def consent(self, person: Person, agrees: bool) -> Person:
        """Take a person's consent, or let her go."""
        with self._storage.write() as connection:
            row = self._at(connection, person, "consent", "declined")
            stage = self._after(connection, "consent") if agrees else "declined"
            self._log(connection, person.id, "consent" if agrees else "no consent", person.id)
            return self._change(connection, row["id"], stage=stage)

    def test(self, person: Person) -> Test:
        """Return the attempt that is open, or draw a new one."""
        with self._storage.write() as connection:
            self._at(connection, person, "qualification")
            rows = self._attempts(connection, person)
            if rows and rows[-1]["answers"] is None:
                return self._test(rows[-1]["number"], rows[-1]["questions"])
            seen = {name for row in rows for name in row["questions"]}
            count = self.project.policies.questions
            drawn = qualification.draw(count, seen, random.SystemRandom())
            row = {
                "person": person.id,
                "number": len(rows) + 1,
                "questions": list(drawn),
                "answers": None,
                "created": self._clock(),
            }
            connection.execute(sa.insert(ATTEMPTS), row)
            return self._test(len(rows) + 1, drawn)

    def answer_test(self, person: Person, answers: Mapping[str, str]) -> TestResult:
        """Mark the open attempt; six right of seven lead on, and retakes are counted."""
        policies = self.project.policies
        with self._storage.write() as connection:
            self._at(connection, person, "qualification")
            rows = self._attempts(connection, person)
            if not rows or rows[-1]["answers"] is not None:
                raise InputError("no test is open", "open the test first")
            asked = rows[-1]["questions"]
            why = qualification.mark(asked, answers)
            right = len(asked) - len(why)
            given = {name: answers[name] for name in asked}
            connection.execute(
                sa.update(ATTEMPTS)
                .where(ATTEMPTS.c.person == person.id, ATTEMPTS.c.number == rows[-1]["number"])
                .values(answers=given, correct=right)
            )
            passed = right >= policies.pass_mark
            left = max(0, 1 + policies.retakes - len(rows))
            if passed:
                self._change(connection, person.id, stage=self._after(connection, "qualification"))
            elif not left:
                self._change(connection, person.id, stage="failed")
            self._log(connection, person.id, "test", person.id, f"{right} of {len(asked)}")
            return TestResult(passed, right, len(asked), left, why)

    def questionnaire(self) -> Questionnaire:
        """Return what is asked about people."""
        return questionnaire.load_questionnaire()

    def answer_questionnaire(
        self, person: Person, leaning: str | None, statements: Mapping[str, Any]
    ) -> Person:
        """Keep what a person tells about herself, apart from her answers; nothing is fine too."""
        given = questionnaire.checked(leaning, statements)
        with self._storage.write() as connection:
            row = self._person(connection, person.id, lock=True)
            if row["stage"] in ("consent", "declined", "removed"):
                raise NotAllowed("nothing is asked before consent", "agree first")
            if row["asked"]:
                raise InputError("the questionnaire was answered before", "it is asked once")
            if leaning is not None or given:
                values = {"person": person.id, "leaning": leaning, "statements": given}
                connection.execute(sa.insert(FACTS), values)
            return self._change(connection, person.id, asked=True)

    def admit(self, lead: Person, person_id: str) -> Person:
        """Admit a person to the main stage, whether she failed the test or waits for review."""
        return self._moved(lead, person_id, ("staging", "review", "failed"), "main")

    def send_back(self, lead: Person, person_id: str) -> Person:
        """Ask a person to mend her staging answers; editing one puts her in review again."""
        return self._moved(lead, person_id, ("review",), "staging")

    def remove(self, lead: Person, person_id: str) -> Person:
        """Shut a person out; what she submitted stays."""
        if person_id == lead.id:
            raise InputError("a lead cannot remove herself", "ask another lead")
        known = ("consent", "qualification", "staging", "review", "main", "failed", "declined")
        return self._moved(lead, person_id, known, "removed")

    def _moved(self, lead: Person, person_id: str, known: tuple[str, ...], stage: str) -> Person:
        self._lead(lead)
        with self._storage.write() as connection:
            row = self._person(connection, person_id, lock=True)
            if row["stage"] not in known:
                raise InputError(f"the person is at '{row['stage']}'", f"from {', '.join(known)}")
            self._log(connection, lead.id, f"move to {stage}", person_id)
            return self._change(connection, person_id, stage=stage)

    def _at(self, connection: sa.Connection, person: Person, *stages: str) -> Row:
        row = self._person(connection, person.id, lock=True)
        if row["stage"] not in stages:
            raise NotAllowed(f"you are at '{row['stage']}'", "reload the page")
        return row

    def _after(self, connection: sa.Connection, stage: str) -> str:
        """Return the stage that follows: those that the policies leave out are passed over."""
        policies = self.project.policies
        if stage == "consent" and policies.qualification:
            return "qualification"
        query = sa.select(ITEMS.c.id).where(ITEMS.c.stage == "staging").limit(1)
        staged = policies.staging_items and connection.execute(query).first() is not None
        return "staging" if staged else "main"

    def _attempts(self, connection: sa.Connection, person: Person) -> list[Row]:
        query = sa.select(ATTEMPTS).where(ATTEMPTS.c.person == person.id)
        return list(connection.execute(query.order_by(ATTEMPTS.c.number)).mappings())

    def _test(self, number: int, questions: Sequence[str]) -> Test:
        policies = self.project.policies
        shown = tuple(qualification.bank()[name].question for name in questions)
        return Test(number, shown, policies.pass_mark, max(0, 1 + policies.retakes - number))
