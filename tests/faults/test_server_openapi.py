"""schemathesis over the API's OpenAPI document: no 5xx, nothing that it does not name."""

import json
from collections import Counter
from contextlib import nullcontext

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from moralscope.server.api import Bounds, Proxy, WorkQueue, api_app
from moralscope.server.guard import Guard
from moralscope.server.guard.upstream import Upstream
from moralscope.server.options import GuardOptions
from moralscope.server.running import ServerAddress
from moralscope.server.service import Service

from ..api_site import scripted_catalogue

pytestmark = pytest.mark.slow
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)
COMPLETION = {
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "I steal."},
            "finish_reason": "stop",
        }
    ]
}


@pytest.fixture
def app(monkeypatch):
    scripted_catalogue(monkeypatch)
    work = WorkQueue(Service(), Bounds(threads=4, seconds=60))
    upstream = Upstream("http://localhost:1/v1")
    upstream._client = httpx2.AsyncClient(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(
                200,
                headers={"content-type": "application/json"},
                stream=httpx2.ByteStream(json.dumps(COMPLETION).encode()),
            )
        )
    )
    guard = Guard(work.service, GuardOptions(action="block", experts="scripted"))
    address = ServerAddress(public_url="http://testserver")  # what schemathesis calls it
    made = api_app(work, address=address, proxy=Proxy(guard, upstream))
    made.router.lifespan_context = lambda _: nullcontext()  # schemathesis ends it after Python did
    yield made
    work.close()


def test_nothing_that_is_sent_breaks_the_server(app):
    document = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) == 15
    answered = Counter()
    for operation in operations:
        modes = GenerationMode if operation.method == "post" else [GenerationMode.POSITIVE]
        for mode in modes:
            fuzz(operation.as_strategy(generation_mode=mode), answered)
    assert {200, 422} <= set(answered)
    assert answered.total() > 200


def fuzz(cases, answered):
    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def send(case):
        response = case.call()
        answered[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    send()


def test_the_examples_of_the_document_are_answered_as_it_says(app):
    """Every example request is good, and has the answer's shape."""
    document = app.openapi()
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    for path, methods in document["paths"].items():
        operation = methods.get("post")
        if operation is None or path.endswith("completions"):
            continue
        name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        (example,) = document["components"]["schemas"][name.rsplit("/", 1)[1]]["examples"]
        case = schema[path]["POST"].Case(body=example, media_type="application/json")
        response = case.call()
        assert response.status_code == 200, response.text
        case.validate_response(response, checks=CHECKS)
        shown = operation["responses"]["200"]["content"]["application/json"]["example"]
        assert set(shown) == set(response.json())
        if shown.get("results") and response.json()["results"]:
            assert set(shown["results"][0]) == set(response.json()["results"][0])
