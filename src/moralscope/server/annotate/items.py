"""The lead's items: browsed, and added from a table that is uploaded."""

import re
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request

from moralscope.annotation import records
from moralscope.annotation.item_files import read_items
from moralscope.core.errors import InputError
from moralscope.server.annotate.access import IN_LINE, Caller, Lead
from moralscope.server.errors import documented

router = APIRouter(
    prefix="/api/lead",
    tags=["leads"],
    responses=documented(401, 403, 409, 413, 422, 503),
    dependencies=[IN_LINE],
)
MOST_SHOWN = 5000


@router.get("/items")
def list_items(caller: Lead) -> list[records.ItemLine]:
    """List the items and how many people answered each; the first thousands of very many."""
    return caller.service.items(caller.person)[:MOST_SHOWN]


@router.post("/items", status_code=201)
async def add(
    request: Request,
    caller: Lead,
    name: Annotated[str, Query(max_length=300)],
    staging: Annotated[int, Query(ge=0, le=1000)] = 0,
) -> dict[str, int]:
    """Add the items of a table; the first `staging` of them are for the trial round."""
    return {"added": _add(caller, name, await request.body(), staging)}


def _add(caller: Caller, name: str, data: bytes, staging: int) -> int:
    ending = Path(name).suffix.lower()
    safe = ending if re.fullmatch(r"\.[a-z0-9]{1,8}", ending) else ""
    shown = Path(name).name[:80] or "the file"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"items{safe}")
        path.write_bytes(data)
        try:
            items = read_items(path, caller.service.project.task)
        except InputError as error:
            problem = error.problem.replace(str(path), shown)
            is_option = "--" in error.remedy  # of the command line: there is none here
            needed = ", ".join(shown.name for shown in caller.service.form.shows)
            raise InputError(
                problem, f"name its columns {needed}" if is_option else error.remedy
            ) from None
    return caller.service.add_items(caller.person, items, staging=staging)
