"""Annotators and a lead in a real Chromium: the whole way, by mouse, by keyboard, on a phone."""

import contextlib
import json
import re
import threading
import time

import pytest
import uvicorn
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect

from moralscope.annotation.forms import question_bank
from moralscope.annotation.records import AnnotationItem, NotSaved

from ..annotation_site import GOOD, Site
from .site import PATIENCE, assert_accessible, wait_until

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'{{7*7}}"
ITEMS = [
    AnnotationItem(
        f"i{n}", {"prompt": f"Should I keep promise {n}?", "reply": f"No, forget it. {HOSTILE}"}
    )
    for n in range(8)
]


@contextlib.contextmanager
def served(site):
    config = uvicorn.Config(site.app, host="127.0.0.1", port=0, log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
        site.service.close()


@pytest.fixture
def open_page(chromium):
    """Open pages of their own browsers; afterwards none may have run or loaded what is foreign."""
    with contextlib.ExitStack() as stack:
        heard = []

        def opened(width=1280, **more):
            context = chromium.new_context(viewport={"width": width, "height": 900}, **more)
            context.set_default_timeout(PATIENCE)
            stack.callback(context.close)
            page = context.new_page()
            page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.accept()))
            page.on("console", lambda line: heard.append(line.text))
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.heard = heard
            return page

        yield opened
    unexpected = [each for each in heard if "Failed to load resource" not in each]
    assert unexpected == []


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path, items=ITEMS)
    with served(made) as made.address:
        yield made


def join(page, site, token):
    page.goto(f"{site.address}/join#{token}")
    page.wait_for_url(re.compile("/(work|lead)$"))
    assert token not in page.url


def annotator(page, site, name="Jo"):
    join(page, site, site.invite(name))
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Agree and continue").click()
    page.locator("#work").wait_for()
    page.wait_for_load_state()  # its scripts listen from then on


def answer_test(page, *, right):
    for question in page.locator("[data-question]").all():
        known = question_bank()[question.get_attribute("data-question")]
        values = [box.get_attribute("value") for box in question.locator("input").all()]
        value = known.right if right else next(v for v in values if v != known.right)
        question.locator(f"input[value='{value}']").check()
    page.get_by_role("button", name="Check my answers").click()
    page.locator("#result").wait_for()
    for question in page.locator("[data-question]").all():
        known = question_bank()[question.get_attribute("data-question")]
        marked = question.locator(".choice.right input").all()
        assert [box.get_attribute("value") for box in marked] == ([] if right else [known.right])


def fill(page, rule=GOOD["rule"]):
    page.get_by_label("Your rule of thumb").fill(rule)
    page.get_by_label("It disagrees").check()
    page.locator("[data-field=consensus] label", has_text="4").click()
    page.locator("[data-field=severity] label", has_text="3").click()
    page.get_by_label(re.compile("^Loyalty")).check()
    page.get_by_label("Your own reply to the prompt").fill(GOOD["revised_reply"])


def submit(page):
    item = page.locator("#work").get_attribute("data-assignment")
    page.get_by_role("button", name=re.compile("^Submit")).click()
    # From outside: the next page may come while a function waits in this one.
    wait_until(page, "old => document.querySelector('#work')?.dataset.assignment !== old", item)
    page.wait_for_load_state()


