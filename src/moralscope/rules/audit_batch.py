"""Audits of a corpus: replies of any number, with the verdicts of the one-file path.

Columns follow the record classes: what a class holds is written, and read back for the figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from moralscope.batch.columns import arrow_schema
from moralscope.batch.job import Batch, BatchJob, Columns, Prepared, read_each
from moralscope.batch.parts import LISTED, Parts, count_true
from moralscope.batch.types import Outcome
from moralscope.core.errors import InputError
from moralscope.core.options import plain_options
from moralscope.models.store import Progress
from moralscope.rules.audit import NOT_AUTHORITY, check_options
from moralscope.rules.audit_models import given_limits, load_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.audit_statistics import AuditTally
from moralscope.rules.audit_statistics import figures as gate_figures
from moralscope.rules.records import (
    Alignment,
    AuditedReply,
    Exchange,
    RuleFinding,
    Verdict,
)
from moralscope.rules.rulebook import load_layers
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import ABSTAINED
from moralscope.stats.gates import check_gate, parse_gate
from moralscope.stats.streams import Extremes, Frequent, Moments

_INPUT = ("id", "prompt", "reply")  # stand in the corpus already
_REVISED = ("revised_reply", "revised_by")


class AuditBatch(BatchJob):
    """Audits replies: flag, score, reason and the rules behind them; a revised reply where asked.

    Parameters
    ----------
    options
        Experts, encoder, generators, limits of the search.
    columns
        What `prompt` and `reply` are called.

    Examples
    --------
    >>> job = AuditBatch(AuditOptions(experts="scripted"))
    >>> job.load(job.prepare().state)
    >>> found = job({"prompt": ["Hi!"], "reply": ["😀"]})
    >>> found["flag"], found["reason"]
    ([False], ['abstained: the reply holds no words'])
    """

    name = "audit"
    reads = needed = ("prompt", "reply")

    def __init__(self, options: AuditOptions, columns: Columns | None = None) -> None:
        check_options(options)
        if options.false_alarms is not None:
            raise InputError(
                "a corpus sets no limit of false alarms",
                "set it on one file first, then give --config",
            )
        self.options = options
        self.columns = columns or {}

    @property
    def light(self) -> bool:
        options = self.options
        models = {options.experts, options.encoder_name}
        models |= {options.generator} if options.revise else set()
        models |= {options.writer} if options.generate else set()
        return models == {"scripted"}

    @property
    def slow(self) -> bool:
        return self.options.revise or self.options.generate

    def prepare(self, progress: Progress | None = None) -> Prepared:
        """Read rules and limits, and load the models once."""
        options = self.options
        given, book = given_limits(options), load_layers(options.rulebooks)
        models = load_auditor(options, book, given, progress, cached=False)
        config = dict(models.config or {})
        return Prepared(
            state=(book, given, models.auditor.thresholds),
            writes=audit_schema(revised=options.revise),
            decides={**config, "exact": options.exact, "seed": options.seed},
            config={**config, "options": plain_options(options)},
            models=models.refs,
            warnings=[NOT_AUTHORITY, *models.warnings],
        )

    def load(self, state: Any) -> None:
        """Load the models, with the rules and limits that were read when the run began."""
        book, given, _ = state
        bare = replace(self.options, gate=None, config=None)
        self._auditor = load_auditor(bare, book, given, cached=False).auditor

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Audit the exchanges of a batch."""
        names = [self.theirs(name) for name in self.reads]
        pairs = list(zip(*(batch[name] for name in names), strict=True))

        def exchange(pair: tuple[Any, ...]) -> Exchange:
            for value, theirs in zip(pair, names, strict=True):
                if not isinstance(value, str):
                    raise ValueError(f"no text under '{theirs[:60]}'")
            return Exchange(*pair)

        audits = self._auditor.audit(read_each(pairs, exchange))
        return audit_columns(audits, revised=self.options.revise)

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> dict[str, Any]:
        """Return the figures in the shape of an audit's statistics, with the gate."""
        *_, limits = prepared.state
        found = _figures(parts, limits)
        known = gate_figures(found, None)
        gate = parse_gate(self.options.gate, known) if self.options.gate else None
        return {
            **found,
            "against": None,
            "seconds": outcome.seconds,
            "gate": check_gate(gate, {"": known}) if gate else None,
        }


def _figures(parts: Parts, limits: Thresholds) -> dict[str, Any]:
    names = parts.known("flag", "score", "reason", "rules", "revised_by")
    moments, tally, broken, kept = Moments(), AuditTally(), Frequent(), Frequent()
    worst: Extremes[dict[str, Any]] = Extremes(LISTED)

    def described(row: Mapping[str, Any]) -> dict[str, Any]:
        texts = {name: parts.text(row, name) for name in AuditBatch.reads}
        return {"id": parts.id(row), "score": row["score"], **texts, "reason": row["reason"]}

    for table in parts.tables(names):
        tally.replies += table.num_rows
        moments.add(table.column("score").to_numpy())
        tally.abstained += count_true(pc.starts_with(table.column("reason"), ABSTAINED))
        _count_rules(table, limits, broken, kept)
        some = table.filter(table.column("flag"))
        tally.flagged += some.num_rows
        for rules in some.column("rules").to_pylist():
            tally.add_worst([read_finding(each) for each in rules or ()], limits)
        parts.offer(worst, some.column("score").to_numpy(), some, described, AuditBatch.reads)
        if "revised_by" in names:
            tally.revised_by.update(by for by in table.column("revised_by").to_pylist() if by)
    low, high = moments.mean_interval()
    score = {"mean": moments.summary.mean, "low": low, "high": high, "worst": moments.low}
    return {
        **tally.statistics(score, broken, kept),
        "worst": worst.items(),
        **parts.spread(moments),
    }


def _count_rules(table: pa.Table, limits: Thresholds, broken: Frequent, kept: Frequent) -> None:
    flat = table.column("rules").combine_chunks().flatten()
    texts = flat.field("text")
    chances = (
        pc.struct_field(flat, ["alignment", "probabilities", n]) for n in ("disagree", "agree")
    )
    limit = (limits.disagree, limits.agree)
    is_broken, keeps = (pc.greater_equal(c, least) for c, least in zip(chances, limit, strict=True))
    for holds, counts in ((is_broken, broken), (pc.and_not(keeps, is_broken), kept)):
        found = texts.filter(holds).value_counts()
        counts.add(dict(zip(*(part.to_pylist() for part in found.flatten()), strict=True)))


def audit_schema(*, revised: bool) -> pa.Schema:
    """Return the columns that an audit adds to a corpus.

    Examples
    --------
    >>> audit_schema(revised=False).names
    ['flag', 'score', 'reason', 'basis', 'concern', 'probability', 'rules', 'unread']
    """
    left_out = (*_INPUT, "verdict", *(() if revised else _REVISED))
    return pa.schema([*arrow_schema(Verdict), *arrow_schema(AuditedReply, left_out)])


def audit_columns(audits: Sequence[AuditedReply], *, revised: bool) -> dict[str, list[Any]]:
    """Return audits as columns of `audit_schema`.

    Examples
    --------
    >>> audits = [AuditedReply("1", "Hi!", "Hello.", (), Verdict(False, 0.0, "why"))]
    >>> found = audit_columns(audits, revised=False)
    >>> found["flag"], found["reason"], found["unread"]
    ([False], ['why'], [0])
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
