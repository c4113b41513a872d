"""Public names and signatures: none changes without a line in the changelog that names it.

`public_api.json` holds those of the last release. Whatever differs from it must be named, in
backticks or bold, in a section of CHANGELOG.md above that release. MORALSCOPE_FREEZE=1 writes the
file anew; that is part of a release, not of a change.
"""

import inspect
import json
import os
import re
from pathlib import Path

import pytest

import moralscope
from moralscope.core.options import option_fields

ROOT = Path(__file__).parents[2]
FROZEN = Path(__file__).with_name("public_api.json")


def public_api():
    """Return, by name, the parameters of each public function and the fields of its options."""
    found = {}
    for name in moralscope.__all__:
        value = getattr(moralscope, name)
        if callable(value):
            found[name] = sorted({*inspect.signature(value).parameters, *keywords(value)})
    return found


def keywords(function):
    """Return the options that a function takes by keyword."""
    from moralscope.core import options

    hints = inspect.get_annotations(function, eval_str=False)
    for hint in hints.values():
        for kind in getattr(hint, "__args__", (hint,)):
            if isinstance(kind, type) and issubclass(kind, options.Options):
                return [field.name for field in option_fields(kind)]
    return []


def changes(before, now):
    """Return the names that differ, each with what a reader of the changelog must be told."""
    found = {}
    for name in sorted({*before, *now}):
        if name not in now:
            found[name] = "is gone"
        elif name not in before:
            found[name] = "is new"
        elif before[name] != now[name]:
            found[name] = f"takes other keywords: {sorted({*before[name]} ^ {*now[name]})}"
    return found


def sections_above(text, version):
    return text.partition(f"\n## {version}\n")[0]


def unnamed(differences, text):
    """Return the changes that a changelog does not name."""
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`|\*\*[^*]+\*\*", text))))
    return {name: what for name, what in differences.items() if name not in named}


@pytest.fixture(scope="module")
def frozen():
    if os.environ.get("MORALSCOPE_FREEZE"):
        state = {"version": moralscope.__version__, "names": public_api()}
        FROZEN.write_text(json.dumps(state, indent=1) + "\n")
    return json.loads(FROZEN.read_text())


def test_what_changed_since_the_last_release_is_in_the_changelog(frozen):
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    above = sections_above(text, frozen["version"])
    missing = unnamed(changes(frozen["names"], public_api()), above)
    assert not missing, f"CHANGELOG.md, above {frozen['version']}, must name: {missing}"


def test_a_change_without_a_line_is_noticed():
    before = {"audit": ["prompt"], "score": ["axis"], "gone": []}
    now = {"audit": ["prompt", "text"], "score": ["axis"], "new": []}
    differences = changes(before, now)
    assert list(differences) == ["audit", "gone", "new"]
    assert unnamed(differences, "- `moralscope audit` takes `text`; **new** is there") == {
        "gone": "is gone"
    }


def test_options_are_part_of_a_signature():
    assert {"experts", "rulebooks", "gate", "report"} <= set(public_api()["audit"])