def test_the_whole_way_from_join_to_export(tmp_path, open_page):
    site = Site(tmp_path, items=ITEMS, staging=2, qualification=True, questionnaire=True)
    with served(site) as site.address:
        jo, lee = open_page(), open_page(accept_downloads=True)
        join(jo, site, site.invite("Jo"))
        assert_accessible(jo)
        jo.get_by_role("checkbox").check()
        jo.get_by_role("button", name="Agree and continue").click()

        jo.locator("#test").wait_for()
        assert_accessible(jo)
        answer_test(jo, right=False)
        expect(jo.locator("#result")).to_contain_text("Not yet")
        assert jo.locator(".remarks li").count() == 7
        jo.get_by_role("link", name="Try again").click()
        expect(jo.get_by_text("Attempt 2")).to_be_visible()
        answer_test(jo, right=True)
        expect(jo.locator("#result")).to_contain_text("You passed")
        jo.get_by_role("link", name="Continue").click()

        jo.locator("#about").wait_for()
        assert_accessible(jo)
        jo.get_by_label("Moderate").check()
        jo.get_by_label("Where do you live?").select_option("Europe")
        jo.get_by_role("button", name="Save and continue").click()
        assert site.service.facts(site.service.owner) == (), "not before the box is ticked"
        jo.get_by_label("I agree that my answers here").check()
        jo.get_by_role("button", name="Save and continue").click()

        jo.locator("#work").wait_for()
        assert_accessible(jo)
        for _ in range(2):
            fill(jo)
            submit(jo)
        expect(jo.get_by_role("heading", level=1)).to_have_text(
            "Your trial round is being reviewed"
        )

        review_and_send_back(lee, site)
        jo.get_by_role("link", name="Check again").click()
        expect(jo.get_by_role("heading", level=1)).to_have_text("One answer needs changes")
        expect(jo.get_by_text("Say when it may be broken.")).to_be_visible()
        jo.get_by_role("link", name="Revise this answer").click()
        jo.get_by_label("Your rule of thumb").fill("It's wrong to break a promise without need.")
        jo.get_by_role("button", name="Save changes").click()
        jo.wait_for_url("**/answers")

        lee.reload()
        expect(lee.get_by_text("without need")).to_be_visible()
        lee.get_by_role("button", name="Admit").click()
        expect(
            lee.get_by_text("No answers of the trial round are waiting for you.")
        ).to_be_visible()
        jo.goto(f"{site.address}/work")
        expect(jo.get_by_text("Main round", exact=True)).to_be_visible()
        fill(jo)
        submit(jo)
        rows = export(lee, site)
        assert [row["answer"] for row in rows if row["stage"] == "main"] == [GOOD]


def review_and_send_back(lee, site):
    join(lee, site, site.invite("Lee", "lead"))
    assert_accessible(lee)
    lee.get_by_role("link", name="Review", exact=True).click()
    assert_accessible(lee)
    first, second = lee.locator("form[data-review]").all()
    second.get_by_role("button", name="Good").click()
    expect(lee.get_by_text("Marked as good").first).to_be_visible()
    first.get_by_role("textbox").fill("Say when it may be broken.")
    first.get_by_role("button", name="Needs changes").click()
    expect(lee.get_by_text("Changes requested").first).to_be_visible()
    lee.get_by_role("button", name="Send back").click()
    lee.wait_for_load_state()


