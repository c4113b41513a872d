"""What all parts of the service share: the project, the database, the clock, rows as records."""

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Self

import sqlalchemy as sa

from moralscope.annotation.forms import load_form
from moralscope.annotation.records import (
    LEAD,
    AnnotationItem,
    Decision,
    NotAllowed,
    Person,
    Project,
    TaskForm,
    WorkPaused,
)
from moralscope.annotation.storage import (
    ASSIGNMENTS,
    ATTEMPTS,
    AUDIT,
    ITEMS,
    META,
    PEOPLE,
    REVIEWS,
    Storage,
)
from moralscope.core.errors import InputError

Row = Mapping[Any, Any]  # a row of the database, by column name
_BEGUN = 100_000  # assignments whose beginning is remembered
_OWN = re.compile(r"[a-z0-9-]{1,40}")
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_ITEM_COLUMNS = (ITEMS.c.id, ITEMS.c.texts, ITEMS.c.form, ITEMS.c.stage, ITEMS.c.author)
ITEM_COLUMNS = tuple(column.label(f"item_{column.name}") for column in _ITEM_COLUMNS)


class Stopwatch:
    """How long assignments took, by a clock that nobody sets: a jump of the other changes nothing.

    Examples
    --------
    >>> now = iter([10.0, 12.5])
    >>> watch = Stopwatch(lambda: next(now))
    >>> watch.start("a-1")
    >>> watch.seconds("a-1"), watch.seconds("a-2")
    (2.5, None)
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: OrderedDict[str, float] = OrderedDict()

    def start(self, name: str) -> None:
        """Begin to measure; what was begun long ago is forgotten."""
        self._began[name] = self._clock()
        while len(self._began) > _BEGUN:
            self._began.popitem(last=False)

    def seconds(self, name: str) -> float | None:
        """Return how long ago it was begun; None where another process began it."""
        began = self._began.get(name)
        return None if began is None else self._clock() - began


class ServiceBase:
    """The project, its form, its database; the parts of `AnnotationService` are built on it."""

    def __init__(
        self,
        project: Project,
        storage: Storage,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.project = project
        self.form = load_form(project.task)
        self._storage = storage
        self._clock = clock
        self._stopwatch = Stopwatch(monotonic)
        self.owner = Person("owner", "owner", LEAD, "main")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._storage.close()

    def ping(self) -> None:
        """Ask the database for one row; what it refuses is raised."""
        with self._storage.read() as connection:
            self._project_paused(connection)

    @property
    def forms(self) -> tuple[TaskForm, ...]:
        """The form of the task, and the one by which others check its answers, where there is."""
        more = (load_form(self.form.validation),) if self.form.validation else ()
        return (self.form, *more)

    def _lead(self, person: Person) -> None:
        if person.role != LEAD:
            raise NotAllowed("only a lead may do this", "ask the lead of the project")

    def _person(self, connection: sa.Connection, person: str, *, lock: bool = False) -> Row:
        query = sa.select(PEOPLE).where(PEOPLE.c.id == own_id(person))
        row = connection.execute(query.with_for_update() if lock else query).mappings().first()
        if row is None:
            raise InputError(f"there is no person '{person[:40]}'", "take an id of the list")
        return row

    def _record(self, connection: sa.Connection, row: Row) -> Person:
        """Return a row of people as the record that the pages see."""
        policies = self.project.policies
        taken = 0
        if row["stage"] in ("qualification", "failed"):
            query = sa.select(sa.func.count()).where(
                ATTEMPTS.c.person == row["id"], ATTEMPTS.c.answers.is_not(None)
            )
            taken = connection.execute(query).scalar_one()
        return Person(
            row["id"],
            row["name"],
            row["role"],
            row["stage"],
            row["paused"],
            policies.questionnaire and not row["asked"] and row["role"] != LEAD,
            max(0, 1 + policies.retakes - taken),
        )

    def _change(self, connection: sa.Connection, person: str, **values: Any) -> Person:
        change_row(connection, PEOPLE, person, **values)
        return self._record(connection, self._person(connection, person))

    def _log(
        self, connection: sa.Connection, actor: str, action: str, subject: str, detail: str = ""
    ) -> None:
        row = {"at": self._clock(), "actor": actor, "action": action, "subject": subject[:300]}
        connection.execute(sa.insert(AUDIT), {**row, "detail": detail[:2000]})

    def _project_paused(self, connection: sa.Connection) -> bool:
        query = sa.select(META.c.value).where(META.c.key == "paused")
        return connection.execute(query).scalar_one_or_none() == "yes"

    def _runs(self, connection: sa.Connection, person: str) -> tuple[int, int, int]:
        """Return good staging answers in a row: the longest run, the latest, the run that admits.

        An answer is good if the first review of it says so: what had to be mended was not right.
        """
        staged = sa.select(ITEMS.c.id).where(ITEMS.c.stage == "staging")
        there = len(connection.execute(staged).all())
        wanted = min(self.project.policies.good_in_a_row, there)
        query = (
            sa.select(ASSIGNMENTS.c.id, REVIEWS.c.verdict)
            .outerjoin(REVIEWS, REVIEWS.c.assignment == ASSIGNMENTS.c.id)
            .where(
                ASSIGNMENTS.c.person == person,
                ASSIGNMENTS.c.stage == "staging",
                ASSIGNMENTS.c.status == "submitted",
            )
            .order_by(ASSIGNMENTS.c.submitted, ASSIGNMENTS.c.id, REVIEWS.c.number)
        )
        first: dict[str, str | None] = {}
        for assignment, verdict in connection.execute(query):
            first.setdefault(assignment, verdict)
        longest = run = latest = 0
        for verdict in first.values():
            run = run + 1 if verdict == "good" else 0
            longest = max(longest, run)
            latest = latest if verdict is None else run
        return longest, latest, wanted

    def _working(self, connection: sa.Connection, person: Row) -> None:
        """Refuse work while the project or the person is paused, or before admission."""
        if self._project_paused(connection):
            raise WorkPaused("the project is paused", "your text is kept; come back later")
        if person["paused"]:
            raise WorkPaused("you are pausing", "continue when you like; your text is kept")
        if person["stage"] == "blocked":
            raise NotAllowed("a lead has blocked you", "read why on the page Work; you may appeal")
        if person["stage"] not in ("staging", "review", "main"):
            raise NotAllowed(f"you are at '{person['stage']}'", "finish that step first")


def change_row(connection: sa.Connection, table: sa.Table, row_id: str, **values: Any) -> None:
    """Change the row of this id."""
    connection.execute(sa.update(table).where(table.c.id == row_id).values(**values))


def item_of(row: Row) -> AnnotationItem:
    """Return the item of a row that was selected with `ITEM_COLUMNS`."""
    return AnnotationItem(
        row["item_id"], row["item_texts"], row["item_form"], row["item_stage"], row["item_author"]
    )


def form_of(row: Row) -> TaskForm:
    """Return the form of such a row, filled in with the item's texts."""
    return load_form(row["item_form"]).filled(row["item_texts"])


def decision_of(row: Row, **changes: str) -> Decision:
    """Return a row of decisions as a record; a person is not told which lead decided."""
    return Decision(**{name: row[name] for name in Decision.__slots__} | changes)


def own_id(value: str) -> str:
    """Return an id that can be ours, else one that nothing has: databases differ in bad text."""
    return value if _OWN.fullmatch(value) else ""


def random_id(prefix: str) -> str:
    """Return a short random name that says nothing about anybody: `p-` and 12 characters."""
    return f"{prefix}-" + "".join(secrets.choice(_ALPHABET) for _ in range(12))
