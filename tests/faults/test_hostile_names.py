"""Names and texts that a terminal would obey, through every command: none reaches the terminal.

ESC ] 52 writes the clipboard, ESC [ 8 m hides what follows, U+202E turns a line round.
"""

import os
import re
import signal
import sys
import time
from pathlib import Path

import click
import pytest
import typer

from moralscope.cli import main
from moralscope.cli.root import build_app
from moralscope.core.printable import printable

HOSTILE = "a\x1b]52;c;ZXZpbA==\x07\x1b[8m\u202ecsv\x9b2J\rx"
RICH = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # what the library draws with
SECONDS = 3  # what works longer has said what it reads and loads


def _leaves(command, words=()):
    if isinstance(command, click.Group) or hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _leaves(inner, (*words, name))
    else:
        yield words, command


LEAVES = dict(_leaves(typer.main.get_command(build_app())))


@pytest.fixture
def said(monkeypatch, tmp_path):
    """Return what a command writes to a terminal, its own codes for colours taken out."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, to rich
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    written = tmp_path / "written"

    def run(*words, seconds=SECONDS):
        child = os.fork()  # what works too long is killed, and takes nothing with it
        if not child:
            target = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(target, 1)
            os.dup2(target, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            code = 1
            try:
                main([str(word) for word in words])
            except SystemExit as ended:
                code = ended.code or 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        until = time.monotonic() + seconds
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.01)
        text = written.read_text("utf-8", "surrogateescape")
        assert "\x1b[8m" not in text
        plain = RICH.sub("", text).replace("\r", "")
        assert printable(plain, keep="\n\u2068\u2069") == plain, plain
        return os.waitstatus_to_exitcode(done[1]), plain

    return run


def _filled(command, name):
    """Return every required argument and option of a command, texts and paths hostile."""
    words = []
    for parameter in command.params:
        if parameter.required:
            value = 1 if parameter.type_descriptor.annotation in (int, float) else name
            is_argument = parameter.param_type_name == "argument"
            words += [value] if is_argument else [parameter.opts[0], value]
    return words


def _texts(command):
    """Return the options of a command that take a text or a path."""
    return [
        parameter.opts[0]
        for parameter in command.params
        if parameter.param_type_name == "option"
        and not parameter.is_flag
        and parameter.type_descriptor.annotation not in (int, float)
    ]


@pytest.mark.slow  # some 400 command lines
@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_says_hostile_names_as_text(words, said, tmp_path):
    command, name = LEAVES[words], tmp_path / f"{HOSTILE}.csv"
    name.write_bytes(f"action,{HOSTILE}\n{HOSTILE}\n".encode())
    closed = ["--port", "no"] if words == ("serve",) else []  # never serves
    for value in (name, tmp_path / HOSTILE):
        said(*words, *_filled(command, value), *closed)
    for option in _texts(command):
        said(*words, *_filled(command, name), option, name, *closed)


RUNS = {
    "score": ["score", "--file", "{}.txt", "--encoder", "scripted"],
    "score of a corpus": ["score", "--file", "{}.csv", "--encoder", "scripted", "--out", "{}-run"],
    "audit": ["audit", "{}.csv", "--experts", "scripted"],
    "audit with rules": ["audit", "{}.csv", "--experts", "scripted", "--rulebook", "{}.yaml"],
    "survey": ["survey", "{}-2.csv", "--model", "scripted"],
    "report": ["report", "{}.json", "--out", "{}.html"],
    "rules lint": ["rules", "lint", "--rulebook", "{}.yaml"],
}


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_commands_that_succeed_say_hostile_names_and_texts_as_text(words, said, tmp_path):
    texts = f'"{HOSTILE}"'
    columns = "action,prompt,reply,situation,action1,action2"
    Path(f"{HOSTILE}.txt").write_text(f"help {HOSTILE[:-2]}\nkill time\n", newline="")
    Path(f"{HOSTILE}.csv").write_text(f"{columns}\n{','.join([texts] * 6)}\n", newline="")
    asked = f"situation,action1,action2\n{texts},keep it,give it back\n"
    Path(f"{HOSTILE}-2.csv").write_text(asked, newline="")
    rule = "rules:\n- text: You should not lie to people.\n"
    Path(f"{HOSTILE}.yaml").write_text(f"name: mine\n{rule}")
    score = RUNS["score"] + ["--out", "{}.json"]
    code, text = said(*(word.format(HOSTILE) for word in score), seconds=60)
    assert code == 0, text
    code, text = said(*(word.format(HOSTILE) for word in words), seconds=60)
    assert code == 0, text


def test_what_prints_is_kept_and_what_a_terminal_obeys_is_not():
    for text in ("naïve 東京 \N{WOMAN}\u200d\N{MICROSCOPE}", "\u0645\u06cc\u200c\u062e\u0648"):
        assert printable(text) == text
    assert printable(HOSTILE).isprintable()
    assert len(LEAVES) > 40
