"""The annotation server: its application and how it is started.

Routes are in `api` (annotators), `lead` (leads) and `pages` (what both look at); who may do what is
decided by the `AnnotationService` behind them.
"""

import os
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI

from moralscope.annotation.projects import open_project
from moralscope.annotation.records import Conflict, NotAllowed, NotSaved, WorkPaused
from moralscope.annotation.service import AnnotationService
from moralscope.rules.rulebooks.show import RuleSearch
from moralscope.server.annotate import api, lead, pages
from moralscope.server.annotate.access import Access
from moralscope.server.app import make_app
from moralscope.server.running import ServerAddress, run
from moralscope.server.security import VARIABLE, Sessions, Signer, kept_secret

STATUSES = {NotAllowed: 403, Conflict: 409, WorkPaused: 409, NotSaved: 503}


def annotation_app(
    service: AnnotationService, *, secret: bytes, address: ServerAddress | None = None
) -> FastAPI:
    """Return the application of one project."""
    address = address or ServerAddress()
    app = make_app(
        f"moralscope annotate: {service.project.name}",
        address,
        [api.router, lead.router, pages.router],
        STATUSES,
    )
    days = service.project.policies.session_days
    app.state.access = Access(service, Sessions(Signer(secret), address.is_https, days))
    app.state.agreement = lead.AgreementCache()
    app.state.search = RuleSearch(service.project)
    app.state.public_url = address.public_url.rstrip("/")
    return app


def serve(folder: Path, address: ServerAddress, announce: Callable[[str], None]) -> None:
    """Serve the project in `folder` until a signal comes; `announce` is told the address."""
    named = os.environ.get(VARIABLE, "").encode()  # a secret that the owner chose
    address.check(has_secret=bool(named))
    with open_project(folder) as service:
        service.warm()
        app = annotation_app(service, secret=named or kept_secret(folder), address=address)
        run(app, address, announce)
