"""What annotators and leads do, on SQLite and on PostgreSQL alike."""

import pytest

from moralscope.annotation.forms import question_bank
from moralscope.annotation.records import Conflict, NotAllowed, WorkPaused
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError

from ..annotation_databases import GOOD, OPEN, RULE, STORY, joined, new_id


def submit(service, person, answer):
    work = service.next_item(person)
    receipt = service.submit(person, work.assignment, new_id(), answer)
    assert receipt.saved, receipt.findings
    return work


def answers(test, right):
    """Answer the first `right` questions rightly and the others wrongly."""
    found = {}
    for place, question in enumerate(test.questions):
        good = question_bank()[question.id].right
        bad = next(one.value for one in question.choices if one.value != good)
        found[question.id] = good if place < right else bad
    return found


def test_the_whole_way_from_link_to_export(services):
    service = services(task="rule-of-thumb", items=4, staging_items=2, people_per_item=2)
    person = service.join(service.invite(service.owner, "Jo").token).person
    assert person.stage == "consent"
    with pytest.raises(NotAllowed):
        service.next_item(person)
    person = service.consent(person, True)
    assert person.stage == "qualification"
    failed = service.answer_test(person, answers(service.test(person), 5))
    assert (failed.passed, failed.right, failed.attempts_left) == (False, 5, 2)
    assert len(failed.explanations) == 2
    passed = service.answer_test(person, answers(service.test(person), 6))
    assert passed.passed
    for _ in range(2):
        assert submit(service, person, RULE).stage == "staging"
    assert service.next_item(person) is None
    queue = service.review_queue(service.owner)
    assert len(queue) == 2
    assert queue[0].person.stage == "review"
    service.review(service.owner, queue[0].assignment, "mend", "Name one action.")
    service.review(service.owner, queue[1].assignment, "good", "Well put.")
    service.send_back(service.owner, person.id)
    (seen,) = [one for one in service.history(person) if one.assignment == queue[0].assignment]
    assert seen.reviews[0].feedback == "Name one action."
    service.edit(person, seen.assignment, new_id(), {**RULE, "severity": 5})
    (again,) = service.review_queue(service.owner)
    assert (again.revision, again.answer["severity"]) == (2, 5)
    assert service.admit(service.owner, person.id).stage == "main"
    for _ in range(2):
        assert submit(service, person, RULE).stage == "main"
    assert service.next_item(person) is None
    rows = service.answers(service.owner)
    assert [row.item for row in rows] == ["i2", "i3"]
    assert {row.person for row in rows} == {person.id}
    assert len(service.answers(service.owner, "all")) == 4


def test_retakes_end_and_draw_other_questions(services):
    service = services(retakes=1, qualification=True)
    person = joined(service)
    first, seen = service.test(person), service.test(person)
    assert first == seen, "an open test stays the same"
    service.answer_test(person, answers(first, 0))
    second = service.test(person)
    assert not {one.id for one in first.questions} & {one.id for one in second.questions}
    assert service.answer_test(person, answers(second, 0)).attempts_left == 0
    with pytest.raises(NotAllowed):
        service.test(person)
    assert service.overview(service.owner).people[0].person.stage == "failed"


def test_a_test_must_be_answered_whole(services):
    service = services(qualification=True)
    person = joined(service)
    given = answers(service.test(person), 7)
    given.pop(next(iter(given)))
    with pytest.raises(InputError, match="no answer"):
        service.answer_test(person, given)


def test_who_declines_sees_nothing(services):
    service = services()
    person = service.join(service.invite(service.owner, "Jo").token).person
    assert service.consent(person, False).stage == "declined"
    with pytest.raises(NotAllowed):
        service.next_item(person)


def test_tokens_are_hashed_revocable_and_open_sessions(services, tmp_path, database):
    service = services()
    invitation = service.invite(service.owner, "Jo")
    session = service.join(invitation.token)
    assert service.who(session.secret).id == invitation.person.id
    if not database:
        kept = b"".join(path.read_bytes() for path in tmp_path.glob("annotations.sqlite*"))
        assert b"Jo" in kept
        for secret in (invitation.token, session.secret):
            assert secret.encode() not in kept
    service.revoke(service.owner, invitation.token_id)
    for call in (lambda: service.who(session.secret), lambda: service.join(invitation.token)):
        with pytest.raises(NotAllowed):
            call()
    again = service.reissue(service.owner, invitation.person.id)
    assert service.join(again.token).person.id == invitation.person.id


def test_sessions_end(services, clock):
    service = services(session_days=1)
    session = service.join(service.invite(service.owner, "Jo").token)
    clock.now += 86_401
    with pytest.raises(NotAllowed, match="ended"):
        service.who(session.secret)
    left = service.join(service.invite(service.owner, "Al").token)
    service.leave(left.secret)
    with pytest.raises(NotAllowed):
        service.who(left.secret)


