"""The HTTP API: its application and how it is started.

Routes are in `routes` (jobs), `hooks` (what other tools ask) and `server.guard` (the proxy); `work`
runs jobs for them, `server.security` decides who may ask. Numbers and records are those of the
jobs.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer

from moralscope.core.errors import MoralscopeError
from moralscope.server.api import hooks, routes
from moralscope.server.api.metrics import RequestCounter
from moralscope.server.api.work import STATUSES, Bounds, WorkQueue
from moralscope.server.app import make_app
from moralscope.server.guard import Guard
from moralscope.server.guard import proxy as guard_routes
from moralscope.server.guard.log import GuardLog
from moralscope.server.guard.upstream import Upstream
from moralscope.server.limits import ARRIVAL, RequestLimits, refusal
from moralscope.server.options import GuardOptions
from moralscope.server.running import ServerAddress, run
from moralscope.server.security import AccessToken, Unknown, check_address

__all__ = ["AccessToken", "Bounds", "Proxy", "WorkQueue", "api_app", "serve"]

MAX_BODY = 4 * 1024 * 1024  # bytes of a request
PRUNE_EVERY = 3_600.0  # seconds
_log = logging.getLogger("moralscope.server")
_MORE = 5  # seconds that an answer has to reach its client after the job's own time


@dataclass(frozen=True, slots=True)
class Proxy:
    """The guard and the server that it stands in front of; without one, it answers hooks only."""

    guard: Guard
    upstream: Upstream | None = None


def api_app(
    work: WorkQueue,
    *,
    address: ServerAddress | None = None,
    token: AccessToken | None = None,
    proxy: Proxy | None = None,
) -> FastAPI:
    """Return the application around `work`; it closes `work` when it ends.

    `proxy` has the guard that hooks of other tools ask, one as usual if none is given; with a
    server behind it, its chat completions are served, each audited.
    """
    routers = [routes.router, routes.server_router, routes.open_router, hooks.router]
    proxy = proxy or Proxy(Guard(work.service, GuardOptions()))
    if proxy.upstream is not None:
        routers.append(guard_routes.router)
    if token is not None:  # the OpenAPI document says that a token is wanted
        documents = Depends(HTTPBearer(auto_error=False, description="The server's token."))
        for at, inner in enumerate(routers):
            is_open = inner is routes.open_router
            routers[at] = APIRouter(dependencies=[] if is_open else [documents])
            routers[at].include_router(inner)
    limits = RequestLimits(MAX_BODY, min(ARRIVAL, work.bounds.seconds), token)
    app = make_app("moralscope", address or ServerAddress(), routers, STATUSES, limits)
    app.state.work, app.state.proxy = work, proxy
    app.state.prompts = hooks.Prompts()
    app.add_middleware(guard_routes.OpenAIErrors)
    app.add_middleware(RequestCounter, metrics=work.metrics)
    app.add_exception_handler(Unknown, lambda request, error: refusal(Unknown()))
    app.router.lifespan_context = _lifespan
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    pruning = asyncio.create_task(_prune(app.state.proxy.guard.log))
    try:
        yield
    finally:
        pruning.cancel()
        if app.state.proxy.upstream is not None:
            await app.state.proxy.upstream.close()
        await asyncio.to_thread(app.state.work.close)


async def _prune(log: GuardLog | None) -> None:
    """Keep the retention of the guard's log, even if nobody asks the server for anything."""
    while log is not None:
        try:
            await asyncio.to_thread(log.prune)
        except MoralscopeError as error:
            _log.warning("%s", error)
        await asyncio.sleep(PRUNE_EVERY)


def serve(
    work: WorkQueue,
    address: ServerAddress,
    announce: Callable[[str], None],
    *,
    token: AccessToken | None = None,
    proxy: Proxy | None = None,
    mount: Callable[[FastAPI], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was accepted and return.

    `mount` adds more to the application: the pages.
    """
    check_address(address, token)
    app = api_app(work, address=address, token=token, proxy=proxy)
    if mount is not None:
        mount(app)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # The server behind has as much time as the audit.
        parts = 2 if proxy is not None and proxy.upstream is not None else 1
        run(app, address, announce, grace=parts * work.bounds.seconds + _MORE)
    except KeyboardInterrupt:  # both signals come out as this, after the last answer
        return
