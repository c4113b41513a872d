"""An application with everything that all our servers share, before any route of its own.

Outermost first: headers, host names, body size, errors; then routes and static files.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from moralscope.core.errors import MoralscopeError
from moralscope.server.errors import documented, install
from moralscope.server.limits import MAX_BODY, BodyLimit
from moralscope.server.pages import STATIC, page
from moralscope.server.running import Place
from moralscope.server.security import SecurityHeaders
from moralscope.version import __version__

_THREADS = 8


def make_app(
    title: str,
    place: Place,
    routers: Iterable[APIRouter],
    statuses: dict[type[MoralscopeError], int] | None = None,
    max_body: int = MAX_BODY,
) -> FastAPI:
    """Return an application; `statuses` says which of our errors is which HTTP status.

    Examples
    --------
    >>> make_app("trial", Place(), []).title
    'trial'
    """
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
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    install(app, _draw, statuses)
    app.add_middleware(BodyLimit, limit=max_body)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=place.names, www_redirect=False)
    app.add_middleware(SecurityHeaders, https=place.is_https, is_static=_is_static)
    return app


@asynccontextmanager
async def _few_threads(app: FastAPI) -> AsyncIterator[None]:
    """More threads than this only take each other's turns at a database (bench/annotation.py)."""
    current_default_thread_limiter().total_tokens = _THREADS
    yield


def _is_static(path: str) -> bool:
    return path.startswith("/static/")


def _draw(request: Request, status: int, title: str, detail: str) -> Response:
    return page("error.html", status, title=title, detail=detail, code=status)
