"""Who comes in: tokens, sessions, invitations. Secrets are kept as hashes and can be revoked."""

import secrets
from hashlib import sha256

import sqlalchemy as sa

from moralscope.annotation.desk_base import DeskBase, own_id, random_id
from moralscope.annotation.errors import NotAllowed
from moralscope.annotation.records import LEAD, ROLES, Invitation, Person, Session
from moralscope.annotation.tables import PEOPLE, SESSIONS, TOKENS
from moralscope.annotation.texts import plain_text
from moralscope.annotation.yaml_files import one_of
from moralscope.core.errors import InputError

_LONGEST_SECRET = 200
_LONGEST_NAME = 100


class EntryDesk(DeskBase):
    """Joining by token, sessions, invitations."""

    def join(self, token: str) -> Session:
        """Open a session for the person of a token; an unknown or revoked one is refused."""
        now = self._clock()
        secret = secrets.token_urlsafe(32)
        expires = now + 86_400 * self.project.policies.session_days
        with self._storage.write() as connection:
            query = sa.select(TOKENS.c.id, TOKENS.c.person).where(
                TOKENS.c.hash == _hash(token), TOKENS.c.revoked.is_(None)
            )
            found = connection.execute(query).mappings().first()
            if found is None:
                raise _refused("this link is not valid")
            person = self._person(connection, found["person"])
            if person["stage"] == "removed":
                raise _refused("this link is not valid")
            connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.expires < now))
            row = {"hash": _hash(secret), "token": found["id"], "expires": expires}
            connection.execute(sa.insert(SESSIONS), row)
            self._log(connection, found["person"], "join", found["id"])
            return Session(secret, self._record(connection, person), expires)

    def who(self, secret: str) -> Person:
        """Return whose session this is, as the database has her now."""
        query = (
            sa.select(PEOPLE)
            .join(TOKENS, TOKENS.c.person == PEOPLE.c.id)
            .join(SESSIONS, SESSIONS.c.token == TOKENS.c.id)
            .where(
                SESSIONS.c.hash == _hash(secret),
                SESSIONS.c.expires >= self._clock(),
                TOKENS.c.revoked.is_(None),
                PEOPLE.c.stage != "removed",
            )
        )
        with self._storage.read() as connection:
            found = connection.execute(query).mappings().first()
            if found is None:
                raise _refused("your session has ended")
            return self._record(connection, found)

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
        row = {
            "id": random_id("t"),
            "person": person,
            "hash": _hash(token),
            "created": self._clock(),
        }
        connection.execute(sa.insert(TOKENS), row)
        record = self._record(connection, self._person(connection, person))
        return Invitation(token, str(row["id"]), record)


def _hash(secret: str) -> str:
    """Hash 256 random bits: a slow hash would add nothing, there is nothing to guess."""
    if len(secret) > _LONGEST_SECRET:
        return ""
    return sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()


def _refused(what: str) -> NotAllowed:
    return NotAllowed(what, "ask the lead of the project for a new link")
