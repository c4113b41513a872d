"""The budgets of the architecture, measured on the source itself."""

import ast
import math
from pathlib import Path

import moralscope

SOURCE = Path(moralscope.__file__).parent


def functions():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node) is not None
                body = node.body[1:] if docstring and len(node.body) > 1 else node.body
                yield f"{path.name}:{node.name}", node.end_lineno - body[0].lineno + 1


def p95(values):
    ordered = sorted(values)
    return ordered[math.ceil(0.95 * len(ordered)) - 1]


def test_functions_are_short():
    lengths = dict(functions())
    assert p95(lengths.values()) <= 45
    assert {name for name, lines in lengths.items() if lines > 80} == set()


def test_files_are_short():
    assert p95(len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py")) <= 400


def test_every_module_says_what_it_is():
    bare = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert bare == []
