"""A corpus run under everything that can happen to it in a night."""

import datetime
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import moralscope
from moralscope.batch import folder as folders
from moralscope.batch import run as batch_run
from moralscope.batch.options import BatchOptions
from moralscope.batch.run import run_corpus
from moralscope.core.errors import InputError, MoralscopeError

HERE = Path(__file__).parent.parent / "unit" / "batch"
sys.path.insert(0, str(HERE))  # workers inherit it

from corpus_works import (  # noqa: E402
    content,
    dead_letters,
    make_texts,
    opened,
    results,
    spec_of,
    write_corpus,
)

BLOCK = 10
SLOW = {"seconds": 0.003}


def command(path, folder, name="Plain", **options):
    given = {"block_rows": BLOCK, "call_rows": 4, "workers": 2, **options}
    return [sys.executable, HERE / "corpus_works.py", path, folder, name, json.dumps(given)]


def environment():
    return {**os.environ, "PYTHONPATH": str(Path(moralscope.__file__).parent.parent)}


def started(path, folder, name="Plain", **options):
    """Start a run in a process group of its own."""
    return subprocess.Popen(
        command(path, folder, name, **options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )


def ended(process):
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out


def parts(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


def stamps(folder):
    """Return what changes when a part is written again."""
    found = {path.name: path.stat() for path in folder.glob("*.parquet")}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in found.items()}


def mixed_corpus(tmp_path, count=400):
    """Rows that repeat, rows that fail and rows that cannot be read."""
    texts = make_texts(count, count * 2 // 3)
    texts[33] = texts[333] = "please raise"
    texts[155] = None
    return write_corpus(tmp_path / "a.jsonl", texts), texts


def run_here(path, folder, spec, report=None, **options):
    chosen = BatchOptions(**{"block_rows": BLOCK, "call_rows": 4, "workers": 1, **options})
    return run_corpus(opened(path), spec, folder, chosen, settings={}, report=report)


@pytest.fixture(autouse=True)
def every_part_is_told(monkeypatch):
    monkeypatch.setattr(batch_run, "_PAUSE", 0.0)


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.setitem(batch_run.ENGINES, "local", "corpus_works:Inline")


def kill_at_random(path, folder, moments, longest):
    """Start or go on with a run and kill all of it at a random moment; say whether it was."""
    process = started(path, folder, "Moody", resume=True, work=SLOW)
    try:
        process.wait(moments.uniform(0, longest))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    ended(process)
    return False


def check_in_between(folder, before, whole):
    """See that finished parts stayed untouched and that all that can be read is right."""
    now = stamps(folder)
    assert {name: now.get(name) for name in before} == before
    if now:
        rows = ds.dataset(folder, format="parquet").to_table().column("_row").to_pylist()
        assert len(set(rows)) == len(rows)
    for name, data in parts(folder).items():
        assert data == whole[name]
    return now


@pytest.mark.parametrize(
    "kills", [pytest.param(2, id="two"), pytest.param(25, id="many", marks=pytest.mark.slow)]
)
def test_a_run_killed_at_random_moments_ends_as_if_nothing_had_happened(tmp_path, kills):
    path, texts = mixed_corpus(tmp_path)
    began = time.monotonic()
    ended(started(path, tmp_path / "whole", "Moody", work=SLOW))
    longest = time.monotonic() - began
    whole = parts(tmp_path / "whole")
    letters = dead_letters(tmp_path / "whole")
    assert [letter["row"] for letter in letters] == [33, 155, 333]

    moments, left, round_ = random.Random(10), kills, 0
    while left:
        folder, running_on, before = tmp_path / f"out{round_}", True, {}
        while running_on and left:
            running_on = kill_at_random(path, folder, moments, longest)
            left -= running_on
            before = check_in_between(folder, before, whole)
        ended(started(path, folder, "Moody", resume=True, work=SLOW))
        assert parts(folder) == whole
        assert dead_letters(folder) == letters
        table = content(folder)
        good = [row for row in range(len(texts)) if row not in (33, 155, 333)]
        assert table.column("_row").to_pylist() == good
        assert table.equals(content(tmp_path / "whole"))
        assert not list((folder / "_run").glob("*.tmp"))
        round_ += 1


class Death(BaseException):
    """The end, at a chosen step."""


@pytest.fixture
def steps(monkeypatch):
    """Count the steps by which anything gets to the disk; die before one of them."""
    taken = {"count": 0, "fatal": None}

    def step(real):
        def counted(*arguments, **named):
            taken["count"] += 1
            if taken["count"] == taken["fatal"]:
                raise Death
            return real(*arguments, **named)

        return counted

    monkeypatch.setattr(os, "fsync", step(os.fsync))
    monkeypatch.setattr(Path, "replace", step(Path.replace))
    monkeypatch.setattr(Path, "unlink", step(Path.unlink))
    return taken


@pytest.mark.usefixtures("inline")
def test_death_before_any_single_step_of_writing_loses_nothing(tmp_path, steps):
    texts = ["a", "b", "a", None, "please raise", "b", "c", "please raise"]
    path = write_corpus(tmp_path / "a.jsonl", texts)
    run_here(path, tmp_path / "whole", spec_of("Moody"), block_rows=3)
    total, whole = steps["count"], parts(tmp_path / "whole")
    letters = dead_letters(tmp_path / "whole")
    assert [letter["row"] for letter in letters] == [3, 4, 7]
    assert total > 20
    for fatal in range(1, total + 1):
        folder = tmp_path / f"out{fatal}"
        steps.update(count=0, fatal=fatal)
        with pytest.raises(Death):
            run_here(path, folder, spec_of("Moody"), block_rows=3)
        steps.update(fatal=None)
        before = stamps(folder)
        outcome = run_here(path, folder, spec_of("Moody"), block_rows=3, resume=True)
        assert (outcome.rows, outcome.failed) == (5, 3)
        assert before.items() <= stamps(folder).items()
        assert parts(folder) == whole
        assert dead_letters(folder) == letters


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_workers_end_with_their_parent_and_nobody_else_may_use_the_folder_before(tmp_path):
    path, _ = mixed_corpus(tmp_path)
    folder = tmp_path / "out"
    process = started(path, folder, "Moody", work={"seconds": 0.05})
    wait_for(lambda: stamps(folder))
    with pytest.raises(InputError, match="is held by another run; wait for its end"):
        run_here(path, folder, spec_of("Moody"), resume=True)
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(is_alive, workers)))


