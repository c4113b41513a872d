"""The guard's log: what is kept, for how long, and that it never keeps a reply back."""

import contextlib
import random
import re
import shutil
import sqlite3
import stat
import time

import pytest
from starlette.testclient import TestClient

from moralscope.core.errors import InputError
from moralscope.server import api
from moralscope.server.guard import Guard, GuardedReply
from moralscope.server.guard.log import LISTED, GuardLog, LoggedDecision
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
    assert log.figures(365).total.kinds.total() == 1
    assert log.figures(1).total.kinds.total() == 0


def test_decisions_are_summed_by_time_rule_and_concern(tmp_path):
    log = GuardLog(tmp_path / "guard.sqlite", 30)
    flagged = {"rule": "Don't lie.", "concern": "risk ignorance"}
    rows = [decision("blocked", day, seconds=day + 1, **flagged) for day in (0.1, 1.1, 1.2)]
    log.add([*rows, decision("kept", 0.1), decision("partly", 3.5)])
    figures = log.figures(7)
    kinds, last = figures.total.kinds, figures.periods[-1]
    assert (kinds["blocked"], kinds["kept"], kinds["partly"]) == (3, 1, 1)
    assert len(figures.periods) == 7
    assert sum(period.kinds["blocked"] for period in figures.periods[-3:]) == 3
    assert sum(period.rules["Don't lie."] for period in figures.periods[-3:]) == 3
    assert last.start <= time.time() < last.start + 86_400
    assert figures.total.rules == {"Don't lie.": 3}
    assert figures.total.concerns == {"risk ignorance": 3}


def test_latency_is_the_median_and_the_95th_percentile_of_each_period(tmp_path):
    log = GuardLog(tmp_path / "guard.sqlite", 3650)
    today = [decision(seconds=number / 1000) for number in range(1, 101)]
    log.add([*today, decision(age_days=200, seconds=7)])
    figures = log.figures(365)
    assert figures.periods[-1].latency == (50, 95)
    assert sorted(filter(None, (period.latency for period in figures.periods))) == [
        (50, 95),
        (7000, 7000),
    ]
    assert figures.total.latency == (51, 96)


@pytest.mark.parametrize(("days", "most"), [(1, 24), (31, 31), (183, 27), (365, 14), (3650, 41)])
def test_any_retention_is_drawn_in_a_few_dozen_whole_periods(tmp_path, days, most):
    log = GuardLog(tmp_path / "guard.sqlite", 3650)
    log.add([decision(age_days=age) for age in (0, (days - 1) * 0.99, days + 1)])
    figures = log.figures(days)
    assert len(figures.periods) <= most
    assert figures.total.kinds.total() == 2


def test_the_list_takes_the_outcomes_asked_for_a_page_at_a_time(tmp_path):
    log = GuardLog(tmp_path / "guard.sqlite", 30)
    log.add([decision("blocked", number / 1000) for number in range(LISTED + 10)])
    log.add([decision("abstained"), decision("partly", 0.01), decision("kept")])
    first, second = log.figures(7), log.figures(7, skip=LISTED)
    assert (len(first.recent), len(second.recent), first.listed) == (LISTED, 10, LISTED + 10)
    assert first.recent[-1].time > second.recent[0].time
    unjudged = log.figures(7, "abstained,partly")
    assert [row.kind for row in unjudged.recent] == ["abstained", "partly"]
    assert log.figures(7, "no,such").recent == []


WORDS = "what she said at 4711"


def on_disk(path):
    """Return what the log's folder holds, journals too."""
    return b"".join(part.read_bytes() for part in path.parent.iterdir() if part.is_file())


def log_with_words(path, age_days=5.0):
    log = GuardLog(path, 30, texts=True)
    words = {"prompt": f"{WORDS}, asked", "reply": f"{WORDS}, answered" * 300, "card": WORDS}
    log.add([decision("blocked", age_days, **words)])
    assert WORDS.encode() in on_disk(path)
    return log


@pytest.mark.parametrize(("days", "left"), [(30, 1), (3, 0)])
def test_a_restart_without_texts_or_with_a_shorter_retention_leaves_no_word(tmp_path, days, left):
    path = tmp_path / "log" / "guard.sqlite"
    log_with_words(path)
    log = GuardLog(path, days, texts=days == 3)
    log.prune()
    assert WORDS.encode() not in on_disk(path)
    assert [row.card for row in log.figures(30).recent] == [None] * left


def test_figures_do_not_serve_words_that_should_be_gone(tmp_path):
    path = tmp_path / "log" / "guard.sqlite"
    log_with_words(path)
    (row,) = GuardLog(path, 30).figures(30).recent
    assert (row.prompt, row.reply, row.card) == (None, None, None)
    assert WORDS.encode() not in on_disk(path)


