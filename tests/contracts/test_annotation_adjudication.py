"""Final answers of items on which people differ, on SQLite and on PostgreSQL alike."""

from json import loads

import pytest

from moralscope.annotation.agreement import agreement, agreement_so_far
from moralscope.annotation.records import NotAllowed
from moralscope.core.errors import InputError

from ..annotation_databases import OPEN, joined, new_id


@pytest.fixture
def service(services):
    """Two people on three items: they differ on the first."""
    made = services(items=3, people_per_item=2, **OPEN)
    people = [joined(made), joined(made, "Al")]
    for place in range(3):
        for at, person in enumerate(people):
            work = made.next_item(person)
            differs = place == 0 and at == 1
            made.submit(person, work.assignment, new_id(), {"ok": not differs})
    made.people = people
    return made


def test_items_on_which_people_differ_are_listed_with_everybodys_answer(service):
    (one,) = service.disputed(service.owner)
    assert (one.differs, one.final, one.late) == (("ok",), None, False)
    assert sorted(answer["ok"] for answer in one.answers.values()) == [False, True]
    assert set(one.answers) == {person.id for person in service.people}


def test_a_final_answer_is_kept_with_who_when_and_why(service, clock):
    (one,) = service.disputed(service.owner)
    clock.now += 5
    made = service.adjudicate(service.owner, one.item.id, {"ok": False}, " It is rude. ")
    assert (made.comment, made.lead, made.created) == ("It is rude.", "owner", clock.now)
    assert service.finals(service.owner) == {one.item.id: made}
    (again,) = service.disputed(service.owner)
    assert (again.final, again.late) == (made, False)
    line = service.audit_log(service.owner)[0]
    assert (line.action, line.subject, line.detail) == ("adjudicate", one.item.id, "It is rude.")
    clock.now += 5
    other = service.adjudicate(service.owner, one.item.id, {"ok": True})
    assert service.finals(service.owner) == {one.item.id: other}, "the latest counts"


def test_agreement_is_of_the_annotators_answers_alone(service, tmp_path):
    before = agreement_so_far(service, service.owner)
    whole = service.export_to(service.owner, "before", "csv")
    first = agreement(whole).statistics["fields"]
    (one,) = service.disputed(service.owner)
    service.adjudicate(service.owner, one.item.id, {"ok": False}, "x")
    assert agreement_so_far(service, service.owner) == before
    for shape in ("csv", "jsonl", "parquet"):
        path = service.export_to(service.owner, "after", shape)
        assert agreement(path).statistics["fields"] == first, shape


def test_exports_have_the_final_answer_in_columns_of_its_own(service):
    (one,) = service.disputed(service.owner)
    service.adjudicate(service.owner, one.item.id, {"ok": False}, "=1+1")
    lines = service.export_to(service.owner, "a", "jsonl").read_text("utf-8").splitlines()
    finals = [loads(line).get("final") for line in lines]
    assert [final and final["answer"] for final in finals] == [{"ok": False}] * 2 + [None] * 4
    assert (finals[0]["comment"], finals[0]["by"]) == ("=1+1", "owner")
    table = service.export_to(service.owner, "a", "csv").read_text("utf-8").splitlines()
    assert table[0].endswith(",ok,final_ok,final_comment,final_by,final_at")
    assert ",0,'=1+1,owner," in table[1], "no spreadsheet runs a comment"


def test_what_cannot_be_a_final_answer_is_refused(service):
    owner = service.owner
    (one,) = service.disputed(owner)
    for answer, words in (({}, "answer this one"), ({"okk": True}, "no field 'okk'")):
        with pytest.raises(InputError, match=words):
            service.adjudicate(owner, one.item.id, answer)
    with pytest.raises(InputError, match="has no answers"):
        service.adjudicate(owner, "nothing", {"ok": True})
    with pytest.raises(InputError, match="comment has 4,001 characters"):
        service.adjudicate(owner, one.item.id, {"ok": True}, "x" * 4001)
    with pytest.raises(NotAllowed, match="only a lead"):
        service.adjudicate(service.people[0], one.item.id, {"ok": True})
    assert service.finals(owner) == {}


def test_an_answer_after_the_decision_asks_the_lead_to_look_again(services, clock):
    service = services(items=1, people_per_item=3, **OPEN)
    for place in range(3):
        person = joined(service, f"P{place}")
        clock.now += 1
        work = service.next_item(person)
        service.submit(person, work.assignment, new_id(), {"ok": place == 0})
        if place == 1:
            clock.now += 1
            service.adjudicate(service.owner, work.item.id, {"ok": True})
    (one,) = service.disputed(service.owner)
    assert (one.late, len(one.answers)) == (True, 3)