def export(lee, site):
    lee.goto(f"{site.address}/lead/data")
    assert_accessible(lee)
    with lee.expect_download() as started:
        lee.get_by_role("button", name="Export").click()
    path = started.value.path()
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_lead_rejects_and_blocks_and_a_person_appeals(site, open_page):
    jo, lee = open_page(), open_page()
    annotator(jo, site)
    fill(jo)
    submit(jo)
    join(lee, site, site.invite("Lee", "lead"))
    lee.goto(f"{site.address}/lead/review")
    lee.get_by_role("link", name="Read Jo's answers").click()
    assert_accessible(lee)
    lee.get_by_role("button", name="Reject").click()
    expect(lee.locator("#trouble")).to_contain_text("reason is empty")
    lee.get_by_label("Feedback, or the reason to reject").fill(f"It is no rule. {HOSTILE}")
    lee.get_by_role("button", name="Reject").click()
    expect(lee.get_by_text("in force")).to_be_visible()

    jo.goto(f"{site.address}/work")
    notice = jo.get_by_text("The lead commented on one of your answers")
    assert_accessible(jo)
    notice.get_by_role("link", name="My answers").click()
    expect(jo.get_by_text("It is no rule.")).to_be_visible()
    jo.get_by_label("If you think this is wrong").fill("It says what to do.")
    jo.get_by_role("button", name="Appeal").click()
    expect(jo.get_by_text("Your appeal is waiting for the lead.")).to_be_visible()
    assert_accessible(jo)

    lee.goto(f"{site.address}/lead")
    lee.get_by_role("link", name="appeals to answer").click()
    expect(lee.get_by_text("It says what to do.")).to_be_visible()
    assert_accessible(lee)
    lee.get_by_label("Answer to Jo").fill("You are right.")
    lee.get_by_role("button", name="Accept and lift").click()
    expect(lee.get_by_text("It says what to do.")).to_have_count(0)
    jo.reload()
    expect(jo.get_by_text("Your answer counts again.")).to_be_visible()

    lee.get_by_role("link", name="Read Jo's answers").click()
    lee.get_by_label("Reason", exact=True).fill("One answer for all items.")
    lee.get_by_label("Exclude their answers from exports").check()
    lee.get_by_role("button", name="Block").click()
    expect(lee.get_by_text("left out of exports and agreement")).to_be_visible()
    jo.goto(f"{site.address}/work")
    expect(jo.get_by_role("heading", level=1)).to_have_text("You were blocked")
    expect(jo.get_by_text("One answer for all items.")).to_be_visible()
    assert_accessible(jo)
    assert site.service.answers(site.service.owner) == ()
    lee.goto(f"{site.address}/lead/data")
    for action in ("reject", "appeal", "lift", "block"):
        expect(lee.get_by_role("cell", name=action, exact=True).first).to_be_visible()


def test_the_lead_sees_who_annotates_and_takes_the_statement_along(site, open_page):
    service = site.service
    for place in range(11):
        person = service.join(service.invite(service.owner, f"P{place}").token).person
        person = service.consent(person, True)
        told = {"region": "europe" if place < 6 else "canada"}
        service.answer_questionnaire(person, None, {}, told, agrees=True)
        work = service.next_item(person)
        service.submit(person, work.assignment, f"browser-who-{place}", GOOD)
    lee = open_page(accept_downloads=True)
    join(lee, site, site.invite("Lee", "lead"))
    lee.goto(f"{site.address}/lead/data")
    row = lee.get_by_role("row", name="Europe")
    expect(row.locator(".n")).to_have_text(["55", "55"])
    assert_accessible(lee)
    with lee.expect_download() as started:
        lee.get_by_role("link", name="Data statement").click()
    assert "Europe: 54.5 % / 54.5 %" in started.value.path().read_text("utf-8")


