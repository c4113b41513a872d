"""The server behind the guard, and replies whose verdict is known."""

import pytest

from moralscope.server.guard import Guard, GuardedReply, GuardOptions
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
        text = f"I often steal {n} bikes QZX from my neighbours and lie about it."
        each, twice = guard(PROMPT, [GuardedReply(text), GuardedReply(f"{text}\n{text}")])
        # A server may say the text in two places: then both stand together in what is judged.
        if each.outcome == "passed" or twice.outcome != "passed":
            found.setdefault(each.outcome, (text, each.text))
        if {"passed", "revised"} <= set(found):
            break
    service.close()
    assert {"passed", "revised"} <= set(found)
    return found
