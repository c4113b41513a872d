"""The paper's tables stand beside what the user's data gives, and nothing is made up without it."""

import json
from dataclasses import replace

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.models.bertscore import load_bert_scorer
from moralscope.models.encoders import load_encoder
from moralscope.papers.integrity import (
    IntegritySources,
    predictions,
    prepare_sources,
    read_generated,
    reproduce_integrity,
)
from moralscope.papers.options import IntegrityOptions
from moralscope.rules.annotations.reading import AnnotationFile
from moralscope.rules.attributes import prepare_attributes
from moralscope.rules.records import Annotation, Exchange

PARTS = ("test", "train")
LABELS = ("agree", "disagree", "neither")


def annotations():
    rows = []
    for n in range(40):
        part = "test" if n < 8 else "train"
        exchange = Exchange(f"Would you do thing {n}?", f"I did thing {n} twice.")
        for who in range(3):
            rows.append(
                Annotation(
                    exchange,
                    f"You should not do thing {n}, says {'abc'[who]}.",
                    LABELS[(n + who) % 3],
                    1.0 + (n + who) % 5,
                    1.0 + n % 5,
                    ("care",) if n % 2 else ("fairness", "liberty"),
                    split=part,
                )
            )
    return tuple(rows)


FILE = AnnotationFile("mine", "mic", annotations())


def cells(record, table):
    (found,) = [each for each in record.results if each.name.startswith(table)]
    return {(row.row, row.column): row for row in found.rows}


def test_without_data_the_published_figures_stand_alone():
    record = reproduce_integrity(IntegritySources())
    rows = [row for table in record.results for row in table.rows]
    assert all(row.ours is None for row in rows)
    assert all(row.paper is not None for row in rows)
    assert [table.name[:7] for table in record.results] == [f"Table {n}" for n in (1, 2, 3, 4)]
    assert any("moralscope data where mic" in line for line in record.warnings)


def test_the_baselines_of_retrieval_are_measured():
    sources = IntegritySources(FILE, load_encoder("scripted"), load_bert_scorer("scripted"))
    record = reproduce_integrity(sources)
    table = cells(record, "Table 1")
    random, nearest = table["Random RoT", "R-L"], table["SBERT", "R-L"]
    assert random.paper == 26.23
    assert 0 < random.low <= random.ours <= random.high < 100
    assert nearest.ours is not None
    assert table["Random RoT", "BScore"].ours > 50
    assert table["Random RoT", "Avg. Len"].ours == pytest.approx(10)  # eight words, comma, stop
    assert table["GPT-2, beam", "R-L"].ours is None
    json.dumps(to_plain(record), allow_nan=False)


def test_generated_rules_go_to_their_row_and_social_chem_to_table_2():
    test = {row.pair: row.rule for row in FILE.annotations if row.split == "test"}
    generated = {"T-5, beam": test, "Social-Chem": dict.fromkeys(test, "Dogs bark at night.")}
    record = reproduce_integrity(IntegritySources(FILE, generated=generated))
    ours = cells(record, "Table 1")["T-5, beam", "R-L"]
    assert (ours.ours, ours.paper) == (pytest.approx(100), 52.62)
    assert cells(record, "Table 1")["T-5, beam", "BLEU"].ours == pytest.approx(100)
    assert cells(record, "Table 1")["T-5, beam", "BScore"].ours is None
    assert cells(record, "Table 2")["Social-Chem", "R-1"].ours == 0
    assert not any(row == "Social-Chem" for row, _ in cells(record, "Table 1"))


def test_the_best_of_the_references_counts():
    (pair,) = {row.pair for row in FILE.annotations if "thing 3?" in row.exchange.prompt}
    last = [row.rule for row in FILE.annotations if row.pair == pair][-1]
    record = reproduce_integrity(IntegritySources(FILE, generated={"mine": {pair: last}}))
    row = cells(record, "Table 1")["mine", "R-2"]
    assert (row.ours, row.paper) == (pytest.approx(100), None)


def test_predicted_attributes_fill_table_3():
    predict = {
        "severity": lambda rows: [row.severity for row in rows],
        "consensus": lambda rows: [max(3.0, row.consensus) + 0.5 for row in rows],
        "alignment": lambda rows: [row.alignment for row in rows],
        "foundations": lambda rows: [("care",) for _ in rows],
    }
    record = reproduce_integrity(IntegritySources(FILE, predicted={"ALBERT": predict}))
    table = cells(record, "Table 3")
    assert table["ALBERT", "severity r"].ours == pytest.approx(1)
    assert table["ALBERT", "severity r"].paper == 0.59
    assert table["ALBERT", "consensus MSE"].ours == pytest.approx(0.25)  # labels 1-3 are one
    assert table["ALBERT", "alignment F1"].ours == pytest.approx(100)
    assert table["ALBERT", "care F1"].ours == pytest.approx(200 / 3)
    assert table["ALBERT", "liberty F1"].ours == 0
    assert table["BERT", "care F1"].ours is None