def test_keyboard_alone_is_enough(site, open_page):
    page = open_page()
    page.goto(f"{site.address}/join")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab_to(page, "#token")
    page.keyboard.type(site.invite("Jo"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    tab_to(page, "input[name=agrees]")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#work").wait_for()
    page.wait_for_load_state("networkidle")

    page.keyboard.press("Alt+r")
    page.keyboard.type(GOOD["rule"])
    page.wait_for_timeout(300)  # a ring may fade in
    assert focus_is_visible(page)
    page.keyboard.press("Alt+a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Alt+c")
    page.keyboard.press("Space")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Alt+s")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert focus_is_visible(page, "e => e.parentElement")
    page.keyboard.press("Alt+f")
    for _ in range(6):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Alt+w")
    page.keyboard.type(GOOD["revised_reply"])
    page.keyboard.press("Control+Enter")
    expect(page.locator(".progress")).to_contain_text("1 done")
    answer = site.service.answers(site.service.owner)[0].answer
    assert (answer["rule"], answer["alignment"]) == (GOOD["rule"], "disagree")
    assert (answer["consensus"], answer["severity"]) == (4, 3)
    assert len(answer["foundations"]) == 1


def tab_to(page, selector):
    for _ in range(30):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached with Tab")


def focus_is_visible(page, shown="e => e"):
    script = f"getComputedStyle(({shown})(document.activeElement)).outlineStyle"
    return page.evaluate(script) != "none"


def test_a_phone_shows_everything_within_its_width(site, open_page):
    page = open_page(390, is_mobile=True, has_touch=True)
    annotator(page, site)
    addresses = ["/work", "/answers", "/guide", "/join"]
    fill(page)
    submit(page)
    lead = open_page(390)
    join(lead, site, site.invite("Lee", "lead"))
    leads = ["/lead", "/lead/review", "/lead/agreement", "/lead/data"]
    for owner, paths in ((page, addresses), (lead, leads)):
        for path in paths:
            owner.goto(site.address + path)
            assert owner.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.goto(f"{site.address}/work")
    box = page.get_by_role("button", name=re.compile("^Submit")).bounding_box()
    assert box["height"] >= 44
    assert box["y"] + box["height"] <= 900


def test_on_a_phone_the_texts_stay_in_sight_and_the_next_item_opens_at_its_top(site, open_page):
    page = open_page(390, is_mobile=True, has_touch=True)
    annotator(page, site)
    first = page.locator("#item").inner_text()
    in_first = "document.activeElement.closest('[data-field]')?.dataset.field"
    names = page.locator("#work [data-field]")
    assert page.evaluate(in_first) == names.first.get_attribute("data-field")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    box = page.locator("#item").bounding_box()
    assert box["y"] >= -1
    assert box["y"] + box["height"] <= 0.45 * 900
    assert_accessible(page)
    fill(page)
    submit(page)
    page.locator("#work").wait_for()
    expect(page.locator("#item")).not_to_have_text(first)
    assert page.evaluate("scrollY") == 0
    assert page.evaluate(in_first) == names.first.get_attribute("data-field")
    for link in page.locator("nav a").all():  # a menu that shows itself
        inner = link.bounding_box()
        assert inner["x"] >= 0
        assert inner["x"] + inner["width"] <= 390


def test_the_lead_sees_true_counts_while_reviewing_and_fast_medians_marked(tmp_path, open_page):
    site = Site(tmp_path, items=ITEMS, staging=3, good_in_a_row=2)
    with served(site) as site.address:
        jo = open_page()
        annotator(jo, site)
        for _ in range(3):
            fill(jo)
            submit(jo)
        lee = open_page()
        join(lee, site, site.invite("Lee", "lead"))
        expect(lee.locator("tr", has_text="Jo")).to_contain_text("fast")
        assert_accessible(lee)
        lee.goto(f"{site.address}/lead/review")
        expect(lee.locator("[data-to-read]")).to_have_text("3 to read")
        lee.get_by_role("button", name="Good").first.click()
        expect(lee.locator("[data-to-read]")).to_have_text("2 to read")
        expect(lee.locator("[data-in-a-row]")).to_have_text("1 of 2 good in a row")


def test_a_reload_in_the_middle_loses_nothing(site, open_page):
    page = open_page()
    annotator(page, site)
    item = page.locator("#work").get_attribute("data-assignment")
    fill(page, "It's rude to stop in the middle.")
    page.reload()  # before the draft was sent
    expect(page.get_by_label("Your rule of thumb")).to_have_value(
        "It's rude to stop in the middle."
    )
    expect(page.get_by_label("It disagrees")).to_be_checked()
    expect(page.locator("#saved")).to_have_attribute("data-state", "saved")
    page.evaluate("localStorage.clear()")  # what is left is the server's
    page.reload()
    expect(page.get_by_label("Your rule of thumb")).to_have_value(
        "It's rude to stop in the middle."
    )
    assert page.locator("#work").get_attribute("data-assignment") == item


def test_another_device_goes_on_where_one_stopped(site, open_page):
    token = site.invite("Jo")
    page, phone = open_page(), open_page(390)
    join(page, site, token)
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Agree and continue").click()
    page.get_by_label("Your rule of thumb").fill("It's kind to go on.")
    expect(page.locator("#saved")).to_have_attribute("data-state", "saved")
    join(phone, site, token)
    expect(phone.get_by_label("Your rule of thumb")).to_have_value("It's kind to go on.")


def test_what_cannot_be_saved_is_kept_and_said(site, open_page, monkeypatch):
    page = open_page()
    annotator(page, site)
    real = site.service.submit, site.service.save_draft

    def full(*_):
        raise NotSaved("the disk is full", "keep this page open")

    monkeypatch.setattr(site.service, "submit", full)
    monkeypatch.setattr(site.service, "save_draft", full)
    fill(page)
    expect(page.locator("#saved")).to_have_attribute("data-state", "failed")
    expect(page.locator("#saved")).to_contain_text("Not saved")
    page.get_by_role("button", name=re.compile("^Submit")).click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved. The disk is full")
    page.reload()
    expect(page.get_by_label("Your rule of thumb")).to_have_value(GOOD["rule"])
    monkeypatch.setattr(site.service, "submit", real[0])
    monkeypatch.setattr(site.service, "save_draft", real[1])
    submit(page)
    assert [row.answer for row in site.service.answers(site.service.owner)] == [GOOD]


def test_a_lost_answer_of_the_server_adds_no_second_submission(site, open_page):
    page = open_page()
    annotator(page, site)
    fill(page)

    def lose(route):
        route.fetch()  # it arrives; its answer does not
        route.abort()

    page.route("**/submit", lose, times=1)
    page.get_by_role("button", name=re.compile("^Submit")).click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    submit(page)
    assert len(site.service.answers(site.service.owner)) == 1


def test_remarks_come_beside_the_field_and_go_when_mended(site, open_page):
    page = open_page()
    annotator(page, site)
    rule = page.get_by_label("Your rule of thumb")
    rule.fill("it is bad and it is sad and it is rude")
    remark = page.locator("[data-field=rule] .remarks li").first
    expect(remark).to_contain_text("'it is' appears 3 times")
    assert page.locator("[data-field=severity] .remarks li").count() == 0
    assert_accessible(page)
    rule.fill("It is bad to take a apple.")
    hint = page.locator("[data-field=rule] .remarks li.hint")
    expect(hint).to_have_text("Please look at the grammar: 'a apple' (an apple?).")
    assert_accessible(page)
    rule.fill(GOOD["rule"])
    expect(remark).to_have_count(0)
    page.get_by_role("button", name=re.compile("^Submit")).click()
    expect(page.locator("[data-field=alignment] .remarks li")).to_have_text(
        "Please answer this one."
    )
    assert page.evaluate("document.activeElement.name") == "alignment"


def test_examples_come_while_one_types(site, open_page):
    page = open_page()
    annotator(page, site)
    page.get_by_label("Search the rulebooks").fill("steal")
    expect(page.locator("#found li").first).to_contain_text("steal")
    page.get_by_label("Search the rulebooks").fill(HOSTILE)
    expect(page.locator("#found li")).not_to_have_count(0)


def test_none_of_these_and_a_foundation_exclude_each_other(site, open_page):
    page = open_page()
    annotator(page, site)
    page.get_by_label(re.compile("^Care")).check()
    page.get_by_label("None of these").check()
    expect(page.get_by_label(re.compile("^Care"))).not_to_be_checked()
    page.get_by_label(re.compile("^Care")).check()
    expect(page.get_by_label("None of these")).not_to_be_checked()


def test_skip_and_pause(site, open_page):
    page = open_page()
    annotator(page, site)
    first = page.locator("#work").get_attribute("data-assignment")
    page.get_by_role("button", name="Skip", exact=True).click()
    page.get_by_label("Reason").fill("too sad")
    page.get_by_role("button", name="Skip", exact=True).last.click()
    page.wait_for_function(
        "old => document.querySelector('#work')?.dataset.assignment !== old", arg=first
    )
    page.get_by_label("Your rule of thumb").fill("It's fine to rest.")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Take your time")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Your rule of thumb")).to_have_value("It's fine to rest.")


