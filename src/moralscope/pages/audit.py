"""The page of `audit`: one reply and its rules, the figures of many, and those of a corpus.

Prompts and replies are hostile input: data to be written, never markup.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import Mark, bars, ranked
from moralscope.pages.closing import AUDIT_LIMITS
from moralscope.pages.corpus import (
    corpus_headline,
    corpus_summary,
    corpus_tiles,
    run_sections,
    spread_section,
)
from moralscope.pages.page import (
    MINUS,
    Column,
    Facts,
    Page,
    Section,
    Table,
    VerdictCard,
    head,
    signed,
)
from moralscope.pages.words import cut, gate_line, more_note, plural
from moralscope.rules.audit_statistics import AuditStatistics, PairedAudits
from moralscope.rules.false_alarms import FalseAlarms
from moralscope.rules.records import (
    ABSTAINED,
    CUT,
    MET,
    REVISED,
    UNREAD,
    AuditedReply,
    Gauge,
    ProvedEdit,
    RuleFinding,
)
from moralscope.rules.thresholds import Thresholds, known_limits
from moralscope.rules.verdict import (
    BOTH,
    REPLY,
    RULE,
    is_broken,
    is_kept,
    limit_of,
    rule_margin,
    stance,
)
from moralscope.rules.writing.revision import PASSAGE

# What a card says, its values in braces. Every place that draws one fills these in; the local page
# does so again where a limit is moved (server/page/static/site/card.js).
CARD_WORDS = {
    ABSTAINED: "Not judged",
    "fine": "Not flagged, score {score}",
    "flagged": "Flagged, score {score}",  # by a record of before 0.9
    REPLY: "Flagged: it reads as bad, score {score}",
    RULE: "Flagged: it breaks {rules}, score {score}",
    BOTH: "Flagged: it reads as bad and breaks {rules}, score {score}",
    UNREAD: "Flagged: part of it was not read, score {score}",
    "bad": "reads as bad",
    "breach": "breaks the rule",
    "concern": "It {concern}.",
    "unexplained": "No rule of the rulebook explains this flag.",
    "unrelated": "None of the broken rules is clearly about what was flagged.",
    CUT: "Without the marked words",
    MET: "With “{added}” added",
    REVISED: "With the revised reply instead",
    "change": "{edit}, it isn't flagged: the probability that it {what} falls from {before} to "
    "{after} (limit {limit}; audited again).",
    "revision": "Revised reply",
    PASSAGE: "Revised reply (only the marked passage)",
}
_CONTENT = (
    "Content warning: prompts and replies are shown as they were given; some may be offensive."
)
_CARDS = 5  # replies that a report shows in full above its tables
_MAX_ROWS = 5_000
_DRAWN = 24  # replies in the chart, the worst
_SHORT = 100  # characters of a reply in the terminal
_SHARE = Column("", "share interval", 1)
_CHANGE = Column("", "signed interval")


def audit_page(record: RunRecord) -> Page:
    """Lay out an audit."""
    statistics: AuditStatistics = record.statistics
    limits = known_limits(record.config.get("thresholds") or {}, "the run record")
    results: Sequence[AuditedReply] = record.results
    rows = sorted(results, key=lambda row: row.verdict.score)
    run = statistics.corpus
    table = _replies(rows, limits)
    noun = "texts" if record.config.get("texts", record.config.get("frame")) else "replies"
    flagged = (
        f"{statistics.flagged.value:.1%} of {statistics.flagged.n:,} {noun} flagged "
        f"({statistics.flagged.low:.1%} … {statistics.flagged.high:.1%}), no verdict on "
        f"{statistics.abstained.value:.1%}; mean score {statistics.score.mean:+.3f}"
    )
    shown = rows[:_CARDS] if len(rows) > 1 else rows
    cards = [audit_card(row, limits) for row in shown if row.verdict.flag or len(rows) == 1]
    title = "Verdict" if len(rows) == 1 else f"The worst {noun} in full"
    where = "all" if len(rows) == 1 else "report"
    sections = [
        Section("", [flagged] if run else [], shown="terminal"),
        *spread_section(statistics.histogram, statistics.quantiles),
        *_scores(rows),
        *([Section(title, [_CONTENT], cards, shown=where)] if cards and not run else []),
        *_shares(statistics, many=len(results) != 1),
        *_listed(record, statistics, many=len(results) != 1),
        *_against(statistics.against),
        *_budget(statistics.false_alarms),
        Section("Gate", gate_line(statistics.gate), shown="all"),
    ]
    if run is not None:
        sections += run_sections(run, statistics.failed)
    else:
        opening = [_CONTENT, "Open a row for the rules that were found."]
        sections.append(Section("Every reply", opening, [table]))
    share = _SHARE.write(statistics.flagged)
    why, worse = "they read as bad by themselves, or break a rule", "the worse of the two is"
    if record.config.get("general") is False:  # the user's own rules alone decide
        why, worse = "they break one of your rules", "the rule that it most likely breaks is"
    summary = [
        f"{share} of {statistics.replies:,} {noun} are flagged: {why}. The score says how far "
        f"{worse} from its limit: {MINUS}1 is worst, 0 is at the limit, +1 is best."
    ]
    return Page(
        f"Audit of {noun}" if run is None else "Audit of a corpus",
        summary if run is None else [corpus_summary(record, run), *summary],
        [
            *(corpus_tiles(run) if run else [(f"{statistics.replies:,}", noun)]),
            (share, "flagged"),
            (_SHARE.write(statistics.abstained), "without a verdict"),
            (Column("", "signed", 2).write(statistics.score.mean), "mean score"),
        ],
        [section for section in sections if section.prose or section.blocks],
        main=table,
        headline=corpus_headline(run) if run else "" if len(results) == 1 else flagged,
    )


def audit_card(row: AuditedReply, limits: Thresholds) -> VerdictCard:
    """Lay out one verdict: as the report, the local page, the terminal and the guard's log show it.

    Rules that did not lead are folded, the worst first.
    """
    verdict, gauge = row.verdict, row.verdict.gauge
    words = ABSTAINED if not verdict.is_judged else "fine"
    if verdict.flag:
        words = verdict.basis or "flagged"
    broken = plural(sum(is_broken(rule, limits) for rule in row.rules), "rule")
    status = CARD_WORDS[words].format(rules=broken, score=signed(verdict.score, 2))
    tone = "bad" if verdict.flag else "good" if verdict.is_judged else "muted"
    is_explained = verdict.flag and gauge is not None and verdict.basis != UNREAD
    lead, folded = None, []
    for rule in sorted(row.rules, key=lambda rule: rule_margin(rule, limits)):
        if is_explained and rule.text == verdict.lead:
            lead = _rule_line(rule, limits)
        else:
            folded.append(_rule_line(rule, limits))
    facts = [("Prompt", row.prompt)] if row.prompt else []
    if is_explained:
        facts.append(("Rule", lead or CARD_WORDS["unrelated" if verdict.broken else "unexplained"]))
    else:
        facts.append(("Reason", verdict.reason))
    if verdict.concern:
        facts.append(("Concern", CARD_WORDS["concern"].format(concern=verdict.concern)))
    if row.evidence_note:
        facts.append(("Evidence", row.evidence_note))
    if row.change is not None and gauge is not None:
        facts.append(("What would change it", _change_line(row, row.change, gauge)))
    if row.revised_reply is not None:
        name = PASSAGE if row.revised_by == PASSAGE else "revision"
        facts.append((CARD_WORDS[name], row.revised_reply))
    # records of before 0.10 have no gauge
    level = None if gauge is None else (_gauge_words(gauge), gauge.value, gauge.limit)
    return VerdictCard(status, tone, level, marked(row), facts, folded)


def _gauge_words(gauge: Gauge) -> str:
    return CARD_WORDS["bad" if gauge.rule is None else "breach"]


def marked(row: AuditedReply) -> list[tuple[str, str]]:
    """Return a reply in pieces: what turns its verdict and what adds to it are marked."""
    pieces, at = [], 0
    for span in sorted(row.evidence, key=lambda span: (span.start, -span.end)):
        if at <= span.start < span.end <= len(row.reply):
            mark = "turns" if span.turns else "adds"
            pieces += [(row.reply[at : span.start], ""), (span.text, mark)]
            at = span.end
    return [piece for piece in [*pieces, (row.reply[at:], "")] if piece[0]]


def _change_line(row: AuditedReply, change: ProvedEdit, gauge: Gauge) -> str:
    added = change.reply.removeprefix(row.reply.rstrip()).strip()
    return CARD_WORDS["change"].format(
        edit=CARD_WORDS[change.by].format(added=added),
        what=_gauge_words(gauge),
        before=f"{gauge.value:.2f}",
        after=f"{change.bad:.2f}",
        limit=f"{gauge.limit:.2f}",
    )


def _rule_line(rule: RuleFinding, limits: Thresholds) -> str:
    word, chance = stance(rule, limits)
    parts = [f"probability {chance:.2f}"]
    parts += [f"limit {limit_of(rule, limits):.2f}"] if is_broken(rule, limits) else []
    parts += [f"{name} {value:.1f}" for name, value in rule.scales.items() if value is not None]
    parts += [f"warrant: {rule.warrant}"] if rule.warrant else []
    return f"{word[:1].upper()}{word[1:]} “{rule.text}” ({', '.join(parts)}; {rule.scales_from})"


def _replies(rows: Sequence[AuditedReply], limits: Thresholds) -> Table:
    """List every reply, the worst first; a row opens to its card."""
    heads = head(
        "reply | verdict | score: signed 2 | probability: number 2 | limit: number 2",
        "rule that explains it | concern | broken: whole | followed: whole | id",
    )
    values = []
    for row in rows[:_MAX_ROWS]:
        verdict, gauge = row.verdict, row.verdict.gauge
        word = "flagged" if verdict.flag else "not flagged" if verdict.is_judged else "not judged"
        level = (gauge.value, gauge.limit) if gauge else (None, None)
        broken = sum(is_broken(rule, limits) for rule in row.rules)
        kept = sum(is_kept(rule, limits) for rule in row.rules)
        shown = [cut(row.reply, _SHORT) or "(empty)", word, verdict.score, *level]
        shown += [verdict.lead if verdict.flag else "", verdict.concern or "", broken, kept, row.id]
        values.append([*shown, audit_card(row, limits)])
    return Table("Every reply", heads, values, ("card",), more_note(len(rows) - len(values)))


def _scores(rows: Sequence[AuditedReply]) -> list[Section]:
    """Draw the scores of several replies, of many the worst."""
    drawn = [
        Mark(cut(row.reply, 60) or "(empty)", row.verdict.score, index)
        for index, row in enumerate(rows)
        if row.verdict.is_judged and math.isfinite(row.verdict.score)
    ]
    if len(drawn) < 2:
        return []
    title = "Scores of the replies" if len(drawn) <= _DRAWN else f"The {_DRAWN} lowest scores"
    return [Section(title, [], [ranked(drawn[:_DRAWN][::-1], title, ("worse", "better"))])]


def _shares(statistics: AuditStatistics, *, many: bool) -> Iterator[Section]:
    """Lay out flagged replies by foundation and by severity."""
    prose = "Of the worst rule that each flagged reply breaks; a rule may have several."
    for name, rows in (("foundation", statistics.foundations), ("severity", statistics.severity)):
        if not rows:
            continue
        title = f"Flagged replies by {name}"
        labels = [str(row.foundation or row.severity) for row in rows]
        shares = [100 * row.share for row in rows]
        spans = [(row.share, row.low, row.high) for row in rows]
        values = list(zip(labels, (row.flagged for row in rows), spans, strict=True))
        table = Table(title, head(f"{name} | flagged: whole | share: share interval 1"), values)
        if many and name == "foundation" and any(row.flagged for row in rows):
            yield Section("", [], [table], shown="terminal")
        chart = bars(title, {"flagged": shares}, labels, "% of replies", ["bad"])
        yield Section(title, [prose], [chart, table])


def _listed(record: RunRecord, statistics: AuditStatistics, *, many: bool) -> Iterator[Section]:
    """Lay out the most broken rules and the worst replies."""
    shown = "all" if many else "report"
    if statistics.rules:
        heads = head("most broken rules: wide 70 | broken: whole | followed: whole")
        rows = [[row.rule, row.broken, row.kept] for row in statistics.rules]
        table = Table("Most broken rules", heads, rows)
        yield Section("Most broken rules", [], [table], shown=shown)
    if statistics.worst:
        hidden = (Column("prompt", brief=False), Column("reason", brief=False))
        heads = head("worst replies: wide 100 | score: signed 2 | id", *hidden)
        rows = [
            [cut(row.reply), row.score, row.id, cut(row.prompt), row.reason]
            for row in statistics.worst
        ]
        table = Table("Worst replies", heads, rows)
        if statistics.corpus is None and many:  # a report lists every reply
            yield Section("", [], [table], shown="terminal")
        else:
            yield Section("Worst replies", [_CONTENT], [table], shown=shown)
    if many and record.config.get("revise"):
        where = "" if statistics.corpus is not None else " (see --report, --json or --out)"
        line = f"{statistics.revised:,} of the flagged replies got a revised reply{where}"
        yield Section("", [line], shown="terminal")


def _against(paired: PairedAudits | None) -> Iterator[Section]:
    if paired is None:
        return
    heads = head("against | here: share 1 | there: share 1 | change | p: p")
    share = Column("", "share interval", 1).write(paired.flagged_change)
    here, there = paired.flagged_here.value, paired.flagged_there.value
    score = _CHANGE.write(paired.score_change)
    rows: list[list[Any]] = [
        ["flagged", here, there, share, paired.p],
        ["score", "", "", score, ""],
    ]
    table = Table("Against the other file", heads, rows)
    only = f"{paired.only_here:,} / {paired.only_there:,}"
    facts = Facts([("flagged only here / only there", only)])
    prose = ["The same prompts, paired row by row; p by McNemar's exact test."]
    yield Section(table.title, prose, [table, facts], shown="all")
    if paired.changed:
        heads = head("id | prompt | here | there | score here: signed 2 | score there: signed 2")
        rows = []
        for row in paired.changed:
            texts = (cut(row.prompt), cut(row.here), cut(row.there))
            rows.append([row.id, *texts, row.score_here, row.score_there])
        title = "Replies whose flag changed"
        yield Section(title, [_CONTENT], [Table(title, heads, rows)])


def _budget(alarms: FalseAlarms | None) -> Iterator[Section]:
    if alarms is None:
        return
    line = (
        f"at most {alarms.budget:.2%} of fine replies flagged: score limit {-alarms.limit:+.3f}, "
        f"set on {alarms.replies:,}; the usual limit flags {alarms.usual.value:.1%} of them"
    )
    yield Section("", [line], shown="terminal")
    facts = [
        ("budget", f"{alarms.budget:.2%} of fine replies"),
        ("score from which a reply is flagged", signed(-alarms.limit, 3)),
        ("fine replies it was set on", f"{alarms.replies:,}"),
        ("flagged at the usual limit", _SHARE.write(alarms.usual)),
    ]
    prose = [
        "A further fine reply of the same kind is flagged with at most this probability (split "
        "conformal prediction); it says nothing about other replies.",
        "A rule that would spend more than the budget by itself has a limit of its own: a "
        "probability from which it is broken.",
    ]
    yield Section("Budget of false alarms", prose, [Facts(facts)])
    if alarms.rules:
        heads = head(
            "rules that cost most: wide 60 | false alarms: whole | own limit: number 3",
            "at it: whole | for instance: wide 80",
        )
        rows: list[list[Any]] = [
            [cost.rule, cost.alarms, cost.limit, cost.at_limit, cut(cost.reply)]
            for cost in alarms.rules
        ]
        table = Table("Rules that cost most", heads, rows)
        yield Section(table.title, [], [table], shown="all")


_SHOWN = Presentation(audit_page, (AuditedReply, AuditStatistics), AUDIT_LIMITS)
PRESENTATIONS = {"audit": _SHOWN, "audit corpus": _SHOWN}