@pytest.mark.parametrize("token", ["", "x", "' OR 1=1 --", "a" * 10_000, "\0", "\ud800"])
def test_other_tokens_open_nothing(services, token):
    service = services()
    with pytest.raises(NotAllowed):
        service.join(token)
    with pytest.raises(NotAllowed):
        service.who(token)


def test_annotators_are_no_leads(services):
    service = services()
    person = joined(service)
    for call in (
        lambda: service.overview(person),
        lambda: service.answers(person),
        lambda: service.facts(person),
        lambda: service.audit_log(person),
        lambda: service.review_queue(person),
        lambda: service.invite(person, "Al", "lead"),
        lambda: service.admit(person, person.id),
        lambda: service.set_paused(person, True),
        lambda: service.export_to(person, "a", "jsonl"),
        lambda: service.add_items(person, []),
    ):
        with pytest.raises(NotAllowed):
            call()


def test_nobody_touches_anothers_work(services):
    service = services()
    mine, other = joined(service), joined(service, "Al")
    work = service.next_item(mine)
    for call in (
        lambda: service.submit(other, work.assignment, new_id(), {"ok": True}),
        lambda: service.save_draft(other, work.assignment, {"ok": True}),
        lambda: service.check(other, work.assignment, {"ok": True}),
        lambda: service.edit(other, work.assignment, new_id(), {"ok": True}),
        lambda: service.skip(other, work.assignment),
    ):
        with pytest.raises(NotAllowed, match="not your item"):
            call()
    assert service.history(other) == ()


def test_the_same_submission_is_saved_once(services):
    service = services()
    person = joined(service)
    work = service.next_item(person)
    first = service.submit(person, work.assignment, "submission-1", {"ok": True})
    again = service.submit(person, work.assignment, "submission-1", {"ok": True})
    assert (first.repeated, again.repeated, again.saved, again.revision) == (False, True, True, 1)
    assert len(service.answers(service.owner)) == 1
    with pytest.raises(Conflict, match="id was used"):
        service.submit(person, work.assignment, "submission-1", {"ok": False})
    with pytest.raises(Conflict, match="submitted before"):
        service.submit(person, work.assignment, "submission-2", {"ok": True})
    other = joined(service, "Al")
    theirs = service.next_item(other)
    with pytest.raises(Conflict):
        service.submit(other, theirs.assignment, "submission-1", {"ok": True})


@pytest.mark.parametrize("name", ["", "short", "a" * 65, "with space", "../../etc", "ok;DROP--é"])
def test_malformed_submission_ids_are_refused(services, name):
    service = services()
    person = joined(service)
    work = service.next_item(person)
    with pytest.raises(InputError, match="malformed"):
        service.submit(person, work.assignment, name, {"ok": True})


def test_drafts_survive_and_the_item_stays(services):
    service = services(task="rule-of-thumb", items=2, **OPEN)
    person = joined(service)
    work = service.next_item(person)
    service.save_draft(person, work.assignment, {"rule": "It is wro"})
    again = service.next_item(person)
    assert (again.assignment, again.draft) == (work.assignment, {"rule": "It is wro"})


def test_checks_that_block_save_nothing_and_are_counted(services):
    service = services(task="rule-of-thumb", items=2, **OPEN)
    person = joined(service)
    work = service.next_item(person)
    receipt = service.submit(person, work.assignment, new_id(), {**RULE, "rule": "no no"})
    assert not receipt.saved
    assert receipt.findings[0].field == "rule"
    assert service.answers(service.owner) == ()
    assert service.next_item(person).draft["rule"] == "no no"
    assert service.overview(service.owner).people[0].failed_checks == 1


def test_an_abandoned_item_returns_and_a_late_answer_finds_room_or_not(services, clock):
    service = services(items=1, people_per_item=1, lease_minutes=10)
    slow, quick = joined(service), joined(service, "Al")
    work = service.next_item(slow)
    assert service.next_item(quick) is None
    clock.now += 601
    theirs = service.next_item(quick)
    assert theirs.item.id == "i0"
    with pytest.raises(Conflict, match="someone else finished this item"):
        service.submit(slow, work.assignment, new_id(), {"ok": True})
    service.skip(quick, theirs.assignment, "not for me")
    assert service.next_item(quick) is None, "what was skipped does not come back"
    back = service.next_item(slow)
    assert (back.assignment, back.draft) == (work.assignment, {"ok": True}), "the text was kept"
    assert service.submit(slow, work.assignment, new_id(), {"ok": True}).saved


def test_autosave_renews_the_lease(services, clock):
    service = services(items=1, people_per_item=1, lease_minutes=10)
    slow, quick = joined(service), joined(service, "Al")
    work = service.next_item(slow)
    for _ in range(3):
        clock.now += 500
        assert service.save_draft(slow, work.assignment, {}) == clock.now + 600
        assert service.next_item(quick) is None


