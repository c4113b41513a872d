"""The help of every command: short enough to read, its options in groups, in the same order."""

import pytest
import typer
from typer.testing import CliRunner

from moralscope.cli.root import build_app
from moralscope.core.options import group_place

TWO_SCREENS = 90  # lines, at 100 columns


def commands():
    found = []

    def walk(command, path):
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append((path, command))
        for name, each in (inner or {}).items():
            walk(each, (*path, name))

    walk(typer.main.get_command(build_app()), ())
    return found


@pytest.fixture(scope="module")
def helps():
    app, runner = build_app(), CliRunner()
    ask = [path for path, _ in commands()]
    return {
        path: runner.invoke(app, [*path, "--help"], env={"COLUMNS": "100"}).output.splitlines()
        for path in ask
    }


def test_the_help_of_every_command_fits_two_screens(helps):
    long = {" ".join(path): len(lines) for path, lines in helps.items()}
    assert {name: n for name, n in long.items() if n > TWO_SCREENS} == {}
    assert long["score"] > 40, "the help was printed"


def test_every_option_of_every_command_stands_in_a_group():
    for path, command in commands():
        options = [each for each in command.params if each.param_type_name == "option"]
        assert [each.name for each in options if not each.rich_help_panel] == [], path


def test_groups_come_in_the_same_order_everywhere(helps):
    for path, lines in helps.items():
        titles = [line[3:].split(" ─")[0].strip() for line in lines if line.startswith("╭─ ")]
        groups = [title for title in titles if title != "Arguments"]
        assert groups == sorted(groups, key=group_place), path
        assert groups[-1] == "More", path
    audit = "\n".join(helps[("audit",)])
    assert audit.index("╭─ Input") < audit.index("╭─ Model") < audit.index("╭─ Output")


def test_defaults_and_ranges_stand_in_the_help(helps):
    text = " ".join(" ".join(helps[("audit",)]).replace("│", " ").split())
    assert "[1 to 50] [default: 5]" in text
    assert "Seed of everything random. [default: 0]" in text
    assert "<bool>" not in text, "a switch takes no value"


def test_no_help_names_a_type_of_the_language(helps):
    groups = [(), *{path[:1] for path, _ in commands() if len(path) > 1}]
    app, runner = build_app(), CliRunner()
    for path in groups:
        output = runner.invoke(app, [*path, "--help"], env={"COLUMNS": "100"}).output
        assert "Show this message" in output
        assert "bool" not in output, path
    assert not [path for path, lines in helps.items() if any("<bool>" in one for one in lines)]
