"""Drift over time: planted drifts are found, and looking often raises no false alarm."""

import json
import time
from datetime import UTC, datetime

import numpy as np
import pytest
from typer.testing import CliRunner

from moralscope.cli.root import app
from moralscope.core.errors import GateNotMet, InputError
from moralscope.core.records import to_plain
from moralscope.pages import build_page
from moralscope.runs.watch import watch_runs
from moralscope.server.guard.log import GuardLog, LoggedDecision
from moralscope.stats.sequential import drift_test

LOOKS, SIZE, BASE, SMALL = 1_000, 50, 5_000, 500


def sequence(generator, share, drift=0.0, start=LOOKS, looks=LOOKS, base=BASE):
    """Return a baseline and groups whose share changes by `drift` from a start on."""
    baseline = (float(generator.binomial(base, share)), base)
    chances = np.where(np.arange(looks) < start, share, share + drift)
    return baseline, [(float(n), SIZE) for n in generator.binomial(SIZE, chances)]


@pytest.mark.parametrize("base", [BASE, SMALL])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.95])
def test_a_thousand_looks_raise_a_false_alarm_in_one_sequence_of_a_hundred_at_most(share, base):
    generator = np.random.default_rng(1)
    tests = (drift_test(*sequence(generator, share, base=base)) for _ in range(100))
    assert sum(test.alarm is not None for test in tests) <= 1


@pytest.mark.parametrize(
    ("base", "share", "drift"),
    [
        *((BASE, share, drift) for share in (0.1, 0.5) for drift in (0.05, -0.05)),
        (BASE, 0.9, -0.05),
        *((SMALL, 0.1, drift) for drift in (0.08, -0.08)),
        *((SMALL, 0.5, drift) for drift in (0.14, -0.14)),
    ],
)
def test_drifts_are_found_and_dated(base, share, drift):
    """Of five points on a large baseline; on a small one of eight, at a share of a half of 14."""
    generator = np.random.default_rng(2)
    found = (sequence(generator, share, drift, start=100, base=base) for _ in range(20))
    tests = [drift_test(*some) for some in found]
    alarms = [test.alarm for test in tests]
    assert sum(alarm is not None and alarm >= 100 for alarm in alarms) >= 19
    since = [test.since for test in tests if test.since is not None]
    assert abs(float(np.median(since)) - 100) <= 20


