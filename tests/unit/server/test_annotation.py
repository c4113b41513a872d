"""The annotation server, request by request: from the link to the export."""

import re

import pytest

from moralscope.annotation.records import AnnotationItem

from ...annotation_site import ACTION, GOOD, Site

HTML = {"accept": "text/html"}


def submit(guest, answer=GOOD, submission=None):
    work = guest.work()
    body = {"submission": submission or f"sub-{work['assignment']}", "answer": answer}
    return guest.post(f"/api/work/{work['assignment']}/submit", body).json()


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.service.close()


def test_who_declines_is_let_go(site):
    guest = site.newcomer()
    assert guest.post("/api/consent", {"agrees": False}).json()["stage"] == "declined"
    assert "You declined" in guest.get("/work").text
    assert guest.get("/api/work").status_code == 403


def test_no_work_before_consent(site):
    assert site.newcomer().get("/api/work").status_code == 403


def test_checks_are_told_by_field_and_block_a_submission(site):
    guest = site.annotator()
    name = guest.work()["assignment"]
    poor = {**GOOD, "rule": "it is it is it is it is"}
    told = guest.post(f"/api/work/{name}/check", {"answer": poor}).json()["findings"]
    assert {each["field"] for each in told if each["blocks"]} == {"rule"}
    refused = guest.post(
        f"/api/work/{name}/submit", {"submission": "too-poor-1", "answer": poor}
    ).json()
    assert not refused["saved"]
    assert refused["findings"][0]["field"] == "rule"


def test_a_submission_sent_twice_is_one(site):
    guest = site.annotator()
    name = guest.work()["assignment"]
    body = {"submission": "only-once", "answer": GOOD}
    first = guest.post(f"/api/work/{name}/submit", body).json()
    again = guest.post(f"/api/work/{name}/submit", body).json()
    assert (first["repeated"], again["repeated"], again["saved"]) == (False, True, True)
    assert len(site.service.answers(site.service.owner)) == 1


def test_skip_pause_and_go_on(site):
    guest = site.annotator()
    first = guest.work()["assignment"]
    assert guest.post(f"/api/work/{first}/skip", {"reason": "too sad"}).json()["done"]
    assert guest.work()["assignment"] != first
    assert guest.post("/api/pause").json()["paused"]
    assert "Take your time" in guest.get("/work").text
    assert guest.get("/api/work").status_code == 409
    assert not guest.post("/api/resume").json()["paused"]
    assert guest.work()


def test_a_paused_project_takes_nothing_and_says_so(site):
    guest, lee = site.annotator(), site.lead()
    name = guest.work()["assignment"]
    lee.put("/api/lead/paused", {"paused": True})
    assert "The project is paused" in guest.get("/work").text
    body = {"submission": "while-paused", "answer": GOOD}
    assert guest.post(f"/api/work/{name}/submit", body).status_code == 409
    lee.put("/api/lead/paused", {"paused": False})
    assert guest.post(f"/api/work/{name}/submit", body).json()["saved"]


def test_examples_are_found_by_words(site):
    guest = site.annotator()
    found = guest.get("/api/examples", params={"q": "steal"}).json()
    assert "steal" in found[0]["text"]
    assert found[0]["foundations"]
    assert guest.get("/api/examples", params={"q": "xyzzy"}).json() == []
    assert guest.get("/api/examples", params={"q": ""}).status_code == 422


def test_a_full_disk_is_told_as_not_saved(site, monkeypatch):
    from moralscope.annotation.records import NotSaved

    guest = site.annotator()
    name = guest.work()["assignment"]

    def full(*_):
        raise NotSaved("the disk is full", "keep the page open")

    monkeypatch.setattr(site.service, "submit", full)
    answer = guest.post(f"/api/work/{name}/submit", {"submission": "on-full-disk", "answer": GOOD})
    assert answer.status_code == 503
    assert answer.json()["title"] == "Not saved"


def test_annotators_see_what_the_form_shows_and_nothing_else(tmp_path):
    hidden = [AnnotationItem("h", {"action": "wave", "system": "gpt-hidden"})]
    guest = Site(tmp_path, "action-yes-no", hidden).annotator()
    assert "gpt-hidden" not in guest.get("/api/work").text
    assert "gpt-hidden" not in guest.get("/work").text
    assert [each["name"] for each in guest.work()["form"]["shows"]] == ["action"]
    assert guest.work()["item"]["id"] == ""


def test_every_task_draws_its_form(tmp_path):
    from moralscope.annotation.forms import form_names, load_form, task_names

    assert set(task_names()) < set(form_names())
    for number, task in enumerate(task_names()):
        texts = {each.name: f"<i>{each.name}</i>" for each in load_form(task).shows}
        folder = tmp_path / str(number)
        folder.mkdir()
        site = Site(folder, task, [AnnotationItem("x", texts)])
        page = site.annotator().get("/work")
        assert page.status_code == 200, task
        for field in load_form(task).fields:
            assert f'data-field="{field.name}"' in page.text
        assert "<i>" not in page.text
        site.service.close()


