"""What annotators and leads do, on SQLite and on PostgreSQL alike."""

import pytest

from moralscope.annotation.errors import Conflict, NotAllowed, Paused
from moralscope.annotation.qualification import bank
from moralscope.annotation.service import Desk
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError

from .databases import OPEN, joined, new_id

RULE = {
    "rule": "It is wrong to lie to a friend.",
    "alignment": "disagree",
    "consensus": 4,
    "severity": 3,
    "foundations": ["loyalty"],
    "revised_reply": "I would rather tell her what happened.",
}


def submit(desk, person, answer):
    work = desk.next_item(person)
    receipt = desk.submit(person, work.assignment, new_id(), answer)
    assert receipt.saved, receipt.findings
    return work


def answers(test, right):
    """Answer the first `right` questions rightly and the others wrongly."""
    found = {}
    for place, question in enumerate(test.questions):
        good = bank()[question.id].right
        bad = next(one.value for one in question.choices if one.value != good)
        found[question.id] = good if place < right else bad
    return found


def test_the_whole_way_from_link_to_export(desks):
    desk = desks(task="rule-of-thumb", items=4, staging_items=2, people_per_item=2)
    person = desk.join(desk.invite(desk.owner, "Jo").token).person
    assert person.stage == "consent"
    with pytest.raises(NotAllowed):
        desk.next_item(person)
    person = desk.consent(person, True)
    assert person.stage == "qualification"
    failed = desk.answer_test(person, answers(desk.test(person), 5))
    assert (failed.passed, failed.right, failed.attempts_left) == (False, 5, 2)
    assert len(failed.explanations) == 2
    passed = desk.answer_test(person, answers(desk.test(person), 6))
    assert passed.passed
    for _ in range(2):
        assert submit(desk, person, RULE).stage == "staging"
    assert desk.next_item(person) is None
    queue = desk.review_queue(desk.owner)
    assert len(queue) == 2
    assert queue[0].person.stage == "review"
    desk.review(desk.owner, queue[0].assignment, "mend", "Name one action.")
    desk.review(desk.owner, queue[1].assignment, "good", "Well put.")
    desk.send_back(desk.owner, person.id)
    (seen,) = [one for one in desk.history(person) if one.assignment == queue[0].assignment]
    assert seen.reviews[0].feedback == "Name one action."
    desk.edit(person, seen.assignment, new_id(), {**RULE, "severity": 5})
    (again,) = desk.review_queue(desk.owner)
    assert (again.revision, again.answer["severity"]) == (2, 5)
    assert desk.admit(desk.owner, person.id).stage == "main"
    for _ in range(2):
        assert submit(desk, person, RULE).stage == "main"
    assert desk.next_item(person) is None
    rows = desk.answers(desk.owner)
    assert [row.item for row in rows] == ["i2", "i3"]
    assert {row.person for row in rows} == {person.id}
    assert len(desk.answers(desk.owner, "all")) == 4


def test_retakes_end_and_draw_other_questions(desks):
    desk = desks(retakes=1, qualification=True)
    person = joined(desk)
    first, seen = desk.test(person), desk.test(person)
    assert first == seen, "an open test stays the same"
    desk.answer_test(person, answers(first, 0))
    second = desk.test(person)
    assert not {one.id for one in first.questions} & {one.id for one in second.questions}
    assert desk.answer_test(person, answers(second, 0)).attempts_left == 0
    with pytest.raises(NotAllowed):
        desk.test(person)
    assert desk.overview(desk.owner).people[0].person.stage == "failed"


def test_a_test_must_be_answered_whole(desks):
    desk = desks(qualification=True)
    person = joined(desk)
    given = answers(desk.test(person), 7)
    given.pop(next(iter(given)))
    with pytest.raises(InputError, match="no answer"):
        desk.answer_test(person, given)


def test_who_declines_sees_nothing(desks):
    desk = desks()
    person = desk.join(desk.invite(desk.owner, "Jo").token).person
    assert desk.consent(person, False).stage == "declined"
    with pytest.raises(NotAllowed):
        desk.next_item(person)


