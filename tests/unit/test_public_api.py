"""Public names, signatures and flags: none changes without a line in the changelog that names it.

`public_api.json` holds those of the last release. Whatever differs from it must be named, in
backticks or bold, in a section of CHANGELOG.md above that release. `.ci/release` writes the file
anew (MORALSCOPE_FREEZE=1): that is part of a release, not of a change.
"""

import inspect
import json
import os
import re
from pathlib import Path

import pytest
import typer.main

import moralscope
from moralscope.cli.root import build_app
from moralscope.core.options import Options, option_fields

ROOT = Path(__file__).parents[2]
FROZEN = Path(__file__).with_name("public_api.json")


def public_api():
    """Return, by name, the signature of each public function, its options and a command's flags."""
    functions = {name: getattr(moralscope, name) for name in moralscope.__all__}
    names = {
        name: [*parameters(value), *keywords(value)]
        for name, value in functions.items()
        if callable(value)
    }
    return names | dict(flags(typer.main.get_command(build_app()), "moralscope"))


def plain(text):
    """Return a text without the modules and addresses of what it names."""
    return re.sub(r" at 0x\w+|\b(?:[A-Za-z_]\w*\.)+(?=\w)", "", str(text))


def parameters(function):
    signature = inspect.signature(function)
    shown = [plain(row) for row in signature.parameters.values()]
    return [*shown, f"returns {plain(inspect.formatannotation(signature.return_annotation))}"]


def keywords(function):
    """Return the options that a function takes by keyword."""
    for hint in inspect.get_annotations(function, eval_str=False).values():
        for kind in getattr(hint, "__args__", (hint,)):
            if isinstance(kind, type) and issubclass(kind, Options):
                return [
                    plain(f"{row.name}: {inspect.formatannotation(row.kind)} = {row.default!r}")
                    for row in option_fields(kind)
                ]
    return []


def flags(command, name):
    """Yield the flags of a command and of those below it."""
    yield name, sorted({flag for row in command.params for flag in row.opts if flag[0] == "-"})
    for below in getattr(command, "commands", {}).values():
        yield from flags(below, f"{name} {below.name}")


def changes(before, now):
    """Return by name the entries that came or went; of a name that is new or gone, itself."""
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    return {
        name: sorted({*before[name]} ^ {*now[name]}) if name in before and name in now else [name]
        for name in names
    }


def unnamed(differences, text):
    """Return the changes that a changelog does not name: an option by its own name."""
    marked = " ".join(re.findall(r"`[^`]+`|\*\*[^*]+\*\*", text))
    words = {*re.findall(r"[\w-]+", marked), *re.findall(r"`(?:moralscope )?([^`]+)`", text)}

    def is_named(name, entry):
        is_option = entry != name and not entry.startswith("returns ")
        own = entry.partition(":")[0].lstrip("*") if is_option else name
        return own.removeprefix("moralscope ") in words

    missing = {
        name: [e for e in rows if not is_named(name, e)] for name, rows in differences.items()
    }
    return {name: rows for name, rows in missing.items() if rows}


@pytest.fixture(scope="module")
def frozen():
    if os.environ.get("MORALSCOPE_FREEZE"):
        state = {"version": moralscope.__version__, "names": public_api()}
        FROZEN.write_text(json.dumps(state, indent=1) + "\n", "utf-8")
    return json.loads(FROZEN.read_text("utf-8"))


def test_what_changed_since_the_last_release_is_in_the_changelog(frozen):
    above = (ROOT / "CHANGELOG.md").read_text("utf-8").partition(f"\n## {frozen['version']}\n")[0]
    missing = unnamed(changes(frozen["names"], public_api()), above)
    assert not missing, f"CHANGELOG.md, above {frozen['version']}, must name: {missing}"


def test_a_change_without_a_line_is_noticed():
    before = {"audit": ["top: int = 5"], "score": ["axis: str"], "gone": [], "x edit": ["--out"]}
    now = {"audit": ["top: int = 3", "text: str"], "score": ["axis: str"], "x edit": ["--to"]}
    differences = changes(before, now)
    assert differences == {
        "audit": ["text: str", "top: int = 3", "top: int = 5"],
        "gone": ["gone"],
        "x edit": ["--out", "--to"],
    }
    assert unnamed(differences, "- `moralscope.audit` has `text=`; `--to` replaces `--out`") == {
        "audit": ["top: int = 3", "top: int = 5"],
        "gone": ["gone"],
    }
    assert unnamed(differences, "- `top`, `text`, `--out`, `--to`; **gone** is gone") == {}


def test_options_defaults_and_flags_are_part_of_what_is_frozen():
    api = public_api()
    assert {"experts: str = 'mpnet'", "seed: int = 0", "returns RunRecord"} <= set(api["audit"])
    assert {"--rulebook", "--out", "--report"} <= set(api["moralscope audit"])
