"""`moralscope serve` as a person types it: what is refused before anything is loaded."""

import socket
import time

import pytest
import typer

from moralscope.cli.serve import serve
from moralscope.core.errors import InputError
from moralscope.server.guard.log import GuardLog, LoggedDecision


def typed(*words):
    app = typer.Typer()
    app.command()(serve)
    app(args=[str(word) for word in words], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "there is no token"),
        (["--token-from", "env:MORALSCOPE_NO_SUCH_TOKEN"], "is not set"),
        (["--guard", "localhost:8080"], "http"),
        (["--guard", "http://me:secret@localhost/v1"], "holds a secret"),
        (["--guard", "http://localhost:1/v1", "--guard-action", "scold"], "action is 'scold'"),
        (["--guard", "http://localhost:1/v1", "--on-abstain", "maybe"], "on_abstain is 'maybe'"),
        (["--guard", "http://localhost:1/v1", "--on-unread", "maybe"], "on_unread is 'maybe'"),
        (["--guard", "http://localhost:1/v1", "--on-unread", "block"], "annotate withholds none"),
        (["--guard", "http://localhost:1/v1", "--rulebook", "none.yaml"], "none.yaml cannot be"),
        (["--guard", "http://localhost:1/v1", "--guard-key-from", "none"], "--guard-key-from"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(words, said, empty_home):
    with pytest.raises(InputError, match=said) as caught:
        typed(*words)
    assert "secret@" not in str(caught.value)
    assert caught.value.remedy


def test_a_guard_without_its_weights_names_the_command(empty_home):
    from moralscope.core.errors import StoreError

    with pytest.raises(StoreError, match="models pull mpnet"):
        typed("--guard", "http://localhost:1/v1", "--port", "0")


@pytest.fixture
def log_with_words(empty_home, monkeypatch):
    """A log that keeps texts; servers announce themselves and end."""
    served = "moralscope.server.api.serve"
    monkeypatch.setattr(served, lambda work, address, announce, **_: announce(""))
    path = empty_home / "guard.sqlite"
    log = GuardLog(path, 30, texts=True)
    log.add([LoggedDecision(time.time(), "blocked", "", "", 0.1, "prompt", "what she said")])
    return path


def test_a_start_without_texts_clears_those_that_were_kept(log_with_words, capsys):
    typed("--experts", "scripted", "--guard-keep-texts")
    assert b"what she said" in log_with_words.read_bytes()
    typed("--experts", "scripted")
    assert b"what she said" not in log_with_words.read_bytes()
    typed("--experts", "scripted", "--guard-log-days", "0")
    assert not log_with_words.exists()
    assert "--guard-log-days 0 keeps nothing: deleting" in capsys.readouterr().err


def test_a_port_that_is_taken_clears_nothing(log_with_words, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("MORALSCOPE_HOME", str(log_with_words.parent))
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot listen"):
            typed("--experts", "scripted", "--port", str(taken.getsockname()[1]))
    assert b"what she said" in log_with_words.read_bytes()


def test_a_log_that_cannot_be_cleared_is_refused(log_with_words):
    log_with_words.write_bytes(b"what she said, but no database" * 100)
    with pytest.raises(InputError, match=r"guard\.sqlite cannot be cleared"):
        typed("--experts", "scripted")
