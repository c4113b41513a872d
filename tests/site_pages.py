"""The whole site without weights: the API's application with the pages mounted on it."""

from contextlib import contextmanager

from starlette.testclient import TestClient

from moralscope.runs.kept import Runs
from moralscope.server.api import Bounds, WorkQueue, api_app
from moralscope.server.service import Service
from moralscope.server.site import mount_site

from .api_site import BASE

NAMES = ("actions", "models", "survey", "audit", "rules", "stories", "guard", "runs", "about")
PAGES = tuple(f"/{name}" for name in NAMES)


def whole_app(folder, **more):
    """Return the application; runs are kept below `folder`."""
    app = api_app(WorkQueue(Service(), Bounds(threads=8, queue=8, seconds=30)), **more)
    mount_site(app, Runs(folder / "runs"))
    return app


@contextmanager
def whole_site(folder, **more):
    """Yield a client of it."""
    with TestClient(whole_app(folder, **more), base_url=BASE) as client:
        yield client
