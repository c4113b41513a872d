"""The page of `audit --conversation`: each conversation as a thread, the guilty turn marked.

What was said is hostile input: data to be written, never markup.
"""

from collections.abc import Sequence

from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.closing import AUDIT_LIMITS
from moralscope.pages.corpus import corpus_headline, corpus_summary, corpus_tiles, run_sections
from moralscope.pages.page import Column, Page, Section, Table, Thread, ThreadTurn, head
from moralscope.pages.words import cut, gate_line, more_note
from moralscope.rules.conversations.audit import ConversationStatistics
from moralscope.rules.conversations.conversation import ASSISTANT, AuditedConversation, AuditedTurn

_CONTENT = "Content warning: turns are shown as they were given; some may be offensive."
_THREADS = 50  # conversations that a report shows turn by turn, the worst
_MOST = 5_000  # conversations that a table lists
_TURNS = 200  # of a thread; and what is flagged after them
_LONG = 4_000  # characters of a turn
_SHARE, _SCORE = Column("", "share interval", 1), Column("", "signed", 2)


def conversation_page(record: RunRecord) -> Page:
    """Lay out audited conversations."""
    statistics: ConversationStatistics = record.statistics
    rows: Sequence[AuditedConversation] = sorted(record.results, key=lambda r: r.verdict.score)
    share = _SHARE.write(statistics.flagged)
    headline = (
        f"{share} of {statistics.conversations:,} conversations go wrong; "
        f"{_SHARE.write(statistics.flagged_turns)} of {statistics.turns:,} turns flagged"
    )
    tiles = [
        (f"{statistics.conversations:,}", "conversations"),
        (share, "go wrong"),
        (_SHARE.write(statistics.flagged_turns), "of the assistant's turns flagged"),
    ]
    run = statistics.corpus
    if statistics.conversations == 1 and len(rows) == 1:  # a share of one says nothing
        flagged = sum(turn.verdict.flag for turn in rows[0].turns)
        first = rows[0].first
        where = "Nothing goes wrong" if rows[0].verdict.is_judged else "Not judged"
        where = where if first is None else f"Turn {first} goes wrong"
        headline = f"{where}; {flagged:,} of {statistics.turns:,} turns flagged"
        tiles = [(f"{flagged:,} of {statistics.turns:,}", "of the assistant's turns flagged")]
    title, table = "Conversations", _conversations(rows)
    if run is not None:
        title, hidden = "Worst conversations", Column("messages", brief=False)
        heads = head("conversation | score: signed 2 | reason: wide 70", hidden)
        cells = [[row.id, row.score, cut(row.reason), cut(row.reply)] for row in statistics.worst]
        table = Table(title, heads, cells)
    sections = [Section(title, [_CONTENT], [table], shown="all")]
    for row in rows[:_THREADS]:
        where = "nothing goes wrong" if row.verdict.is_judged else "not judged"
        where = where if row.first is None else "goes wrong"
        prose = [row.verdict.reason, *row.notes]
        shown = "all" if len(rows) == 1 else "report"
        title = f"Conversation {cut(row.id, 60)}: {where}"
        sections.append(Section(title, prose, [_thread(row)], shown=shown, gap=True))
    if statistics.gate is not None:
        sections.append(Section("Gate", gate_line(statistics.gate), shown="all"))
    summary = [f"{headline}. A turn is flagged for what it says or does itself, in its context."]
    if run is not None:
        summary = [corpus_summary(record, run), *summary]
        tiles[:1] = corpus_tiles(run)
        sections.insert(0, Section("", [headline], shown="terminal"))
        sections += run_sections(run, statistics.failed)
    return Page(
        "Audit of conversations",
        summary,
        [
            *tiles,
            (f"{statistics.answered:,}", "answered for later"),
            (f"{statistics.followed:,} of {statistics.acts:,}", "acts follow others' instructions"),
        ],
        sections,
        main=table,
        headline=headline if run is None else corpus_headline(run),
    )


def _conversations(rows: Sequence[AuditedConversation]) -> Table:
    heads = head(
        "conversation | verdict | score: signed 2 | first turn: whole | answered: whole",
        "turns: whole | concern",
    )
    cells = []
    for row in rows[:_MOST]:
        verdict = row.verdict
        word = "flagged" if verdict.flag else "not flagged" if verdict.is_judged else "not judged"
        concern = (verdict.flag and verdict.concern) or ""
        turns = [row.first, row.answered, len(row.turns)]
        cells.append([row.id, word, verdict.score, *turns, concern])
    return Table("Conversations", heads, cells, note=more_note(len(rows) - len(cells)))


def _thread(row: AuditedConversation) -> Thread:
    """Lay out the turns in order: the first ones, and all that are flagged."""
    shown = [turn for at, turn in enumerate(row.turns) if at < _TURNS or turn.verdict.flag]
    return Thread([_turn(row, turn) for turn in shown], more_note(len(row.turns) - len(shown)))


def _turn(row: AuditedConversation, turn: AuditedTurn) -> ThreadTurn:
    status, tone, notes = ", ".join(turn.reading), "muted", []
    if turn.role == ASSISTANT:
        is_judged = turn.verdict.is_judged
        status, tone = ("fine", "good") if is_judged else ("not judged", "muted")
        notes = [turn.verdict.reason, turn.earlier]
        if turn.index == row.answered:
            status = f"answers for turn {row.first}"
        elif turn.verdict.flag:
            status, tone = "goes wrong first" if turn.index == row.first else "flagged", "bad"
        if is_judged:
            status += f", score {_SCORE.write(turn.verdict.score)}"
    for act in turn.acts:
        asked = [f"follows “{act.follows}”"] if act.follows else []
        notes.append(": ".join([act.tool, ", ".join([*act.weighs, *asked])]))
    text = cut(turn.reply, _LONG) if turn.reply.strip() else "(empty)"
    notes = [line for line in notes if line and not line.endswith(": ")]
    return ThreadTurn(f"{turn.index} · {turn.role}", text, status, tone, notes)


_SHOWN = Presentation(
    conversation_page, (AuditedConversation, ConversationStatistics), AUDIT_LIMITS
)
PRESENTATIONS = {"audit conversations": _SHOWN, "audit conversations corpus": _SHOWN}
