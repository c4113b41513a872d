"""The local page: drawn here and filled in the browser through the HTTP API.

`pages` draws; `routes` is what the pages need beside `/v1`; `jobs` is work that goes on when its
page is left, `runs` what is kept of it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from moralscope.runs.kept import Runs
from moralscope.server.site import pages, routes
from moralscope.server.site.chains import StoryChains
from moralscope.server.site.jobs import Jobs
from moralscope.server.site.routes import Tickets


def mount_site(app: FastAPI, runs: Runs | None = None) -> None:
    """Add the pages to an application of `api_app`; runs are kept in MORALSCOPE_HOME."""
    app.state.runs = runs or Runs()
    app.state.runs.sweep()
    app.state.chains = StoryChains(app.state.work.service.models)
    app.state.jobs = Jobs(app.state.work, app.state.runs)
    app.state.tickets, app.state.error_page = Tickets(), "site/error.html"
    for router in (pages.router, routes.router, routes.report_router):
        app.include_router(router)
    before = app.router.lifespan_context

    @asynccontextmanager
    async def closing(within: FastAPI) -> AsyncIterator[None]:
        async with before(within):
            yield
            for job in within.state.jobs.running():  # nobody can follow them any more
                job.patience.cancelled.set()
        within.state.chains.close()

    app.router.lifespan_context = closing
