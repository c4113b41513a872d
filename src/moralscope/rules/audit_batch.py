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
from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.options import plain_options
from moralscope.core.records import Statistics
from moralscope.models.store import Progress
from moralscope.rules.audit import NOT_AUTHORITY, check_options
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.audit_statistics import AuditStatistics, AuditTally, ScoreFigures, WorstReply
from moralscope.rules.load_auditor import limits_beside, load_auditor
from moralscope.rules.records import ABSTAINED, AuditedReply, Exchange, RuleFinding, Verdict
from moralscope.rules.rulebook import load_layers
from moralscope.rules.texts.exchanges import parse_columns
from moralscope.rules.thresholds import Thresholds
from moralscope.stats.gates import check_gate
from moralscope.stats.streams import Extremes, Frequent, Moments

_SAID = ("prompt", "reply")
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
    """

    name = "audit"
    reads: tuple[str, ...] = _SAID
    needed: tuple[str, ...] = _SAID

    def __init__(self, options: AuditOptions, columns: Columns | None = None) -> None:
        check_options(options)
        if options.false_alarms is not None:
            raise InputError(
                "a corpus cannot set a limit of false alarms",
                "set it on one file first, then give --config",
            )
        # A corpus is for its figures: evidence would make each flagged reply three times as long.
        self.options = replace(options, evidence="no") if options.evidence == "auto" else options
        self.columns = columns or {}
        if options.texts:
            self.columns = columns or parse_columns(None, texts=True)
            self.reads = self.needed = _SAID[1:]

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
        limits, book = limits_beside(options), load_layers(options.rulebooks)
        models = load_auditor(options, book, limits, progress, cached=False)
        config = dict(models.config or {})
        return Prepared(
            state=(book, limits, models.auditor.thresholds),
            writes=audit_schema(revised=options.revise),
            decides={**config, "exact": options.exact, "seed": options.seed},
            config={**config, "options": plain_options(options)},
            models=models.refs,
            warnings=[NOT_AUTHORITY, *models.warnings],
        )

    def load(self, state: Any) -> None:
        """Load the models, with the rules and limits that were read when the run began."""
        book, limits, _ = state
        bare = replace(self.options, gate=None, config=None)
        self._auditor = load_auditor(bare, book, limits, cached=False).auditor

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Audit the exchanges of a batch."""
        names = [self.theirs(name) for name in self.reads]
        pairs = list(zip(*(batch[name] for name in names), strict=True))

        def exchange(pair: tuple[Any, ...]) -> Exchange:
            for value, theirs in zip(pair, names, strict=True):
                if not isinstance(value, str):
                    raise ValueError(f"no text under '{theirs[:60]}'")
            return Exchange("" if self.options.texts else pair[0], pair[-1])

        audits = self._auditor.audit(read_each(pairs, exchange))
        return audit_columns(audits, revised=self.options.revise)

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> Statistics:
        """Return the figures in the shape of an audit's statistics, with the gate."""
        *_, limits = prepared.state
        statistics = replace(
            _figures(parts, limits, self.reads),
            seconds=outcome.seconds,
            corpus=outcome,
            failed=parts.failed(),
        )
        gate = check_options(self.options)
        if gate is None:
            return statistics
        return replace(statistics, gate=check_gate(gate, {"": statistics.figures()}))


def _figures(parts: Parts, limits: Thresholds, reads: tuple[str, ...]) -> AuditStatistics:
    names = parts.known("flag", "score", "status", "reason", "rules", "revised_by")
    moments, tally, broken, kept = Moments(), AuditTally(), Frequent(), Frequent()
    worst: Extremes[dict[str, Any]] = Extremes(LISTED)

    def described(row: Mapping[str, Any]) -> dict[str, Any]:
        texts = {name: parts.text(row, name) if name in reads else "" for name in _SAID}
        return {"id": parts.id(row), "score": row["score"], **texts, "reason": row["reason"]}

    for table in parts.tables(names):
        tally.replies += table.num_rows
        moments.add(table.column("score").to_numpy())
        tally.abstained += count_true(pc.equal(table.column("status"), ABSTAINED))
        rules = table.column("rules").combine_chunks().flatten()
        limit: Any = limits.disagree
        if rules.type.get_field_index("limit") >= 0:  # parts of before 0.10 have none
            limit = pc.coalesce(rules.field("limit"), limits.disagree)
        disagrees, agrees = (
            pc.greater_equal(pc.struct_field(rules, ["alignment", "probabilities", name]), least)
            for name, least in (("disagree", limit), ("agree", limits.agree))
        )
        # As `is_broken` and `is_kept` tell them.
        for holds, counts in ((disagrees, broken), (pc.and_not(agrees, disagrees), kept)):
            values = rules.field("text").filter(holds).value_counts()
            counts.add(dict(zip(*(part.to_pylist() for part in values.flatten()), strict=True)))
        some = table.filter(table.column("flag"))
        tally.flagged += some.num_rows
        for row in some.column("rules").to_pylist():
            tally.add_worst(decode(list[RuleFinding], row or [], "the parts"), limits)
        parts.offer(worst, some.column("score").to_numpy(), some, described, reads)
        if "revised_by" in names:
            tally.revised_by.update(by for by in table.column("revised_by").to_pylist() if by)
    score = ScoreFigures(moments.summary.mean, *moments.mean_interval(), moments.low)
    listed = [WorstReply(**row) for row in worst.items()]
    return replace(tally.statistics(score, broken, kept, listed), **parts.spread(moments))


def audit_schema(*, revised: bool) -> pa.Schema:
    """Return the columns that an audit adds to a corpus."""
    left_out = (*_INPUT, "verdict", *(() if revised else _REVISED))
    return pa.schema([*arrow_schema(Verdict), *arrow_schema(AuditedReply, left_out)])


def audit_columns(audits: Sequence[AuditedReply], *, revised: bool) -> dict[str, list[Any]]:
    """Return audits as columns of `audit_schema`."""
    rows = [audit.row() for audit in audits]
    return {name: [row[name] for row in rows] for name in audit_schema(revised=revised).names}