def test_tokens_are_hashed_revocable_and_open_sessions(desks, tmp_path, database):
    desk = desks()
    invitation = desk.invite(desk.owner, "Jo")
    session = desk.join(invitation.token)
    assert desk.who(session.secret).id == invitation.person.id
    if not database:
        kept = b"".join(path.read_bytes() for path in tmp_path.glob("annotations.sqlite*"))
        assert b"Jo" in kept
        for secret in (invitation.token, session.secret):
            assert secret.encode() not in kept
    desk.revoke(desk.owner, invitation.token_id)
    for call in (lambda: desk.who(session.secret), lambda: desk.join(invitation.token)):
        with pytest.raises(NotAllowed):
            call()
    again = desk.reissue(desk.owner, invitation.person.id)
    assert desk.join(again.token).person.id == invitation.person.id


def test_sessions_end(desks, clock):
    desk = desks(session_days=1)
    session = desk.join(desk.invite(desk.owner, "Jo").token)
    clock.now += 86_401
    with pytest.raises(NotAllowed, match="ended"):
        desk.who(session.secret)
    left = desk.join(desk.invite(desk.owner, "Al").token)
    desk.leave(left.secret)
    with pytest.raises(NotAllowed):
        desk.who(left.secret)


@pytest.mark.parametrize("token", ["", "x", "' OR 1=1 --", "a" * 10_000, "\0", "\ud800"])
def test_other_tokens_open_nothing(desks, token):
    desk = desks()
    with pytest.raises(NotAllowed):
        desk.join(token)
    with pytest.raises(NotAllowed):
        desk.who(token)


def test_annotators_are_no_leads(desks):
    desk = desks()
    person = joined(desk)
    for call in (
        lambda: desk.overview(person),
        lambda: desk.answers(person),
        lambda: desk.facts(person),
        lambda: desk.audit_log(person),
        lambda: desk.review_queue(person),
        lambda: desk.invite(person, "Al", "lead"),
        lambda: desk.admit(person, person.id),
        lambda: desk.set_paused(person, True),
        lambda: desk.export_to(person, "a", "jsonl"),
        lambda: desk.add_items(person, []),
    ):
        with pytest.raises(NotAllowed):
            call()


def test_nobody_touches_anothers_work(desks):
    desk = desks()
    mine, other = joined(desk), joined(desk, "Al")
    work = desk.next_item(mine)
    for call in (
        lambda: desk.submit(other, work.assignment, new_id(), {"ok": True}),
        lambda: desk.save_draft(other, work.assignment, {"ok": True}),
        lambda: desk.check(other, work.assignment, {"ok": True}),
        lambda: desk.edit(other, work.assignment, new_id(), {"ok": True}),
        lambda: desk.skip(other, work.assignment),
    ):
        with pytest.raises(NotAllowed, match="not your item"):
            call()
    assert desk.history(other) == ()


def test_the_same_submission_is_saved_once(desks):
    desk = desks()
    person = joined(desk)
    work = desk.next_item(person)
    first = desk.submit(person, work.assignment, "submission-1", {"ok": True})
    again = desk.submit(person, work.assignment, "submission-1", {"ok": True})
    assert (first.repeated, again.repeated, again.saved, again.revision) == (False, True, True, 1)
    assert len(desk.answers(desk.owner)) == 1
    with pytest.raises(Conflict, match="id was used"):
        desk.submit(person, work.assignment, "submission-1", {"ok": False})
    with pytest.raises(Conflict, match="submitted before"):
        desk.submit(person, work.assignment, "submission-2", {"ok": True})
    other = joined(desk, "Al")
    theirs = desk.next_item(other)
    with pytest.raises(Conflict):
        desk.submit(other, theirs.assignment, "submission-1", {"ok": True})


@pytest.mark.parametrize("name", ["", "short", "a" * 65, "with space", "../../etc", "ok;DROP--é"])
def test_malformed_submission_ids_are_refused(desks, name):
    desk = desks()
    person = joined(desk)
    work = desk.next_item(person)
    with pytest.raises(InputError, match="malformed"):
        desk.submit(person, work.assignment, name, {"ok": True})


