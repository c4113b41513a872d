"""MIC.csv and SOCIAL-CHEM-101 are read as annotations, and nothing malformed is read silently."""

import csv
import os
from pathlib import Path

import pytest

from moralscope.core.errors import InputError
from moralscope.io import tables
from moralscope.rules.annotations import reading
from moralscope.rules.annotations.reading import foundation_names, read_annotations

ROW = {
    "Q": "Would you keep a wallet you found?",
    "A": "Yes, finders keepers.",
    "QA": "Q: … A: …",
    "rot": "You should return what you find.",
    "rot-agree": "4",
    "violation-severity": "3.0",
    "moral": "fairness|care",
    "A_agrees": "0",
    "worker_answer": "No, I would take it to the police.",
    "split": "test",
}
SOCIAL = {
    "situation": "keeping a wallet",
    "rot": "It's good to return a wallet.",
    "rot-agree": "3.0",
    "rot-moral-foundations": "care-harm|loyalty-betrayal",
    "action": "returning a wallet",
    "action-moral-judgment": "1.0",
    "rot-bad": "0",
    "split": "train",
}


def write(path, *rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_row_of_mic_keeps_every_attribute(tmp_path):
    (one,) = read_annotations(write(tmp_path / "MIC.csv", ROW)).annotations
    assert one.pair == (ROW["Q"], ROW["A"])
    assert (one.rule, one.alignment, one.severity, one.consensus) == (
        ROW["rot"],
        "disagree",
        3.0,
        4.0,
    )
    assert one.foundations == ("care", "fairness")
    assert (one.revised_reply, one.split) == (ROW["worker_answer"], "test")


@pytest.mark.parametrize(
    ("cell", "label"),
    [("0", "disagree"), ("1", "neither"), ("2.0", "agree"), ("Agree", "agree"), ("", None)],
)
def test_alignments_are_read_as_codes_and_as_words(cell, label, tmp_path):
    path = write(tmp_path / "m.csv", {**ROW, "A_agrees": cell})
    assert read_annotations(path).annotations[0].alignment == label


def test_what_is_not_answered_is_none_and_no_foundation_is_none_of_six(tmp_path):
    row = {**ROW, "violation-severity": "-1", "rot-agree": "nan", "moral": "", "worker_answer": ""}
    (one,) = read_annotations(write(tmp_path / "m.csv", row)).annotations
    assert (one.severity, one.consensus, one.foundations) == (None, None, ())
    assert one.revised_reply is None


def test_absent_columns_are_told_and_give_none(tmp_path):
    found = read_annotations(
        write(tmp_path / "m.csv", {name: ROW[name] for name in ("Q", "A", "rot")})
    )
    assert found.annotations[0].foundations is None
    assert found.absent == (
        "consensus",
        "severity",
        "foundations",
        "alignment",
        "revised_reply",
        "split",
    )


def test_other_column_names_can_be_given(tmp_path):
    path = write(tmp_path / "m.csv", {"question": "a?", "bot": "b", "Rule": "c"})
    found = read_annotations(path, columns={"prompt": "question", "reply": "bot", "rule": "Rule"})
    assert (found.annotations[0].pair, found.annotations[0].rule) == (("a?", "b"), "c")
    with pytest.raises(InputError, match=r"no column 'Q' for the prompt .columns: question"):
        read_annotations(path)
    with pytest.raises(InputError, match="did you mean 'prompt'"):
        read_annotations(path, columns={"promt": "question"})
    with pytest.raises(InputError, match="no column 'nowhere'"):
        read_annotations(write(tmp_path / "n.csv", ROW), columns={"severity": "nowhere"})


def test_social_chem_has_its_situation_as_the_prompt_and_its_consensus_on_our_scale(tmp_path):
    bad = {**SOCIAL, "rot-bad": "1"}
    found = read_annotations(write(tmp_path / "sc.csv", SOCIAL, bad))
    assert (found.kind, found.bad_rules, len(found.annotations)) == ("social-chem", 1, 1)
    one = found.annotations[0]
    assert (one.pair, one.consensus) == (("keeping a wallet", ""), 4.0)
    assert (one.foundations, one.judgment) == (("care", "loyalty"), 1.0)
    assert (one.action, one.severity, one.alignment) == ("returning a wallet", None, None)


def test_foundations_of_every_spelling():
    assert foundation_names("Sanctity/Degradation; oppression") == ("liberty", "sanctity")
    assert foundation_names("care|care-harm") == ("care",)


def test_a_quoted_cell_may_hold_lines_and_commas(tmp_path):
    row = {**ROW, "A": 'He said "no",\nthen left.'}
    found = read_annotations(write(tmp_path / "m.csv", row, ROW))
    assert found.annotations[0].exchange.reply == 'He said "no",\nthen left.'
    assert len(found.annotations) == 2


def test_a_byte_order_mark_and_an_unnamed_first_column_do_no_harm(tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(b"\xef\xbb\xbf,Q,A,rot\r\n0,a,b,c\r\n")
    assert read_annotations(path).annotations[0].pair == ("a", "b")
    path.write_bytes(b"\xef\xbb\xbfQ,A,rot\n0,a,b\n")
    assert read_annotations(path).annotations[0].pair == ("0", "a")


def test_skipping_keeps_the_good_lines_around_a_bad_one(tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(b"Q,A,rot,rot-agree\na,b,c,9\nd,e,f,2\ng,h\xe9,i,1\nj,k,l,\nm,n\n")
    with pytest.raises(InputError, match="3 malformed lines: line 2 has the consensus '9'"):
        read_annotations(path)
    found = read_annotations(path, malformed="skip")
    assert [row.exchange.prompt for row in found.annotations] == ["d", "j"]
    assert [problem.line for problem in found.problems] == [2, 4, 6]


def test_sizes_are_bounded(tmp_path, monkeypatch):
    path = write(tmp_path / "m.csv", ROW, ROW, ROW)
    monkeypatch.setattr(reading, "LIMITS", tables.Limits(rows=2))
    with pytest.raises(InputError, match="more than 2 rows"):
        read_annotations(path)
    monkeypatch.setattr(tables, "MAX_PROBLEMS", 1)
    path.write_text("Q,A,rot\n1\n2\n3\n")
    with pytest.raises(InputError, match="more than 1 malformed"):
        read_annotations(path, malformed="skip")


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "rows"), [("obligatory", 8358), ("optional", 3288)])
def test_the_published_part_of_social_chem_is_read_whole(name, rows):
    root = os.environ.get("MORALSCOPE_DATA")
    if not root:
        pytest.skip("MORALSCOPE_DATA is not set")
    found = read_annotations(Path(root, "social_chem", f"{name}_sc101.csv"))
    assert (len(found.annotations), found.problems) == (rows, ())
    assert {row.consensus for row in found.annotations} == {5.0}
