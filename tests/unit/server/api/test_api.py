"""The HTTP API on scripted models: records, streams, limits, who may ask, what is counted."""

import csv
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.models.encoders.loading import encoder_names
from moralscope.models.options import AUDITORS, ENCODERS, GENERATORS
from moralscope.rules.rulebooks.warrant import warrant
from moralscope.server import service as serving
from moralscope.server.api import AccessToken, Bounds, Proxy, WorkQueue, api_app, schemas
from moralscope.server.guard import Guard, GuardOptions
from moralscope.server.guard.upstream import Upstream
from moralscope.server.running import ServerAddress
from moralscope.server.security import check_address, read_token
from moralscope.server.service import Service

from ....api_site import ACTIONS, AUDIT, SCORE, scripted_catalogue, site
from ....scripted_labels import DAY, labelled

LINES = {"Accept": "application/x-ndjson"}
TOKEN = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def client():
    with site() as made:
        yield made


def lines(answer):
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_names_are_those_of_the_catalogue():
    fields = schemas.AuditRequest.model_json_schema()["properties"]
    assert fields["experts"]["enum"] == list(AUDITORS)
    assert fields["generator"]["enum"] == list(GENERATORS)
    assert fields["encoder"]["anyOf"][0]["enum"] == list(ENCODERS)
    assert set(ENCODERS) == set(encoder_names())


def test_actions_are_scored_in_another_language_and_several_are_refused_over_http(client):
    body = {"actions": ["Menschen helfen", "Menschen töten"], "encoder": "scripted"}
    record = client.post("/v1/score", json={**body, "axis": "choice", "language": "de"}).json()
    assert record["config"]["language"] == "de"
    assert record["config"]["prompts"][1] == "Sollte ich {}?"
    wrong = client.post("/v1/score", json={**body, "language": "tlh"})
    assert wrong.status_code in (400, 422)
    body = {"actions": ACTIONS, "encoders": ["scripted"], "language": ["en", "de"]}
    refused = client.post("/v1/compare", json=body)
    assert refused.status_code == 422
    assert "several languages need the same actions in each" in refused.text


def test_texts_are_audited_in_place_of_exchanges(client):
    body = {"texts": ["I will kill them.", "What a nice day."], "experts": "scripted"}
    record = client.post("/v1/audit", json=body).json()
    assert [row["reply"] for row in record["results"]] == body["texts"]
    assert record["config"]["texts"] is True
    for wrong in ({}, {"texts": []}, {**AUDIT, "texts": ["a"]}, {"texts": [1]}):
        assert client.post("/v1/audit", json=wrong).status_code == 422


def test_score_answers_with_the_run_record(client):
    answer = client.post("/v1/score", json=SCORE)
    record = answer.json()
    assert (answer.status_code, record["schema"], record["job"]) == (
        200,
        "moralscope.run/1",
        "score",
    )
    assert [row["action"] for row in record["results"]] == ACTIONS


def test_the_contract_of_score_needs_no_more_than_actions(monkeypatch):
    scripted_catalogue(monkeypatch)
    with site() as client:
        answer = client.post("/v1/score", json={"actions": ACTIONS})
        assert answer.status_code == 200


def test_the_contract_of_audit_needs_no_more_than_exchanges(monkeypatch):
    scripted_catalogue(monkeypatch)
    with site() as client:
        answer = client.post("/v1/audit", json={"exchanges": AUDIT["exchanges"]})
        assert answer.status_code == 200, answer.text
        assert [row["id"] for row in answer.json()["results"]] == ["1", "2", "3"]


@pytest.mark.parametrize("axis", ["choice", "direction", "judge"])
def test_every_axis_scores_and_judges(client, axis):
    answer = client.post("/v1/score", json={**SCORE, "axis": axis})
    assert answer.status_code == 200, answer.text
    assert answer.json()["config"]["axis"] == axis


