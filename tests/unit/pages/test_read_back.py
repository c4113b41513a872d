"""Records of words, papers, edits and steering are read back as they were written, and drawn."""

import json

import pytest

from moralscope.axes.correlate import correlate_words
from moralscope.core.records import to_plain
from moralscope.pages import read_record, report_html, view
from moralscope.papers.choice import reproduce_choice
from moralscope.papers.integrity import IntegritySources, reproduce_integrity
from moralscope.steer.check import check_vector
from moralscope.steer.edit import edit
from moralscope.steer.make import make_vector
from moralscope.steer.teach import teach
from moralscope.words.associate import associate, associate_tests
from moralscope.words.extract import extract
from moralscope.words.valence import validate
from moralscope.words.verbs import VerbLexicon

VERBS = VerbLexicon("mine", "", frozenset({"help", "kill", "lie"}), frozenset())


def validated(folder):
    path = folder / "ratings.txt"
    path.write_text("joy\t3\nkill\t-3\n", "utf-8")
    return validate(valence=path)


def made(folder):
    return make_vector("scripted", kl=0.1, layers="2-3", save=folder / "v.safetensors")


def checked(folder):
    made(folder)
    path = folder / "v.safetensors"
    return check_vector(vector=path, replies=0, gate="collateral<=99")


RECORDS = {
    "associate": lambda folder: associate(["joy", "kill", "zzz"], vectors="scripted"),
    "tests": lambda folder: associate_tests(["caliskan-7", "caliskan-6"], vectors="scripted"),
    "extract": lambda folder: extract("scripted", count=2, lexicon=VERBS),
    "correlate": lambda folder: correlate_words(encoder="scripted", vectors="scripted"),
    "validate": validated,
    "edit": lambda folder: edit("scripted", keep=["choice"]),
    "teach": lambda folder: teach(["eat meat: fine"], encoder="scripted"),
    "make": made,
    "check": checked,
    "choice": lambda folder: reproduce_choice(["scripted"], vectors=("scripted",)),
    "integrity": lambda folder: reproduce_integrity(IntegritySources()),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_is_read_back_as_it_was_written(kind, tmp_path, monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    plain = json.loads(json.dumps(to_plain(RECORDS[kind](tmp_path))))
    record = read_record(plain)
    assert to_plain(record.results) == plain["results"]
    assert to_plain(record.statistics) == plain["statistics"]
    assert "What it does not mean" in report_html(record)
    json.dumps(view(record), allow_nan=False)