def test_quota_is_kept_and_everybody_sees_an_item_once(services):
    service = services(items=3, people_per_item=2)
    people = [joined(service, name) for name in ("A", "B", "C")]
    for person in people:
        while service.next_item(person):
            submit(service, person, {"ok": True})
    rows = service.answers(service.owner)
    assert len(rows) == 6
    assert len({(row.item, row.person) for row in rows}) == 6
    seen = service.overview(service.owner)
    assert (seen.complete, seen.wanted, seen.submitted, seen.open) == (3, 6, 6, 0)


def test_edits_keep_history(services, clock):
    service = services()
    person = joined(service)
    work = submit(service, person, {"ok": True})
    clock.now += 60
    assert service.edit(person, work.assignment, "revision-2", {"ok": False}).revision == 2
    assert service.edit(person, work.assignment, "revision-2", {"ok": False}).repeated
    (past,) = service.history(person)
    assert [(one.number, one.answer["ok"]) for one in past.revisions] == [(1, True), (2, False)]
    (row,) = service.answers(service.owner)
    assert (row.answer, row.revision) == ({"ok": False}, 2)


def test_pausing_returns_the_item_and_keeps_the_draft(services):
    service = services(items=1, people_per_item=1)
    person, other = joined(service), joined(service, "Al")
    work = service.next_item(person)
    service.save_draft(person, work.assignment, {"ok": True})
    assert service.pause(person).paused
    with pytest.raises(WorkPaused):
        service.next_item(person)
    theirs = service.next_item(other)
    assert theirs.item.id == work.item.id
    service.skip(other, theirs.assignment)
    service.resume(person)
    assert service.next_item(person).draft == {"ok": True}


def test_a_paused_project_takes_nothing_and_goes_on(services):
    service = services()
    person = joined(service)
    work = service.next_item(person)
    service.set_paused(service.owner, True)
    with pytest.raises(WorkPaused):
        service.submit(person, work.assignment, new_id(), {"ok": True})
    assert service.progress(person).project_paused
    service.set_paused(service.owner, False)
    assert service.submit(person, work.assignment, new_id(), {"ok": True}).saved


def test_the_removed_are_out_and_their_answers_stay(services):
    service = services()
    session = service.join(service.invite(service.owner, "Jo").token)
    person = service.consent(session.person, True)
    submit(service, person, {"ok": True})
    service.remove(service.owner, person.id)
    with pytest.raises(NotAllowed):
        service.who(session.secret)
    with pytest.raises(NotAllowed):
        service.next_item(person)
    assert len(service.answers(service.owner)) == 1


def test_the_questionnaire_is_optional_asked_once_and_apart(services):
    service = services()
    told, silent = joined(service), joined(service, "Al")
    assert told.questionnaire_open
    given = {"care-1": 5, "care-2": 4, "loyalty-1": 1}
    assert not service.answer_questionnaire(told, "moderate", given, agrees=True).questionnaire_open
    assert not service.answer_questionnaire(silent, None, {}).questionnaire_open
    (facts,) = service.facts(service.owner)
    assert (facts.person, facts.leaning) == (told.id, "moderate")
    assert facts.foundations == {"care": 4.5, "loyalty": 1.0}
    with pytest.raises(InputError, match="before"):
        service.answer_questionnaire(told, None, {})
    third = joined(service, "Cy")
    for leaning, statements in (("left", {}), (None, {"care-1": 9}), (None, {"care-9": 1})):
        with pytest.raises(InputError):
            service.answer_questionnaire(third, leaning, statements, agrees=True)
    with pytest.raises(InputError, match="only with your consent"):
        service.answer_questionnaire(third, "moderate", {})


def test_stories_are_checked_by_others_and_again_after_an_edit(services):
    service = services(task="story-writing", items=1, **OPEN)
    writer, first, second = (joined(service, name) for name in ("W", "A", "B"))
    written = submit(service, writer, STORY)
    assert service.next_item(writer) is None, "nobody checks her own story"
    work = service.next_item(first)
    assert (work.form.name, work.item.texts["norm"]) == ("story-check", "norm_1 0")
    service.submit(first, work.assignment, new_id(), GOOD)
    service.edit(
        writer, written.assignment, new_id(), {**STORY, "situation": "Anna cooks for Ben."}
    )
    for person in (first, second):
        work = service.next_item(person)
        assert work.item.texts["situation"] == "Anna cooks for Ben."
        service.submit(person, work.assignment, new_id(), GOOD)
        assert service.next_item(person) is None, "the earlier revision needs no more people"
    path = service.export_to(service.owner, "s", "stories")
    assert "Anna cooks for Ben." in path.read_text()


