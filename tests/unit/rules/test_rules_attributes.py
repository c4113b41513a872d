"""Attributes of given rules: rows in order, estimates marked, bad input refused."""

import pytest

from moralscope.core.errors import InputError
from moralscope.rules.attributes import (
    attributes,
    prepare_attributes,
    read_rule_queries,
    rule_queries,
)


def test_rows_with_an_exchange_are_aligned_and_others_are_not(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("prompt,reply,rule\nLie?,Yes.,Don't lie.\nPay?,No.,Pay.\n")
    rows = read_rule_queries(path) + rule_queries(["Be kind."])
    record = attributes(rows, models=prepare_attributes("scripted"))
    assert [row.rule for row in record.results] == ["Don't lie.", "Pay.", "Be kind."]
    assert [row.reply for row in record.results] == ["Yes.", "No.", None]
    assert [row.alignment is None for row in record.results] == [False, False, True]
    assert {row.evidence for row in record.results} == {"model"}
    assert sum(record.results[0].alignment_probabilities.values()) == pytest.approx(1.0)


def test_columns_may_have_other_names(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("asked,said,rot\nLie?,Yes.,Don't lie.\n")
    (row,) = read_rule_queries(path, {"prompt": "asked", "reply": "said"})
    assert (row.rule, row.exchange.reply) == ("Don't lie.", "Yes.")


@pytest.mark.parametrize("rules", [[], [" "]])
def test_no_rule_is_refused(rules):
    with pytest.raises(InputError, match="no rule"):
        attributes(rule_queries(rules), models=prepare_attributes("scripted"))


def test_a_prompt_alone_is_refused():
    with pytest.raises(InputError, match="not an exchange"):
        rule_queries(["Be kind."], prompt="Lie?")


def test_a_foundation_is_told_by_its_threshold():
    experts = prepare_attributes("scripted")
    (row,) = attributes(rule_queries(["Be kind."]), models=experts).results
    assert row.foundations == tuple(
        name for name, value in row.probabilities.items() if value >= 0.5
    )
