"""Words that were retired from everything a user reads: strings, pages, scripts, data, docs."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RETIRED = re.compile(
    r"\b(hangs? on|taste for|mends?|mended|anew|any more|(?:is|are|was) told|told (?:by|apart)"
    r"|goes on where|what it made of|(?:one|a) \w+ a (?:line|row|reply)|many an? \w+"
    r"|how alike|split whom|taken for one|stands here)\b"
)
REMARK = re.compile(r"^\s*(?:#|//).*$|\s(?:#|//) .*$", re.M)  # in scripts and data, of the engineer
DATA = ["annotation/data/tasks/*", "annotation/data/q*", "annotation/data/grammar.yaml"]
QUOTED = re.compile(r"`[^`]*`|```.*?```|\"[^\"\n]*\"", re.S)  # commands, and what others wrote


def strings(path):
    """Return the sentences of a module that may be shown: no docstrings, no single words."""
    source = path.read_text("utf-8")
    if not RETIRED.search(source):
        return
    tree = ast.parse(source)
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in notes else ""
        if isinstance(text, str) and " " in text:
            yield node.lineno, text


def test_messages_and_help_use_none_of_the_retired_words():
    hits = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, text in strings(path)
        for match in RETIRED.finditer(text)
    ]
    assert not hits


@pytest.mark.parametrize("folder", ["docs", "src/moralscope/server/page/templates"])
def test_pages_use_none_of_the_retired_words(folder):
    hits = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".md", ".html") and "examples" not in path.parts
        for match in RETIRED.finditer(QUOTED.sub(" ", path.read_text("utf-8")))
    ]
    assert not hits


@pytest.mark.parametrize("files", ["**/*.js", *DATA, "models/store/*.toml"])
def test_scripts_and_data_use_none_of_the_retired_words(files):
    texts = {path: path.read_text("utf-8") for path in (ROOT / "src/moralscope").glob(files)}
    assert texts
    hits = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path, text in texts.items()
        for match in RETIRED.finditer(REMARK.sub("", text))
    ]
    assert not hits


def test_a_retired_word_would_be_found():
    assert RETIRED.search("its answers hang on the order")
    assert RETIRED.search("one action a line")
    assert not RETIRED.search("one action per line")
    assert RETIRED.search(REMARK.sub("", 'say("one rule a line"); // told twice'))
    assert not RETIRED.search(REMARK.sub("", 'say("one rule per line"); // told twice'))
