"""Stories that people wrote, checked by others: each revision becomes an item of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from moralscope.annotation.records import Answer, AnswerRow
from moralscope.annotation.tables import ITEMS


def checked_by_others(
    connection: sa.Connection,
    row: Mapping[Any, Any],
    form: str,
    revision: int,
    answer: Answer,
    quota: int,
) -> None:
    """Add an item that shows an answer to others; those of earlier revisions get no more people."""
    prefix = f"{row['id']}-r"
    earlier = sa.update(ITEMS).where(ITEMS.c.id.in_([f"{prefix}{n}" for n in range(1, revision)]))
    connection.execute(earlier.values(quota=ITEMS.c.held))
    item = {
        "id": f"{prefix}{revision}",
        "form": form,
        "stage": "main",
        "texts": {name: str(value) for name, value in answer.items() if isinstance(value, str)},
        "quota": quota,
        "held": 0,
        "author": row["person"],
    }
    connection.execute(sa.insert(ITEMS), item)


def accepted(
    written: AnswerRow, assignment: str, checks: Mapping[str, Sequence[AnswerRow]], wanted: int
) -> bool:
    """Say whether most of the people who had to check a text found nothing wrong with it.

    A text that too few have checked is not accepted yet; without validators every text is.
    """
    if not wanted:
        return True
    found = checks.get(f"{assignment}-r{written.revision}", ())
    good = sum(all(row.answer.values()) for row in found)
    return len(found) >= wanted and 2 * good > len(found)
