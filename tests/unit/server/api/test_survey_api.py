"""Language models over HTTP: surveys and scores, with the records of the command line."""

import pytest

from moralscope.core.records import to_plain
from moralscope.surveys.items import read_item
from moralscope.surveys.survey import survey

from ....api_site import site

ITEMS = [
    {"situation": "You find a purse.", "action1": "I give it back.", "action2": "I keep it."},
    {"situation": "You are late.", "action1": "I call.", "action2": "I run.", "better": "1"},
]


@pytest.fixture(scope="module")
def client():
    with site() as made:
        yield made


def test_a_survey_answers_with_the_record_of_python(client):
    body = {"items": ITEMS, "models": ["scripted"], "wordings": 1}
    answer = client.post("/v1/survey", json=body)
    assert answer.status_code == 200, answer.text
    rows = [read_item(row, number, "items") for number, row in enumerate(ITEMS, 1)]
    expected = to_plain(survey(rows, models=("scripted",), wordings=1))
    assert answer.json()["results"] == expected["results"]
    assert [row["id"] for row in expected["results"]] == ["1", "2"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"items": [{"situation": "You go.", "action1": "a", "action2": "a"}]}, "equal"),
        ({"items": [ITEMS[0], {"statement": "Lying is wrong."}]}, "one kind at a time"),
        ({"models": ["/etc"]}, "models"),
        ({"items": []}, "items"),
    ],
)
def test_bad_surveys_are_refused_in_words(client, change, told):
    body = {"items": ITEMS, "models": ["scripted"], "wordings": 1, **change}
    answer = client.post("/v1/survey", json=body)
    assert answer.status_code in (400, 422)
    assert told in answer.text


def test_a_language_model_scores_over_http(client):
    body = {"actions": ["lie", "help"], "axis": "choice", "model": "scripted"}
    record = client.post("/v1/score", json=body).json()
    assert record["config"]["model"] == "scripted"
    assert "answer_mass" in record["statistics"]["language"]