def test_every_type_of_question_has_a_macro_and_a_way_to_be_read():
    from moralscope.annotation.questions import QUESTION_TYPES
    from moralscope.server.app import FOLDER

    macros = (FOLDER / "templates/fields.html").read_text("utf-8")
    script = (FOLDER / "static/form.js").read_text("utf-8")
    for name, kind in QUESTION_TYPES.items():
        assert f"{{% macro {name}(field, value" in macros
        assert kind.reads == "one" or f'reads === "{kind.reads}"' in script


def test_a_story_is_written_then_checked_by_others(tmp_path):
    once = {"people_per_item": 1, "validators_per_item": 1}
    norms = {f"norm_{n}": f"You should keep promise {n}." for n in (1, 2, 3)}
    site = Site(tmp_path, "story-writing", [AnnotationItem("s", norms)], **once)
    writer, other = site.annotator("Wen"), site.annotator("Ola")
    story = {
        "norm": norms["norm_2"],
        "situation": "Ann has promised to water the plants of Bob next door.",
        "intention": "Ann wants to spend the weekend at the lake.",
        "moral_action": "Ann waters the plants early and then goes to the lake.",
        "moral_consequence": "Bob finds green plants and thanks Ann.",
        "immoral_action": "Ann drives to the lake and leaves the plants dry.",
        "immoral_consequence": "Bob finds brown plants and asks Ann what happened.",
        **dict.fromkeys(("both_reach", "keeps", "breaks", "realistic"), True),
    }
    assert submit(writer, story)["saved"], submit(writer, story)
    work = other.work()
    assert work["form"]["name"] == "story-check"
    assert story["situation"] in [each["text"] for each in work["form"]["shows"]]
    assert "Wen" not in other.get("/work").text
    yes = dict.fromkeys([each["name"] for each in work["form"]["fields"]], True)
    assert submit(other, yes)["saved"]
    assert writer.get("/api/work").json()["work"] is None


def test_the_leads_pages_say_who_did_what(site):
    guest, lee = site.annotator("Jo <script>"), site.lead()
    submit(guest)
    page = lee.get("/lead").text
    assert "Jo &lt;script&gt;" in page
    line = next(p for p in lee.get("/api/lead/overview").json()["people"] if p["submitted"])
    assert line["person"]["name"] == "Jo <script>"
    for address in ("/lead/review", "/lead/agreement", "/lead/data"):
        assert lee.get(address, headers=HTML).status_code == 200
    assert any(line["action"] == "join" for line in lee.get("/api/lead/log").json())


def test_agreement_so_far_is_of_the_answers_so_far(tmp_path):
    site = Site(tmp_path, "action-yes-no", ACTION)
    people = [site.annotator(f"P{n}") for n in range(3)]
    for number, guest in enumerate(people):
        for _ in range(4):
            submit(guest, {"ok": number != 0})
    found = site.lead().get("/api/lead/agreement").json()
    assert found["fields"][0]["field"] == "ok"
    assert found["fields"][0]["alpha"] < 0.1
    assert sum(found["items"][0]["counts"].values()) == 3
    first = found["items"][0]
    assert first["text"].startswith("wave")


def test_a_revoked_link_ends_its_sessions_at_once(site):
    guest, lee = site.annotator(), site.lead()
    people = lee.get("/api/lead/overview").json()["people"]
    token = next(p["tokens"][0] for p in people if p["person"]["name"] == "Jo")
    assert guest.get("/api/me").status_code == 200
    assert lee.send("DELETE", f"/api/lead/tokens/{token}").json()["done"]
    assert guest.get("/api/me").status_code == 401
    assert "join" in guest.get("/work", headers=HTML).text


def test_an_invited_person_joins_by_the_link(site):
    lee = site.lead()
    invited = lee.post("/api/lead/people", {"name": "Kim"}).json()
    base, _, token = invited["link"].partition("#")
    assert base == "http://127.0.0.1/join"
    assert site.stranger().join(token).get("/api/me").json()["person"]["name"] == "Kim"
    again = lee.post(f"/api/lead/people/{invited['person']['id']}/reissue").json()
    assert again["token"] != token


def test_leaving_ends_the_session_on_the_server_too(site):
    guest = site.annotator()
    cookie = dict(guest.client.cookies)
    assert guest.post("/api/leave").json()["done"]
    stranger = site.stranger()
    stranger.client.cookies.update(cookie)
    assert stranger.get("/api/me").status_code == 401


def test_the_start_sends_everybody_to_their_place(site):
    for guest, place in (
        (site.stranger(), "/join"),
        (site.annotator(), "/work"),
        (site.lead(), "/lead"),
    ):
        answer = guest.get("/", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, place)


def test_pages_carry_no_inline_script_or_style(tmp_path):
    long_way = Site(tmp_path, staging=2, qualification=True, questionnaire=True)
    jo, lee = long_way.newcomer(), long_way.lead()
    pages = [jo.get("/join").text, jo.get("/work").text]
    jo.post("/api/consent", {"agrees": True})
    pages += [jo.get("/work").text, jo.get("/guide").text, lee.get("/lead").text]
    for page in pages:
        assert "style=" not in page
        assert "<style" not in page
        assert not re.search(r"\son\w+\s*=", page)
        assert page.count("<script") == len(
            re.findall(r'<script (?:type="module" )?src="/static/', page)
        )
        assert "http" not in page.replace("http-equiv", "")
    long_way.service.close()


