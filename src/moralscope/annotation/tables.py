"""The tables of a project's database and the steps that made them; no queries.

A step is added, never changed: a project that was begun with an older version is brought up step
by step when it is opened, in one transaction.
"""

from collections.abc import Callable

import sqlalchemy as sa

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


def _first(connection: sa.Connection) -> None:
    METADATA.create_all(connection)


STEPS: tuple[Callable[[sa.Connection], None], ...] = (_first,)