def test_drafts_survive_and_the_item_stays(desks):
    desk = desks(task="rule-of-thumb", items=2, **OPEN)
    person = joined(desk)
    work = desk.next_item(person)
    desk.save_draft(person, work.assignment, {"rule": "It is wro"})
    again = desk.next_item(person)
    assert (again.assignment, again.draft) == (work.assignment, {"rule": "It is wro"})


def test_checks_that_block_save_nothing_and_are_counted(desks):
    desk = desks(task="rule-of-thumb", items=2, **OPEN)
    person = joined(desk)
    work = desk.next_item(person)
    receipt = desk.submit(person, work.assignment, new_id(), {**RULE, "rule": "no no"})
    assert not receipt.saved
    assert receipt.findings[0].field == "rule"
    assert desk.answers(desk.owner) == ()
    assert desk.next_item(person).draft["rule"] == "no no"
    assert desk.overview(desk.owner).people[0].failed_checks == 1


def test_an_abandoned_item_returns_and_a_late_answer_finds_room_or_not(desks, clock):
    desk = desks(items=1, people_per_item=1, lease_minutes=10)
    slow, quick = joined(desk), joined(desk, "Al")
    work = desk.next_item(slow)
    assert desk.next_item(quick) is None
    clock.now += 601
    theirs = desk.next_item(quick)
    assert theirs.item.id == "i0"
    with pytest.raises(Conflict, match="others have done it"):
        desk.submit(slow, work.assignment, new_id(), {"ok": True})
    desk.skip(quick, theirs.assignment, "not for me")
    assert desk.next_item(quick) is None, "what was skipped does not come back"
    back = desk.next_item(slow)
    assert (back.assignment, back.draft) == (work.assignment, {"ok": True}), "the text was kept"
    assert desk.submit(slow, work.assignment, new_id(), {"ok": True}).saved


def test_autosave_renews_the_lease(desks, clock):
    desk = desks(items=1, people_per_item=1, lease_minutes=10)
    slow, quick = joined(desk), joined(desk, "Al")
    work = desk.next_item(slow)
    for _ in range(3):
        clock.now += 500
        assert desk.save_draft(slow, work.assignment, {}) == clock.now + 600
        assert desk.next_item(quick) is None


def test_quota_is_kept_and_everybody_sees_an_item_once(desks):
    desk = desks(items=3, people_per_item=2)
    people = [joined(desk, name) for name in ("A", "B", "C")]
    for person in people:
        while desk.next_item(person):
            submit(desk, person, {"ok": True})
    rows = desk.answers(desk.owner)
    assert len(rows) == 6
    assert len({(row.item, row.person) for row in rows}) == 6
    seen = desk.overview(desk.owner)
    assert (seen.complete, seen.wanted, seen.submitted, seen.open) == (3, 6, 6, 0)


def test_edits_keep_history(desks, clock):
    desk = desks()
    person = joined(desk)
    work = submit(desk, person, {"ok": True})
    clock.now += 60
    assert desk.edit(person, work.assignment, "revision-2", {"ok": False}).revision == 2
    assert desk.edit(person, work.assignment, "revision-2", {"ok": False}).repeated
    (past,) = desk.history(person)
    assert [(one.number, one.answer["ok"]) for one in past.revisions] == [(1, True), (2, False)]
    (row,) = desk.answers(desk.owner)
    assert (row.answer, row.revision) == ({"ok": False}, 2)


def test_pausing_returns_the_item_and_keeps_the_draft(desks):
    desk = desks(items=1, people_per_item=1)
    person, other = joined(desk), joined(desk, "Al")
    work = desk.next_item(person)
    desk.save_draft(person, work.assignment, {"ok": True})
    assert desk.pause(person).paused
    with pytest.raises(Paused):
        desk.next_item(person)
    theirs = desk.next_item(other)
    assert theirs.item.id == work.item.id
    desk.skip(other, theirs.assignment)
    desk.resume(person)
    assert desk.next_item(person).draft == {"ok": True}


def test_a_paused_project_takes_nothing_and_goes_on(desks):
    desk = desks()
    person = joined(desk)
    work = desk.next_item(person)
    desk.set_paused(desk.owner, True)
    with pytest.raises(Paused):
        desk.submit(person, work.assignment, new_id(), {"ok": True})
    assert desk.progress(person).project_paused
    desk.set_paused(desk.owner, False)
    assert desk.submit(person, work.assignment, new_id(), {"ok": True}).saved


