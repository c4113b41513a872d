"""The pages and what they ask for beside /v1, on scripted models."""

import json

import pytest

from moralscope.pages.html import asset
from moralscope.server.api import AccessToken
from moralscope.server.app import FOLDER

from ....api_site import SCORE
from ....site_pages import PAGES, whole_site

STORY = {
    "situation": "Jo meets a child.",
    "intention": "Jo wants to pass.",
    "norm": "Be kind.",
    "generator": "scripted",
    "experts": "scripted",
    "count": 2,
}
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def client(tmp_path):
    with whole_site(tmp_path) as made:
        yield made


@pytest.fixture
def kept(client):
    record = client.post("/v1/score", json=SCORE).json()
    return client.post("/api/site/runs", json=record).json()["id"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_drawn_without_anything_inline(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert f'href="{path}" aria-current="page"' in answer.text
    assert "<style" not in answer.text
    assert " style=" not in answer.text
    assert all("src=" in part.partition(">")[0] for part in answer.text.split("<script")[1:])
    assert "http://" not in answer.text  # nothing from elsewhere
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_the_start_leads_to_the_actions(client):
    assert client.get("/").url.path == "/actions"


def test_every_static_file_that_pages_name_is_there(client):
    for path in PAGES:
        for part in client.get(path).text.split('"'):
            if part.startswith(("/static/", "/assets/")):
                assert client.get(part).status_code == 200, part


def test_modules_import_only_files_of_ours_that_exist():
    for module in (FOLDER / "static" / "site").glob("*.js"):
        for line in module.read_text("utf-8").splitlines():
            if line.startswith("import "):
                name = line.rpartition(" from ")[2].strip('";')
                assert (FOLDER / name.removeprefix("/")).is_file(), (module.name, name)


def test_no_module_writes_text_as_markup():
    for module in (FOLDER / "static" / "site").glob("*.js"):
        source = module.read_text("utf-8")
        for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert sink not in source, (module.name, sink)


def test_palette_charts_and_tables_are_those_of_reports(client):
    for name in ("theme.css", "charts.js", "tables.js"):
        assert client.get(f"/assets/{name}").text == asset(name)


def test_a_missing_model_is_named_as_such(client, monkeypatch, tmp_path):
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path))
    assert "(not installed)" in client.get("/actions").text


def test_about_names_models_and_data_with_their_licences(client):
    text = client.get("/about").text
    assert "Apache-2.0" in text
    assert "moral-stories" in text
    assert "not moral advice" in text


def test_a_run_is_kept_listed_loaded_and_deleted(client, kept):
    line = client.get("/api/site/runs").json()[0]
    assert (line["id"], line["job"], line["results"]) == (kept, "score", 3)
    assert client.get(f"/api/site/runs/{kept}").json()["config"]["encoder"] == "scripted"
    assert client.delete(f"/api/site/runs/{kept}").status_code == 204
    assert client.get("/api/site/runs").json() == []
    gone = client.get(f"/api/site/runs/{kept}")
    assert (gone.status_code, gone.json()["detail"]) == (404, "there is no such run")


def test_a_report_is_a_file_and_never_a_page_of_ours(client, kept):
    answer = client.get(f"/api/site/runs/{kept}/report")
    assert answer.text.startswith("<!doctype html>")
    assert answer.headers["content-disposition"] == "attachment"


def test_a_report_opens_by_a_ticket_in_a_sandbox_of_its_own(client, kept):
    address = client.post(f"/api/site/runs/{kept}/report").json()["address"]
    answer = client.get(address)
    assert answer.text.startswith("<!doctype html>")
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    wrong = client.get("/report/guess", headers={"Accept": "text/html"})
    assert wrong.status_code == 404
    assert "script-src 'self'" in wrong.headers["content-security-policy"]


@pytest.mark.parametrize("record", [{}, {"schema": "other/1"}, {"schema": "moralscope.run/1"}])
def test_what_is_no_record_is_not_kept(client, record):
    answer = client.post("/api/site/runs", json=record)
    assert (answer.status_code, client.get("/api/site/runs").json()) == (422, [])
    assert answer.json()["remedy"]


