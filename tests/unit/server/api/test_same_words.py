"""A wrong value is refused with the same words in Python, over HTTP and on the command line."""

import pytest

from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.options import RankOptions, ScoreOptions
from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.core.options import option_fields
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.options import LintOptions
from moralscope.rules.thresholds import Thresholds
from moralscope.server.site.chains import StoryChainOptions

from ....api_site import ACTIONS, EXCHANGES, site
from ....site_pages import whole_site

STORY = {"norm": "Be kind.", "situation": "Jo meets Al.", "intention": "Jo wants to pass."}
# Where each class is said over HTTP: address, inputs beside the options, and the command.
SAID = {
    ScoreOptions: ("/v1/score", {"actions": ACTIONS}, ["score", *ACTIONS]),
    CompareOptions: (
        "/v1/compare",
        {"actions": ACTIONS, "encoders": ["scripted", "scripted"]},
        ["compare", *ACTIONS, "--encoders", "scripted,scripted"],
    ),
    RankOptions: ("/v1/rank", {"question": "Why?", "answers": ["so"]}, ["rank", "Why?", "so"]),
    AuditOptions: ("/v1/audit", {"exchanges": EXCHANGES}, ["audit", "--reply", "No."]),
    LintOptions: ("/v1/rules/lint", {}, ["rules", "lint"]),
}


def wrong_values(kind):
    """Yield every option that HTTP may say with values just beside its range and choices."""
    for field in option_fields(kind):
        option = field.option
        if option.http is not True:  # names are refused by the body: elsewhere they may be paths
            continue
        if option.choices:
            yield field, "nonsense"
        for limit, step in ((option.least, -1), (option.most, 1)):
            if limit is None:
                continue
            if field.kind is str:
                yield field, "x" * (int(limit) + step)
            else:
                yield field, field.kind(limit + step)


def refusal(kind, field, value):
    with pytest.raises(InputError) as caught:
        kind(**{field.name: value})
    return caught.value


def cases(kinds):
    return [
        pytest.param(kind, field, value, id=f"{kind.__name__}-{field.name}-{str(value)[:12]}")
        for kind in kinds
        for field, value in wrong_values(kind)
    ]


@pytest.fixture(scope="module")
def client():
    with site() as made:
        yield made


@pytest.mark.parametrize(("kind", "field", "value"), cases(SAID))
def test_three_interfaces_say_the_same(client, capsys, kind, field, value):
    address, inputs, words = SAID[kind]
    known = refusal(kind, field, value)
    answer = client.post(address, json={**inputs, field.name: value})
    assert answer.status_code == 422
    assert (answer.json()["detail"], answer.json()["remedy"]) == (known.problem, known.remedy)
    with pytest.raises(SystemExit) as caught:
        main([*words, f"{field.flag}={value}"])
    assert caught.value.code == 2
    assert " ".join(str(known).split()) in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("kind", "field", "value"), cases([Thresholds]))
def test_thresholds_are_refused_alike(client, kind, field, value):
    known = refusal(kind, field, value)
    body = {"exchanges": EXCHANGES, "experts": "scripted", "thresholds": {field.name: value}}
    answer = client.post("/v1/audit", json=body).json()
    assert (answer["detail"], answer["remedy"]) == (known.problem, known.remedy)


@pytest.mark.parametrize(("kind", "field", "value"), cases([StoryChainOptions]))
def test_the_page_is_refused_alike(tmp_path, kind, field, value):
    known = refusal(kind, field, value)
    with whole_site(tmp_path) as client:
        asked = {"kind": "chain", "request": {**STORY, field.name: value}}
        answer = client.post("/api/site/jobs", json=asked).json()
    assert (answer["detail"], answer["remedy"]) == (known.problem, known.remedy)


def test_near_is_a_threshold_of_requests(client):
    body = {"exchanges": EXCHANGES, "experts": "scripted", "thresholds": {"near": 0.5}}
    assert client.post("/v1/audit", json=body).json()["config"]["thresholds"]["near"] == 0.5