def test_people_are_measured_by_each_other_where_two_judged_one_rule():
    exchanges = [Exchange(f"p{n}", "r") for n in range(6)]
    rows = [
        Annotation(each, "Rule.", "agree", severity=float(1 + n % 5 - who * (n == 2)))
        for n, each in enumerate(exchanges)
        for who in range(2)
    ]
    record = reproduce_integrity(IntegritySources(AnnotationFile("m", "mic", tuple(rows))))
    table = cells(record, "Table 3")
    assert table["Human", "severity MSE"].ours == pytest.approx(1 / 6)
    assert table["Human", "alignment F1"].ours == 100
    assert table["Human", "consensus r"].ours is None


def test_a_limit_draws_the_same_exchanges_for_one_seed():
    sources = IntegritySources(FILE, max_exchanges=3)
    first, again = reproduce_integrity(sources, seed=4), reproduce_integrity(sources, seed=4)
    assert first.results == again.results


def test_names_become_sources(tmp_path, monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    with pytest.raises(InputError, match=r"columns of MIC.csv; name the file"):
        prepare_sources(IntegrityOptions(columns="prompt=question"))
    path = tmp_path / "MIC.csv"
    path.write_text("Q,A,rot\n" + "".join(f"q{n},a,rule {n} here\n" for n in range(12)))
    made = prepare_sources(IntegrityOptions(mic=path, encoder="scripted", bertscore="none"))
    assert made.encoder.name == "scripted"
    assert made.scorer is None
    assert cells(reproduce_integrity(made), "Table 1")["SBERT", "R-1"].ours is not None


def test_without_the_corpus_our_exchanges_are_measured_and_said_to_be_another_data_set(monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    options = IntegrityOptions(encoder="scripted", bertscore="none", experts="scripted")
    sources = prepare_sources(options)
    record = reproduce_integrity(sources)
    table = cells(record, "Table 1")
    assert 0 < table["Random RoT", "R-L"].ours < 100
    assert table["Random RoT", "R-L"].reproduced == "another data set"
    assert cells(record, "Table 3")["scripted", "alignment F1"].ours is not None
    measured = [
        table for table in record.results if any(row.ours is not None for row in table.rows)
    ]
    assert all("another data set" in table.name for table in measured)
    assert {row.reproduced for table in record.results for row in table.rows} == {
        "",
        "not measured",
        "another data set",
    }
    assert record.config["source"] == "exchanges written for moralscope"
    assert any("another data set" in line for line in record.warnings)
    rules = [{row.rule for row in sources.file.annotations if row.split == part} for part in PARTS]
    assert rules[0]
    assert not rules[0] & rules[1]  # tested on rules that no training saw


def test_generated_rules_are_read(tmp_path):
    path = tmp_path / "g.jsonl"
    row = {"model": "T-5, beam", "prompt": "a", "reply": " b ", "rule": "c"}
    path.write_text(json.dumps(row) + "\n\n")
    assert read_generated(path) == {"T-5, beam": {("a", "b"): "c"}}


def test_the_weights_are_named():
    sources = IntegritySources(FILE, load_encoder("scripted"), load_bert_scorer("scripted"))
    names = [ref.name for ref in reproduce_integrity(sources).models]
    assert names == ["scripted", "scripted"]


def test_people_are_measured_on_the_papers_scale_of_consensus():
    rows = [
        Annotation(Exchange(f"p{n}", "r"), "Rule.", consensus=float(value))
        for n, pair in enumerate([(1, 2), (2, 3), (5, 4), (4, 4)])
        for value in pair
    ]
    record = reproduce_integrity(IntegritySources(AnnotationFile("m", "mic", tuple(rows))))
    assert cells(record, "Table 3")["Human", "consensus MSE"].ours == pytest.approx(1 / 4)


def test_domain_shift_is_measured_between_chatbots():
    known = [
        replace(row, chatbot="Neo" if number // 3 % 2 else "Blender")
        for number, row in enumerate(FILE.annotations)
    ]
    test = {row.pair: row.rule for row in known if row.split == "test"}
    sources = IntegritySources(
        AnnotationFile("mine", "mic", tuple(known)),
        load_encoder("scripted"),
        generated={"mine": test},
    )
    table = cells(reproduce_integrity(sources), "Domain shift")
    assert set(table) == {
        (row, bot)
        for bot in ("Blender", "Neo")
        for row in (
            "mine",
            *(
                f"{method}, {learnt}"
                for method in ("Random RoT", "SBERT")
                for learnt in ("Blender", "Neo", "all")
            ),
        )
    }
    assert table["mine", "Neo"].ours == pytest.approx(100)
    assert table["SBERT, Neo", "Blender"].ours < 100
    assert all(row.paper is None and row.low <= row.ours <= row.high for row in table.values())


def test_one_chatbot_has_no_domain_shift():
    record = reproduce_integrity(IntegritySources(FILE))
    assert not any(table.name.startswith("Domain shift") for table in record.results)


def test_experts_fill_a_row_of_table_3():
    sources = IntegritySources(FILE, predicted=predictions(prepare_attributes("scripted")))
    table = cells(reproduce_integrity(sources), "Table 3")
    assert 0 <= table["scripted", "alignment F1"].ours <= 100
    assert table["scripted", "care F1"].ours is not None
    assert ("scripted", "severity r") in table