def test_ctrl_c_is_one_line_and_resume_goes_on(tmp_path):
    path, _ = mixed_corpus(tmp_path, 400)
    folder = tmp_path / "out"
    process = started(path, folder, "Moody", work={"seconds": 0.05})
    wait_for(lambda: stamps(folder))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    _, error = process.communicate(timeout=30)
    assert process.returncode == 1
    assert re.fullmatch(
        r"error: stopped; \d+ of 40 parts are finished; continue with --resume\n", error
    )
    assert json.loads((folder / "_run" / "progress.json").read_text())["state"] == "stopped"


def test_a_script_without_a_main_guard_is_not_run_again_by_its_workers(tmp_path):
    path = write_corpus(tmp_path / "a.jsonl", make_texts(20, 20))
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom corpus_works import main\n"
        f"print('once')\nmain({str(path)!r}, {str(tmp_path / 'out')!r}, 'Plain', '{{}}')\n"
    )
    ran = subprocess.run(
        [sys.executable, script], env=environment(), capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("once\nOutcome(rows=20")


def test_a_worker_killed_from_outside_is_replaced(tmp_path):
    path = write_corpus(tmp_path / "a.jsonl", make_texts(120, 120))
    run_here(path, tmp_path / "whole", spec_of("Plain"))
    victims = []

    def shoot(now):
        if now.parts >= 2 and not victims:
            victims.append(multiprocessing.active_children()[0].pid)
            os.kill(victims[0], signal.SIGKILL)

    outcome = run_here(path, tmp_path / "out", spec_of("Plain", seconds=0.005), report=shoot)
    assert victims
    assert (outcome.rows, outcome.failed) == (120, 0)
    assert parts(tmp_path / "out") == parts(tmp_path / "whole")


def test_a_row_that_always_kills_its_worker_is_a_dead_letter_of_the_run(tmp_path):
    texts = make_texts(30, 30)
    texts[14] = texts[25] = "deadly"  # the second is a repeat: no worker dies of it again
    path = write_corpus(tmp_path / "a.jsonl", texts)
    outcome = run_here(path, tmp_path / "out", spec_of("Deadly"), call_rows=2)
    assert (outcome.rows, outcome.failed) == (28, 2)
    assert [(each["row"], each["reason"]) for each in dead_letters(tmp_path / "out")] == [
        (14, "the worker died on this row"),
        (25, "the worker died on this row"),
    ]


@pytest.mark.parametrize("dies", [False, True])
def test_a_worker_out_of_memory_goes_on_with_smaller_calls(tmp_path, dies):
    texts = [f"text {number}" for number in range(16)]
    path = write_corpus(tmp_path / "a.jsonl", texts)
    journal = tmp_path / "calls"
    spec = spec_of("Hungry", megabytes=100, limit=500, journal=str(journal), dies=dies)
    outcome = run_here(path, tmp_path / "out", spec, block_rows=8, call_rows=8)
    assert (outcome.rows, outcome.failed) == (16, 0)
    assert content(tmp_path / "out").column("length").to_pylist() == results(texts)["length"]
    calls = [int(line) for line in journal.read_text().split()]
    assert set(calls) == {4}


@pytest.mark.usefixtures("inline")
def test_a_disk_that_fills_up_ends_the_run_in_one_line_and_resume_goes_on(tmp_path, monkeypatch):
    path, _ = mixed_corpus(tmp_path)
    run_here(path, tmp_path / "whole", spec_of("Moody"))
    real, written = os.fsync, []

    def filling(handle):
        written.append(handle)
        if len(written) > 20:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(folders.os, "fsync", filling)
    with pytest.raises(MoralscopeError, match=r"No space left on device\); free some space, then"):
        run_here(path, tmp_path / "out", spec_of("Moody"))
    finished = stamps(tmp_path / "out")
    assert finished
    monkeypatch.setattr(folders.os, "fsync", real)
    outcome = run_here(path, tmp_path / "out", spec_of("Moody"), resume=True)
    assert outcome.resumed_parts == len(finished)
    assert finished.items() <= stamps(tmp_path / "out").items()
    assert parts(tmp_path / "out") == parts(tmp_path / "whole")


@pytest.mark.usefixtures("inline")
def test_a_plan_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    path, _ = mixed_corpus(tmp_path)

    def full(*arguments):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(batch_run.RunPlan, "keep", full)
    with pytest.raises(MoralscopeError, match=r"\(database or disk is full\); free some space"):
        run_here(path, tmp_path / "out", spec_of("Moody"))


SMALL_DISK = """
mount -t tmpfs -o size=1500k tmpfs "$DISK" || exit 77
"$@"; echo "first $?" >&2
mount -o remount,size=50m "$DISK"
"$@" || exit 1
cp -r "$DISK/out" "$KEEP"
"""


def test_a_disk_that_is_really_full(tmp_path):
    path = write_corpus(tmp_path / "a.jsonl", [f"text {number}" for number in range(600)])
    disk, keep = tmp_path / "disk", tmp_path / "keep"
    disk.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here")
    shell = ["unshare", "-Urm", "sh", "-c", SMALL_DISK, "sh"]
    ran = subprocess.run(
        [*shell, *command(path, disk / "out", "Wide", resume=True, workers=1, block_rows=40)],
        env={**environment(), "DISK": str(disk), "KEEP": str(keep)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if ran.returncode == 77 or "unshare" in ran.stderr:
        pytest.skip("no small disk can be made here")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stderr.splitlines()
    assert lines[-1] == "first 1"
    assert "(No space left on device); free some space, then continue with --resume" in lines[-2]
    assert len(lines) == 2
    assert "resumed_parts=0" not in ran.stdout
    assert content(keep).column("_row").to_pylist() == list(range(600))


@pytest.mark.usefixtures("inline")
def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch):
    path, _ = mixed_corpus(tmp_path)
    run_here(path, tmp_path / "whole", spec_of("Moody"))
    year = 365 * 24 * 3600
    jumps = iter(range(10**6))
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + year * (-1) ** next(jumps))

    class Jumping(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.fromtimestamp(time.time(), tz)

    monkeypatch.setattr(batch_run, "datetime", Jumping)
    told = []
    with pytest.raises(KeyError):
        run_here(path, tmp_path / "out", spec_of("Moody"), report=stop_after(10, told))
    for number, part in enumerate(sorted((tmp_path / "out").glob("*.parquet"))):
        os.utime(part, (real + year * (-1) ** number,) * 2)
    before = stamps(tmp_path / "out")
    outcome = run_here(path, tmp_path / "out", spec_of("Moody"), report=told.append, resume=True)
    assert outcome.resumed_parts == len(before) > 0
    assert 0 < outcome.seconds < 60
    assert all(now.rate >= 0 and (now.seconds_left or 0) >= 0 for now in told)
    assert before.items() <= stamps(tmp_path / "out").items()
    assert parts(tmp_path / "out") == parts(tmp_path / "whole")


def stop_after(count, told):
    """Return a listener that fails in the middle of a run."""

    def listen(now):
        told.append(now)
        if now.parts >= count:
            raise KeyError("stopped by the test")

    return listen


@pytest.mark.usefixtures("inline")
def test_an_input_file_that_vanishes_and_comes_back(tmp_path):
    path, _ = mixed_corpus(tmp_path)
    run_here(path, tmp_path / "whole", spec_of("Moody"))
    away = path.with_suffix(".away")

    def take_away(now):
        if now.parts and path.exists():
            path.rename(away)

    with pytest.raises(MoralscopeError, match=r"a\.jsonl cannot be read .* --resume"):
        run_here(path, tmp_path / "out", spec_of("Moody", seconds=0.005), report=take_away)
    away.rename(path)
    run_here(path, tmp_path / "out", spec_of("Moody", seconds=0.005), resume=True)
    assert parts(tmp_path / "out") == parts(tmp_path / "whole")


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_file_that_grows_is_read_to_its_old_end_unless_other_columns_change(tmp_path, is_changed):
    path = tmp_path / "a.jsonl"
    rows = [json.dumps({"text": f"text {number}", "note": "old"}) for number in range(300)]
    path.write_text("\n".join(rows) + "\n")

    def grow(now):
        if now.parts and len(rows) == 300:
            rows.append(rows[0])
            text = "\n".join(rows) + "\n"
            path.write_text(text[:-200] + text[-200:].replace("old", "new") if is_changed else text)

    if is_changed:
        with pytest.raises(MoralscopeError, match=r"a\.jsonl has changed .* --resume"):
            run_here(path, tmp_path / "out", spec_of("Plain", seconds=0.005), report=grow)
    else:
        outcome = run_here(path, tmp_path / "out", spec_of("Plain", seconds=0.005), report=grow)
        assert (outcome.rows, len(rows)) == (300, 301)


@pytest.mark.usefixtures("inline")
def test_a_damaged_block_in_the_middle_becomes_dead_letters(tmp_path):
    texts = [f"text {number} {random.Random(number).random()}" for number in range(300)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": texts}), path, row_group_size=100, use_dictionary=False)
    place = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    middle = place.data_page_offset + place.total_compressed_size // 2
    data[middle : middle + 60] = bytes(60)
    path.write_bytes(data)
    outcome = run_here(path, tmp_path / "out", spec_of("Plain"), block_rows=50)
    assert (outcome.rows, outcome.failed, outcome.parts) == (200, 100, 6)
    assert [each["row"] for each in dead_letters(tmp_path / "out")] == list(range(100, 200))
    kept = content(tmp_path / "out")
    assert kept.column("text").to_pylist() == texts[:100] + texts[200:]
