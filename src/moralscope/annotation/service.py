"""Everything that annotators and leads do, over one project's database. It knows no HTTP.

The parts: `service_base.py` (what all share), `service_people.py` (from link to admission),
`service_work.py` (annotating), `service_lead.py` (what leads see and say), `service_decisions.py`
(rejections, blocks, appeals, final answers).
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import sqlalchemy as sa

from moralscope.annotation.checks import find
from moralscope.annotation.exporting import audit_bytes, check_shape, export_bytes, people_bytes
from moralscope.annotation.forms import one_of
from moralscope.annotation.options import SHAPES
from moralscope.annotation.records import AnnotationItem, ItemLine, Person
from moralscope.annotation.service_decisions import DecisionService
from moralscope.annotation.service_people import PeopleService
from moralscope.annotation.service_work import WorkService
from moralscope.annotation.storage import ASSIGNMENTS, ITEMS, PEOPLE, UNLIMITED
from moralscope.core.errors import InputError
from moralscope.io.files import write_whole

FOLDER = "exports"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}(\.[a-z]{1,8})?")
_NAMED = 3


class AnnotationService(PeopleService, WorkService, DecisionService):
    """All operations of a project; thread-safe, one object a server."""

    def warm(self) -> None:
        """Load what the first answers would wait for; a server calls it before it announces."""
        form = self.form
        find(form, {}, {field.name: "word" for field in form.fields if field.kind.writes})

    def is_new(self) -> bool:
        """Say whether the database has no items and no people yet."""
        with self._storage.read() as connection:
            tables = (sa.select(table).limit(1) for table in (ITEMS, PEOPLE))
            return all(connection.execute(first).first() is None for first in tables)

    def apply_policies(self) -> None:
        """Give items the quota that `project.yaml` asks for now; nobody's answer is given up."""
        quota = self.project.policies.people_per_item
        fitting = sa.case((ITEMS.c.held > quota, ITEMS.c.held), else_=quota)
        where = (
            ITEMS.c.stage == "main", ITEMS.c.form == self.project.task, ITEMS.c.quota != fitting
        )  # fmt: skip
        with self._storage.read() as connection:
            if connection.execute(sa.select(ITEMS.c.id).where(*where).limit(1)).first() is None:
                return
        with self._storage.write() as connection:
            connection.execute(sa.update(ITEMS).where(*where).values(quota=fitting))
            self._log(connection, self.owner.id, "people per item", str(quota))

    def add_items(self, lead: Person, items: Sequence[AnnotationItem], *, staging: int = 0) -> int:
        """Add items to the project, the first `staging` of them for the staging round.

        An item that the project has already is refused, and with it the whole list.
        """
        self._lead(lead)
        quota = self.project.policies.people_per_item
        rows = [
            {
                "id": item.id,
                "form": self.project.task,
                "stage": "staging" if number < staging else "main",
                "texts": dict(item.texts),
                "quota": UNLIMITED if number < staging else quota,
                "held": 0,
                "author": "",
            }
            for number, item in enumerate(items)
        ]
        with self._storage.write() as connection:
            known = set(connection.execute(sa.select(ITEMS.c.id)).scalars())
            twice = [item.id for item in items if item.id in known]
            if twice:
                more = f" and {len(twice) - _NAMED:,} more" if len(twice) > _NAMED else ""
                raise InputError(
                    f"the project has {', '.join(twice[:_NAMED])}{more} already",
                    "leave them out, or give them other ids",
                )
            if rows:
                connection.execute(sa.insert(ITEMS), rows)
            self._log(connection, lead.id, "add items", str(len(rows)))
        return len(rows)

    def items(self, lead: Person) -> list[ItemLine]:
        """Return all items in their order, with how many people answered each."""
        self._lead(lead)
        done = sa.func.count(ASSIGNMENTS.c.id)
        submitted = sa.and_(
            ASSIGNMENTS.c.item == ITEMS.c.position, ASSIGNMENTS.c.status == "submitted"
        )
        query = (
            sa.select(ITEMS.c.id, ITEMS.c.stage, ITEMS.c.texts, ITEMS.c.quota, done)
            .outerjoin(ASSIGNMENTS, submitted)
            .group_by(ITEMS.c.position)
            .order_by(ITEMS.c.position)
        )
        with self._storage.read() as connection:
            rows = connection.execute(query).all()
        return [
            ItemLine(name, stage, texts, count, None if quota == UNLIMITED else quota)
            for name, stage, texts, quota, count in rows
        ]

    def export_to(self, lead: Person, name: str, shape: str, stage: str = "main") -> Path:
        """Write an export under a plain file name; return where it is.

        The suffix may be left out. An export of the same name is replaced, whole.
        """
        self._lead(lead)
        one_of(shape, SHAPES, "shape")
        check_shape(self.project, shape)
        path = self.export_path(name, shape)
        if shape == "people":
            data = people_bytes(self.facts(lead), self.project.policies.smallest_group)
        elif shape == "audit":
            data = audit_bytes(self.audit_log(lead, None)[::-1])
        else:
            rows = self.answers(lead, stage)
            if not rows:
                raise InputError("nobody has submitted an answer yet", "export again later")
            data = export_bytes(shape, self.project, rows, self.finals(lead))
        return self.write_export(lead, path, data, shape)

    def write_export(self, lead: Person, path: Path, data: Iterable[bytes], what: str) -> Path:
        """Write bytes where `export_path` says, readable by the owner only, and log it."""
        self._lead(lead)
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{path.parent} cannot be made ({error.strerror})", "see the project's folder"
            ) from error
        write_whole(path, data, private=True)
        with self._storage.write() as connection:
            self._log(connection, lead.id, f"export {what}", path.name)
        return path

    def export_path(self, name: str, shape: str) -> Path:
        """Return where an export of this name goes; a name with a path in it is refused."""
        suffix = SHAPES[shape].suffix
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(
                "the export's name is not a plain file name", "letters, digits, - and _, at most 64"
            )
        stem, dot, ending = name.partition(".")
        if dot and f".{ending}" != suffix:
            raise InputError(f"an export as {shape} ends in {suffix}", f"call it {stem}{suffix}")
        return Path(self.project.folder or ".") / FOLDER / f"{stem}{suffix}"