@pytest.mark.parametrize("name", ["..%2F..%2Fsecret", "x", "20260101-000000000000-00000000"])
def test_a_name_is_never_a_path(client, tmp_path, name):
    (tmp_path / "secret.json").write_text('{"schema": "moralscope.run/1"}')
    assert client.get(f"/api/site/runs/{name}").status_code == 404
    assert client.delete(f"/api/site/runs/{name}").status_code == 404


def test_an_upload_is_read_as_the_command_line_reads_it(client):
    answer = client.post("/api/site/table?name=mine.csv", content=b"prompt,reply\nHi,Hello\n")
    assert answer.json()["rows"] == [["Hi", "Hello"]]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", b"x,y\n1\n"), ("a.png", b"\x89PNG"), ("a.jsonl", b"\xff\xfe"), ("a.parquet", b"")],
)
def test_a_wrong_upload_is_refused_by_the_name_its_owner_knows(client, name, content):
    answer = client.post(f"/api/site/table?name={name}", content=content)
    assert answer.status_code == 422
    assert name in answer.json()["detail"]
    assert "/tmp" not in answer.text


def test_remarks_and_tags_are_kept_and_wrong_ones_refused(client):
    exchanges = [{"prompt": "", "reply": "I would steal from a friend."}]
    asked = {"exchanges": exchanges, "experts": "scripted"}
    started = client.post("/api/site/jobs", json={"kind": "audit", "request": asked}).json()
    lines = client.get(f"/api/site/jobs/{started['id']}").text.splitlines()
    address = f"/api/site/runs/{json.loads(lines[-1])['run']}"
    label = {"rule": "Don't steal.", "broken": True}
    said = {"result": 0, "status": "disagree", "labels": [label]}
    assert client.post(f"{address}/remarks", json={"remarks": [said]}).json()["labels"] == 1
    (kept,) = client.get(address).json()["page"]["remarks"]
    assert kept == {**said, "note": ""}
    assert "Don't steal.,yes" in client.get("/api/site/labels").text
    for wrong in (
        {"remarks": []},
        {"remarks": [{**said, "status": "maybe"}]},
        {"remarks": [{**said, "labels": [{"rule": " ", "broken": True}]}]},
        {"remarks": [{**said, "result": 7}]},
    ):
        assert client.post(f"{address}/remarks", json=wrong).status_code in (400, 422)
    assert client.patch(address, json={"tags": ["weekly"]}).json()["tags"] == ["weekly"]
    line = client.patch(address, json={"title": "mine"}).json()
    assert (line["title"], line["tags"]) == ("mine", ["weekly"])
    assert set(line["figures"]) == {"share flagged", "share without a verdict", "mean score"}
    assert client.get("/api/site/guard").status_code == 422  # it keeps no log


def test_our_rulebook_can_be_started_from_and_has_no_remarks(client):
    text = client.get("/api/site/rulebook").text
    body = {"rulebooks": [{"text": text, "format": "yaml"}]}
    found = client.post("/v1/rules/lint", json=body).json()
    assert found["statistics"]["rules"] >= 400
    assert found["results"] == []


def job(client, kind, request, **more):
    """Start a job and follow it to its end."""
    started = client.post("/api/site/jobs", json={"kind": kind, "request": request, **more})
    assert started.status_code == 201, started.text
    lines = client.get(f"/api/site/jobs/{started.json()['id']}").text.splitlines()
    return [json.loads(line) for line in lines]


def test_a_job_is_told_to_its_end_and_kept_with_what_was_asked(client):
    asked = {**SCORE, "axis": "choice"}
    events = job(client, "score", asked, source="mine.csv")
    states = [each["job"]["state"] for each in events if each["type"] == "job"]
    assert states[-1] == "done"
    assert events[-1]["record"]["results"] == client.post("/v1/score", json=asked).json()["results"]
    kept = client.get(f"/api/site/runs/{events[-1]['run']}").json()
    assert kept["page"]["source"] == "mine.csv"
    assert kept["page"]["request"]["encoder"] == "scripted"
    assert "actions" not in kept["page"]["request"]  # the results hold them