def test_the_removed_are_out_and_their_answers_stay(desks):
    desk = desks()
    session = desk.join(desk.invite(desk.owner, "Jo").token)
    person = desk.consent(session.person, True)
    submit(desk, person, {"ok": True})
    desk.remove(desk.owner, person.id)
    with pytest.raises(NotAllowed):
        desk.who(session.secret)
    with pytest.raises(NotAllowed):
        desk.next_item(person)
    assert len(desk.answers(desk.owner)) == 1


def test_the_questionnaire_is_optional_asked_once_and_apart(desks):
    desk = desks()
    told, silent = joined(desk), joined(desk, "Al")
    assert told.questionnaire_open
    given = {"care-1": 5, "care-2": 4, "loyalty-1": 1}
    assert not desk.answer_questionnaire(told, "moderate", given).questionnaire_open
    assert not desk.answer_questionnaire(silent, None, {}).questionnaire_open
    (facts,) = desk.facts(desk.owner)
    assert (facts.person, facts.leaning) == (told.id, "moderate")
    assert facts.foundations == {"care": 4.5, "loyalty": 1.0}
    with pytest.raises(InputError, match="before"):
        desk.answer_questionnaire(told, None, {})
    third = joined(desk, "Cy")
    for leaning, statements in (("left", {}), (None, {"care-1": 9}), (None, {"care-9": 1})):
        with pytest.raises(InputError):
            desk.answer_questionnaire(third, leaning, statements)


STORY = {
    "norm": "norm_1 0",
    "situation": "Anna and Ben share a kitchen.",
    "intention": "Anna wants a clean table.",
    "moral_action": "Anna wipes the table after dinner.",
    "moral_consequence": "Ben finds a place for his books.",
    "immoral_action": "Anna pushes the crumbs onto the floor.",
    "immoral_consequence": "Ben steps on the crumbs at night.",
    **dict.fromkeys(("both_reach", "keeps", "breaks", "realistic"), True),
}
GOOD = dict.fromkeys(("both_reach", "keeps", "breaks", "realistic", "plain", "consistent"), True)


def test_stories_are_checked_by_others_and_again_after_an_edit(desks):
    desk = desks(task="story-writing", items=1, **OPEN)
    writer, first, second = (joined(desk, name) for name in ("W", "A", "B"))
    written = submit(desk, writer, STORY)
    assert desk.next_item(writer) is None, "nobody checks her own story"
    work = desk.next_item(first)
    assert (work.form.name, work.item.texts["norm"]) == ("story-check", "norm_1 0")
    desk.submit(first, work.assignment, new_id(), GOOD)
    desk.edit(writer, written.assignment, new_id(), {**STORY, "situation": "Anna cooks for Ben."})
    for person in (first, second):
        work = desk.next_item(person)
        assert work.item.texts["situation"] == "Anna cooks for Ben."
        desk.submit(person, work.assignment, new_id(), GOOD)
        assert desk.next_item(person) is None, "the earlier revision needs no more people"
    path = desk.export_to(desk.owner, "s", "stories")
    assert "Anna cooks for Ben." in path.read_text()


def test_a_story_that_others_fault_is_left_out(desks):
    desk = desks(task="story-writing", items=1, **OPEN)
    people = [joined(desk, name) for name in ("W", "A", "B")]
    submit(desk, people[0], STORY)
    submit(desk, people[1], GOOD)
    assert desk.export_to(desk.owner, "s", "stories").read_text() == "", "one has yet to check"
    submit(desk, people[2], {**GOOD, "keeps": False})
    assert desk.export_to(desk.owner, "s", "stories").read_text() == ""


