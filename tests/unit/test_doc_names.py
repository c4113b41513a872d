"""Files and classes that ARCHITECTURE.md and the docs name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "moralscope"
PAGES = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
OF_USERS = {"rules/project.yaml"}  # a folder that an example makes
PLACES = (ROOT, SOURCE, ROOT / "tests")
FOLDERS = tuple(path.name for path in SOURCE.iterdir() if path.is_dir())
FILE = re.compile(rf"`((?:src|tests|bench|docs|{'|'.join(FOLDERS)})/[\w./-]+\.\w+)(?:: (\w+))?`")
FOLDER = re.compile(rf"`((?:{'|'.join(FOLDERS)})/(?:[\w-]+/)*)`")
NOUNS = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| `([\w/.]+\.py)` \|", re.MULTILINE)


def find(name):
    return next((place / name for place in PLACES if (place / name).exists()), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_are_there(page):
    text = page.read_text("utf-8")
    named = FILE.findall(text)
    assert {name for name, _ in named if find(name) is None} <= OF_USERS
    assert [name for name in FOLDER.findall(text) if find(name) is None] == []
    for name, inside in named:
        if inside:
            assert re.search(rf"\b{inside}\b", find(name).read_text("utf-8")), (name, inside)


def test_the_glossary_names_what_there_is():
    rows = NOUNS.findall((ROOT / "docs" / "glossary.md").read_text("utf-8"))
    assert len(rows) > 10
    for nouns, name in rows:
        code = (SOURCE / name).read_text("utf-8")
        for noun in re.findall(r"`(\w+)`", nouns):
            assert re.search(rf"\b{noun}\b", code), (noun, name)