def test_the_lead_invites_pauses_and_revokes(site, open_page):
    lee, kim = open_page(), open_page()
    join(lee, site, site.invite("Lee", "lead"))
    lee.get_by_label("Names, one per line").fill(f"Kim {HOSTILE}")
    lee.get_by_role("button", name="Create links").click()
    expect(lee.locator("#invited-link")).to_contain_text("/join#")
    link = lee.locator("#invited-link").inner_text()
    assert_accessible(lee)
    lee.get_by_role("button", name="Done").click()
    lee.wait_for_load_state()
    kim.goto(link)
    kim.wait_for_url("**/work")
    lee.get_by_role("button", name="Pause the project").click()
    expect(lee.get_by_text("The project is paused")).to_be_visible()
    lee.get_by_role("button", name="Resume the project").click()
    expect(lee.get_by_role("button", name="Pause the project")).to_be_visible()
    lee.heard.clear()
    lee.get_by_role("button", name=re.compile("^Revoke link 1 of Kim")).click()
    expect(lee.get_by_role("button", name=re.compile("^Revoke link 1 of Kim"))).to_have_count(0)
    assert lee.heard == ["Revoke this link? Whoever uses it is signed out at once."]
    lee.heard.clear()
    kim.reload()
    expect(kim.get_by_role("heading", level=1)).to_have_text("You are not signed in")


