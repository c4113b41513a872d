"""Many at once, and servers killed in the middle: nothing is lost, nothing counted twice."""

import random
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from moralscope.annotation.projects import write_project
from moralscope.annotation.records import Conflict, WorkPaused
from moralscope.annotation.storage import ASSIGNMENTS, ITEMS

from ..annotation_databases import joined, make_service, new_id

QUOTA, PEOPLE = 3, 12
# A server in small: it says "saved" only after submit has returned.
WORKER = """
import sys
from pathlib import Path
from moralscope.annotation.projects import open_project
from uuid import uuid4
service = open_project(Path(sys.argv[1]))
people = [service.who(secret) for secret in sys.argv[2:]]
print("ready", flush=True)
while True:
    for person in people:
        work = service.next_item(person)
        if work is None:
            continue
        name = uuid4().hex
        service.save_draft(person, work.assignment, {"ok": True})
        if service.submit(person, work.assignment, name, {"ok": True}).saved:
            print(work.assignment, flush=True)
"""


def quota_kept(service, quota):
    """Return the answers, having seen that no count of any item is off."""
    rows = service.answers(service.owner)
    holding = (
        sa.select(sa.func.count())
        .where(ASSIGNMENTS.c.item == ITEMS.c.position)
        .where(ASSIGNMENTS.c.status.in_(("open", "submitted")))
        .scalar_subquery()
    )
    with service._storage.read() as connection:
        for held, counted in connection.execute(sa.select(ITEMS.c.held, holding)):
            assert held == counted
    if not rows:
        return rows
    assert len({(row.item, row.person) for row in rows}) == len(rows)
    assert max(Counter(row.item for row in rows).values()) <= quota
    return rows


def test_no_item_gets_more_than_its_quota_under_many_hands(database, tmp_path):
    service = make_service(tmp_path, database, items=8, people_per_item=QUOTA)
    people = [joined(service, f"P{n}") for n in range(PEOPLE)]
    start = threading.Barrier(PEOPLE)

    def work_all(person):
        start.wait()
        saved = 0
        while (work := service.next_item(person)) is not None:
            saved += service.submit(person, work.assignment, new_id(), {"ok": True}).saved
        return saved

    with ThreadPoolExecutor(PEOPLE) as pool:
        saved = sum(pool.map(work_all, people))
    assert len(quota_kept(service, QUOTA)) == saved == 8 * QUOTA
    service.close()


def test_expired_leases_and_late_answers_keep_the_quota(database, tmp_path, clock):
    """Everybody's lease ends before anybody submits: more hold an item than may answer it."""
    service = make_service(
        tmp_path, database, items=1, people_per_item=2, clock=clock, lease_minutes=1
    )
    people = [joined(service, f"P{n}") for n in range(8)]
    held = []
    for person in people:
        if (work := service.next_item(person)) is not None:
            held.append((person, work.assignment))
        clock.now += 61
    assert len(held) == len(people)

    def late(one):
        try:
            return service.submit(one[0], one[1], new_id(), {"ok": True}).saved
        except Conflict:
            return False

    with ThreadPoolExecutor(8) as pool:
        saved = sum(pool.map(late, held))
    assert len(quota_kept(service, 2)) == saved == 2
    service.close()


def test_one_submission_sent_by_many_threads_is_one(database, tmp_path):
    service = make_service(tmp_path, database)
    person = joined(service)
    work = service.next_item(person)
    with ThreadPoolExecutor(8) as pool:
        sent = [
            pool.submit(service.submit, person, work.assignment, "the-same-id", {"ok": True})
            for _ in range(8)
        ]
    receipts = [one.result() for one in sent]
    assert all(one.saved for one in receipts)
    assert sum(not one.repeated for one in receipts) == 1
    (past,) = service.history(person)
    assert len(past.revisions) == 1
    service.close()


def test_one_person_in_two_tabs_holds_one_item(database, tmp_path):
    service = make_service(tmp_path, database, items=6)
    person = joined(service)
    with ThreadPoolExecutor(6) as pool:
        works = list(pool.map(lambda _: service.next_item(person), range(6)))
    assert len({work.assignment for work in works}) == 1
    service.close()


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_kill_9(database, tmp_path, kills):
    service = make_service(tmp_path, database, items=400, people_per_item=2)
    write_project(service.project, tmp_path)
    secrets = [service.join(service.invite(service.owner, f"P{n}").token).secret for n in range(4)]
    for secret in secrets:
        service.consent(service.who(secret), True)
    saved = []
    for kill in range(kills):
        command = [sys.executable, "-c", WORKER, str(tmp_path), *secrets]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout.readline() == "ready\n"
            for _ in range(5 + kill):
                saved.append(worker.stdout.readline().strip())
            worker.kill()
            saved += [line.strip() for line in worker.stdout if line.endswith("\n")]
    rows = quota_kept(service, 2)
    kept = Counter(row.submission for row in rows)
    assert len(saved) >= 5 * kills
    assert all(kept[one] == 1 for one in saved)
    assert len(rows) <= len(saved) + kills, "at most one was saved and not told, a kill"
    service.close()
    assert Path(tmp_path, "project.yaml").exists()


@pytest.mark.parametrize("seed", range(3))
def test_whatever_people_do_in_whatever_order_the_counts_are_right(database, tmp_path, clock, seed):
    dice = random.Random(seed)
    service = make_service(
        tmp_path, database, items=5, people_per_item=2, lease_minutes=1, clock=clock
    )
    people = [joined(service, f"P{n}") for n in range(4)]
    held, saved = {}, {}

    def act(person, do):
        work = held.get(person.id)
        if do == "next":
            held[person.id] = service.next_item(person)
        elif do in ("pause", "resume"):
            getattr(service, do)(person)
        elif do == "submit" and work:
            answer = {"ok": dice.random() < 0.5}
            if service.submit(person, work.assignment, new_id(), answer).saved:
                saved[work.assignment] = answer
        elif do == "edit" and work and work.assignment in saved:
            answer = {"ok": dice.random() < 0.5}
            service.edit(person, work.assignment, new_id(), answer)
            saved[work.assignment] = answer
        elif do == "draft" and work:
            service.save_draft(person, work.assignment, {"ok": True})
        elif do == "skip" and work:
            service.skip(person, work.assignment)

    steps = ["next", "next", "submit", "draft", "edit", "skip", "pause", "resume", "resume"]
    for _ in range(100):
        clock.now += dice.choice([0, 1, 10, 40])
        try:
            act(dice.choice(people), dice.choice(steps))
        except (Conflict, WorkPaused):
            continue
        finally:
            quota_kept(service, 2)
    assert {row.submission: row.answer for row in service.answers(service.owner)} == saved
    assert len(saved) >= 3
    service.close()