def test_people_are_set_beside_the_scores(client):
    human = "action,yes,no\n" + "".join(f"{name},{n},5\n" for n, name in enumerate(ACTIONS, 1))
    answer = client.post("/v1/score", json={**SCORE, "human": human})
    assert answer.json()["statistics"]["human"]["populations"]["people"]["pearson"]["n"] == 3
    wrong = client.post("/v1/score", json={**SCORE, "human": "action,yes\nlie,1\n"})
    assert wrong.status_code == 422
    assert wrong.json()["detail"].startswith("human line 1")


def test_compare_says_whether_its_gate_is_met(client):
    body = {"actions": ACTIONS, "encoders": ["scripted", "scripted"], "gate": "r>=2"}
    answer = client.post("/v1/compare", json=body)
    assert answer.status_code == 200
    assert answer.json()["statistics"]["gate"]["met"] is False


def test_rank_puts_the_nearest_first(client):
    body = {"question": "to toast bread", "answers": ["my hamster", "bread"], "encoder": "scripted"}
    assert client.post("/v1/rank", json=body).json()["results"][0]["answer"] == "bread"


def test_audit_takes_rulebooks_and_thresholds_of_the_request(client):
    book = {"text": "It's wrong to lie to your boss.\nYou should greet people.", "format": "txt"}
    body = {**AUDIT, "rulebooks": [book], "thresholds": {"flag": 0.0, "applies": 0.0}}
    record = client.post("/v1/audit", json=body).json()
    assert record["config"]["rules"] == 2
    assert record["config"]["thresholds"]["flag"] == 0.0
    both = client.post("/v1/audit", json={**AUDIT, "rulebooks": ["moralscope", book]}).json()
    assert both["config"]["rules"] > 100


def test_audit_streams_each_result_and_then_the_record(client):
    whole = client.post("/v1/audit", json=AUDIT).json()
    found = lines(client.post("/v1/audit", json=AUDIT, headers=LINES))
    assert [each["result"] for each in found if each["type"] == "result"] == whole["results"]
    last = found[-1]
    assert (last["type"], last["record"]["results"]) == ("record", [])
    assert {each["type"] for each in found[:-1]} == {"result", "progress"}


def test_score_streams_progress_and_then_the_whole_record(client):
    found = lines(client.post("/v1/score", json=SCORE, headers=LINES))
    assert [each["type"] for each in found] == ["progress", "record"]
    assert [row["action"] for row in found[-1]["record"]["results"]] == ACTIONS


def test_a_failure_within_a_stream_is_its_last_line(client):
    body = {**AUDIT, "gate": "nonsense>=1"}
    (only,) = lines(client.post("/v1/audit", json=body, headers=LINES))
    assert (only["type"], only["status"]) == ("problem", 422)
    assert only["remedy"]


def test_audit_sets_a_limit_on_fine_replies_of_the_request(client):
    fine = [{"prompt": "Hi!", "reply": f"Hello number {n}."} for n in range(30)]
    body = {**AUDIT, "false_alarms": "10%", "benign": fine}
    record = client.post("/v1/audit", json=body).json()
    found = record["statistics"]["false_alarms"]
    assert (found["replies"], record["config"]["thresholds"]["flag"]) == (30, found["limit"])
    assert len(record["results"]) == len(AUDIT["exchanges"])
    few = client.post("/v1/audit", json={**body, "benign": fine[:5]})
    assert (few.status_code, few.json()["remedy"]) == (422, "give at least 9, or a larger share")
    assert client.post("/v1/audit", json={**AUDIT, "false_alarms": "10%"}).status_code == 422


def test_with_rules_of_ones_own_alone_only_they_decide(client):
    book = {"text": "You should greet people.", "format": "txt"}
    body = {**AUDIT, "rulebooks": [book]}
    alone, both = (
        client.post("/v1/audit", json={**body, "general": general}).json()["results"]
        for general in (False, True)
    )
    assert all(row["verdict"]["probability"] is None for row in alone)
    assert any(row["verdict"]["probability"] is not None for row in both)


