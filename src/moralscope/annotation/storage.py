"""A project's database, SQLite or PostgreSQL: its tables, and transactions over them; no queries.

Every write is one transaction that is on disk when it returns: SQLite runs in WAL mode with
`synchronous=FULL` and takes its write lock at the beginning, PostgreSQL locks rows. What the
database refuses comes out as `NotSaved`. A step of `STEPS` is added, never changed: a project that
was begun with an older version is brought up step by step when it is opened, in one transaction.
"""

import os
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc

from moralscope.annotation.records import Conflict, NotSaved
from moralscope.core.errors import InputError, MissingExtra

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
    _id("status"),  # open, submitted, skipped, expired
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
AUDIT = _table(
    "audit",
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),
    _id("actor"),
    _id("action"),
    sa.Column("subject", sa.String(300), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)


STEPS: tuple[Callable[[sa.Connection], None], ...] = (METADATA.create_all,)


SQLITE_FILE = "annotations.sqlite"
_BUSY_SECONDS = 30
_LOCK_KEY = 7_326_815  # any number of our own, so that two servers do not migrate at once
_TLS = ("disable", "require", "verify-full")
_READING = "moralscope_reading"


class Storage:
    """One project's database.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = Storage(Path(folder))
    ...     with storage.read() as connection:
    ...         storage.version(connection)
    ...     storage.close()
    1
    """

    def __init__(self, folder: Path, url: str = "", steps: Sequence[Any] = STEPS) -> None:
        self._engine = _engine(folder, url)
        self._steps = steps
        # SQLite has one writer: waiting in line is fairer and quicker than its own busy loop, which
        # asks again and again and lets whoever comes at the right moment go first.
        self._turn: AbstractContextManager[Any] = nullcontext() if url else threading.Lock()
        try:
            self._migrate()
        except BaseException:
            self._engine.dispose()
            raise

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that is durable when the block ends, or has not happened."""
        problem = "the database did not save it"
        remedy = "keep the text, free some space or wait a moment, and save again"
        with _told(problem, remedy), self._turn, self._engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a transaction that only reads: it waits for nobody."""
        engine = self._engine.execution_options(**{_READING: True})
        problem, remedy = "the database cannot be read", "wait a moment, try again"
        with _told(problem, remedy), engine.begin() as connection:
            yield connection

    def rows(self, query: sa.Select[Any]) -> Sequence[sa.RowMapping]:
        """Return all rows of a query, by column name."""
        with self.read() as connection:
            return connection.execute(query).mappings().all()

    def version(self, connection: sa.Connection) -> int:
        """How many steps this database has been through."""
        found = connection.execute(sa.select(META.c.value).where(META.c.key == "schema"))
        value = found.scalar_one_or_none()
        return int(value) if value else 0

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def _migrate(self) -> None:
        problem = "the project's database cannot be opened"
        remedy = "see that it runs, and what project.yaml says of it"
        with _told(problem, remedy), self._turn, self._engine.begin() as connection:
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


@contextmanager
def _told(problem: str, remedy: str) -> Iterator[None]:
    """Turn what a database refuses into an error that people can read."""
    try:
        yield
    except exc.IntegrityError as error:  # a constraint decided between two who came at once
        raise Conflict("something else was saved first", "reload and try again") from error
    except (exc.DBAPIError, exc.TimeoutError) as error:
        raise NotSaved(f"{problem} ({_first_line(error)})", remedy) from error


def _engine(folder: Path, url: str) -> sa.Engine:
    if not url:
        return _sqlite(folder / SQLITE_FILE)
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, ValueError):
        raise InputError(
            "the project's database is no URL", "write postgresql://user@host/name, or nothing"
        ) from None
    if "@" in (parsed.host or ""):  # what follows the first @ would be said as the host's name
        raise InputError("the password of the database holds an '@'", "write it as %40")
    if parsed.get_backend_name() != "postgresql":
        raise InputError(
            f"the project's database is '{parsed.get_backend_name()}'",
            "write postgresql://user@host/name, or nothing for SQLite",
        )
    try:
        return sa.create_engine(
            parsed.set(drivername="postgresql+pg8000", query={}),
            connect_args={"timeout": _BUSY_SECONDS, "ssl_context": _tls(parsed)},
            pool_size=20,
            max_overflow=20,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError:
        raise MissingExtra(
            "PostgreSQL needs a driver", "pip install 'moralscope[postgres]'"
        ) from None


def _tls(url: sa.URL) -> ssl.SSLContext | None:
    """Return how to encrypt: `?sslmode=` disable, require (any certificate) or verify-full."""
    asked = dict(url.query)
    mode = asked.pop("sslmode", "disable")
    if asked or mode not in _TLS:
        raise InputError(
            f"the database's URL has '{(*asked, f'sslmode={mode}')[0]}'",
            f"write sslmode={', '.join(_TLS)}, or nothing",
        )
    if mode == "disable":
        return None
    context = ssl.create_default_context()
    if mode == "require":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _sqlite(path: Path) -> sa.Engine:
    try:  # readable by its owner only: it holds people's names
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InputError(
            f"{path} cannot be opened ({error.strerror})", "give the folder of a project"
        ) from error
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
        pool_size=50,
        max_overflow=50,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        # Transactions begin where we say, not the driver. WAL lets readers go on while one writes;
        # FULL makes a commit wait for the disk: what is acknowledged outlives a power cut.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # A plain BEGIN would take the write lock at the first write only, and fail with "database
        # is locked" if another wrote in between: what was read is stale then, waiting cannot help.
        reading = connection.get_execution_options().get(_READING)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _first_line(error: Exception) -> str:
    """Return what the database said, without the statement and its values."""
    cause = (error.orig if isinstance(error, exc.DBAPIError) else None) or error
    detail = cause.args[0] if cause.args else cause
    if isinstance(detail, dict):  # pg8000 gives the fields of the server's message
        detail = detail.get("M", "error")
    return str(detail).splitlines()[0][:200] if str(detail) else type(cause).__name__
