"""What people said of rules fills their columns of Table 1, by who wrote the rule."""

import json

import pytest

from moralscope.core.errors import InputError
from moralscope.papers.integrity import IntegritySources, reproduce_integrity
from moralscope.papers.ratings import interesting, read_ratings
from moralscope.rules.annotations.reading import AnnotationFile
from moralscope.rules.records import Annotation, Exchange

EXCHANGE = Exchange("Do you lie?", "Often.")
ROW = Annotation(EXCHANGE, "Do not lie.", "disagree", split="test")
FILE = AnnotationFile("mine", "mic", (ROW,))
GENERATED = {"T-5, beam": {("Do you lie?", "Often."): "Lying is wrong."}}


def line(rule, well_formed, fluent, relevant):
    texts = {"prompt": "Do you lie?", "reply": "Often.", "rule": rule}
    answer = {"well_formed": well_formed, "fluent": str(fluent), "relevant": str(relevant)}
    return json.dumps({"task": "rule-ratings", "texts": texts, "answer": answer}) + "\n"


def test_ratings_go_to_the_row_of_who_wrote_the_rule(tmp_path):
    path = tmp_path / "ratings.jsonl"
    rows = [("Lying is wrong.", True, 5, 4), ("Lying is wrong.", False, 4, 2)]
    rows += [("Do not lie.", True, 3, 5), ("Nobody wrote this.", True, 1, 1)]
    path.write_text("".join(line(*row) for row in rows), "utf-8")
    sources = IntegritySources(FILE, generated=GENERATED, ratings=read_ratings(path))
    record = reproduce_integrity(sources)
    cells = {(row.row, row.column): row for row in record.results[0].rows}
    beam = [cells["T-5, beam", name] for name in ("Well-Formed", "Fluent", "Relevant")]
    assert [row.ours for row in beam] == [0.5, 4.5, 3.0]
    assert [row.paper for row in beam] == [0.86, 4.51, 4.02]
    assert cells["Human", "Relevant"].ours == 5
    assert cells["Human", "Relevant"].paper == 4.03
    assert any("1 of 4 ratings are of rules in none" in line for line in record.warnings)


@pytest.mark.parametrize("text", ["", '{"texts": {}, "answer": {}}\n', '{"rule": "Be kind."}\n'])
def test_another_file_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "other.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"rule-ratings|empty"):
        read_ratings(path)


def test_an_exchange_is_interesting_with_one_severe_rule_that_the_reply_takes_a_stance_on():
    def row(place, alignment, severity):
        return Annotation(Exchange(f"p{place}", "r"), "Be kind.", alignment, severity)

    rows = [row(0, "neither", 5.0), row(0, "disagree", 3.0), row(1, "neither", 5.0)]
    rows += [row(2, "agree", 2.9), row(3, None, 5.0), row(4, "agree", None)]
    found = interesting(rows)
    assert found.n == 3
    assert found.value == pytest.approx(1 / 3)
    record = reproduce_integrity(IntegritySources(AnnotationFile("mine", "mic", tuple(rows))))
    assert record.results[-1].rows[0].ours == pytest.approx(1 / 3)
    assert record.results[-1].rows[0].paper == 0.9
