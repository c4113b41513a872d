"""Conversations as a corpus: one per row, any number, with the verdicts of the one-file path.

A row holds `messages`, and `tools` if there are any, as lists or as JSON text. What was said stays
in the input's own columns; the parts add the conversation's verdict, and every turn's.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from moralscope.batch.columns import arrow_schema
from moralscope.batch.job import Batch, Columns, Prepared, read_each
from moralscope.batch.parts import LISTED, Parts
from moralscope.batch.types import Outcome
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.models.store import Progress
from moralscope.rules.audit_batch import AuditBatch
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.audit_statistics import WorstReply
from moralscope.rules.conversations.audit import (
    GATED,
    ConversationAuditor,
    ConversationStatistics,
    TurnCounts,
    act_experts,
    conversation_statistics,
    turn_counts,
)
from moralscope.rules.conversations.conversation import (
    AuditedConversation,
    AuditedTurn,
    Conversation,
    parse_conversations,
)
from moralscope.rules.records import Verdict
from moralscope.stats.gates import check_gate, parse_gate
from moralscope.stats.streams import Extremes

READS = ("messages", "tools")
_LEFT_OUT = ("id", "prompt", "reply", "evidence", "revised_reply", "revised_by")


class ConversationBatch(AuditBatch):
    """Audits conversations: the first turn that goes wrong, whether it was answered for, all turns.

    Parameters
    ----------
    options
        As for `AuditBatch`; a gate may ask for flagged, flagged_turns and abstained.
    columns
        What `messages` and `tools` are called.
    """

    name = "audit conversations"
    reads = READS
    needed = READS[:1]
    structured = True
    slow = True

    def __init__(self, options: AuditOptions, columns: Columns | None = None) -> None:
        self._gate = None if options.gate is None else parse_gate(options.gate, GATED)
        super().__init__(replace(options, gate=None), columns)

    def prepare(self, progress: Progress | None = None) -> Prepared:
        """Load the experts for acts once, too: a worker must not find them missing."""
        act_experts(self.options.experts)
        return replace(super().prepare(progress), writes=conversation_schema())

    def load(self, state: Any) -> None:
        """Load the models; the experts for acts with the first act."""
        super().load(state)
        self._turns = ConversationAuditor(self._auditor, lambda: act_experts(self.options.experts))

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Audit the conversations of a batch."""
        messages = batch[self.theirs("messages")]
        tools = batch.get(self.theirs("tools"), [None] * len(messages))
        conversations = read_each(list(zip(messages, tools, strict=True)), _conversation)
        rows: list[dict[str, Any]] = []
        for audit in map(self._turns.audit, conversations):
            row = to_plain(audit)
            rows.append({**row, **row["verdict"], "counts": to_plain(turn_counts(audit))})
        return {name: [row[name] for row in rows] for name in conversation_schema().names}

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> ConversationStatistics:
        """Return the figures in the shape of an audit's of one file, with the gate."""
        totals, worst = TurnCounts(), Extremes[dict[str, Any]](LISTED)

        def described(row: Mapping[str, Any]) -> dict[str, Any]:
            texts = {"prompt": "", "reply": parts.text(row, "messages"), "reason": row["reason"]}
            return {"id": parts.id(row), "score": row["score"], **texts}

        for table in parts.tables(parts.known("flag", "score", "reason", "counts")):
            counts = table.column("counts").combine_chunks()
            totals += TurnCounts(
                **{field.name: pc.sum(counts.field(field.name)).as_py() for field in counts.type}
            )
            some = table.filter(table.column("flag"))
            parts.offer(worst, some.column("score").to_numpy(), some, described, ("reply",))
        statistics = replace(
            conversation_statistics(totals, outcome.seconds),
            worst=[WorstReply(**row) for row in worst.items()],
            corpus=outcome,
            failed=parts.failed(),
        )
        if self._gate is None:
            return statistics
        return replace(statistics, gate=check_gate(self._gate, {"": statistics.figures()}))


def _conversation(row: tuple[Any, Any]) -> Conversation:
    messages, tools = row
    if messages is None:
        raise ValueError("the row has no messages")
    try:
        value = {"messages": json.loads(messages), "tools": json.loads(tools) if tools else None}
        (conversation,) = parse_conversations(value, "the row")
    except (InputError, RecursionError) as error:
        raise ValueError(str(error) or "the row is nested too deep") from None
    return conversation


@cache
def conversation_schema() -> pa.Schema:
    """Return the columns that an audit of conversations adds to a corpus."""
    turns = pa.list_(pa.struct(list(arrow_schema(AuditedTurn, _LEFT_OUT))))
    others = arrow_schema(AuditedConversation, ("id", "turns", "verdict"))
    counts = pa.struct(list(arrow_schema(TurnCounts)))
    added = [pa.field("turns", turns), pa.field("counts", counts)]
    return pa.schema([*arrow_schema(Verdict), *others, *added])
