"""A private PostgreSQL on loopback for tests, and annotation services over either database."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from moralscope.annotation.options import Policies
from moralscope.annotation.projects import new_project
from moralscope.annotation.records import AnnotationItem
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import Storage

VARIABLE = "MORALSCOPE_TEST_POSTGRES"  # a URL whose user may create databases


@contextlib.contextmanager
def private_postgres():
    """Yield the URL of a server that this test run started, or that the environment names."""
    if os.environ.get(VARIABLE):
        yield os.environ[VARIABLE]
        return
    if shutil.which("postgres") is None or shutil.which("initdb") is None:
        pytest.skip(f"no postgres on the PATH, and {VARIABLE} is not set")
    folder = Path(tempfile.mkdtemp(prefix="moralscope-pg-"))
    try:
        yield from _started(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder):
    who = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        user = next(name for name in ("postgres", "nobody") if _exists(name))
        entry = pwd.getpwnam(user)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        who = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    common = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **who}
    make = ["initdb", "-D", data, "-U", "tests", "--auth=trust", "--encoding=UTF8", "--no-locale"]
    subprocess.run(make, check=True, timeout=120, **common)
    start = ["postgres", "-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1", "-F"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(start, **{**common, "stderr": log}) as server,
    ):
        try:
            url = f"postgresql://tests@127.0.0.1:{port}/postgres"
            _wait(url, server)
            yield url
        finally:
            server.send_signal(signal.SIGINT)  # at once, whoever is connected
            server.wait(30)


def _exists(user):
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(user) is not None
    return False


def _wait(url, server):
    for _ in range(300):
        assert server.poll() is None, "postgres ended"
        with contextlib.suppress(Exception):
            connect(url).close()
            return
        time.sleep(0.1)
    raise AssertionError("postgres does not answer")


def connect(url):
    import pg8000.dbapi
    import sqlalchemy as sa

    place = sa.make_url(url)
    return pg8000.dbapi.connect(
        place.username, place.host, place.database, place.port or 5432, place.password
    )


def fresh_database(url):
    """Make an empty database and return its URL."""
    name = f"t{uuid.uuid4().hex}"
    connection = connect(url)
    connection.autocommit = True
    connection.cursor().execute(f"CREATE DATABASE {name}")
    connection.close()
    return url.rpartition("/")[0] + f"/{name}"


class Clock:
    """A clock that tests turn."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


RULE = {
    "rule": "It is wrong to lie to a friend.",
    "alignment": "disagree",
    "consensus": 4,
    "severity": 3,
    "foundations": ["loyalty"],
    "revised_reply": "I would rather tell her what happened.",
}
GOOD = dict.fromkeys(("both_reach", "keeps", "breaks", "realistic", "plain", "consistent"), True)
STORY = {
    "norm": "norm_1 0",
    "situation": "Anna and Ben share a kitchen.",
    "intention": "Anna wants a clean table.",
    "moral_action": "Anna wipes the table after dinner.",
    "moral_consequence": "Ben finds a place for his books.",
    "immoral_action": "Anna pushes the crumbs onto the floor.",
    "immoral_consequence": "Ben steps on the crumbs at night.",
    **dict.fromkeys(("both_reach", "keeps", "breaks", "realistic"), True),
}
OPEN = {"qualification": False, "staging_items": 0}


def make_service(
    folder, url="", task="action-yes-no", items=3, clock=time.time, monotonic=None, **policies
):
    """Return a service with a few items of the task, `policies` over its own."""
    monotonic = monotonic or (time.monotonic if clock is time.time else clock)
    project = new_project("tests", task, url)
    values = {**{name: getattr(project.policies, name) for name in Policies.__slots__}, **policies}
    project = replace(project, policies=Policies(**values), folder=str(folder))
    service = AnnotationService(project, Storage(folder, url), clock, monotonic)
    shown = [one.name for one in service.form.shows]
    found = [AnnotationItem(f"i{n}", {name: f"{name} {n}" for name in shown}) for n in range(items)]
    service.add_items(service.owner, found, staging=project.policies.staging_items)
    return service


def joined(service, name="Jo"):
    """Invite somebody who agrees at once; return who she is."""
    person = service.join(service.invite(service.owner, name).token).person
    return service.consent(person, True)


def new_id():
    return uuid.uuid4().hex
