"""Users' tables and documents have one reader each: nobody else imports what parses them."""

import ast
from pathlib import Path

import moralscope

ROOT = Path(moralscope.__file__).parent


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_csv_and_yaml_are_read_in_io_alone():
    others = [path for path in ROOT.rglob("*.py") if ROOT / "io" not in path.parents]
    readers = {
        str(path.relative_to(ROOT)) for path in others if {"csv", "yaml"} & set(imported(path))
    }
    assert readers == set()
