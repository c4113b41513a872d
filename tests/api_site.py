"""An API server without weights: every name of the catalogue answers with scripted models."""

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from moralscope.models.encoders import load_encoder
from moralscope.models.language import load_generator, load_language_model
from moralscope.rules.experts import prepare_rule_experts
from moralscope.server import models as serving_models
from moralscope.server.api import Bounds, WorkQueue, api_app
from moralscope.server.service import Service
from moralscope.stories.experts import prepare_experts

BASE = "http://localhost:8000"
ACTIONS = ["kill people", "kill time", "help people"]
EXCHANGES = [
    {"prompt": "Do you steal?", "reply": "I would never steal from a friend."},
    {"prompt": "Do you lie?", "reply": "Only to my boss, and only about small things."},
    {"prompt": "Hi", "reply": "😀"},
]
SCORE = {"actions": ACTIONS, "axis": "choice", "encoder": "scripted"}
AUDIT = {"exchanges": EXCHANGES, "experts": "scripted"}
LAUNCH = "import typer; from moralscope.cli.serve import serve; typer.run(serve)"
SOURCE = Path(__file__).parents[1] / "src"


@contextmanager
def site(bounds=None, **more):
    """Yield a client of an application of its own."""
    work = WorkQueue(Service(), bounds or Bounds(threads=8, queue=8, seconds=30))
    with TestClient(api_app(work, **more), base_url=BASE) as client:
        client.work = work
        yield client


def scripted_catalogue(monkeypatch):
    """Let every name of the catalogue be here and mean a scripted model."""
    monkeypatch.setattr(serving_models, "checked", lambda name, known, what: name)
    made = {
        "load_encoder": load_encoder,
        "prepare_experts": prepare_experts,
        "prepare_rule_experts": prepare_rule_experts,
        "load_generator": load_generator,
        "load_language_model": load_language_model,
    }
    for name, make in made.items():
        monkeypatch.setattr(serving_models, name, lambda _, make=make, **how: make("scripted"))


class Running(subprocess.Popen):
    """A server in a process of its own; what it says goes to a file, where no pipe can fill up."""

    def __init__(self, words, environment, log):
        self._log = log
        super().__init__(
            [sys.executable, "-c", LAUNCH, "--port", "0", *map(str, words)],
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "MORALSCOPE_OFFLINE": "1", **environment},
        )

    def said(self) -> str:
        """Return everything that it has printed."""
        return Path(self._log.name).read_text("utf-8")

    def port(self, seconds=120) -> int:
        """Return the port that it announces."""
        until = time.monotonic() + seconds
        while (found := re.search(r"moralscope: http://127\.0\.0\.1:(\d+)", self.said())) is None:
            assert self.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.05)
        return int(found[1])


@contextmanager
def process(*words, **environment):
    """Run a real server; yield it and its port."""
    with (
        tempfile.NamedTemporaryFile(suffix=".log") as log,
        Running(words, environment, log) as server,
    ):
        try:
            yield server, server.port()
        finally:
            if server.poll() is None:
                server.kill()
