"""The annotation server over both databases: the whole way, and forms that are sent again."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from ..annotation_site import GOOD, Guest, Site, right_answers, wrong_answers


@pytest.fixture
def site_of(tmp_path, database):
    made = []

    def make(**policies):
        made.append(Site(tmp_path, database=database, **policies))
        return made[-1]

    yield make
    for site in made:
        site.service.close()


def submit(guest):
    work = guest.work()
    body = {"submission": f"submission-{work['assignment']}", "answer": GOOD}
    return guest.post(f"/api/work/{work['assignment']}/submit", body).json()


def test_the_whole_way_from_link_to_export(site_of):
    long_way = site_of(staging=2, qualification=True, questionnaire=True)
    jo, lee = long_way.newcomer(), long_way.lead()
    assert "It is about harm." in jo.get("/work").text
    assert jo.post("/api/consent", {"agrees": True}).json()["stage"] == "qualification"

    test = jo.get("/api/test").json()
    failed = jo.post("/api/test", {"answers": wrong_answers(test["questions"])}).json()
    assert not failed["passed"]
    assert failed["explanations"]
    test = jo.get("/api/test").json()
    assert test["attempt"] == 2
    assert jo.post("/api/test", {"answers": right_answers(test["questions"])}).json()["passed"]

    assert "A little about you" in jo.get("/work").text
    facts = {"leaning": "moderate", "statements": {}, "agrees": True}
    told = jo.post("/api/questionnaire", facts).json()
    assert not told["questionnaire_open"]

    assert submit(jo)["saved"]
    assert submit(jo)["saved"]
    assert "being reviewed" in jo.get("/work").text
    queue = lee.get("/api/lead/review").json()
    who, first = queue[0]["person"]["id"], queue[0]["assignment"]
    lee.post(f"/api/lead/review/{first}", {"verdict": "mend", "feedback": "Say <more>, please."})
    lee.post(f"/api/lead/people/{who}/send-back")
    page = jo.get("/work").text
    assert "One answer needs changes" in page
    assert "Say &lt;more&gt;, please." in page
    mended = {**GOOD, "rule": "It's wrong to break a promise without need."}
    body = {"submission": "the-edit-1", "answer": mended}
    assert jo.put(f"/api/work/{first}/answer", body).json()["revision"] == 2
    assert lee.post(f"/api/lead/people/{who}/admit").json()["stage"] == "main"

    assert submit(jo)["saved"]
    made = lee.post("/api/lead/exports", {"name": "out.jsonl", "shape": "jsonl"}).json()
    exported = lee.get(made["address"])
    assert "attachment" in exported.headers["content-disposition"]
    rows = [json.loads(line) for line in exported.text.splitlines()]
    assert [row["answer"]["rule"] for row in rows if row["stage"] == "main"] == [GOOD["rule"]]
    assert "Jo" not in exported.text


def test_a_draft_comes_back_in_the_form(site_of):
    site = site_of()
    guest = site.annotator()
    name = guest.work()["assignment"]
    draft = {"rule": 'It\'s rude <to> "interrupt".', "severity": 2, "foundations": ["care"]}
    assert guest.put(f"/api/work/{name}/draft", {"answer": draft}).json()["saved"]
    assert guest.work()["draft"] == draft
    page = guest.get("/work").text
    assert "It&#39;s rude &lt;to&gt; &#34;interrupt&#34;." in page
    assert 'name="severity" value="2" checked' in page
    assert 'name="foundations" value="care" checked' in page


def test_a_replayed_form_adds_nothing(site_of):
    fresh = site_of()
    jo = fresh.annotator()
    name = jo.work()["assignment"]
    body = {"submission": "captured-1", "answer": GOOD}
    address = f"/api/work/{name}/submit"

    def replay(_):
        own = Guest(fresh.stranger().client, jo.csrf)
        own.client.cookies.update(jo.client.cookies)
        return own.post(address, body).json()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(replay, range(16)))
    assert all(answer["saved"] for answer in answers)
    assert sum(not answer["repeated"] for answer in answers) == 1
    assert len(fresh.service.answers(fresh.service.owner)) == 1
    other = {**body, "answer": {**GOOD, "severity": 1}}
    assert jo.post(address, other).status_code in (200, 409)
    assert fresh.service.answers(fresh.service.owner)[0].answer["severity"] == GOOD["severity"]


def test_another_persons_token_is_another_person(site_of):
    """A token opens its own person only, whatever cookie is sent along."""
    site = site_of()
    jo, kim = site.annotator("Jo"), site.annotator("Kim")
    mine = jo.work()["assignment"]
    for method, what, body in (
        ("PUT", "draft", {"answer": {"rule": "stolen"}}),
        ("POST", "check", {"answer": GOOD}),
        ("POST", "submit", {"submission": "not-mine-1", "answer": GOOD}),
        ("PUT", "answer", {"submission": "not-mine-2", "answer": GOOD}),
        ("POST", "skip", {"reason": ""}),
    ):
        answer = kim.send(method, f"/api/work/{mine}/{what}", body)
        assert answer.status_code in (403, 404, 409), what
    assert kim.get(f"/answers/{mine}").status_code == 404
    assert jo.work()["draft"] == {}
