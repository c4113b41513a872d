"""Who comes in, and how far: tokens, sessions, consent, test, questionnaire, admission by a lead.

Secrets are kept as hashes and can be revoked.
"""

import random
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from moralscope.annotation.checks import plain_text
from moralscope.annotation.forms import (
    checked_about,
    checked_statements,
    draw_questions,
    load_questionnaire,
    mark_test,
    one_of,
    question_bank,
)
from moralscope.annotation.records import (
    LEAD,
    ROLES,
    STAGES,
    Invitation,
    NotAllowed,
    Person,
    Questionnaire,
    Session,
    Test,
    TestResult,
)
from moralscope.annotation.service_base import Row, ServiceBase, own_id, random_id
from moralscope.annotation.storage import ATTEMPTS, FACTS, ITEMS, PEOPLE, SESSIONS, TOKENS
from moralscope.core.errors import InputError

_LONGEST_SECRET = 200
_LONGEST_NAME = 100


class PeopleService(ServiceBase):
    """Joining by token, sessions, invitations; from consent to admission."""

    @property
    def _session(self) -> float:
        return 86_400 * self.project.policies.session_days

    def join(self, token: str) -> Session:
        """Open a session for the person of a token; an unknown or revoked one is refused."""
        now = self._clock()
        secret = secrets.token_urlsafe(32)
        expires = now + self._session
        query = sa.select(TOKENS.c.id, TOKENS.c.person).where(
            TOKENS.c.hash == _hash(token), TOKENS.c.revoked.is_(None)
        )
        with self._storage.read() as connection:  # a wrong token takes no lock from anybody
            if connection.execute(query).first() is None:
                raise _refused("this link is not valid")
        with self._storage.write() as connection:
            link = connection.execute(query).mappings().first()
            if link is None:
                raise _refused("this link is not valid")
            person = self._person(connection, link["person"])
            if person["stage"] == "removed":
                raise _refused("this link is not valid")
            connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.expires < now))
            row = {"hash": _hash(secret), "token": link["id"], "expires": expires}
            connection.execute(sa.insert(SESSIONS), row)
            self._log(connection, link["person"], "join", link["id"])
            return Session(secret, self._record(connection, person), expires)

    def who(self, secret: str) -> Person:
        """Return whose session this is, as the database has her now.

        One that would last longer than sessions do began under a clock that was wrong: it is over.
        """
        now = self._clock()
        query = (
            sa.select(PEOPLE)
            .join(TOKENS, TOKENS.c.person == PEOPLE.c.id)
            .join(SESSIONS, SESSIONS.c.token == TOKENS.c.id)
            .where(
                SESSIONS.c.hash == _hash(secret),
                SESSIONS.c.expires.between(now, now + self._session + 86_400),
                TOKENS.c.revoked.is_(None),
                PEOPLE.c.stage != "removed",
            )
        )
        with self._storage.read() as connection:
            row = connection.execute(query).mappings().first()
            if row is None:
                raise _refused("your session has ended")
            return self._record(connection, row)

    def leave(self, secret: str) -> None:
        """End a session."""
        with self._storage.write() as connection:
            connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.hash == _hash(secret)))

    def invite(self, lead: Person, name: str, role: str = "annotator") -> Invitation:
        """Make a person and her token; the token is returned this once."""
        self._lead(lead)
        one_of(role, ROLES, "role")
        called = plain_text(name, "name", _LONGEST_NAME)
        if not called:
            raise InputError("a person needs a name", "it is seen by leads only")
        person = random_id("p")
        row = {
            "id": person,
            "name": called,
            "role": role,
            "stage": "main" if role == LEAD else "consent",
            "paused": False,
            "asked": False,
            "created": self._clock(),
        }
        with self._storage.write() as connection:
            connection.execute(sa.insert(PEOPLE), row)
            self._log(connection, lead.id, f"invite {role}", person)
            return self._token(connection, person)

    def reissue(self, lead: Person, person_id: str) -> Invitation:
        """Give a person a new token beside those she has."""
        self._lead(lead)
        with self._storage.write() as connection:
            self._person(connection, person_id)
            self._log(connection, lead.id, "new token", person_id)
            return self._token(connection, person_id)

    def revoke(self, lead: Person, token_id: str) -> None:
        """Make a token worthless, and with it the sessions it opened."""
        self._lead(lead)
        with self._storage.write() as connection:
            changed = connection.execute(
                sa.update(TOKENS)
                .where(TOKENS.c.id == own_id(token_id), TOKENS.c.revoked.is_(None))
                .values(revoked=self._clock())
            )
            if not changed.rowcount:
                raise InputError(f"there is no valid token '{token_id[:40]}'", "see the list")
            connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.token == token_id))
            self._log(connection, lead.id, "revoke token", token_id)

    def _token(self, connection: sa.Connection, person: str) -> Invitation:
        token = secrets.token_urlsafe(32)
        name = random_id("t")
        row = {"id": name, "person": person, "hash": _hash(token), "created": self._clock()}
        connection.execute(sa.insert(TOKENS), row)
        return Invitation(token, name, self._record(connection, self._person(connection, person)))

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
            drawn = draw_questions(self.project.policies.questions, seen, random.SystemRandom())
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
            why = mark_test(asked, answers)
            right = len(asked) - len(why)
            connection.execute(
                sa.update(ATTEMPTS)
                .where(ATTEMPTS.c.person == person.id, ATTEMPTS.c.number == rows[-1]["number"])
                .values(answers={name: answers[name] for name in asked}, correct=right)
            )
            passed = right >= policies.pass_mark
            left = max(0, 1 + policies.retakes - len(rows))
            if passed:
                self._change(connection, person.id, stage=self._after(connection, "qualification"))
            elif not left:
                self._change(connection, person.id, stage="failed")
            self._log(connection, person.id, "test", person.id, f"{right} of {len(asked)}")
            best = {name: question_bank()[name].right for name in why}
            return TestResult(passed, right, len(asked), left, why, best)

    def questionnaire(self) -> Questionnaire:
        """Return what is asked about people."""
        return load_questionnaire()

    def answer_questionnaire(
        self,
        person: Person,
        leaning: str | None,
        statements: Mapping[str, Any],
        about: Mapping[str, Any] | None = None,
        *,
        agrees: bool = False,
    ) -> Person:
        """Keep what a person tells about herself, apart from her answers; nothing is fine too.

        It is kept only if she `agrees` to that, with the moment she did.
        """
        weights = checked_statements(leaning, statements)
        facts = checked_about(about or {})
        tells = leaning is not None or bool(weights) or bool(facts)
        if tells and not agrees:
            raise InputError("this is kept only with your consent", "agree, or leave it all out")
        with self._storage.write() as connection:
            row = self._person(connection, person.id, lock=True)
            if row["stage"] in ("consent", "declined", "removed"):
                raise NotAllowed("nothing is asked before consent", "agree first")
            if row["asked"]:
                raise InputError("the questionnaire was answered before", "it is asked once")
            if tells:
                values = {
                    "person": person.id,
                    "leaning": leaning,
                    "statements": weights,
                    "about": facts,
                    "agreed": self._clock(),
                }
                connection.execute(sa.insert(FACTS), values)
            self._log(connection, person.id, "tell of oneself" if tells else "tell nothing", "")
            return self._change(connection, person.id, asked=True)

    def withdraw_facts(self, person: Person) -> None:
        """Delete what a person told about herself: a consent can be taken back at any time."""
        with self._storage.write() as connection:
            gone = connection.execute(sa.delete(FACTS).where(FACTS.c.person == person.id)).rowcount
            if gone:
                self._log(connection, person.id, "withdraw answers about oneself", "")

    def has_told(self, person: Person) -> bool:
        """Say whether anything is kept that a person told about herself."""
        return bool(
            self._storage.rows(sa.select(FACTS.c.person).where(FACTS.c.person == person.id))
        )

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
        known = tuple(stage for stage in STAGES if stage != "removed")
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
        shown = tuple(question_bank()[name].question for name in questions)
        return Test(number, shown, policies.pass_mark, max(0, 1 + policies.retakes - number))


def _hash(secret: str) -> str:
    """Hash 256 random bits: a slow hash would add nothing, there is nothing to guess."""
    if len(secret) > _LONGEST_SECRET:
        return ""
    return sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()


def _refused(what: str) -> NotAllowed:
    return NotAllowed(what, "ask the lead of the project for a new link")
