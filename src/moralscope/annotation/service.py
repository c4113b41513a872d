"""The desk: everything that annotators and leads do, over one project's database.

It knows no HTTP. The parts are `desk_entry.py` (tokens, sessions), `desk_admission.py` (consent to
admission), `desk_work.py` (annotating), `desk_lead.py` and `desk_export.py` (the lead's side).
"""

from collections.abc import Sequence

import sqlalchemy as sa

from moralscope.annotation.checks import find
from moralscope.annotation.desk_admission import AdmissionDesk
from moralscope.annotation.desk_entry import EntryDesk
from moralscope.annotation.desk_export import ExportDesk
from moralscope.annotation.desk_work import WorkDesk
from moralscope.annotation.records import Item, Person
from moralscope.annotation.tables import ITEMS, PEOPLE, UNLIMITED
from moralscope.core.errors import InputError

_NAMED = 3


class Desk(EntryDesk, AdmissionDesk, WorkDesk, ExportDesk):
    """All operations of a project; thread-safe, one object a server.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from moralscope.annotation.records import Policies, Project
    >>> from moralscope.annotation.storage import Storage
    >>> policies = Policies(qualification=False, staging_items=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     desk = Desk(Project("ok", "action-yes-no", policies), Storage(Path(folder)))
    ...     _ = desk.add_items(desk.owner, [Item("1", {"action": "wave"})])
    ...     person = desk.join(desk.invite(desk.owner, "Jo").token).person
    ...     person = desk.consent(person, True)
    ...     work = desk.next_item(person)
    ...     receipt = desk.submit(person, work.assignment, "my-first-one", {"ok": True})
    ...     row, = desk.answers(desk.owner)
    ...     desk.close()
    >>> receipt.saved, row.item, row.answer
    (True, '1', {'ok': True})
    """

    def warm(self) -> None:
        """Load what the first answers would wait for; a server calls it before it announces."""
        form = self.form
        blank = {field.name: "word" for field in form.fields if field.type in ("text", "long")}
        find(form, {}, blank)

    def is_new(self) -> bool:
        """Say whether the database has no items and no people yet."""
        with self._storage.read() as connection:
            found = [connection.execute(sa.select(one).limit(1)).first() for one in (ITEMS, PEOPLE)]
        return found == [None, None]

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

    def add_items(self, lead: Person, items: Sequence[Item], *, staging: int = 0) -> int:
        """Add items to the project, the first `staging` of them for the staging round.

        An item that the project has already is refused, and with it the whole list.
        """
        self._lead(lead)
        quota = self.project.policies.people_per_item
        rows = [
            {
                "id": item.id,
                "form": self.project.task,
                "stage": "staging" if place < staging else "main",
                "texts": dict(item.texts),
                "quota": UNLIMITED if place < staging else quota,
                "held": 0,
                "author": "",
            }
            for place, item in enumerate(items)
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
