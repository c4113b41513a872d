"""Admission, rejection, blocking, appeals and the audit log, on SQLite and on PostgreSQL alike."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from json import loads

import pytest
import sqlalchemy as sa

from moralscope.annotation.records import Conflict, NotAllowed
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import METADATA, STEPS, Storage
from moralscope.core.errors import InputError

from ..annotation_databases import OPEN, joined, new_id

YES = {"ok": True}


def answered(service, person, answer=YES):
    """Do one item; return its assignment."""
    work = service.next_item(person)
    assert service.submit(person, work.assignment, new_id(), answer).saved
    return work.assignment


def stage_of(service, person):
    return next(
        line.person.stage
        for line in service.overview(service.owner).people
        if line.person.id == person.id
    )


def test_four_good_answers_in_a_row_admit_and_a_mistake_begins_again(services, clock):
    service = services(items=9, qualification=False, staging_items=7, good_in_a_row=4)
    person, owner = joined(service), service.owner
    for place, verdict in enumerate(["good", "good", "mend", "good", "good", "good"]):
        clock.now += 1
        assert stage_of(service, person) == "staging"
        service.review(owner, answered(service, person), verdict, "")
        row = [1, 2, 0, 1, 2, 3][place]
        progress = service.progress(person)
        assert (progress.in_a_row, progress.wanted_in_a_row) == (row, 4)
    clock.now += 1
    last = answered(service, person)
    assert stage_of(service, person) == "review", "all are done, one is not read yet"
    service.review(owner, last, "good", "")
    assert stage_of(service, person) == "main"
    line = next(one for one in service.audit_log(owner) if one.action == "move to main")
    assert (line.actor, line.subject, line.detail) == ("owner", person.id, "4 good in a row")


def test_what_was_mended_was_not_right_at_first(services, clock):
    service = services(items=4, qualification=False, staging_items=2)
    person, owner = joined(service), service.owner
    first, second = answered(service, person), answered(service, person)
    service.review(owner, first, "mend", "Look again.")
    service.review(owner, second, "good", "")
    service.edit(person, first, new_id(), {"ok": False})
    service.review(owner, first, "good", "")
    assert stage_of(service, person) == "review", "the lead decides"
    assert service.admit(owner, person.id).stage == "main"


def test_a_rejected_answer_counts_no_more_and_its_item_goes_to_another(services):
    service = services(items=1, people_per_item=1, **OPEN)
    jo, al = joined(service), joined(service, "Al")
    done = answered(service, jo)
    assert service.next_item(al) is None
    with pytest.raises(InputError, match="reason is empty"):
        service.reject(service.owner, done, "  ")
    decision = service.reject(service.owner, done, "Says yes to everything.")
    assert service.answers(service.owner) == ()
    assert service.overview(service.owner).submitted == 0
    (past,) = service.history(jo)
    assert past.decision == replace(decision, lead=""), "who decided is not told"
    assert past.decision.reason == "Says yes to everything."
    with pytest.raises(Conflict, match="rejected"):
        service.edit(jo, done, new_id(), {"ok": False})
    with pytest.raises(InputError, match="only a submitted answer"):
        service.reject(service.owner, done, "again")
    assert service.next_item(jo) is None, "nobody gets an item twice"
    answered(service, al)
    lifted = service.settle(service.owner, decision.id, lift=True)
    assert lifted.outcome == "lifted"
    assert {row.person for row in service.answers(service.owner)} == {jo.id, al.id}
    assert service.overview(service.owner).complete == 1


def test_an_appeal_is_heard_once_and_by_a_lead(services):
    service = services(items=2, **OPEN)
    jo, al = joined(service), joined(service, "Al")
    decision = service.reject(service.owner, answered(service, jo), "Too quick.")
    with pytest.raises(InputError, match="no appeal waits"):
        service.settle(service.owner, decision.id, lift=False)
    with pytest.raises(InputError, match="no decision"):
        service.appeal(al, decision.id, "mine too")
    assert service.appeal(jo, decision.id, "I know the dog.").waits
    assert service.overview(service.owner).appeals == 1
    with pytest.raises(InputError, match="appealed before"):
        service.appeal(jo, decision.id, "And another thing.")
    with pytest.raises(NotAllowed):
        service.settle(jo, decision.id, lift=True)
    assert service.settle(service.owner, decision.id, lift=False, answer="It was 1 s.").holds
    (own,) = service.own_decisions(jo)
    assert (own.outcome, own.answer, own.may_appeal) == ("declined", "It was 1 s.", False)
    with pytest.raises(InputError, match="appealed before"):
        service.appeal(jo, decision.id, "Please.")
    assert service.own_decisions(al) == ()
    service.settle(service.owner, decision.id, lift=True)  # a lead may still change her mind
    with pytest.raises(InputError, match="lifted before"):
        service.settle(service.owner, decision.id, lift=True)


@pytest.mark.parametrize("leave_out", [False, True])
def test_the_blocked_get_no_work_keep_what_they_did_and_come_back(services, leave_out):
    service = services(items=3, people_per_item=1, **OPEN)
    session = service.join(service.invite(service.owner, "Jo").token)
    jo, al = service.consent(session.person, True), joined(service, "Al")
    answered(service, jo)
    work = service.next_item(jo)
    decision = service.block(service.owner, jo.id, "Five rejections.", leave_out=leave_out)
    assert service.who(session.secret).stage == "blocked", "she can read why"
    for call in (
        lambda: service.next_item(jo),
        lambda: service.save_draft(jo, work.assignment, YES),
        lambda: service.submit(jo, work.assignment, new_id(), YES),
    ):
        with pytest.raises(NotAllowed, match="blocked"):
            call()
    assert len(service.answers(service.owner)) == (0 if leave_out else 1)
    assert len(service.history(jo)) == 1
    for _ in range(3 if leave_out else 2):
        answered(service, al)
    assert service.next_item(al) is None
    with pytest.raises(InputError, match="'blocked'"):
        service.block(service.owner, jo.id, "again")
    service.appeal(jo, decision.id, "Two of them were lifted.")
    service.settle(service.owner, decision.id, lift=True, answer="True.")
    assert service.who(session.secret).stage == "main"
    assert len([row for row in service.answers(service.owner) if row.person == jo.id]) == 1


def test_a_rejection_lifted_during_a_block_stays_out_with_the_rest(services):
    service = services(items=2, **OPEN)
    jo = joined(service)
    first, _ = answered(service, jo), answered(service, jo)
    rejection = service.reject(service.owner, first, "No.")
    block = service.block(service.owner, jo.id, "No more.", leave_out=True)
    service.settle(service.owner, rejection.id, lift=True)
    assert service.answers(service.owner) == ()
    service.settle(service.owner, block.id, lift=True)
    assert len(service.answers(service.owner)) == 2


def test_of_many_who_decide_at_once_one_does(services):
    service = services(items=1, people_per_item=2, **OPEN)
    jo = joined(service)
    done = answered(service, jo)

    def tried(call):
        try:
            return call()
        except (InputError, Conflict):
            return None

    with ThreadPoolExecutor(6) as pool:
        rejects = [
            pool.submit(tried, lambda n=n: service.reject(service.owner, done, f"No {n}."))
            for n in range(6)
        ]
        (decision,) = [each for one in rejects if (each := one.result())]
        appeals = [
            pool.submit(tried, lambda n=n: service.appeal(jo, decision.id, f"Yes {n}."))
            for n in range(6)
        ]
        (appeal,) = [each for one in appeals if (each := one.result())]
        lifts = [
            pool.submit(tried, lambda: service.settle(service.owner, decision.id, lift=True))
            for _ in range(6)
        ]
        assert [one.result() is not None for one in lifts].count(True) == 1
    (kept,) = service.decisions(service.owner)
    assert (kept.appeal, kept.outcome) == (appeal.appeal, "lifted")
    for name in ("Al", "Cy"):  # one place is hers again, one is free
        person = joined(service, name)
        assert (service.next_item(person) is not None) == (name == "Al")


def test_what_was_told_can_be_taken_back(services):
    service = services(items=1, **OPEN)
    jo = joined(service)
    service.answer_questionnaire(jo, "moderate", {}, {"region": "europe"}, agrees=True)
    answered(service, jo)
    assert service.has_told(jo)
    service.withdraw_facts(jo)
    assert not service.has_told(jo)
    assert service.facts(service.owner) == ()
    assert len(service.answers(service.owner)) == 1
    assert "withdraw" in service.audit_log(service.owner)[0].action


def test_a_person_is_told_of_news_until_she_goes_on(services, clock):
    service = services(items=4, **OPEN)
    jo = joined(service)
    done = [answered(service, jo), answered(service, jo)]
    assert service.news(jo) == 0
    clock.now += 1
    decision = service.reject(service.owner, done[0], "No.")
    service.review(service.owner, done[1], "mend", "Look again.")
    assert service.news(jo) == 2
    clock.now += 1
    service.edit(jo, done[1], new_id(), {"ok": False})
    assert service.news(jo) == 0
    clock.now += 1
    service.settle(service.owner, decision.id, lift=True)
    assert service.news(jo) == 1


def test_annotators_decide_nothing(services):
    service = services(items=2, **OPEN)
    jo, al = joined(service), joined(service, "Al")
    done = answered(service, jo)
    for call in (
        lambda: service.reject(al, done, "envy"),
        lambda: service.block(al, jo.id, "envy"),
        lambda: service.decisions(al),
        lambda: service.unread(al),
        lambda: service.unread_answers(al, jo.id),
    ):
        with pytest.raises(NotAllowed):
            call()


def test_a_lead_reads_the_main_round_newest_first(services, clock):
    service = services(items=3, **OPEN)
    jo = joined(service)
    done = []
    for _ in range(3):
        clock.now += 1
        done.append(answered(service, jo))
    service.review(service.owner, done[2], "good", "")
    assert service.unread(service.owner) == {jo.id: 2}
    found = service.unread_answers(service.owner, jo.id)
    assert [one.assignment for one in found] == [done[1], done[0]]


def test_the_log_only_grows_and_is_exported_whole(services, tmp_path, database):
    service = services(items=2, **OPEN)
    jo = joined(service)
    decision = service.reject(service.owner, answered(service, jo), "Too quick.")
    service.appeal(jo, decision.id, "It was easy.")
    service.settle(service.owner, decision.id, lift=True, answer="Right.")
    path = service.export_to(service.owner, "log", "audit")
    lines = [loads(line) for line in path.read_text().splitlines()]
    assert [line["number"] for line in lines] == sorted(line["number"] for line in lines)
    told = [(line["actor"], line["action"], line["subject"]) for line in lines][-3:]
    assert told == [
        ("owner", "reject", jo.id), (jo.id, "appeal", decision.id), ("owner", "lift", jo.id)
    ]  # fmt: skip
    assert "Jo" not in path.read_text()
    storage = Storage(tmp_path, database)
    for line in ("UPDATE audit SET detail = ''", "DELETE FROM audit"):
        with pytest.raises(Exception, match=r"only grows|saved first"), storage.write() as going:
            going.execute(sa.text(line))
    storage.close()
    assert len(service.audit_log(service.owner, None)) == len(lines) + 1  # the export itself


def test_a_project_of_version_1_is_brought_up_with_all_it_holds(services, tmp_path, database):
    service = services(items=2, **OPEN)
    jo = joined(service)
    answered(service, jo)
    service.answer_questionnaire(jo, "moderate", {"care-1": 5}, agrees=True)
    storage = Storage(tmp_path, database)
    with storage.write() as connection:  # what version 1 did not have
        trigger = "audit_keeps ON audit" if database else "audit_keeps_UPDATE"
        for line in (
            f"DROP TRIGGER {trigger}",
            "DROP TABLE decisions",
            "DROP TABLE adjudications",
            "ALTER TABLE facts DROP COLUMN about",
            "ALTER TABLE facts DROP COLUMN agreed",
            "UPDATE meta SET value = '1' WHERE key = 'schema'",
        ):
            connection.execute(sa.text(line))
    storage.close()
    again = AnnotationService(service.project, Storage(tmp_path, database))
    assert again.facts(again.owner)[0].leaning == "moderate"
    decision = again.reject(again.owner, again.history(jo)[0].assignment, "No.")
    assert again.own_decisions(jo) == (replace(decision, lead=""),)
    assert again.finals(again.owner) == {}
    again.close()
    assert len(STEPS) == 3
    assert "decisions" in METADATA.tables


@pytest.mark.slow
def test_a_decision_that_was_told_survives_sigkill(services, tmp_path, database):
    service = services(items=30, people_per_item=1, **OPEN)
    jo = joined(service)
    done = [answered(service, jo) for _ in range(30)]
    script = (
        "import sys; from pathlib import Path\n"
        "from moralscope.annotation.projects import new_project\n"
        "from moralscope.annotation.service import AnnotationService\n"
        "from moralscope.annotation.storage import Storage\n"
        "folder, url, *names = sys.argv[1:]\n"
        "project = new_project('tests', 'action-yes-no', url)\n"
        "service = AnnotationService(project, Storage(Path(folder), url))\n"
        "for name in names:\n"
        "    print(service.reject(service.owner, name, 'No.').assignment, flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path), database, *done]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        told = [running.stdout.readline().strip() for _ in range(5)]
        os.kill(running.pid, signal.SIGKILL)
        told += running.stdout.read().split()
    time.sleep(0.1)
    kept = {one.assignment for one in service.decisions(service.owner)}
    assert set(told) <= kept
    assert len(kept) <= len(told) + 1, "a decision is whole or has not happened"
    assert len(service.answers(service.owner)) == 30 - len(kept)
    left = service.overview(service.owner)
    assert left.submitted == 30 - len(kept)