def test_a_job_that_fails_says_why_and_is_not_kept(client):
    events = job(client, "score", {**SCORE, "human": "word\nx\n"})
    assert "column 'action'" in events[-1]["job"]["problem"]
    assert client.get("/api/site/runs").json() == []
    wrong = client.post("/api/site/jobs", json={"kind": "score", "request": {"actions": []}})
    assert wrong.status_code == 422
    assert "actions" in wrong.json()["detail"]


def test_models_are_compared_with_people_beside_them(client):
    actions = SCORE["actions"]
    ratings = "action,yes,no\n" + "".join(f"{a},{n},{9 - n}\n" for n, a in enumerate(actions, 3))
    asked = {"actions": actions, "encoders": ["scripted", "scripted"], "axis": "choice"}
    events = job(client, "compare", {**asked, "human": ratings})
    record = events[-1]["record"]
    people = record["statistics"]["human"]
    assert set(people) == set(record["config"]["encoders"])
    assert all(each["populations"]["people"]["n"] == 3 for each in people.values())


def test_a_chain_tells_every_step_then_its_rows_then_the_record(client):
    events = job(client, "chain", STORY)
    told = [each["result"]["event"] for each in events if each["type"] == "result"]
    assert told == ["proposed", "weighed", "proposed", "weighed", "row", "row"]
    rows = [e["result"]["row"] for e in events if e["type"] == "result" and "row" in e["result"]]
    assert [row["target"] for row in rows] == ["moral", "immoral"]
    assert events[-1]["record"]["job"] == "chain"


def test_a_watched_chain_gives_the_record_of_the_command_line(client):
    from moralscope.core.records import Decoding, to_plain
    from moralscope.models.language import load_generator
    from moralscope.stories.chains.run import ChainModels, ChainOptions, MoralStory, chain
    from moralscope.stories.experts import prepare_experts

    models = ChainModels(load_generator("scripted"), prepare_experts("scripted"))
    story = MoralStory("1", STORY["norm"], STORY["situation"], STORY["intention"])
    alone = chain("action-ranking", [story], models, ChainOptions(decoding=Decoding(count=2)))
    served = job(client, "chain", STORY)[-1]["record"]
    assert served["results"] == to_plain(alone.results)
    assert served["models"] == to_plain(alone.models)


@pytest.mark.parametrize(
    "change", [{"recipe": "/etc/passwd"}, {"norm": " "}, {"target": "x"}, {"generator": "../x"}]
)
def test_a_chain_that_cannot_be_is_refused(client, change):
    answer = client.post("/api/site/jobs", json={"kind": "chain", "request": {**STORY, **change}})
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_hostile_texts_are_kept_as_they_are_and_drawn_escaped(client):
    record = client.post("/v1/score", json={**SCORE, "actions": [HOSTILE]}).json()
    name = client.post("/api/site/runs", json=record).json()["id"]
    assert client.get(f"/api/site/runs/{name}").json()["results"][0]["action"] == HOSTILE
    assert HOSTILE not in client.get(f"/api/site/runs/{name}/report").text


def test_a_token_is_wanted_for_data_and_not_for_frames(tmp_path):
    with whole_site(tmp_path, token=AccessToken("correct-horse-battery")) as client:
        assert client.get("/actions").status_code == 200
        assert client.get("/api/site/runs").status_code == 401
        known = {"X-Moralscope-Token": "correct-horse-battery"}
        assert client.get("/api/site/runs", headers=known).json() == []


def test_a_page_of_another_site_cannot_delete(client, kept):
    answer = client.delete(f"/api/site/runs/{kept}", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert len(client.get("/api/site/runs").json()) == 1
