"""Where the command line writes: full disks, closed streams, terminals that know ASCII only."""

import json
import os
import subprocess
import sys

import pytest

SCORE = ("score", "kill time", "gr\u00f6\u00dfe", "--encoder", "scripted")


def shell(redirect, *words, **environment):
    """Run `moralscope WORDS REDIRECT` in a shell."""
    command = f'"$PYTHON" -m moralscope "$@" {redirect}'
    env = {**os.environ, "PYTHON": sys.executable, "COLUMNS": "100", **environment}
    asked = ["bash", "-c", command, "bash", *words]
    return subprocess.run(asked, capture_output=True, env=env, timeout=120, check=False)


@pytest.mark.parametrize("words", [SCORE, (*SCORE, "--json"), ("--help",), ("--version",)])
@pytest.mark.parametrize(
    ("redirect", "why"), [(">/dev/full", "No space left on device"), (">&-", "stdout is closed")]
)
def test_output_that_cannot_be_written_is_one_line(words, redirect, why):
    done = shell(redirect, *words)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"error: the output could not be written ({why}); ")


def test_an_error_goes_nowhere_else_when_stderr_is_closed():
    done = shell("2>&-", "score", "a", "--encoder", "nothing-of-this-name", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


def test_a_file_never_takes_the_place_of_a_closed_stream(tmp_path):
    record = tmp_path / "run.json"
    done = shell("2>&- >&-", *SCORE, "--out", str(record))
    assert done.returncode == 1
    assert json.loads(record.read_text())["job"] == "score"


def test_an_ascii_terminal_gets_bars_of_ascii_and_every_letter():
    done = shell("", *SCORE, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode("ascii")
    assert "gr\\xf6\\xdfe" in text
    assert "|===" in text
    assert " ... " in text


def test_help_is_plain_on_an_ascii_terminal():
    done = shell("", "score", "--help", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "+- " in done.stdout.decode("ascii")
