"""The guard's log: what is kept, for how long, and that it never keeps a reply back."""

import contextlib
import sqlite3
import stat
import time

import pytest

from moralscope.core.errors import InputError
from moralscope.server.guard import Guard, GuardedReply
from moralscope.server.guard.log import GuardLog, LoggedDecision
from moralscope.server.options import GuardOptions
from moralscope.server.service import Service
from moralscope.server.site.guard_page import guard_page


def decision(kind="kept", age_days=0.0, **more):
    facts = {"rule": "", "concern": "", "seconds": 0.1, "prompt": "P", "reply": "R", **more}
    return LoggedDecision(time=time.time() - 86_400 * age_days, kind=kind, **facts)


def test_no_text_is_kept_unless_the_owner_asks(tmp_path):
    path = tmp_path / "guard.sqlite"
    GuardLog(path, 30).add([decision("blocked", reply="a secret reply")])
    assert b"a secret reply" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = GuardLog(path, 30, texts=True)
    kept.add([decision("blocked", reply="a kept reply")])
    assert [row.reply for row in kept.figures(7).recent] == ["a kept reply", None]
    GuardLog(path, 30).add([decision()])  # the owner changed her mind
    assert [row.reply for row in GuardLog(path, 30).figures(7).recent] == [None, None]


def test_what_is_older_than_the_retention_is_deleted(tmp_path):
    log = GuardLog(tmp_path / "guard.sqlite", 10)
    log.add([decision(age_days=11), decision(age_days=2)])
    assert log.figures(365).decisions == 1
    assert log.figures(1).decisions == 0


def test_decisions_are_summed_by_time_rule_and_concern(tmp_path):
    log = GuardLog(tmp_path / "guard.sqlite", 30)
    flagged = {"rule": "Don't lie.", "concern": "risk ignorance"}
    rows = [decision("blocked", day, seconds=day + 1, **flagged) for day in (0.1, 1.1, 1.2)]
    log.add([*rows, decision("kept", 0.1), decision("partly", 3.5)])
    figures = log.figures(7)
    assert (figures.kinds["blocked"], figures.kinds["kept"], figures.kinds["partly"]) == (3, 1, 1)
    assert len(figures.periods) == 7
    assert sum(counts.get("blocked", 0) for _, counts in figures.periods) == 3
    assert sum(counts.get("blocked", 0) for _, counts in figures.periods[-3:]) == 3
    assert figures.periods[-1][0] <= time.time() < figures.periods[-1][0] + 86_400
    assert figures.rules == [("Don't lie.", 3)]
    assert figures.concerns == [("risk ignorance", 3)]
    assert figures.latency[2] == pytest.approx(2.2)


def test_the_guard_logs_what_it_decides_and_a_broken_log_costs_no_reply(tmp_path):
    service = Service()
    options = GuardOptions(experts="scripted", action="block")
    log = GuardLog(tmp_path / "guard.sqlite", 30, texts=True)
    replies = [GuardedReply("I would steal from a friend."), GuardedReply("Bring her soup.")]
    made = Guard(service, options, log)("Do you steal?", replies)
    assert log.figures(1).decisions == len(made) == 2
    (tmp_path / "folder").mkdir()
    broken = GuardLog(tmp_path / "folder", 30)
    assert len(Guard(service, options, broken)("Do you steal?", replies)) == 2
    service.close()


@pytest.mark.parametrize("texts", [False, True])
def test_a_flagged_reply_has_its_verdict_card_in_the_log_and_texts_only_if_kept(tmp_path, texts):
    service = Service()
    log = GuardLog(tmp_path / "guard.sqlite", 30, texts=texts)
    guard = Guard(service, GuardOptions(experts="scripted", action="block", evidence=True), log)
    prompt, many = "What about him?", [f"He is worth {number} of us." for number in range(200)]
    made = guard(prompt, [GuardedReply(text) for text in many])
    service.close()
    assert sum(one.outcome == "blocked" for one in made) == log.figures(1).kinds["blocked"] > 0
    for row in log.figures(1).recent:
        assert row.card.startswith("Flagged")
        assert "limit" in row.card
        assert ("worth" in row.card, prompt in row.card) == (texts, texts)


def test_a_log_of_before_cards_is_read_and_written(tmp_path):
    path = tmp_path / "guard.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE decisions (time, kind, rule, concern, seconds, prompt, reply)")
        file.execute(
            "INSERT INTO decisions VALUES (?,?,?,?,?,?,?)",
            (time.time(), "blocked", "", "", 0, None, None),
        )
    log = GuardLog(path, 30)
    log.add([decision("blocked", card="Flagged")])
    assert [row.card for row in log.figures(1).recent] == ["Flagged", None]


def test_keeping_texts_for_no_days_is_refused():
    with pytest.raises(InputError, match="keeps nothing"):
        GuardOptions(keep_texts=True, log_days=0)


def test_the_chart_gives_fine_replies_the_colour_of_good_and_blocked_ones_that_of_bad(tmp_path):
    log = GuardLog(tmp_path / "guard.sqlite", 30)
    log.add([decision(kind) for kind in ("kept", "flagged", "blocked")])
    page = guard_page(log.figures(7), log)
    traces = page.sections[0].blocks[0].traces
    colours = {trace["name"]: trace["marker"]["color"] for trace in traces}
    assert (colours["Fine"], colours["Blocked"]) == ("good", "bad")
    assert colours["Flagged, passed on"] not in ("good", "bad")