def test_keys_choose_say_yes_and_go_to_the_next_question(site, open_page):
    page = open_page()
    annotator(page, site)
    page.get_by_label("Your rule of thumb").fill("Keep 1 promise, not 2.")
    expect(page.locator("#work input:checked")).to_have_count(0)  # a text is left alone
    page.locator("#item").focus()
    fields = page.locator("#work fieldset").all()
    asked = [each for each in fields if each.get_attribute("data-type") in ("one", "scale")]
    for field in asked:
        page.keyboard.press("2" if field.get_attribute("data-type") == "one" else "4")
    for field in asked:
        expect(field.locator("input:checked")).to_have_count(1)
    scale = next(each for each in asked if each.get_attribute("data-type") == "scale")
    expect(scale.locator("input:checked")).to_have_attribute("value", "4")


def test_many_are_invited_at_once_and_counts_follow_the_work(site, open_page):
    lee, kim = open_page(), open_page()
    join(lee, site, site.invite("Lee", "lead"))
    lee.get_by_label("Names, one per line").fill("Kim\n\nBo\nAda")
    lee.get_by_role("button", name="Create links").click()
    expect(lee.get_by_role("heading", name="A link for 3 people")).to_be_visible()
    links = lee.locator("#invited-link code").all_inner_texts()
    assert len(set(links)) == 3
    assert_accessible(lee)
    lee.get_by_role("button", name="Done").click()
    lee.wait_for_load_state()
    expect(lee.locator("tr[data-person]")).to_have_count(4)
    kim.goto(links[0])
    kim.wait_for_url("**/work")
    kim.get_by_role("checkbox").check()
    kim.get_by_role("button", name="Agree and continue").click()
    kim.locator("#work").wait_for()
    fill(kim)
    submit(kim)
    row = lee.locator("tr[data-person]", has_text="Kim")
    expect(row.locator("[data-count=submitted]")).to_have_text("1")  # without a reload
    lee.goto(f"{site.address}/lead/agreement")
    expect(lee.get_by_text("Only one person has answered so far")).to_be_visible()


def test_the_lead_browses_items_and_adds_more_from_a_table(site, open_page, tmp_path):
    lee = open_page()
    join(lee, site, site.invite("Lee", "lead"))
    lee.goto(f"{site.address}/lead/items")
    expect(lee.locator("#items tbody tr")).to_have_count(len(ITEMS))
    table = tmp_path / "more.csv"
    table.write_text(f"id,prompt,reply\nx1,Should I rest?,{'Yes.'}\nx2,Should I run?,No.\n")
    lee.get_by_label("A table").set_input_files(table)
    lee.get_by_role("button", name="Add items").click()
    expect(lee.locator("#items tbody tr")).to_have_count(len(ITEMS) + 2)
    expect(lee.locator("#items tr", has_text="x2")).to_contain_text("Should I run? → No.")
    assert_accessible(lee)
    lee.get_by_label("A table").set_input_files(table)
    lee.get_by_role("button", name="Add items").click()
    expect(lee.locator("#trouble")).to_contain_text("he project has x1, x2 already")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("question,answer\na,b\n")
    lee.get_by_label("A table").set_input_files(wrong)
    lee.get_by_role("button", name="Add items").click()
    expect(lee.locator("#trouble")).to_contain_text("rong.csv line 1 has no column")
    lee.set_viewport_size({"width": 390, "height": 800})
    assert lee.evaluate("document.documentElement.scrollWidth") <= 390