def test_a_story_that_others_fault_is_left_out(services):
    service = services(task="story-writing", items=1, **OPEN)
    people = [joined(service, name) for name in ("W", "A", "B")]
    submit(service, people[0], STORY)
    submit(service, people[1], GOOD)
    assert service.export_to(service.owner, "s", "stories").read_text() == "", (
        "one has yet to check"
    )
    submit(service, people[2], {**GOOD, "keeps": False})
    assert service.export_to(service.owner, "s", "stories").read_text() == ""


HOSTILE = ["<script>alert(1)</script>", "'; DROP TABLE people; --", "{{7}}", "\u202e a", "🙂 x y"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_kept_as_text(services, text):
    service = services(task="rule-of-thumb", items=1, **OPEN)
    person = joined(service, text)
    submit(
        service,
        person,
        {**RULE, "rule": f"It is wrong {text}", "revised_reply": f"I say {text} no"},
    )
    (row,) = service.answers(service.owner)
    assert row.answer["rule"] == f"It is wrong {text}"
    assert service.overview(service.owner).people[0].person.name == text


@pytest.mark.parametrize(
    "answer", [{"ok": "\0"}, {"other": 1}, {"ok": {"a": 1}}, {"ok": 10**9}, []]
)
def test_malformed_answers_are_refused(services, answer):
    service = services()
    person = joined(service)
    work = service.next_item(person)
    for call in (
        lambda: service.submit(person, work.assignment, new_id(), answer),
        lambda: service.save_draft(person, work.assignment, answer),
    ):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "'; DROP TABLE items; --", "x" * 1000, "é"])
def test_ids_that_cannot_be_ours_are_as_good_as_unknown(services, name):
    service = services()
    person = joined(service)
    for call in (
        lambda: service.submit(person, name, new_id(), {"ok": True}),
        lambda: service.save_draft(person, name, {}),
        lambda: service.check(person, name, {}),
        lambda: service.skip(person, name),
        lambda: service.admit(service.owner, name),
        lambda: service.reissue(service.owner, name),
        lambda: service.revoke(service.owner, name),
        lambda: service.review(service.owner, name, "good", ""),
    ):
        with pytest.raises(InputError):
            call()


def test_everything_a_lead_does_is_in_the_log(services):
    service = services()
    invitation = service.invite(service.owner, "Jo")
    service.join(invitation.token)
    service.set_paused(service.owner, True)
    service.revoke(service.owner, invitation.token_id)
    lines = service.audit_log(service.owner)
    assert [line.action for line in lines] == [
        "revoke token", "pause all", "join", "invite annotator", "add items"
    ]  # fmt: skip
    assert lines[2].actor == invitation.person.id
    assert not any(invitation.token in str(line) for line in lines)


def test_a_second_server_sees_the_same(services, tmp_path, database, clock):
    service = services(items=1, people_per_item=1)
    person = joined(service)
    work = service.next_item(person)
    other = AnnotationService(service.project, Storage(tmp_path, database), clock)
    assert other.next_item(person).assignment == work.assignment
    other.submit(person, work.assignment, "submission-1", {"ok": True})
    assert service.submit(person, work.assignment, "submission-1", {"ok": True}).repeated
    other.close()


def test_an_older_database_is_brought_up_and_a_newer_one_refused(services, tmp_path, database):
    import sqlalchemy as sa

    from moralscope.annotation.storage import STEPS

    service = services()
    person = joined(service)
    submit(service, person, {"ok": True})

    def add_column(connection):
        connection.execute(sa.text("ALTER TABLE items ADD COLUMN note VARCHAR(20)"))

    newer = Storage(tmp_path, database, (*STEPS, add_column))
    with newer.read() as connection:
        assert newer.version(connection) == len(STEPS) + 1
        assert connection.execute(sa.text("SELECT note FROM items")).first() == (None,)
    newer.close()
    assert len(service.answers(service.owner)) == 1
    with pytest.raises(InputError, match="newer moralscope"):
        Storage(tmp_path, database)


def test_a_changed_number_of_people_holds_for_items_that_are_there(
    services, tmp_path, database, clock
):
    from dataclasses import replace

    service = services(items=2, people_per_item=2)
    people = [joined(service, name) for name in ("A", "B", "C")]
    for person in people[:2]:
        submit(service, person, {"ok": True})
    for asked, quotas in ((1, {"i0": 2, "i1": 1}), (3, {"i0": 3, "i1": 3})):
        policies = replace(service.project.policies, people_per_item=asked)
        again = AnnotationService(
            replace(service.project, policies=policies), Storage(tmp_path, database), clock
        )
        again.apply_policies()
        assert again.overview(again.owner).wanted == sum(quotas.values())
        again.close()
    assert service.next_item(people[2]).item.id == "i0"


def test_without_staging_items_nobody_waits_for_them(services):
    service = services(items=0, staging_items=2)
    assert joined(service).stage == "main"