def test_a_rulebook_is_checked_on_replies_of_the_request(client):
    book = {"text": "You should tip waiters.\nYou should not tip waiters.", "format": "txt"}
    body = {"rulebooks": [book], "experts": "scripted", "exchanges": AUDIT["exchanges"]}
    record = client.post("/v1/rules/check", json=body).json()
    assert (record["job"], record["statistics"]["rules"]) == ("rules check", 2)
    assert record["statistics"]["replies"] == 2  # one holds no words


def test_rules_are_warranted_and_nothing_is_stored(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = {"text": "Never promise a day of delivery.", "format": "txt"}
    fine = [{"prompt": "Hi!", "reply": f"Hello number {n}, how are you?"} for n in range(60)]
    body = {"rulebooks": [book], "benign": fine, "experts": "scripted"}
    record = client.post("/v1/rules/warrant", json=body).json()
    assert record["job"] == "rules warrant"
    assert record["results"][0]["rule"] == book["text"]
    assert record["results"][0]["word"] in ("with review", "not by this model")
    assert record["statistics"]["fine"] == 60
    assert list(tmp_path.iterdir()) == []
    few = {**body, "benign": fine[:3]}
    assert "at least 49" in client.post("/v1/rules/warrant", json=few).text
    assert client.post("/v1/rules/warrant", json={"rulebooks": ["moralscope"]}).status_code == 422


def write_csv(path, columns, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def test_a_warrant_over_http_is_the_command_lines(client, tmp_path):
    said, fine = labelled()
    (tmp_path / "house.txt").write_text(f"{DAY}\nYou should name every fee.\n")
    options = {
        "labels": write_csv(tmp_path / "l.csv", ("prompt", "reply", "rule", "broken"), said),
        "benign": write_csv(tmp_path / "b.csv", ("prompt", "reply"), fine),
    }
    here = to_plain(warrant(rulebook=str(tmp_path / "house.txt"), experts="scripted", **options))
    body = {
        "rulebooks": [{"text": (tmp_path / "house.txt").read_text(), "format": "txt"}],
        "labels": [
            dict(zip(("prompt", "reply", "rule", "broken"), row, strict=True)) for row in said
        ],
        "benign": [{"prompt": prompt, "reply": reply} for prompt, reply in fine],
        "experts": "scripted",
    }
    there = client.post("/v1/rules/warrant", json=body).json()
    assert there["results"] == here["results"]
    assert there["statistics"] == here["statistics"]
    assert there["results"][0]["word"] == "enforceable"

    saved = json.loads((tmp_path / "house.warrant.json").read_text())
    asked = {
        "exchanges": [{"prompt": prompt, "reply": reply} for prompt, reply, *_ in said[:2]],
        "rulebooks": [{**body["rulebooks"][0], "warrant": saved}],
        "experts": "scripted",
    }
    record = client.post("/v1/audit", json=asked).json()
    words = {rule["text"]: rule["warrant"] for row in record["results"] for rule in row["rules"]}
    assert words == {row["rule"]: row["word"] for row in here["results"]}
    refused = client.post("/v1/audit", json={**asked, "require_warrant": True})
    assert (refused.status_code, "name every fee" in refused.text) == (422, True)
    only = {**asked, "rulebooks": [{"text": DAY, "format": "txt", "warrant": saved}]}
    record = client.post("/v1/audit", json={**only, "require_warrant": True}).json()
    assert record["config"]["rule_limits"] == {DAY: here["results"][0]["limit"]}
    stale = {**saved, "experts_sha256": "0" * 64}
    only["rulebooks"][0]["warrant"] = stale
    record = client.post("/v1/audit", json=only).json()
    assert record["results"][0]["rules"][0]["warrant"] is None
    assert any("made with other models" in line for line in record["warnings"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": [{"reply": "No.", "rule": DAY, "broken": "maybe"}]}, "broken"),
        ({"labels": [{"reply": "No.", "rule": "Be nice.", "broken": False}]}, "no label of a rule"),
    ],
)
def test_bad_labels_of_a_warrant_are_refused(client, change, words):
    body = {"rulebooks": [{"text": DAY, "format": "txt"}], "experts": "scripted", **change}
    answer = client.post("/v1/rules/warrant", json=body)
    assert (answer.status_code, words in answer.text) == (422, True)


def test_what_is_no_warrant_is_refused(client):
    of_a_run = {"schema": "moralscope.run/1", "experts": "", "experts_sha256": "", "budget": 0.02}
    of_a_run |= {"learnt_sha256": "", "rules": []}
    book = {"text": DAY, "format": "txt", "warrant": of_a_run}
    body = {"exchanges": [{"reply": "No."}], "rulebooks": [book], "experts": "scripted"}
    answer = client.post("/v1/audit", json=body)
    assert (answer.status_code, "is no moralscope.warrant/1" in answer.text) == (422, True)


def test_lint_names_the_line(client):
    bad = {"rulebooks": [{"text": "rules:\n- text: It is rude to stare.\n  severity: 9\n"}]}
    answer = client.post("/v1/rules/lint", json=bad)
    assert answer.status_code == 422
    assert "line 2" in answer.json()["detail"]
    good = {"rulebooks": [{"text": "You should be nice.", "format": "txt"}], "encoder": "scripted"}
    assert client.post("/v1/rules/lint", json=good).json()["job"] == "rules lint"


def test_models_tell_no_folder_and_read_as_openais_list(client):
    client.post("/v1/score", json=SCORE)
    answer = client.get("/v1/models").json()
    assert answer["object"] == "list"
    assert {"minilm", "mpnet"} <= {each["id"] for each in answer["data"]}
    assert "folder" not in answer["data"][0]
    assert "/" not in "".join(each["state"] for each in answer["data"])


def test_a_model_that_is_not_here_is_refused_with_the_command(empty_home):
    with site() as client:
        answer = client.post("/v1/score", json={**SCORE, "encoder": "mpnet"})
    assert answer.status_code == 422
    assert answer.json()["remedy"] == "run 'moralscope models pull mpnet'"


def test_metrics_count_requests_and_batches(client):
    client.post("/v1/score", json=SCORE)
    client.get("/v1/nothing")
    answer = client.get("/v1/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'moralscope_requests_total{route="/v1/score",status="200"}' in answer.text
    assert 'moralscope_requests_total{route="other",status="404"}' in answer.text
    assert 'moralscope_batch_items_total{kind="encoder",model="scripted"}' in answer.text
    assert "kill people" not in answer.text
    for line in answer.text.splitlines():
        assert line.startswith("# ") or float(line.rsplit(" ", 1)[1]) >= 0


def test_without_the_token_nobody_is_answered_but_health():
    with site(token=AccessToken(TOKEN)) as client:
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            answer = client.post("/v1/score", json=SCORE, headers=given)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"
            assert client.get("/v1/metrics", headers=given).status_code == 401
            assert client.get("/v1/models", headers=given).status_code == 401
        assert client.get("/v1/health").status_code == 200
        for given in ({"Authorization": f"bearer {TOKEN}"}, {"X-Moralscope-Token": TOKEN}):
            assert client.post("/v1/score", json=SCORE, headers=given).status_code == 200
        document = client.get("/api/openapi.json").json()
    assert "HTTPBearer" in document["components"]["securitySchemes"]
    assert document["paths"]["/v1/score"]["post"]["security"]
    assert "security" not in document["paths"]["/v1/health"]["get"]


def test_tokens_come_from_a_variable_or_a_file_and_are_never_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    (tmp_path / "token").write_text(f"{TOKEN}\nsecond line\n")
    for source in ("env:MY_TOKEN", str(tmp_path / "token")):
        assert read_token(source).fits(TOKEN)
        assert TOKEN not in repr(read_token(source))
    (tmp_path / "short").write_text("abc\n")
    for source in ("env:NOT_SET", str(tmp_path / "none"), str(tmp_path / "short")):
        with pytest.raises(InputError, match="--token-from"):
            read_token(source)


def test_other_machines_only_with_a_token():
    with pytest.raises(InputError, match="no token"):
        check_address(ServerAddress("0.0.0.0"), None)
    check_address(ServerAddress("0.0.0.0"), AccessToken(TOKEN))
    check_address(ServerAddress(), None)


def test_a_page_of_another_site_may_not_ask(client):
    answer = client.post("/v1/score", json=SCORE, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


def test_requests_of_many_clients_are_computed_together_with_the_same_numbers(client):
    alone = {
        name: client.post("/v1/score", json={**SCORE, "actions": [name]}).json()["results"]
        for name in map("feed {} cats".format, range(24))
    }
    before = client.work.service.models.counts()["encoder", "scripted"]
    with ThreadPoolExecutor(8) as pool:
        asked = pool.map(
            lambda name: client.post("/v1/score", json={**SCORE, "actions": [name]}).json(), alone
        )
        together = {record["results"][0]["action"]: record["results"] for record in asked}
    after = client.work.service.models.counts()["encoder", "scripted"]
    assert together == alone
    assert after.items - before.items == 24 * 10


class Held:
    """Jobs that wait until they are let go."""

    def __init__(self, monkeypatch):
        self.go, self.inside = threading.Event(), threading.Semaphore(0)
        real = serving.Service.score

        def score(*given, **more):
            self.inside.release()
            self.go.wait(10)
            return real(*given, **more)

        monkeypatch.setattr(serving.Service, "score", score)


def test_a_full_queue_is_said_with_a_time_to_come_back(monkeypatch):
    held = Held(monkeypatch)
    with site(Bounds(threads=1, queue=1, seconds=30)) as client, ThreadPoolExecutor(4) as pool:
        first = pool.submit(client.post, "/v1/score", json=SCORE)
        assert held.inside.acquire(timeout=5)
        second = pool.submit(client.post, "/v1/score", json=SCORE)
        until = time.monotonic() + 5
        while client.work.waiting < 2 and time.monotonic() < until:
            time.sleep(0.01)
        third = client.post("/v1/score", json=SCORE)
        assert third.status_code == 429
        assert int(third.headers["retry-after"]) >= 1
        assert third.json()["remedy"].startswith("try again in")
        assert client.get("/v1/health").json()["waiting"] == 2
        held.go.set()
        assert first.result(10).status_code == second.result(10).status_code == 200
        assert "moralscope_requests_refused_total 1" in client.get("/v1/metrics").text
        assert client.work.waiting == 0


def test_a_request_that_takes_too_long_is_ended(monkeypatch):
    held = Held(monkeypatch)
    with site(Bounds(threads=1, queue=1, seconds=0.2)) as client, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.post, "/v1/score", json=SCORE)
        assert held.inside.acquire(timeout=5)
        time.sleep(0.3)
        held.go.set()
        answer = asked.result(10)
    assert answer.status_code == 504
    assert "--timeout" in answer.json()["remedy"]


def test_every_status_and_an_example_are_documented(client):
    document = client.get("/api/openapi.json").json()
    jobs = ["score", "compare", "rank", "audit", "rules/lint", "rules/check", "rules/warrant"]
    for name in jobs:
        operation = document["paths"][f"/v1/{name}"]["post"]
        assert {"200", "400", "401", "403", "413", "422", "429", "500", "504"} <= set(
            operation["responses"]
        )
        answer = operation["responses"]["200"]["content"]["application/json"]
        assert answer["example"]["schema"] == "moralscope.run/1"
        asked = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        assert document["components"]["schemas"][asked.rsplit("/", 1)[1]]["examples"]
    for name in ("models", "health", "metrics"):
        assert "200" in document["paths"][f"/v1/{name}"]["get"]["responses"]


def test_the_docs_list_every_route_and_no_other():
    work = WorkQueue(Service())
    guard = Guard(work.service, GuardOptions())
    app = api_app(work, proxy=Proxy(guard, Upstream("http://localhost:1/v1")))
    paths = app.openapi()["paths"].items()
    served = {f"{method.upper()} {path}" for path, methods in paths for method in methods}
    page = (Path(__file__).parents[4] / "docs" / "serve.md").read_text("utf-8")
    listed = re.findall(r"^\| `((?:GET|POST) /\S+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted([*served, f"GET {app.openapi_url}"])
    work.close()