def test_dark_pages_have_contrast_too(site, open_page):
    page = open_page(color_scheme="dark")
    annotator(page, site)
    fill(page)
    assert_accessible(page)
    join(page, site, site.invite("Lee", "lead"))
    assert_accessible(page)
    page.goto(f"{site.address}/lead/agreement")
    assert_accessible(page)


def test_this_check_of_accessibility_would_tell(site, open_page):
    page = open_page()
    page.goto(f"{site.address}/join")
    page.evaluate("document.querySelector('label').remove()")
    with pytest.raises(AssertionError, match="label"):
        assert_accessible(page)


def test_the_policy_holds_in_the_browser(site, open_page):
    page = open_page()
    page.goto(f"{site.address}/join")
    for attack in (
        "document.body.innerHTML = '<img src=x onerror=alert(1)>'",
        "document.body.setAttribute('onclick', 'alert(1)')",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'alert(1)'}))",
    ):
        with pytest.raises(PlaywrightError, match="Trusted"):
            page.evaluate(f"() => {{ {attack} }}")
    page.evaluate("() => { location.href = 'javascript:alert(1)' }")
    page.wait_for_timeout(200)
    assert "1" not in page.heard
    assert any("Content Security Policy" in line for line in page.heard)
    page.heard.clear()


def test_nothing_is_asked_of_other_sites(site, open_page):
    page = open_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    annotator(page, site)
    page.goto(f"{site.address}/guide")
    assert len(asked) > 5
    assert all(url.startswith((site.address, "data:")) for url in asked)


def test_the_lead_adjudicates_answers_side_by_side(site, open_page, tmp_path):
    lee = open_page(1366)
    people = [site.annotator("Jo"), site.annotator("Al")]
    for place, (person, alignment) in enumerate(zip(people, ("disagree", "neither"), strict=True)):
        body = {"submission": f"submission-{place}", "answer": {**GOOD, "alignment": alignment}}
        address = f"/api/work/{person.work()['assignment']}/submit"
        assert person.post(address, body).json()["saved"]
    join(lee, site, site.invite("Lee", "lead"))
    lee.get_by_role("link", name="Adjudicate").click()
    expect(lee.locator(".beside .differs")).to_have_count(1)
    expect(lee.locator(".beside thead")).to_contain_text("Jo")
    assert_accessible(lee)
    lee.screenshot(path=tmp_path / "adjudicate.png", full_page=True)
    lee.get_by_role("button", name="Save and next").click()
    expect(lee.locator("#trouble")).to_contain_text("lacks something at")
    lee.get_by_role("button", name="Use this answer of Al").click()
    expect(lee.locator("#final input[value=neither]")).to_be_checked()
    lee.get_by_label("Comment").fill(f"The reply is a joke. {HOSTILE}")
    lee.get_by_role("button", name="Save and next").click()
    expect(lee.get_by_text("All 1 disputed items are decided.")).to_be_visible()
    lee.get_by_role("link", name="i0", exact=True).click()
    expect(lee.locator("#comment")).to_have_value(f"The reply is a joke. {HOSTILE}")
    expect(lee.get_by_text("Decided by Lee")).to_be_visible()
    lee.set_viewport_size({"width": 390, "height": 844})
    assert lee.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert_accessible(lee)
    (final,) = site.service.finals(site.service.owner).values()
    assert final.answer["alignment"] == "neither"


