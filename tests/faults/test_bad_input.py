"""What the command line does with bad input, bad disks and bad timing.

Input is refused in this process, which saves its start; what a signal or a full disk does to a
process is seen in one of its own: `started`.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from moralscope.models.store import Store

COMMAND = [sys.executable, "-m", "moralscope"]


def started(*words, stdin=b"", env=None, **options):
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        input=stdin,
        capture_output=True,
        timeout=300,
        env={**os.environ, **(env or {})},
        check=False,
        **options,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def the_error(done, code):
    ended, _, err = done
    lines = err.strip().splitlines()
    assert ended == code, lines
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


def test_a_million_actions_on_stdin_are_refused_in_one_line(run):
    done = run("score", "-e", "scripted", "--json", stdin=b"kill time\n" * 1_000_000)
    assert "stdin holds more than 200,000 actions" in the_error(done, 2)
    assert done[1] == ""


@pytest.mark.slow
def test_more_actions_are_scored_as_a_corpus(tmp_path):
    path = tmp_path / "actions.csv"
    deeds = [f"kill {number % 5000} people" for number in range(300_000)]
    path.write_text("\n".join(["action", *deeds]))
    words = ("score", "-e", "scripted", "--json", "--file", path, "--out", f"{tmp_path}/out/")
    code, out, err = started(*words)
    assert code == 0, err
    assert json.loads(out)["statistics"]["corpus"]["rows"] == 300_000


def test_a_megabyte_in_one_action_is_refused(run, tmp_path):
    path = tmp_path / "actions.txt"
    path.write_text("kill time\n" + "x" * 1_000_000 + "\n")
    done = run("score", "-e", "scripted", "--file", path)
    assert "line 2 has 1,000,000 characters" in the_error(done, 2)
    done = run("score", "-e", "scripted", "x" * 100_001)
    assert "number 1 has 100,001 characters" in the_error(done, 2)


def test_invalid_utf8_is_refused_by_line(run):
    done = run("score", "-e", "scripted", stdin=b"kill time\nkill \xe9t\xe9\n")
    assert "stdin line 2 is not valid UTF-8" in the_error(done, 2)


def test_a_template_without_a_blank_is_refused_by_line(run, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("prompts:\n  - question: Should I?\n    yes: 'Yes.'\n    no: 'No.'\n")
    done = run("score", "kill time", "-e", "scripted", "--template", path)
    assert "mine.yaml line 2 has the question 'Should I?' without one {}" in the_error(done, 2)


def test_offline_with_nothing_cached_says_what_to_run_where(run, empty_home):
    line = the_error(run("score", "kill time"), 1)
    assert "moralscope models pull mpnet" in line
    assert str(empty_home) in line


def linked_home(tmp_path, folder):
    """A store of its own whose weights are links to the real ones: nothing is fetched twice."""
    home = tmp_path / "home"
    (home / "models").mkdir(parents=True)
    (home / "models" / folder.name).mkdir()
    for path in folder.rglob("*"):
        target = home / "models" / folder.name / path.relative_to(folder)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.parent.mkdir(exist_ok=True, parents=True)
            os.link(path, target) if os.stat(path).st_dev == os.stat(home).st_dev else (
                target.symlink_to(path)
            )
    return home


def test_a_flipped_byte_is_refused_by_name(run, tmp_path, minilm_folder, monkeypatch):
    home = linked_home(tmp_path, minilm_folder)
    weights = home / "models" / "minilm" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 1
    weights.unlink()
    weights.write_bytes(data)
    monkeypatch.setenv("MORALSCOPE_HOME", str(home))
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    for words in (["score", "kill time", "-e", "minilm"], ["models", "verify", "minilm"]):
        line = the_error(run(*words), 1)
        assert "model.safetensors" in line
        assert "minilm" in line


def test_a_cache_that_cannot_be_written_costs_a_warning_not_the_run(
    run, tmp_path, use_lite_folder, monkeypatch
):
    home = linked_home(tmp_path, use_lite_folder)
    (home / "cache").write_text("a file where a folder should be")
    monkeypatch.setenv("MORALSCOPE_HOME", str(home))
    code, out, err = run("score", "kill time", "-e", "use-lite", "--json")
    assert code == 0
    (line,) = err.strip().splitlines()
    assert line.startswith("warning: the embedding cache")
    assert json.loads(out)["results"][0]["action"] == "kill time"


def test_a_disk_that_fills_while_the_record_is_written_leaves_nothing(tmp_path):
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    actions = b"".join(b"kill %d people\n" % number for number in range(2000))
    out = tmp_path / "run.json"
    done = started("score", "-e", "scripted", "--out", out, stdin=actions, preexec_fn=little_room)
    assert "could not be written" in the_error(done, 1)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_is_one_line_and_the_cache_stays_sound(tmp_path, use_lite_folder):
    home = linked_home(tmp_path, use_lite_folder)
    path = tmp_path / "actions.txt"
    path.write_text("".join(f"kill {number} hours of my time\n" for number in range(20_000)))
    command = [*COMMAND, "score", "-e", "use-lite", "--file", str(path), "--json"]
    env = {**os.environ, "MORALSCOPE_HOME": str(home)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, start_new_session=True
    )
    folder = home / "cache" / "embeddings"
    deadline = time.monotonic() + 120
    while not any(folder.glob("*.sqlite-wal")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.decode().strip().splitlines() == [
        "error: interrupted; run the same command again"
    ]
    assert stdout == b""
    again = started("score", "kill 1 hours of my time", "-e", "use-lite", "--json", env=env)
    assert again[0] == 0
    assert again[2] == ""
    assert Store(home).verify("use-lite")


@pytest.mark.slow
def test_a_hundred_thousand_actions_stay_under_two_gigabytes(tmp_path, minilm_folder):
    """100,000 lines, 300 different actions: the record is long, the work is not."""
    path = tmp_path / "actions.txt"
    path.write_text("".join(f"meet {number % 300} friends\n" for number in range(100_000)))
    script = (
        "import sys\n"
        "from moralscope.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "finally:\n"  # not ru_maxrss: it remembers the process this one was started from
        "    lines = open('/proc/self/status').read().split('VmHWM:')\n"
        "    print(lines[1].split()[0], file=sys.stderr)\n"
    )
    out = tmp_path / "run.json"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            "score",
            "-e",
            "minilm",
            "--file",
            str(path),
            "--out",
            str(out),
            "--json",
        ],
        capture_output=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.decode().split()[-1]) < 2_000_000  # kilobytes
    assert out.stat().st_size > 10_000_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stories", "chain", "action-sample", "--split", "norms"), "'norms'"),
        (("stories", "chain", "action-sample", "--part", "tset"), "did you mean 'test'"),
        (("stories", "reverse", ""), "a norm is empty"),
        (("stories", "reverse", "It's rude to lie.", "  "), "a norm is empty"),
        (("serve", "--queue", "0"), "queue is 0; give 1 to 10,000"),
    ],
)
def test_values_that_mean_nothing_are_refused_before_any_work(run, words, said):
    code, out, err = run(*words)
    (line,) = err.splitlines()
    assert (code, out) == (2, "")
    assert said in line
