"""An audit as rows of a corpus: the columns follow the record classes, and rows are read back."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from moralscope.io.arrow import arrow_schema
from moralscope.rules.records import Alignment, AuditedReply, RuleFinding, Verdict

_INPUT = ("id", "prompt", "reply")  # stand in the corpus already
_REVISED = ("revised_reply", "revised_by")


def audit_schema(*, revised: bool) -> pa.Schema:
    """Return the columns that an audit adds to a corpus.

    Examples
    --------
    >>> audit_schema(revised=False).names
    ['flag', 'score', 'reason', 'rules']
    """
    left_out = (*_INPUT, "verdict", *(() if revised else _REVISED))
    return pa.schema([*arrow_schema(Verdict), *arrow_schema(AuditedReply, left_out)])


def audit_columns(audits: Sequence[AuditedReply], *, revised: bool) -> dict[str, list[Any]]:
    """Return audits as columns of `audit_schema`.

    Examples
    --------
    >>> audits = [AuditedReply("1", "Hi!", "Hello.", (), Verdict(False, 0.0, "why"))]
    >>> audit_columns(audits, revised=False)
    {'flag': [False], 'score': [0.0], 'reason': ['why'], 'rules': [[]]}
    """
    rows = [each.row() for each in audits]
    return {name: [row[name] for row in rows] for name in audit_schema(revised=revised).names}


def read_finding(plain: Mapping[str, Any]) -> RuleFinding:
    """Return a finding from its plain form in a corpus, where a missing share is null."""
    told = plain["alignment"]
    alignment = Alignment(told["label"], _without_nulls(told["probabilities"]))
    shares = _without_nulls(plain["foundations"])
    return RuleFinding(**{**plain, "alignment": alignment, "foundations": shares})


def _without_nulls(values: Mapping[str, float | None] | None) -> dict[str, float]:
    return {name: value for name, value in (values or {}).items() if value is not None}