def test_rejection_appeal_and_block_over_http(site):
    jo, al, lee = site.annotator(), site.annotator("Al"), site.lead()
    work = jo.work()["assignment"]
    sent = {"submission": "rejected-one", "answer": GOOD}
    assert jo.post(f"/api/work/{work}/submit", sent).json()["saved"]
    me = jo.get("/api/me").json()["person"]["id"]
    assert [one["assignment"] for one in lee.get(f"/api/lead/people/{me}/unread").json()] == [work]
    assert al.post(f"/api/lead/answers/{work}/reject", {"reason": "no"}).status_code == 403
    assert lee.post(f"/api/lead/answers/{work}/reject", {"reason": ""}).status_code == 422
    made = lee.post(f"/api/lead/answers/{work}/reject", {"reason": "No rule."}).json()
    (own,) = jo.get("/api/decisions").json()
    assert (own["reason"], own["appeal"], own["lead"]) == ("No rule.", None, "")
    appeal = f"/api/decisions/{made['id']}/appeal"
    assert al.post(appeal, {"text": "mine"}).status_code == 422
    assert jo.post(appeal, {"text": "It is one."}).json()["outcome"] == "stands"
    assert jo.post(appeal, {"text": "It is."}).status_code == 422
    settle = f"/api/lead/decisions/{made['id']}/settle"
    assert lee.post(settle, {"lift": False, "answer": "No."}).json()["outcome"] == "declined"
    blocked = lee.post(f"/api/lead/people/{me}/block", {"reason": "Again."}).json()
    assert lee.get("/api/lead/decisions").json()[0]["id"] == blocked["id"]
    assert jo.get("/api/work").status_code == 403
    assert "You were blocked" in jo.get("/work").text
    assert "No." in jo.get("/answers").text
    log = [line["action"] for line in lee.get("/api/lead/log").json()]
    assert log[:4] == ["block", "decline appeal", "appeal", "reject"]
    shown = lee.get(f"/lead/people/{me}")
    assert shown.status_code == 200
    assert lee.get("/lead/people/p-nobody").status_code == 404


def test_a_lead_adjudicates_over_http_and_annotators_may_not(tmp_path):
    site = Site(tmp_path, "action-yes-no", ACTION[:2], people_per_item=2)
    lead = site.lead()
    people = [site.annotator("Jo"), site.annotator("Al")]
    for place, person in enumerate(people):
        work = person.work()
        body = {"submission": f"submission-{place}", "answer": {"ok": place == 0}}
        assert person.post(f"/api/work/{work['assignment']}/submit", body).status_code == 200
    (one,) = lead.get("/api/lead/disputed").json()
    assert (one["differs"], one["final"]) == (["ok"], None)
    body = {"item": one["item"]["id"], "answer": {"ok": False}, "comment": "<b>rude</b>"}
    assert people[0].post("/api/lead/disputed", body).status_code == 403
    assert people[0].get("/lead/adjudicate").status_code == 403
    refused = lead.post("/api/lead/disputed", {**body, "answer": {}})
    assert (refused.status_code, "answer this one" in refused.text) == (422, True)
    assert lead.post("/api/lead/disputed", body).json()["answer"] == {"ok": False}
    shown = lead.get(f"/lead/adjudicate?item={one['item']['id']}").text
    assert "&lt;b&gt;rude&lt;/b&gt;" in shown
    assert lead.get("/lead/adjudicate?item=nothing").status_code == 404
    site.service.close()


def test_the_data_statement_over_http(site):
    for place in range(6):
        guest = site.annotator(f"P{place}")
        told = {"about": {"region": "europe"}, "agrees": True}
        assert guest.post("/api/questionnaire", {"about": {"region": "mars"}}).status_code == 422
        assert guest.post("/api/questionnaire", {"about": {"region": "europe"}}).status_code == 422
        assert guest.post("/api/questionnaire", told).status_code == 200
        work = guest.work()["assignment"]
        body = {"submission": f"statement-{place}", "answer": GOOD}
        assert guest.post(f"/api/work/{work}/submit", body).json()["saved"]
    assert guest.get("/api/lead/statement").status_code == 403
    assert "What you told us about yourself" in guest.get("/answers").text
    lee = site.lead()
    (group,) = lee.get("/api/lead/statement").json()["groups"]
    assert (group["label"], group["people"], group["annotation_share"]) == ("Europe", 6, 1.0)
    file = lee.get("/api/lead/statement.md")
    assert "**Europe: 100.0 % / 100.0 %**" in file.text
    assert "attachment" in file.headers["content-disposition"]
    assert guest.send("DELETE", "/api/questionnaire").status_code == 200
    assert "What you told about yourself" not in guest.get("/answers").text
    (group,) = lee.get("/api/lead/statement").json()["groups"]
    assert group["group"] == "others", "one who does not say and five who do would be two groups"
