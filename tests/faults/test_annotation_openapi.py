"""schemathesis over the OpenAPI document: whatever is sent, by whomever, no 5xx."""

import contextlib
from collections import Counter
from dataclasses import replace

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from moralscope.annotation.records import AnnotationItem
from moralscope.server.annotate import annotation_app
from moralscope.server.errors import RateLimit
from moralscope.server.running import ServerAddress

from ..annotation_site import SECRET, Guest, Site

pytestmark = pytest.mark.slow
ITEMS = [
    AnnotationItem(f"i{n}", {"prompt": f"Why {n}?", "reply": f"Because {n}."}) for n in range(900)
]
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


class People:
    """An annotator and a lead who join again whenever a request has ended their session."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.guests: dict[str, Guest] = {}

    def __getitem__(self, role: str) -> Guest:
        guest = self.guests.get(role)
        if guest is None or guest.get("/api/me").status_code == 401:
            made = self.site.lead if role == "lead" else self.site.annotator
            guest = self.guests[role] = made()
        return guest

    def ids(self) -> dict[str, str]:
        """Return real ids for the places of a path: random ones would never be found."""
        self.site.service.set_paused(self.site.service.owner, False)
        guest = self["annotator"]
        guest.post("/api/resume")
        if guest.get("/api/me").json()["person"]["stage"] == "blocked":  # by a fuzzed request
            guest = self.guests["annotator"] = self.site.annotator()
        me = guest.get("/api/me").json()["person"]["id"]
        work = guest.get("/api/work").json()["work"]
        return {"assignment": work["assignment"], "person": me, "name": "out.jsonl"}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("fuzzed"), items=ITEMS, questionnaire=True)
    address = ServerAddress(public_url="http://testserver")  # what schemathesis calls it
    site.app = annotation_app(site.service, secret=SECRET, address=address)
    endless = RateLimit(per_second=1e6, burst=10**6)
    access = site.app.state.access
    site.app.state.access = replace(access, requests=endless, wrong_tokens=endless)
    yield People(site)
    site.service.close()


def test_nothing_that_is_sent_breaks_the_server(people):
    document = schemathesis.openapi.from_asgi("/api/openapi.json", people.site.app)
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) >= 25
    answered = Counter()
    for operation in operations:
        for mode in GenerationMode:
            with contextlib.suppress(Unsatisfiable):  # nothing of it could be sent wrongly
                fuzz(people, operation.as_strategy(generation_mode=mode), answered)
    assert {200, 403, 422} <= set(answered)
    assert answered.total() > 500


def fuzz(people, cases, answered):
    @settings(
        max_examples=10,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def sent_by_both(case):
        for role in ("annotator", "lead"):
            guest = people[role]
            own = {"X-CSRF-Token": guest.csrf}
            if case.path_parameters:
                known = people.ids()
                case.path_parameters = {k: known.get(k, v) for k, v in case.path_parameters.items()}
            response = case.call(headers=own, cookies=dict(guest.client.cookies))
            answered[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

    sent_by_both()


def test_the_document_names_every_route(people):
    document = people.site.app.openapi()
    assert len(document["paths"]) >= 25
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert {"200", "201", "204"} & set(operation["responses"]), operation["summary"]