def test_shares_that_are_no_counts_keep_the_error_rate():
    generator = np.random.default_rng(3)
    for _ in range(30):
        shares = generator.beta(2, 3, (LOOKS // 5, SIZE))
        base = generator.beta(2, 3, BASE)
        groups = [(float(row.sum()), SIZE) for row in shares]
        assert drift_test((float(base.sum()), BASE), groups).alarm is None


def test_items_of_different_means_keep_the_error_rate():
    generator = np.random.default_rng(4)
    means = np.tile([0.0, 1.0, 0.3, 0.7], 25)
    alarms = 0
    for _ in range(50):
        base = float((generator.random((20, 100)) < means).sum())
        sums = (generator.random((300, 100)) < means).sum(axis=1)
        alarms += drift_test((base, 2_000), [(float(n), 100) for n in sums]).alarm is not None
    assert alarms == 0


@pytest.mark.parametrize("total", [0.0, 200.0])
def test_a_baseline_without_any_or_of_all_is_tested_too(total):
    assert drift_test((total, 200), [(total / 4, 50)] * 50).alarm is None
    assert drift_test((total, 200), [(25.0, 50)] * 50).alarm is not None


def logs(folder, shares, size=400):
    generator = np.random.default_rng(5)
    for number, share in enumerate(shares):
        flags = generator.random(size) < share
        lines = [json.dumps({"flag": bool(flag)}) for flag in flags]
        (folder / f"day-{number:03}.jsonl").write_text("\n".join(lines))


def test_a_folder_of_logs_is_watched_and_the_page_shows_the_trend(tmp_path):
    logs(tmp_path, [0.1] * 10 + [0.25] * 10)
    record = watch_runs(tmp_path)
    assert record.statistics.since == "day-010.jsonl"
    assert record.statistics.change.value == pytest.approx(0.25, abs=0.03)
    with pytest.raises(GateNotMet, match="flagged rose from"):
        record.statistics.require()
    page = build_page(json.loads(json.dumps(to_plain(record))))
    assert [section.title for section in page.sections][:2] == ["Trend", "Runs"]
    assert "Drift found at" in page.headline


def test_the_command_exits_with_3_on_a_drift_and_with_0_without(tmp_path):
    for name, shares in (("calm", [0.1] * 8), ("drift", [0.1] * 3 + [0.6] * 5)):
        (tmp_path / name).mkdir()
        logs(tmp_path / name, shares)
    calm = CliRunner().invoke(app, ["compare", "--watch", str(tmp_path / "calm")])
    assert calm.exit_code == 0, calm.output
    assert "No drift in 8 runs" in calm.output
    drift = CliRunner().invoke(app, ["compare", "--watch", str(tmp_path / "drift")])
    assert isinstance(drift.exception, GateNotMet)


def test_the_guards_log_is_watched_day_by_day(tmp_path):
    path, now, day = tmp_path / "guard.sqlite", time.time(), 86_400.0
    log = GuardLog(path, days=30)
    generator = np.random.default_rng(3)
    for age in range(12, -1, -1):
        bad = generator.random(400) < (0.05 if age > 5 else 0.2)
        kinds = [*("blocked" if one else "kept" for one in bad), "none"]
        log.add([LoggedDecision(now - age * day, kind, "", "", 0.1) for kind in kinds])
    record = watch_runs(path)
    assert [row.share.n for row in record.results] == [400] * 12  # today is not over
    dates = [datetime.fromtimestamp(now - age * day, UTC).date().isoformat() for age in (12, 5)]
    assert (record.results[0].name, record.statistics.since) == (dates[0], dates[1])
    with pytest.raises(GateNotMet, match="share of replies flagged rose"):
        record.statistics.require()
    path.write_text("no log")
    with pytest.raises(InputError, match="not a log of the guard"):
        watch_runs(path)
    GuardLog(tmp_path / "new.sqlite", days=30).add([LoggedDecision(now, "kept", "", "", 0.1)])
    with pytest.raises(InputError, match="holds 0 whole days"):
        watch_runs(tmp_path / "new.sqlite")


def test_saved_surveys_are_watched_in_order_of_their_time(tmp_path):
    from moralscope.surveys.items import Dilemma
    from moralscope.surveys.survey import survey

    items = [
        Dilemma(str(n), f"Case {n}.", (f"I help {n}.", f"I leave {n}."), better=0)
        for n in range(40)
    ]
    for number in range(3):
        plain = to_plain(survey(items, models=("scripted",), wordings=1))
        plain["created"] = f"2026-01-0{3 - number}T00:00:00+00:00"
        (tmp_path / f"{number}.json").write_text(json.dumps(plain))
    record = watch_runs(tmp_path)
    assert [row.name for row in record.results] == ["2.json", "1.json", "0.json"]
    assert record.statistics.measure == "likelihood of the right action"
    assert record.statistics.alarm is None
    assert any("only large drifts" in line for line in record.warnings)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "holds 0 runs"),
        ({"a.jsonl": '{"flag": true}\n'}, "holds 1 runs"),
        ({"a.jsonl": '{"flag": true}\n', "b.jsonl": '{"x": 1}\n'}, r"b.jsonl line 1 has no flag"),
        ({"a.jsonl": '{"flag": true}\n', "b.json": "{"}, "b.json"),
    ],
)
def test_a_folder_that_cannot_be_watched_is_refused_in_one_line(tmp_path, files, told):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=told) as error:
        watch_runs(tmp_path)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="is not a folder"):
        watch_runs(tmp_path / "nowhere")


def test_other_options_beside_a_watch_are_refused(tmp_path):
    words = ["compare", "--watch", str(tmp_path), "--gate", "drift<=0"]
    run = CliRunner().invoke(app, words)
    assert isinstance(run.exception, InputError)
    assert "--gate cannot be combined with --watch" in str(run.exception)
