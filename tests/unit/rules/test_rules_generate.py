"""`rules generate` as a job: one row an exchange, estimates marked, figures beside references."""

import csv
import json
from dataclasses import replace

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.models.encoders import load_encoder
from moralscope.models.language.scripted import ScriptedGenerator
from moralscope.papers.integrity import (
    IntegritySources,
    read_generated,
    reproduce_integrity,
)
from moralscope.rules.annotations.reading import read_annotations
from moralscope.rules.attributes import Attributes
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.rules.texts.exchanges import open_exchanges, parse_columns
from moralscope.rules.writing.rule_writer import (
    RulesGenerateOptions,
    RuleWriter,
    RuleWriting,
    generate_rules,
    prepare_writing,
    rule_prompt,
    write_best,
)

KNOWN = [RuleOfThumb("You should not hit a dog.", ("care",), 4.0, 5.0, id="dog")]
ASKED = [Exchange(f"Thing {n}?", f"I did thing {n} twice.") for n in range(12)]
LINES = ("You should not do a thing twice.", "You should not hit a dog.", "Say agree.")
SCRIPTED = RulesGenerateOptions(generator="scripted", encoder="scripted")


def ready(lines=LINES):
    encoder = load_encoder("scripted")
    script = {rule_prompt(each): lines for each in ASKED}
    writer = RuleWriter(ScriptedGenerator(script), encoder, KNOWN)
    return RuleWriting(writer, Attributes(KNOWN, embed=encoder.encode), "mine")


def test_rows_come_in_order_with_attributes_marked_as_estimates():
    steps = []
    record = generate_rules(ASKED, SCRIPTED, ready=ready(), report=lambda *at: steps.append(at))
    assert [row.reply for row in record.results] == [each.reply for each in ASKED]
    row = to_plain(record.results[0])
    (rule,) = row["rules"]
    assert (rule["text"], rule["source"], rule["evidence"]) == (LINES[0], "generated", "neighbours")
    assert (rule["severity"], rule["consensus"]) == (4.0, 5.0)
    assert rule["foundations"]["care"] == 1.0
    assert {left["text"]: left["reason"] for left in row["left_out"]}[LINES[1]].endswith(": dog")
    found = record.statistics
    assert (found["with_rules"], found["rules"], found["left_out"]) == (12, 12, 24)
    assert steps == [(12, 12)]
    assert any("estimates" in line for line in record.warnings)


def test_refusals_and_cut_texts_are_told():
    rows = [Exchange("Hi", "🎉"), replace(ASKED[0], reply="I lie. " * 500, id="long")]
    record = generate_rules(rows, SCRIPTED, ready=ready())
    assert record.statistics["refusals"] == {"the reply holds no words": 1}
    assert record.results[0].rules == ()
    assert any(line.startswith("reply long: ") for line in record.warnings)


def test_what_is_prepared_by_name_writes_with_the_rulebook_in_mind():
    models = prepare_writing(replace(SCRIPTED, decoding="nucleus"))
    record = generate_rules(ASKED[:2], replace(SCRIPTED, decoding="nucleus"), ready=models)
    assert record.config["rulebook"] == "moralscope"
    assert [len(row.left_out) for row in record.results] == [3, 3]  # scripted texts are no rules
    again = generate_rules(ASKED[:2], replace(SCRIPTED, decoding="nucleus"))
    assert to_plain(again.results) == to_plain(record.results)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"decoding": "bem"}, "did you mean 'beam'"),
        ({"keep": 0}, "1 to 3"),
        ({"keep": 4}, "keep is 4"),
    ],
)
def test_options_that_cannot_be_met_are_refused_first(change, line):
    with pytest.raises(InputError) as told:
        prepare_writing(replace(SCRIPTED, generator="/nowhere", **change))
    assert line in str(told.value)


def test_nothing_to_write_for_is_refused():
    with pytest.raises(InputError, match="no exchanges"):
        generate_rules([], SCRIPTED, ready=ready())


def test_what_is_written_is_measured_against_all_references_of_its_exchange(tmp_path):
    path = tmp_path / "MIC.csv"
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["Q", "A", "rot", "split"])
        for n, each in enumerate(ASKED):
            part = "test" if n < 4 else "train"
            out.writerow([each.prompt, each.reply, "People may like blue.", part])
            out.writerow([each.prompt, each.reply, LINES[0] if n < 3 else "Be calm.", part])
    file = open_exchanges(path, parse_columns("prompt=Q,reply=A"))
    record = generate_rules(file, SCRIPTED, ready=ready(LINES[:1]))
    assert len(record.results) == 24
    write_best(record, tmp_path / "best.jsonl")
    lines = (tmp_path / "best.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {
        "model": "scripted beam",
        "prompt": "Thing 0?",
        "reply": "I did thing 0 twice.",
        "rule": LINES[0],
    }
    sources = IntegritySources(
        read_annotations(path), generated=read_generated(tmp_path / "best.jsonl")
    )
    table = reproduce_integrity(sources).results[0]
    cells = {row.column: row.ours for row in table.rows if row.row == "scripted beam"}
    assert cells["R-L"] == pytest.approx(75.0, abs=8)  # three of the four are word for word
    assert cells["BLEU"] > 70
    assert cells["Avg. Len"] == 8.0
