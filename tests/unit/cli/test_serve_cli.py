"""`moralscope serve` as a person types it: what is refused before anything is loaded."""

import pytest
import typer

from moralscope.cli.serve import serve
from moralscope.core.errors import InputError


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
