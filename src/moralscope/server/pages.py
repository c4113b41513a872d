"""Templates into pages: every text escaped, every missing name an error, nothing inline."""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.responses import HTMLResponse

FOLDER = Path(__file__).parent / "page"
STATIC = FOLDER / "static"


@cache
def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["when"] = when
    found.filters["duration"] = duration
    return found


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Draw a template."""
    return HTMLResponse(_templates().get_template(template).render(values), status)


def when(seconds: float | None) -> str:
    """Write a time as people read it, in UTC.

    Examples
    --------
    >>> when(0), when(None)
    ('1970-01-01 00:00', 'never')
    """
    if seconds is None:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def duration(seconds: float | None) -> str:
    """Write a duration.

    Examples
    --------
    >>> duration(42.4), duration(130), duration(7300)
    ('42 s', '2 min 10 s', '2 h 1 min')
    """
    if seconds is None:
        return "\N{EN DASH}"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
