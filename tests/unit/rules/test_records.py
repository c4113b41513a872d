"""What people say of a rule is declared once: the records and the corpus columns follow it."""

from dataclasses import fields

import pyarrow as pa
import pytest

from moralscope.core.decode import decode
from moralscope.rules.audit_batch import audit_columns, audit_schema
from moralscope.rules.records import (
    ALIGNMENTS,
    FOUNDATIONS,
    SCALES,
    Alignment,
    AuditedReply,
    HasScales,
    RuleFinding,
    Verdict,
)

SHARES = {"disagree": 0.1, "agree": 0.9, "neither": 0.0}
CARE = dict.fromkeys(FOUNDATIONS, 0.0) | {"care": 0.7}
FINDING = RuleFinding("Don't lie.", "rulebook", Alignment("agree", SHARES), 4.0, 3.0, CARE)
AUDIT = AuditedReply("1", "Hi?", "Hello.", (FINDING,), Verdict(False, 0.4, "why"), "Hi.", "edit")


@pytest.mark.parametrize("kind", HasScales.__subclasses__(), ids=lambda kind: kind.__name__)
def test_a_record_with_scales_has_a_field_for_each(kind):
    assert set(SCALES) <= {field.name for field in fields(kind)}


def test_the_columns_of_a_corpus_are_those_of_the_records():
    shares = pa.struct([(name, pa.float64()) for name in ALIGNMENTS])
    rule = audit_schema(revised=False).field("rules").type.value_type
    assert rule.field("alignment").type.field("probabilities").type == shares
    assert [rule.field("foundations").type.field(n).name for n in range(6)] == list(FOUNDATIONS)
    assert all(rule.field(name).type == pa.float64() for name in SCALES)
    assert {"revised_reply", "revised_by", "unread"} <= set(audit_schema(revised=True).names)


def test_an_audit_goes_into_a_table_and_comes_back():
    schema = audit_schema(revised=True)
    table = pa.table(audit_columns([AUDIT], revised=True), schema=schema)
    (row,) = table.to_pylist()
    assert decode(Verdict, row) == AUDIT.verdict
    assert decode(list[RuleFinding], row["rules"]) == [FINDING]
