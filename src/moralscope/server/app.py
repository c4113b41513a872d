"""An application with everything that all our servers share, before any route of its own.

Outermost first: headers, host names, token, time and size of the body, errors; then routes and
static files. Pages are drawn from templates: every text escaped, every missing name an error,
nothing inline.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

import moralscope.pages
from moralscope.core.errors import MoralscopeError
from moralscope.server.errors import BodyLimit, documented, install
from moralscope.server.limits import BodyTime, HostNames, RequestLimits, TokenFirst
from moralscope.server.running import ServerAddress
from moralscope.server.security import SecurityHeaders
from moralscope.version import __version__

FOLDER = Path(__file__).parent / "page"
STATIC = FOLDER / "static"
SHARED = Path(moralscope.pages.__file__).parent / "assets"  # palette, charts and tables
_THREADS = 8


def make_app(
    title: str,
    address: ServerAddress,
    routers: Iterable[APIRouter],
    statuses: dict[type[MoralscopeError], int] | None = None,
    limits: RequestLimits | None = None,
) -> FastAPI:
    """Return an application; `statuses` says which of our errors is which HTTP status."""
    app = FastAPI(
        title=title,
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_few_threads,
        responses=documented(400, 422, 429),
    )
    for router in routers:
        app.include_router(router)

    def draw(request: Request, status: int, title: str, detail: str) -> Response:
        return page(app.state.error_page, status, title=title, detail=detail, code=status)

    app.state.error_page = "error.html"
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.mount("/assets", StaticFiles(directory=SHARED), name="assets")
    install(app, draw, statuses)
    limits = limits or RequestLimits()
    app.state.token = limits.token
    app.add_middleware(BodyLimit, limit=limits.body)
    app.add_middleware(BodyTime, seconds=limits.seconds)
    if limits.token is not None:
        app.add_middleware(TokenFirst)
    app.add_middleware(HostNames, names=address.names)
    app.add_middleware(
        SecurityHeaders,
        https=address.is_https,
        is_static=lambda path: path.startswith(("/static/", "/assets/")),
    )
    return app


@asynccontextmanager
async def _few_threads(app: FastAPI) -> AsyncIterator[None]:
    """More threads than this only take each other's turns at a database (bench/annotation.py)."""
    current_default_thread_limiter().total_tokens = _THREADS
    yield


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["when"] = when
    environment.filters["duration"] = duration
    return environment


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Draw a template."""
    return HTMLResponse(_templates().get_template(template).render(values), status)


def when(seconds: float | None) -> str:
    """Write a time as people read it, in UTC."""
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
