"""Data cards say whose data it is and whether the files are the ones that were measured."""

import hashlib
import json
import os

import pytest
from typer.testing import CliRunner

from moralscope.cli.models import data_app as app
from moralscope.core.errors import ChecksumMismatch, InputError, StoreError, UnknownName
from moralscope.models.store import data_cards
from moralscope.models.store.data_cards import list_data, load_data_cards, verify_data, where_data

CARD = """
[mine]
about = "a set"
source = "https://example.org/mine"
licence = "MIT"
citation = "Me (2024)"
notes = "two files"
folder = "mine"
files = [
  { path = "a.txt", sha256 = "%s", size = 5 },
  { path = "b.txt", sha256 = "%s", size = 5 },
]
"""


def checksum(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def cards(tmp_path):
    path = tmp_path / "cards.toml"
    path.write_text(CARD % (checksum("aaaaa"), checksum("bbbbb")))
    return path


@pytest.fixture
def mine(cards, tmp_path, monkeypatch):
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    found = load_data_cards(cards)
    monkeypatch.setattr(data_cards, "load_data_cards", lambda: found)
    monkeypatch.setattr(data_cards, "data_card", lambda name: found[name])
    return tmp_path / "mine"


def test_every_set_of_the_papers_has_a_card_with_source_licence_and_citation():
    cards = load_data_cards()
    assert set(cards) >= {"moral-stories", "ethics", "social-chem-101", "human-yes-no", "mic"}
    assert set(cards) >= {"diasafety", "xstest", "harmless-pairs", "contrastive", "moralchoice"}
    for card in cards.values():
        assert card.source.startswith("https://")
        assert "(20" in card.citation
    assert any(file.path == "stories.jsonl" for file in cards["moral-stories"].files)
    assert cards["mic"].files == ()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("notes =", "note =", "unknown key 'note'.*did you mean 'notes'"),
        ('licence = "MIT"\n', "", "has no 'licence'"),
        ('folder = "mine"', 'folder = "../mine"', "unsafe folder"),
        ("size = 5 }", 'size = 5, url = "x" }', "unknown key 'url'"),
        ('path = "a.txt"', 'path = "../a.txt"', "leaves"),
        ('about = "a set"', "about = 3", "about is '3', not a text"),
    ],
)
def test_cards_with_unknown_or_unsafe_content_are_refused(old, new, complaint, cards):
    cards.write_text(cards.read_text().replace(old, new))
    with pytest.raises(InputError, match=complaint):
        load_data_cards(cards)


def test_verify_tells_verified_absent_and_other_files(mine):
    with pytest.raises(StoreError, match=r"get it from https://example\.org/mine"):
        verify_data(["mine"])
    with pytest.raises(StoreError, match="no data set"):
        verify_data([])
    (mine / "a.txt").write_text("aaaaa")
    assert verify_data([])[0].state == "verified, 1 of 2 absent"
    assert list_data()[0].state == "1 of 2 files"
    (mine / "b.txt").write_text("bbbbb")
    assert verify_data(["mine"])[0].state == "verified"
    assert list_data()[0].state == "present"
    (mine / "b.txt").write_text("bbbbx")
    with pytest.raises(ChecksumMismatch, match=r"b\.txt is not the file"):
        verify_data([])


def test_without_the_variable_every_set_is_absent(monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    assert {row.state for row in list_data()} == {"absent"}
    assert where_data("ethics").folder == "$MORALSCOPE_DATA/ethics"
    with pytest.raises(UnknownName, match="did you mean 'ethics'"):
        where_data("ethic")
    with pytest.raises(InputError, match="bring your own copy"):
        verify_data(["mic"])


def test_the_commands_print_cards(mine):
    (mine / "a.txt").write_text("aaaaa")
    run = CliRunner().invoke
    assert "https://example.org/mine" in run(app, ["where", "mine"]).stdout
    assert json.loads(run(app, ["list", "--json"]).stdout)[0]["citation"] == "Me (2024)"
    assert "mine: verified, 1 of 2 absent" in run(app, ["verify"]).stdout


@pytest.mark.realdata
def test_the_files_we_measured_with_are_the_pinned_ones():
    if not os.environ.get("MORALSCOPE_DATA"):
        pytest.skip("MORALSCOPE_DATA is not set")
    assert {row.name: row.state for row in verify_data([])}["moral-stories"] == "verified"
