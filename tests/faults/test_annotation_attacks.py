"""Attacks on the annotation server: each is refused, or what was sent is shown as text."""

import json
import sqlite3
import time
import unicodedata

import pytest

from moralscope.annotation.engines import SQLITE_FILE
from moralscope.annotation.records import AnnotationItem
from moralscope.server.annotate import annotation_app
from moralscope.server.security import Signer

from ..annotation_site import GOOD, SECRET, Site

SCRIPT = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}${7*7}'
SQL = "'; DROP TABLE people; -- \" OR 1=1 UNION SELECT * FROM tokens"
LEAD_READS = ["overview", "review", "agreement", "log", "exports/a.jsonl"]
LEAD_PAGES = ["/lead", "/lead/review", "/lead/agreement", "/lead/data"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """One server for most attacks: what an earlier one broke, a later one meets."""
    folder = tmp_path_factory.mktemp("attacked") / "project"
    folder.mkdir()
    items = [
        AnnotationItem(f"i{n}", {"prompt": f"Why {n}?", "reply": f"Because {n}."})
        for n in range(200)
    ]
    made = Site(folder, items=items)
    yield made
    made.service.close()


@pytest.fixture
def fresh(tmp_path):
    made = Site(tmp_path)
    yield made
    made.service.close()


def submit(guest, answer=GOOD, submission="submission-1"):
    work = guest.work()
    body = {"submission": submission, "answer": answer}
    return guest.post(f"/api/work/{work['assignment']}/submit", body)


def test_without_a_session_nothing_is_told(site):
    stranger = site.stranger()
    document = site.app.openapi()
    for path, methods in document["paths"].items():
        if path in ("/api/join", "/api/health"):
            continue
        for method in methods:
            address = path.format(assignment="a", person="p", token="t", name="n", decision="d")
            answer = stranger.send(method.upper(), address, {})
            assert answer.status_code == 401, (method, path)
    for page in ["/work", "/answers", "/guide", *LEAD_PAGES]:
        assert stranger.get(page).status_code == 401


@pytest.mark.parametrize("token", ["", "x", "A" * 43, "A" * 5000, SQL, "\x00", "💥", None, 1, []])
def test_a_wrong_token_opens_nothing(site, token):
    answer = site.stranger().post("/api/join", {"token": token})
    assert answer.status_code in (401, 422)
    assert "set-cookie" not in answer.headers


def test_guessing_tokens_is_slow(fresh):
    stranger = fresh.stranger()
    codes = [stranger.post("/api/join", {"token": f"guess-{n}"}).status_code for n in range(20)]
    assert codes[:10] == [401] * 10
    assert set(codes[10:]) == {429}


def test_a_valid_link_opens_behind_the_address_of_somebody_who_guesses(fresh):
    stranger, token = fresh.stranger(), fresh.invite("Kim")
    codes = [stranger.post("/api/join", {"token": f"guess-{n}"}).status_code for n in range(12)]
    assert codes[-1] == 429
    assert fresh.stranger().post("/api/join", {"token": token}).status_code == 200
    assert stranger.post("/api/join", {"token": "guess"}).status_code == 429


def test_a_wrong_token_takes_no_lock_from_anybody(fresh):
    with sqlite3.connect(fresh.folder / SQLITE_FILE, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert fresh.stranger().post("/api/join", {"token": "guess"}).status_code == 401
        assert time.monotonic() - began < 2
        other.execute("ROLLBACK")


def test_a_flood_is_refused_and_others_go_on(site, monkeypatch):
    guest, other = site.annotator(), site.annotator("Kim")
    # All in one moment: a busy machine may send no more in a second than are allowed.
    monkeypatch.setattr(site.app.state.access.requests, "_clock", lambda: 1e12)
    codes = {guest.get("/api/examples?q=a").status_code for _ in range(200)}
    assert codes == {200, 429}
    assert other.get("/api/me").status_code == 200


def test_nobody_sees_anothers_answers(site):
    jo, kim = site.annotator("Wilhelmina"), site.annotator("Kim")
    secret = {**GOOD, "rule": "It's wrong to read the diary of Zebulon."}
    assert submit(jo, secret).json()["saved"]
    for address in ("/api/history", "/api/work", "/api/me", "/work", "/answers", "/guide"):
        assert "Zebulon" not in kim.get(address).text
        assert "Wilhelmina" not in kim.get(address).text


@pytest.mark.parametrize("read", LEAD_READS)
def test_an_annotator_reads_nothing_of_the_leads(site, read):
    assert site.annotator().get(f"/api/lead/{read}").status_code == 403


def test_an_annotator_does_nothing_of_the_leads(site):
    jo = site.annotator()
    me = jo.get("/api/me").json()["person"]["id"]
    for method, path, body in (
        ("POST", "people", {"name": "Eve", "role": "lead"}),
        ("POST", f"people/{me}/admit", None),
        ("POST", f"people/{me}/reissue", None),
        ("POST", f"people/{me}/remove", None),
        ("DELETE", "tokens/t", None),
        ("PUT", "paused", {"paused": True}),
        ("POST", "exports", {"name": "a.jsonl", "shape": "jsonl"}),
        ("POST", "review/a", {"verdict": "good", "feedback": ""}),
    ):
        assert jo.send(method, f"/api/lead/{path}", body).status_code == 403, path
    for page in LEAD_PAGES:
        assert jo.get(page).status_code == 403


def test_a_forged_role_is_ignored_or_refused(site):
    jo = site.annotator()
    headers = {"X-Role": "lead", "Authorization": "Bearer lead", "X-Forwarded-User": "lead"}
    assert jo.get("/api/lead/overview", headers=headers).status_code == 403
    assert jo.get("/api/lead/overview?role=lead").status_code == 403
    assert jo.post("/api/consent", {"agrees": True, "role": "lead"}).status_code == 422
    jo.client.cookies.set("role", "lead")
    assert jo.get("/api/lead/overview").status_code == 403


@pytest.mark.parametrize(
    "forge", ["other key", "other purpose", "changed", "unsigned", "old", "future"]
)
def test_a_forged_cookie_opens_nothing(site, forge):
    jo = site.annotator()
    real = jo.client.cookies["moralscope"]
    value = real.rsplit(".", 2)[0]
    forged = {
        "other key": Signer(b"x" * 40).sign("session", value),
        "other purpose": Signer(SECRET).sign("csrf", value),
        "changed": real[:-3] + "AAA",
        "unsigned": value,
        "old": Signer(SECRET).sign("session", value, now=0),
        "future": Signer(SECRET).sign("session", value, now=time.time() + 200_000),
    }[forge]
    stranger = site.stranger()
    stranger.client.cookies.set("moralscope", forged)
    assert stranger.get("/api/me").status_code == 401
    stranger.client.cookies.clear()
    stranger.client.cookies.set("moralscope", real)
    assert stranger.get("/api/me").status_code == 200


def test_another_site_can_make_nobody_act(site):
    jo = site.annotator()
    own = jo.csrf
    assert jo.post("/api/pause", headers={"X-CSRF-Token": ""}).status_code == 403
    assert jo.post("/api/pause", headers={"X-CSRF-Token": "x" * 43}).status_code == 403
    kim = site.annotator("Kim")
    assert jo.post("/api/pause", headers={"X-CSRF-Token": kim.csrf}).status_code == 403
    assert jo.post("/api/pause", headers={"Origin": "https://evil.example"}).status_code == 403
    assert jo.post("/api/pause", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    join = {"token": site.invite("Eve")}
    evil = {"Origin": "https://evil.example"}
    assert site.stranger().post("/api/join", join, headers=evil).status_code == 403
    assert not jo.get("/api/me").json()["person"]["paused"]
    assert jo.post("/api/pause", headers={"X-CSRF-Token": own}).status_code == 200


def test_a_form_of_another_site_is_not_json(site):
    jo = site.annotator()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"content-type": kind, "X-CSRF-Token": jo.csrf}
        answer = jo.client.post("/api/consent", content='{"agrees": true}', headers=headers)
        assert answer.status_code == 422


def test_a_test_replayed_after_it_was_marked_is_refused(tmp_path):
    site = Site(tmp_path, qualification=True, retakes=1)
    jo = site.annotator()
    questions = jo.get("/api/test").json()["questions"]
    answers = {each["id"]: each["choices"][0]["value"] for each in questions}
    assert not jo.post("/api/test", {"answers": answers}).json()["passed"]
    assert jo.post("/api/test", {"answers": answers}).status_code == 422
    assert jo.get("/api/me").json()["person"]["attempts_left"] == 1
    assert {key for each in questions for key in each} == {"id", "text", "choices"}
    site.service.close()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{", b'"x"', b"\xff\xfe", b"{}" * 3, b"[" * 100_000,
        b'{"answer": []}', b'{"answer": {"rule": {"deep": 1}}}', b'{"answer": {"rule": NaN}}',
        b'{"answer": {"rule": "\\ud800"}}', b'{"answer": {"rule": "a\\u0000b"}}',
        b'{"answer": {"x": 1}, "more": 1}', b'{"answer": {"severity": ' + b"9" * 5000 + b"}}",
        json.dumps({"answer": {str(n): "x" for n in range(500)}}).encode(),
        json.dumps({"answer": {"rule": "x" * 50_000}}).encode(),
        json.dumps({"answer": {"foundations": ["x"] * 5000}}).encode(),
    ],
)  # fmt: skip
def test_malformed_bodies_are_refused(site, body):
    jo = site.annotator()
    name = jo.work()["assignment"]
    headers = {"content-type": "application/json", "X-CSRF-Token": jo.csrf}
    answer = jo.client.put(f"/api/work/{name}/draft", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert jo.work()["draft"] == {}


def test_oversize_bodies_are_refused(site):
    jo = site.annotator()
    name = jo.work()["assignment"]
    huge = {"answer": {"rule": "x" * 300_000}}
    assert jo.put(f"/api/work/{name}/draft", huge).status_code == 413
    assert jo.get("/api/examples", params={"q": "x" * 5000}).status_code == 422
    assert jo.work()["draft"] == {}


@pytest.mark.parametrize("hostile", [SCRIPT, SQL])
def test_script_and_sql_in_every_field_are_text(tmp_path, hostile):
    items = [AnnotationItem(f"h{n}", {"prompt": hostile, "reply": hostile}) for n in range(2)]
    site = Site(tmp_path, items=items, staging=1)
    jo = site.annotator(hostile[:100])
    lee = site.lead()
    words = f"{hostile} is wrong to do"
    answer = {**GOOD, "rule": words, "revised_reply": f"Never. {words}"}
    name = jo.work()["assignment"]
    assert jo.put(f"/api/work/{name}/draft", {"answer": answer}).status_code == 200
    pages = [jo.get("/work").text]
    jo.get("/api/examples", params={"q": hostile})
    assert submit(jo, answer).json()["saved"]
    lee.post(f"/api/lead/review/{name}", {"verdict": "mend", "feedback": hostile})
    pages += [jo.get(page).text for page in ("/work", "/answers", f"/answers/{name}")]
    who = jo.get("/api/me").json()["person"]["id"]
    assert lee.post(f"/api/lead/people/{who}/admit").json()["stage"] == "main"
    assert jo.post("/api/questionnaire", {"leaning": hostile[:80]}).status_code == 422
    skipped = jo.work()["assignment"]
    assert jo.post(f"/api/work/{skipped}/skip", {"reason": hostile}).status_code == 200
    lee.post("/api/lead/people", {"name": hostile[:80]})
    pages += [lee.get(page).text for page in LEAD_PAGES]
    for page in pages:
        assert "<script>" not in page
        assert "<img" not in page
        assert "49" not in [part.strip() for part in page.split("{{7*7}}")]
    assert any("DROP TABLE" in page or "&lt;script&gt;" in page for page in pages)
    assert site.service.overview(site.service.owner).people
    site.service.close()


def test_terminal_codes_in_texts_are_marked_in_csv_exports(tmp_path):
    hostile = "\x1b]52;c;aGk=\x07 \x1b[2J \x9b31m \x7f Who?\r\n\tYes."
    items = [AnnotationItem("\x1b[1mh", {"prompt": hostile, "reply": hostile})]
    site = Site(tmp_path, items=items)
    jo, lee = site.annotator(), site.lead()
    rule = "It's wrong to break a\x07 promise."
    assert submit(jo, {**GOOD, "rule": rule}).json()["saved"]
    for shape in ("csv", "mic"):
        name = f"{shape}.csv"
        assert lee.post("/api/lead/exports", {"name": name, "shape": shape}).status_code == 200
        written = (tmp_path / "exports" / name).read_bytes().decode()
        assert "aGk=" in written
        assert "Who?\r\n\tYes." in written
        assert not {char for char in written if unicodedata.category(char) == "Cc"} - set("\r\n\t")
    site.service.close()


@pytest.mark.parametrize(
    "name",
    ["../evil.jsonl", "..", ".", "/etc/passwd", "a/b.jsonl", "a\\b.jsonl", "..%2fevil.jsonl",
     "x\x00.jsonl", "", " ", ".hidden", "CON:.jsonl", "~/x.jsonl", "x" * 300, "a\nb.jsonl"],
)  # fmt: skip
def test_an_export_is_written_in_its_folder_or_not_at_all(site, name):
    lee = site.lead()
    before = {path for path in site.folder.parent.rglob("*") if path.is_file()}
    answer = lee.post("/api/lead/exports", {"name": name, "shape": "jsonl"})
    after = {path for path in site.folder.parent.rglob("*") if path.is_file()}
    new = {path for path in after - before if "sqlite" not in path.name}
    assert answer.status_code in (200, 422)
    assert all(path.parent == site.folder / "exports" for path in new)
    assert bool(new) == (answer.status_code == 200)


@pytest.mark.parametrize(
    "name",
    ["../project.yaml", "..%2fannotations.sqlite", "%2e%2e/annotations.sqlite", ".session-secret",
     "/etc/passwd", "%2fetc%2fpasswd", "link", "....//annotations.sqlite", "%00"],
)  # fmt: skip
def test_only_exports_are_downloaded(site, name):
    lee = site.lead()
    submit(site.annotator(), submission="for-the-export")
    assert lee.post("/api/lead/exports", {"name": "real.jsonl", "shape": "jsonl"}).json()["name"]
    link = site.folder / "exports" / "link"
    link.unlink(missing_ok=True)
    link.symlink_to("/etc/passwd")
    assert lee.get(f"/api/lead/exports/{name}").status_code in (404, 422)
    assert lee.get("/api/lead/exports/real.jsonl").status_code == 200


def test_another_secret_ends_all_sessions(site):
    jo = site.annotator()
    other = annotation_app(site.service, secret=b"another secret, thirty-two bytes!")
    stranger = site.stranger()
    stranger.client = type(stranger.client)(other, base_url="http://127.0.0.1")
    stranger.client.cookies.update(jo.client.cookies)
    assert stranger.get("/api/me").status_code == 401


def test_tokens_and_sessions_are_hashed_at_rest(site):
    token = site.invite("Jo")
    guest = site.stranger().join(token)
    secret = guest.client.cookies["moralscope"].rsplit(".", 2)[0]
    stored = b"".join(path.read_bytes() for path in site.folder.glob("annotations.sqlite*"))
    assert stored
    assert token.encode() not in stored
    assert secret.encode() not in stored


def test_items_that_nobody_gave_are_not_found(site):
    jo = site.annotator()
    for name in ("a-nothing", SQL, "../..", "%00", "x" * 500):
        address = f"/api/work/{name}/draft"
        assert jo.put(address, {"answer": {}}).status_code in (403, 404, 405, 409, 422)
