"""How a project's database is reached: SQLite in its folder or PostgreSQL, and what both refuse.

Every wait has an end. Another machine is reached over TLS unless the URL says otherwise.
"""

import logging
import os
import re
import ssl
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc

from moralscope.core.errors import InputError
from moralscope.core.extras import missing_extra

SQLITE_FILE = "annotations.sqlite"
WAIT = "moralscope_wait"  # execution option: milliseconds for a lock of another program
READING = "moralscope_reading"  # execution option: nothing is written
LOCK_SECONDS = 5.0  # for a lock that another program holds
READ_SECONDS = 2.0  # in WAL mode only a program that wants the file for itself lets readers wait
_REPLY_SECONDS = 15  # for PostgreSQL to say anything
_TLS = ("disable", "require", "verify-full")
TLS_SAID = re.compile("SSL|certificate", re.IGNORECASE).search
TLS_REMEDY = (
    "give the server a certificate and name its authority with &sslrootcert=FILE, or write "
    "?sslmode=require (any certificate) or ?sslmode=disable after the database's URL"
)


def make_engine(folder: Path, url: str) -> sa.Engine:
    """Return the engine of a URL, or of the file in the folder where there is none."""
    if not url:
        return _sqlite(folder / SQLITE_FILE)
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, ValueError):
        raise InputError(
            "the project's database is not a URL", "write postgresql://user@host/name, or nothing"
        ) from None
    if "@" in (parsed.host or ""):  # what follows the first @ would be said as the host's name
        raise InputError("the password of the database holds an '@'", "write it as %40")
    if parsed.get_backend_name() != "postgresql":
        raise InputError(
            f"the project's database is '{parsed.get_backend_name()}'",
            "write postgresql://user@host/name, or nothing for SQLite",
        )
    return _postgres(parsed)


def _postgres(url: sa.URL) -> sa.Engine:
    # A pool writes a traceback for every connection that dies with a server; we say it once.
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
    try:
        engine = sa.create_engine(
            url.set(drivername="postgresql+pg8000", query={}),
            connect_args={"timeout": _REPLY_SECONDS, "ssl_context": tls_context(url)},
            pool_size=20,
            max_overflow=20,
            pool_timeout=LOCK_SECONDS,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError:
        raise missing_extra("postgres", "PostgreSQL") from None

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = {int(1000 * LOCK_SECONDS)}")
        cursor.close()
        connection.commit()

    return engine


def tls_context(url: sa.URL) -> ssl.SSLContext | None:
    """Return how to encrypt, as `?sslmode=` and `&sslrootcert=FILE` say.

    disable; require, with any certificate; verify-full, with one that a known authority gave to
    this host. Without a word: verify-full, but on this machine nothing has to be hidden.
    """
    asked = dict(url.query)
    local = (url.host or "localhost") in ("localhost", "127.0.0.1", "::1")
    mode = asked.pop("sslmode", "disable" if local else "verify-full")
    authority = asked.pop("sslrootcert", None)
    if asked or mode not in _TLS or isinstance(authority, tuple):
        raise InputError(
            f"the database's URL has '{(*asked, f'sslmode={mode}')[0]}'",
            f"write sslmode={', '.join(_TLS)}, or nothing",
        )
    if mode == "disable":
        return None
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:
        problem = f"sslrootcert={authority} cannot be read ({error.strerror or error})"
        raise InputError(problem, "give a file of certificates (PEM)") from error
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
        connect_args={"timeout": READ_SECONDS, "check_same_thread": False},
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
        asked = connection.get_execution_options()
        connection.exec_driver_sql(f"PRAGMA busy_timeout={asked.get(WAIT, 0)}")
        connection.exec_driver_sql("BEGIN" if asked.get(READING) else "BEGIN IMMEDIATE")

    return engine


def is_of_database(error: Exception) -> bool:
    """Tell what a database or the way to it raises from what is wrong with us."""
    ours = (exc.DBAPIError, exc.TimeoutError, exc.PendingRollbackError, OSError)
    # The driver's own errors come out bare where the connection dies at a commit or a rollback.
    return isinstance(error, ours) or type(error).__module__.startswith("pg8000")


def is_loss(error: Exception) -> bool:
    """Say whether PostgreSQL does not answer: what it would say names machines, not people."""
    if isinstance(error, exc.DBAPIError):
        driver = type(error.orig).__module__.startswith("pg8000")
        return driver and (error.connection_invalidated or isinstance(error, exc.InterfaceError))
    return True


def first_line(error: Exception) -> str:
    """Return what the database said, without the statement and its values."""
    cause = (error.orig if isinstance(error, exc.DBAPIError) else None) or error
    detail = cause.args[0] if cause.args else cause
    if isinstance(cause, OSError):
        detail = cause.strerror or cause
    if isinstance(detail, dict):  # pg8000 gives the fields of the server's message
        detail = detail.get("M", "error")
    return str(detail).splitlines()[0][:200] if str(detail) else type(cause).__name__
