"""The local page: five pages, drawn here and filled in the browser through the HTTP API.

`pages` draws, `routes` is what the pages need beside `/v1`: kept runs, uploads, figures, chains.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from moralscope.server.errors import problem
from moralscope.server.site import pages, routes
from moralscope.server.site.chains import StoryChains
from moralscope.server.site.routes import NoSuchRun, Runs


def mount_site(app: FastAPI, runs: Runs | None = None) -> None:
    """Add the pages to an application of `api_app`; runs are kept in MORALSCOPE_HOME.

    Examples
    --------
    >>> from moralscope.server.api import Work, api_app
    >>> from moralscope.server.service import Service
    >>> work = Work(Service())
    >>> app = api_app(work)
    >>> mount_site(app)
    >>> app.url_path_for("actions")
    '/actions'
    >>> work.close()
    """
    app.state.runs, app.state.figures = runs or Runs(), 0
    app.state.chains = StoryChains(app.state.work.service.models)
    app.include_router(pages.router)
    app.include_router(routes.router)
    app.add_exception_handler(NoSuchRun, _gone)
    before = app.router.lifespan_context

    @asynccontextmanager
    async def closing(within: FastAPI) -> AsyncIterator[None]:
        async with before(within):
            yield
        within.state.chains.close()

    app.router.lifespan_context = closing


def _gone(request: Request, error: Exception) -> Response:
    known = error if isinstance(error, NoSuchRun) else NoSuchRun("there is no such run", "")
    return problem(404, known.problem, known.remedy)