def test_a_server_that_guards_nothing_deletes_nothing(tmp_path):
    path = tmp_path / "guard.sqlite"
    GuardLog(path, 90, texts=True).add([decision(reply="kept", age_days=40), decision()])
    looks = GuardLog(path, 30, ours=False)
    assert looks.figures(30).total.kinds.total() == 1
    assert GuardLog(path, 90, texts=True).figures(90).recent == []  # neither was flagged
    assert GuardLog(path, 90, texts=True).figures(90, "kept").listed == 2
    looks.add([decision()])  # a hook of another tool: now it guards
    assert GuardLog(path, 90, texts=True).figures(90, "kept").listed == 2 + 1
    assert looks.figures(30, "kept").listed == 2


def test_no_days_delete_the_file_with_its_words(tmp_path):
    path = tmp_path / "log" / "guard.sqlite"
    log_with_words(path)
    with path.open("rb") as kept:
        GuardLog(path, 0).prune()
        assert WORDS.encode() not in kept.read()  # overwritten, too
    assert list(path.parent.iterdir()) == []


def test_what_earlier_versions_and_wal_left_behind_is_rewritten(tmp_path):
    path = tmp_path / "log" / "guard.sqlite"
    log_with_words(path)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA secure_delete = OFF")
        file.execute("PRAGMA user_version = 0")
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("DELETE FROM decisions")
        file.commit()
        copy = tmp_path / "copied"  # as a server that was killed leaves it
        shutil.copytree(path.parent, copy)
    assert (copy / "guard.sqlite-wal").stat().st_size
    assert WORDS.encode() in on_disk(copy / "guard.sqlite")
    GuardLog(copy / "guard.sqlite", 30, texts=True).prune()
    assert WORDS.encode() not in on_disk(copy / "guard.sqlite")


def test_rows_that_sqlite_moved_leave_no_copies(tmp_path):
    """Overwriting deleted rows is not enough: with `secure_delete` alone some words stay."""
    path = tmp_path / "log" / "guard.sqlite"
    draw = random.Random(1)
    log = GuardLog(path, 30, texts=True)
    for step in range(20):
        log.add(
            [
                decision(
                    age_days=29 - step + draw.random() / 2,
                    prompt=f"<old{step:02}>" + "p" * draw.randrange(300),
                    reply=f"<old{step:02}>" + "r" * draw.choice((10, 200, 1000, 5000)),
                )
                for _ in range(draw.randrange(200))
            ]
        )
        with contextlib.closing(sqlite3.connect(path)) as file, file:
            file.execute("PRAGMA secure_delete = ON")
            file.execute("DELETE FROM decisions WHERE rowid % 5 = 0")
    log = GuardLog(path, 15, texts=True)
    log.prune()
    left = set(re.findall(rb"<old(\d\d)>", on_disk(path)))
    assert left == {b"15", b"16", b"17", b"18", b"19"}


def test_an_idle_server_keeps_the_retention(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "PRUNE_EVERY", 0.02)
    path, service = tmp_path / "log" / "guard.sqlite", Service()
    log = log_with_words(path, age_days=30 - 1 / 86_400)  # it has one more second
    guard = Guard(service, GuardOptions(experts="scripted"), log)
    with TestClient(api.api_app(api.WorkQueue(service), proxy=api.Proxy(guard))):
        for _ in range(200):
            if WORDS.encode() not in on_disk(path):
                break
            time.sleep(0.05)
        assert WORDS.encode() not in on_disk(path)


def test_a_file_in_use_holds_no_reply_up_and_no_decision_is_lost(tmp_path):
    log = GuardLog(tmp_path / "guard.sqlite", 30)
    with log._lock:  # as while it is rewritten
        began = time.monotonic()
        log.add([decision("blocked")])
        assert time.monotonic() - began < 2
    assert not log.path.exists()
    assert log.figures(1).total.kinds == {"blocked": 1}
    log.add([decision("kept")])
    assert log.figures(1).total.kinds == {"blocked": 1, "kept": 1}


def test_a_log_that_cannot_be_cleared_is_said_in_one_line(tmp_path, monkeypatch):
    path = tmp_path / "guard.sqlite"
    path.write_bytes(b"this is no database, but it may hold words" * 100)
    with pytest.raises(InputError, match=r"guard\.sqlite cannot be cleared .*not a database"):
        GuardLog(path, 30).prune()
    GuardLog(path, 30).add([decision()])  # costs nobody a reply


def test_the_guard_logs_what_it_decides_and_a_broken_log_costs_no_reply(tmp_path):
    service = Service()
    options = GuardOptions(experts="scripted", action="block")
    log = GuardLog(tmp_path / "guard.sqlite", 30, texts=True)
    replies = [GuardedReply("I would steal from a friend."), GuardedReply("Bring her soup.")]
    made = Guard(service, options, log)("Do you steal?", replies)
    assert log.figures(1).total.kinds.total() == len(made) == 2
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
    blocked = log.figures(1).total.kinds["blocked"]
    assert sum(one.outcome == "blocked" for one in made) == blocked > 0
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
