"""The server behind the guard, and replies whose verdict is known."""

import pytest

from moralscope.server.guard import Guard, GuardOptions, Reply
from moralscope.server.service import Service

from .guard_site import PROMPT, Behind, running


@pytest.fixture(scope="session")
def server():
    with running() as behind:
        yield behind


@pytest.fixture
def behind(server):
    server.__dict__.update(Behind().__dict__, url=server.url)
    return server


@pytest.fixture(scope="session")
def texts():
    """A reply that the scripted experts pass, and one that they flag and that can be revised."""
    service = Service()
    guard = Guard(service, GuardOptions(action="revise", experts="scripted", generator="scripted"))
    found = {}
    for n in range(400):
        text = f"I often steal {n} bikes from my neighbours and lie about it."
        (each,) = guard(PROMPT, [Reply(text)])
        if each.verdict != "abstained":
            found.setdefault(each.outcome, (text, each.text))
        if len(found) == 2:
            break
    service.close()
    assert set(found) == {"passed", "revised"}
    return found