BROKEN_OUT = (
    '"\' onfocus=alert(1) autofocus x="></textarea></title></style></script><script>alert(2)'
    "</script><svg onload=alert(3)><a href=javascript:alert(4)>go</a><iframe srcdoc='<script>"
    "parent.alert(5)</script>'></iframe><base href=//evil.example><form action=//evil.example>"
    "<!--{{7*7}}${alert(6)}{% raw %}"
)
INJECTED = (
    "script:not([src]), [onfocus], [onload], svg[onload], iframe, base, [href^='javascript' i], "
    "form[action*=evil]"
)


def test_hostile_texts_names_and_notes_are_text_on_every_page(tmp_path, open_page):
    texts = {"prompt": BROKEN_OUT, "reply": BROKEN_OUT}
    items = [AnnotationItem(f"{n}{BROKEN_OUT[:40]}", texts) for n in range(4)]
    site = Site(tmp_path, items=items, staging=1)
    with served(site) as site.address:
        name, note = BROKEN_OUT[:80], BROKEN_OUT[:200]
        jo, al = site.annotator(name), site.annotator(name)
        lee = site.stranger().join(site.invite(name, "lead"))
        answer = {**GOOD, "rule": f"{BROKEN_OUT} is wrong to do", "revised_reply": BROKEN_OUT}
        who, done = jo.get("/api/me").json()["person"]["id"], []
        for turn, person in enumerate((jo, al, jo, al, al)):  # each one's first is for review
            work = person.work()["assignment"]
            sent = {**answer, "alignment": "agree" if person is al else "disagree"}
            body = {"submission": f"submission-{turn}", "answer": sent}
            assert person.post(f"/api/work/{work}/submit", body).json()["saved"]
            if turn < 2:
                body = {"verdict": "good", "feedback": note}
                assert lee.post(f"/api/lead/review/{work}", body).status_code == 200
            done.append(work)
        skipped = jo.work()["assignment"]
        assert jo.post(f"/api/work/{skipped}/skip", {"reason": note}).status_code == 200
        rejected = lee.post(f"/api/lead/answers/{done[4]}/reject", {"reason": note})
        assert rejected.status_code == 200
        appeal = f"/api/decisions/{al.get('/api/decisions').json()[0]['id']}/appeal"
        assert al.post(appeal, {"text": note}).status_code == 200
        draft = {"answer": answer}
        address = f"/api/work/{jo.work()['assignment']}/draft"
        assert jo.put(address, draft).status_code == 200

        annotator, lead = open_page(), open_page()
        join(annotator, site, site.service.reissue(site.service.owner, who).token)
        join(lead, site, site.invite(name, "lead"))
        mine = ["/work", "/answers", f"/answers/{done[0]}", "/guide"]
        leads = ["", "/review", f"/people/{who}", "/items", "/agreement", "/data"]
        pages = [(annotator, path) for path in mine]
        pages += [(lead, f"/lead{path}") for path in (*leads, "/adjudicate")]
        shown = []
        for page, path in pages:
            page.goto(site.address + path)
            page.wait_for_load_state("networkidle")
            assert page.locator(INJECTED).count() == 0, path
            values = "[...document.querySelectorAll('input,textarea')].map(e => e.value).join()"
            if "onfocus=alert(1)" in page.inner_text("body") + page.evaluate(values):
                shown.append(path)
        assert len(shown) >= 8, shown
        annotator.goto(f"{site.address}/work")
        annotator.get_by_label("Your rule of thumb").fill(f"it is {BROKEN_OUT} it is {BROKEN_OUT}")
        annotator.get_by_label("Search the rulebooks").fill(BROKEN_OUT[:100])
        annotator.get_by_role("button", name=re.compile("^Submit")).click()
        expect(annotator.locator(".remarks li").first).to_be_visible()
        annotator.get_by_role("button", name="Skip", exact=True).click()
        annotator.get_by_label("Reason").fill(note)
        annotator.wait_for_timeout(500)
        assert annotator.locator(INJECTED).count() == 0