HOSTILE = ["<script>alert(1)</script>", "'; DROP TABLE people; --", "{{7}}", "\u202e a", "🙂 x y"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_kept_as_text(desks, text):
    desk = desks(task="rule-of-thumb", items=1, **OPEN)
    person = joined(desk, text)
    submit(
        desk, person, {**RULE, "rule": f"It is wrong {text}", "revised_reply": f"I say {text} no"}
    )
    (row,) = desk.answers(desk.owner)
    assert row.answer["rule"] == f"It is wrong {text}"
    assert desk.overview(desk.owner).people[0].person.name == text


@pytest.mark.parametrize(
    "answer", [{"ok": "\0"}, {"other": 1}, {"ok": {"a": 1}}, {"ok": 10**9}, []]
)
def test_malformed_answers_are_refused(desks, answer):
    desk = desks()
    person = joined(desk)
    work = desk.next_item(person)
    for call in (
        lambda: desk.submit(person, work.assignment, new_id(), answer),
        lambda: desk.save_draft(person, work.assignment, answer),
    ):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "'; DROP TABLE items; --", "x" * 1000, "é"])
def test_ids_that_cannot_be_ours_are_as_good_as_unknown(desks, name):
    desk = desks()
    person = joined(desk)
    for call in (
        lambda: desk.submit(person, name, new_id(), {"ok": True}),
        lambda: desk.save_draft(person, name, {}),
        lambda: desk.check(person, name, {}),
        lambda: desk.skip(person, name),
        lambda: desk.admit(desk.owner, name),
        lambda: desk.reissue(desk.owner, name),
        lambda: desk.revoke(desk.owner, name),
        lambda: desk.review(desk.owner, name, "good", ""),
    ):
        with pytest.raises(InputError):
            call()


def test_everything_a_lead_does_is_in_the_log(desks):
    desk = desks()
    invitation = desk.invite(desk.owner, "Jo")
    desk.join(invitation.token)
    desk.set_paused(desk.owner, True)
    desk.revoke(desk.owner, invitation.token_id)
    lines = desk.audit_log(desk.owner)
    assert [line.action for line in lines] == [
        "revoke token", "pause all", "join", "invite annotator", "add items"
    ]  # fmt: skip
    assert lines[2].actor == invitation.person.id
    assert not any(invitation.token in str(line) for line in lines)


def test_a_second_server_sees_the_same(desks, tmp_path, database, clock):
    desk = desks(items=1, people_per_item=1)
    person = joined(desk)
    work = desk.next_item(person)
    other = Desk(desk.project, Storage(tmp_path, database), clock)
    assert other.next_item(person).assignment == work.assignment
    other.submit(person, work.assignment, "submission-1", {"ok": True})
    assert desk.submit(person, work.assignment, "submission-1", {"ok": True}).repeated
    other.close()


def test_an_older_database_is_brought_up_and_a_newer_one_refused(desks, tmp_path, database):
    import sqlalchemy as sa

    from moralscope.annotation.tables import STEPS

    desk = desks()
    person = joined(desk)
    submit(desk, person, {"ok": True})

    def add_column(connection):
        connection.execute(sa.text("ALTER TABLE items ADD COLUMN note VARCHAR(20)"))

    newer = Storage(tmp_path, database, (*STEPS, add_column))
    with newer.read() as connection:
        assert newer.version(connection) == len(STEPS) + 1
        assert connection.execute(sa.text("SELECT note FROM items")).first() == (None,)
    newer.close()
    assert len(desk.answers(desk.owner)) == 1
    with pytest.raises(InputError, match="newer moralscope"):
        Storage(tmp_path, database)


def test_a_changed_number_of_people_holds_for_items_that_are_there(
    desks, tmp_path, database, clock
):
    from dataclasses import replace

    desk = desks(items=2, people_per_item=2)
    people = [joined(desk, name) for name in ("A", "B", "C")]
    for person in people[:2]:
        submit(desk, person, {"ok": True})
    for asked, quotas in ((1, {"i0": 2, "i1": 1}), (3, {"i0": 3, "i1": 3})):
        policies = replace(desk.project.policies, people_per_item=asked)
        again = Desk(replace(desk.project, policies=policies), Storage(tmp_path, database), clock)
        again.apply_policies()
        assert again.overview(again.owner).wanted == sum(quotas.values())
        again.close()
    assert desk.next_item(people[2]).item.id == "i0"


def test_without_staging_items_nobody_waits_for_them(desks):
    desk = desks(items=0, staging_items=2)
    assert joined(desk).stage == "main"
