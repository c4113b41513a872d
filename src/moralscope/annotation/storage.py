"""A project's database, SQLite or PostgreSQL: its tables, and transactions over them; no queries.

Every write is one transaction that is on disk when it returns: SQLite runs in WAL mode with
`synchronous=FULL` and takes its write lock at the beginning, PostgreSQL locks rows. Nobody waits
for a lock without end. What the database refuses comes out as `NotSaved`, and so does its loss; an
outage is logged in one line when it begins and in one when it is over (`Outage`). A step of `STEPS`
is added, never changed: a project that was begun with an older version is brought up step by step
when it is opened, in one transaction.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from moralscope.annotation.engines import (
    LOCK_SECONDS,
    READ_SECONDS,
    READING,
    TLS_REMEDY,
    TLS_SAID,
    WAIT,
    first_line,
    is_loss,
    is_of_database,
    make_engine,
)
from moralscope.annotation.records import Conflict, NotSaved
from moralscope.core.errors import InputError

log = logging.getLogger(__name__)
METADATA = sa.MetaData()
_ROOM = sa.text("held < quota")
UNLIMITED = 1_000_000_000  # the quota of a staging item: everybody does it


def _table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    return sa.Table(name, METADATA, *parts)


def _id(name: str, *parts: sa.schema.SchemaItem, primary: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(128), *parts, primary_key=primary, nullable=False)


META = _table("meta", _id("key", primary=True), sa.Column("value", sa.Text, nullable=False))

PEOPLE = _table(
    "people",
    _id("id", primary=True),
    sa.Column("name", sa.Text, nullable=False),
    _id("role"),
    _id("stage"),
    sa.Column("paused", sa.Boolean, nullable=False, default=False),
    sa.Column("asked", sa.Boolean, nullable=False, default=False),  # the questionnaire, answered
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("last_seen", sa.Float),
)
TOKENS = _table(
    "tokens",
    _id("id", primary=True),
    _id("person", sa.ForeignKey("people.id")),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("revoked", sa.Float),
    sa.Index("tokens_by_person", "person"),
)
SESSIONS = _table(
    "sessions",
    sa.Column("hash", sa.String(64), primary_key=True),
    _id("token", sa.ForeignKey("tokens.id")),
    sa.Column("expires", sa.Float, nullable=False),
    sa.Index("sessions_by_token", "token"),
)
ATTEMPTS = _table(
    "attempts",
    _id("person", sa.ForeignKey("people.id"), primary=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("questions", sa.JSON, nullable=False),
    sa.Column("answers", sa.JSON(none_as_null=True)),
    sa.Column("correct", sa.Integer),
    sa.Column("created", sa.Float, nullable=False),
)
FACTS = _table(
    "facts",
    _id("person", sa.ForeignKey("people.id"), primary=True),
    sa.Column("leaning", sa.String(128)),
    sa.Column("statements", sa.JSON, nullable=False),
    sa.Column("about", sa.JSON(none_as_null=True)),  # age, region, …: question → answer
    sa.Column("agreed", sa.Float),  # when she agreed that this is kept
)
ITEMS = _table(
    "items",
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.String(300), nullable=False, unique=True),
    _id("form"),
    _id("stage"),
    sa.Column("texts", sa.JSON, nullable=False),
    sa.Column("quota", sa.Integer, nullable=False),
    sa.Column("held", sa.Integer, nullable=False, default=0),  # leased or submitted
    sa.Column("author", sa.String(128), nullable=False, default=""),
    sa.CheckConstraint("held >= 0 AND held <= quota", name="quota_kept"),
    sa.Index("items_with_room", "stage", "position", sqlite_where=_ROOM, postgresql_where=_ROOM),
)
ASSIGNMENTS = _table(
    "assignments",
    _id("id", primary=True),
    sa.Column("item", sa.Integer, sa.ForeignKey("items.position"), nullable=False),
    _id("person", sa.ForeignKey("people.id")),
    _id("stage"),
    _id("status"),  # open, submitted, skipped, expired; rejected, left_out (submitted, not counted)
    sa.Column("lease_until", sa.Float, nullable=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("submitted", sa.Float),
    sa.Column("seconds", sa.Float),
    sa.Column("failed_checks", sa.Integer, nullable=False, default=0),
    sa.Column("draft", sa.JSON, nullable=False),
    sa.UniqueConstraint("item", "person", name="once_a_person"),
    sa.Index("assignments_by_status", "status", "lease_until"),
    sa.Index("assignments_by_person", "person", "status"),
)
REVISIONS = _table(
    "revisions",
    _id("id", primary=True),  # made by the client: sent twice, it is saved once
    _id("assignment", sa.ForeignKey("assignments.id")),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("answer", sa.JSON, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.UniqueConstraint("assignment", "number", name="numbered_once"),
)
REVIEWS = _table(
    "reviews",
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    _id("assignment", sa.ForeignKey("assignments.id")),
    sa.Column("revision", sa.Integer, nullable=False),
    _id("verdict"),
    sa.Column("feedback", sa.Text, nullable=False),
    _id("lead"),
    sa.Column("created", sa.Float, nullable=False),
    sa.Index("reviews_by_assignment", "assignment"),
)
DECISIONS = _table(
    "decisions",
    _id("id", primary=True),
    _id("kind"),  # reject, block
    _id("person", sa.ForeignKey("people.id")),
    sa.Column("assignment", sa.String(128), sa.ForeignKey("assignments.id")),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("leave_out", sa.Boolean, nullable=False, default=False),
    sa.Column("stage", sa.String(128)),  # where a person stood who was blocked
    _id("lead"),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("appeal", sa.Text),
    sa.Column("appealed", sa.Float),
    _id("outcome"),  # stands, declined (an appeal), lifted
    sa.Column("answer", sa.Text, nullable=False, default=""),
    sa.Column("settled", sa.Float),
    sa.Index("decisions_by_person", "person"),
)
ADJUDICATIONS = _table(
    "adjudications",
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("item", sa.Integer, sa.ForeignKey("items.position"), nullable=False),
    sa.Column("answer", sa.JSON, nullable=False),
    sa.Column("comment", sa.Text, nullable=False),
    _id("lead"),
    sa.Column("created", sa.Float, nullable=False),
    sa.Index("adjudications_by_item", "item"),
)
AUDIT = _table(
    "audit",
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),
    _id("actor"),
    _id("action"),
    sa.Column("subject", sa.String(300), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)


def _add_decisions(connection: sa.Connection) -> None:
    """Add what a project of version 1 lacks: decisions, demographics, a log that only grows."""
    METADATA.create_all(connection, tables=[DECISIONS])
    known = {column["name"] for column in sa.inspect(connection).get_columns("facts")}
    for column in (FACTS.c.about, FACTS.c.agreed):
        if column.name not in known:
            kind = column.type.compile(connection.dialect)
            connection.execute(sa.text(f"ALTER TABLE facts ADD COLUMN {column.name} {kind}"))
    for line in _ONLY_GROWS[connection.dialect.name]:
        connection.execute(sa.text(line))


_SQLITE_REFUSES = (
    "CREATE TRIGGER IF NOT EXISTS audit_keeps_{what} BEFORE {what} ON audit "
    "BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END"
)
_ONLY_GROWS = {
    "sqlite": [_SQLITE_REFUSES.format(what=what) for what in ("UPDATE", "DELETE")],
    "postgresql": [
        "CREATE OR REPLACE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log only grows'; END $$",
        "DROP TRIGGER IF EXISTS audit_keeps ON audit",
        "CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_keeps()",
    ],
}


STEPS: tuple[Callable[[sa.Connection], None], ...] = (
    METADATA.create_all,
    _add_decisions,
    lambda connection: METADATA.create_all(connection, tables=[ADJUDICATIONS]),  # final answers
)
WRITE_SECONDS = LOCK_SECONDS  # for our turn to write and for another program's lock, together
_LOCK_KEY = 7_326_815  # any number of our own, so that two servers do not migrate at once
_KEEP = "keep the text, free some space or wait a moment, and save again"


class Outage:
    """Says once that a database is lost, and once that it is back, whoever asks meanwhile.

    While a server goes down, one request still finds it and the next does not. It counts as back
    when it has answered `quiet` seconds after the last loss.

    Examples
    --------
    >>> now = iter([0.0, 0.1, 0.2, 0.3, 9.0])
    >>> outage = Outage(5.0, lambda: next(now))
    >>> [outage.lost(), outage.lost(), outage.found(), outage.lost(), outage.found()]
    [True, False, False, False, True]
    """

    def __init__(self, quiet: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet, self._clock = quiet, clock
        self._last: float | None = None  # when a request last found it lost
        self._lock = threading.Lock()

    def lost(self) -> bool:
        """Note that a request found it lost; return whether to say so."""
        with self._lock:
            first, self._last = self._last is None, self._clock()
            return first

    def found(self) -> bool:
        """Note that a request was answered; return whether to say that it is back."""
        if self._last is None:  # nearly always: no lock
            return False
        with self._lock:
            if self._last is None or self._clock() - self._last < self._quiet:
                return False
            self._last = None
            return True


class Storage:
    """One project's database."""

    def __init__(self, folder: Path, url: str = "", steps: Sequence[Any] = STEPS) -> None:
        self._engine = make_engine(folder, url)
        self._steps = steps
        # SQLite has one writer: waiting in line is fairer and quicker than its own busy loop, which
        # asks again and again and lets whoever comes at the right moment go first.
        self._turn = None if url else threading.Lock()
        self._outage = Outage()
        try:
            self._migrate()
        except BaseException as error:
            self._engine.dispose()
            if not isinstance(error, Exception) or not is_of_database(error):
                raise
            why, remedy = first_line(error), "check that it runs, and its URL in project.yaml"
            problem = f"the project's database cannot be opened ({why})"
            raise NotSaved(problem, TLS_REMEDY if TLS_SAID(why) else remedy) from error

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that is durable when the block ends, or has not happened."""
        errors = self._errors("the database did not save it", _KEEP)
        with errors, self._in_turn() as engine, engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a transaction that only reads: it waits for nobody."""
        engine = self._engine.execution_options(**{READING: True, WAIT: int(1000 * READ_SECONDS)})
        errors = self._errors("the database cannot be read", "wait a moment, try again")
        with errors, engine.begin() as connection:
            yield connection

    @contextmanager
    def _in_turn(self) -> Iterator[sa.Engine]:
        """Wait for our turn to write; give the engine with the time that is left for others."""
        until = time.monotonic() + WRITE_SECONDS
        if self._turn is None:
            yield self._engine
            return
        if not self._turn.acquire(timeout=WRITE_SECONDS):
            raise NotSaved("the database is busy: another program may hold it", _KEEP)
        try:
            left = max(0.0, until - time.monotonic())
            yield self._engine.execution_options(**{WAIT: int(1000 * left)})
        finally:
            self._turn.release()

    @contextmanager
    def _errors(self, problem: str, remedy: str) -> Iterator[None]:
        """Turn what a database refuses into an error that people can read; log its loss once."""
        try:
            yield
        except exc.IntegrityError as error:  # a constraint decided between two who came at once
            raise Conflict("something else was saved first", "reload and try again") from error
        except Exception as error:
            if not is_of_database(error):
                raise
            why = first_line(error)
            if not is_loss(error):
                raise NotSaved(f"{problem} ({why})", remedy) from error
            if self._outage.lost():
                log.warning("the database is lost (%s); it is asked again at every request", why)
            raise NotSaved(f"{problem}: it does not answer", remedy) from error
        if self._outage.found():
            log.warning("the database is back")

    def rows(self, query: sa.Select[Any]) -> Sequence[sa.RowMapping]:
        """Return all rows of a query, by column name."""
        with self.read() as connection:
            return connection.execute(query).mappings().all()

    def version(self, connection: sa.Connection) -> int:
        """How many steps this database has been through."""
        query = sa.select(META.c.value).where(META.c.key == "schema")
        return int(connection.execute(query).scalar_one_or_none() or 0)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def _migrate(self) -> None:
        with self._in_turn() as engine, engine.begin() as connection:
            if connection.dialect.name == "postgresql":  # SQLite's write lock is held already
                connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})"))
            METADATA.create_all(connection, tables=[META])
            done = self.version(connection)
            if done > len(self._steps):
                raise InputError(
                    f"the project's database has the shape {done} of a newer moralscope, this one "
                    f"knows {len(self._steps)}",
                    "open it with the newer version: pip install -U moralscope",
                )
            for step in self._steps[done:]:
                step(connection)
            if done < len(self._steps):
                connection.execute(sa.delete(META).where(META.c.key == "schema"))
                row = {"key": "schema", "value": str(len(self._steps))}
                connection.execute(sa.insert(META), row)
