"""Flags of older versions: one line says what they are called now."""

import pytest

from moralscope.cli import main
from moralscope.cli.renamed import RENAMED


def test_an_old_flag_is_told_its_new_name(monkeypatch, capsys):
    monkeypatch.setitem(RENAMED, "rank", {"--count": "--most"})
    with pytest.raises(SystemExit) as ended:
        main(["rank", "a", "b", "--count", "3"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "error: --count is now --most; see 'moralscope rank --help'\n"
    )


def test_no_old_flag_is_a_flag_of_today():
    """A flag that came back would never be told: the parser takes it."""
    import typer.main

    from moralscope.cli.root import app

    for path, flags in RENAMED.items():
        command = typer.main.get_command(app)
        for word in path.split():
            command = command.commands[word]
        known = {name for each in command.params for name in each.opts}
        assert not known & set(flags), path
