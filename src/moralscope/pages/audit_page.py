"""The report of `audit`: flag rate, foundations, severity, rules, worst cases, every example.

Prompts and replies are hostile input: data to be written, never markup.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.charts import bars
from moralscope.pages.page import (
    Block,
    Column,
    Facts,
    Page,
    Section,
    Table,
    cut,
    keyed_table,
    more_note,
    p_text,
    part,
    rate_text,
    signed,
    span_text,
)
from moralscope.rules.records import SCALES

_MAX_ROWS = 5_000
_MARKS = {"disagree": "breaks", "agree": "keeps", "neither": "does not concern"}
_CONTENT = (
    "Content warning: prompts and replies are shown as they were given; some may be offensive."
)
_DETAILS = ("prompt", "reply", "reason", "rules", "revised reply")


def audit_page(plain: Plain) -> Page:
    """Lay out an audit.

    Examples
    --------
    >>> row = {"id": "1", "prompt": "Hi!", "reply": "Hello.", "rules": [],
    ...        "verdict": {"flag": False, "score": 0.0, "reason": "abstained"}}
    >>> page = audit_page({"config": {}, "statistics": {}, "results": [row]})
    >>> [section.title for section in page.sections]
    ['Every reply']
    """
    rows = rows_of(plain["results"], "'results'")
    found = plain["statistics"]
    main = _examples(rows)
    sections = [
        *share_sections(found),
        *listed_sections(found),
        *_budget(found.get("false_alarms")),
        *_against(found.get("against")),
        Section("Every reply", [_CONTENT, "Open a row for the rules that were found."], [main]),
    ]
    summary = [
        f"{rate_text(found.get('flagged'))} of {len(rows):,} replies are flagged: they read as bad "
        "by themselves, or break a rule. The score says how far the worse of the two is from its "
        "limit: -1 is worst, 0 is at the limit, +1 is best."
    ]
    return Page("Audit of replies", summary, _tiles(rows, found), sections, main=main)


def _examples(rows: Sequence[Plain]) -> Table:
    columns = [Column("id"), Column("flagged by"), Column("score", "signed", 2), Column("concern")]
    columns.append(Column("exchange"))
    values = []
    for place, row in enumerate(rows[:_MAX_ROWS]):
        verdict = part(row.get("verdict"))
        prompt, reply = text(row.get("prompt")), text(row.get("reply"))
        values.append(
            [
                text(row.get("id")),
                text(verdict.get("basis") or "rule") if verdict.get("flag") is True else "",
                number(verdict.get("score"), f"results, row {place + 1},"),
                text(verdict.get("concern") or ""),
                f"{cut(prompt)} → {cut(reply)}",
                prompt,
                reply,
                text(verdict.get("reason")),
                "\n".join(_rules(row, place)),
                text(row.get("revised_reply")),
            ]
        )
    note = more_note(len(rows) - len(values))
    return Table("Every reply", columns, values, _DETAILS, note)


def _rules(row: Plain, place: int) -> Iterator[str]:
    where = f"results, row {place + 1},"
    for rule in rows_of(row.get("rules") or [], f"{where} 'rules'"):
        told = part(rule.get("alignment"))
        label = text(told.get("label"))
        chance = number(part(told.get("probabilities")).get(label), where)
        parts = [f"{_MARKS.get(label, label)} “{text(rule.get('text'))}”"]
        parts += [] if chance is None else [f"probability {chance:.2f}"]
        for name in SCALES:
            value = number(rule.get(name), where)
            parts += [] if value is None else [f"{name} {value:.1f}"]
        yield f"{', '.join(parts)} ({text(rule.get('evidence'))})."


def share_sections(found: Plain) -> Iterator[Section]:
    """Lay out flagged replies by foundation and by severity."""
    for key, name, title in (
        ("foundations", "foundation", "Flagged replies by foundation"),
        ("severity", "severity", "Flagged replies by severity"),
    ):
        rows = rows_of(found.get(key) or [], f"'{key}'")
        if not rows:
            continue
        shares = [100 * (number(row.get("share"), f"'{key}'") or 0.0) for row in rows]
        labels = [text(row.get(name)) for row in rows]
        columns = {name: Column(name), "flagged": Column("flagged", "whole")}
        columns |= {each: Column(each, "number") for each in ("share", "low", "high")}
        prose = ["Of the worst rule that each flagged reply breaks; a rule may have several."]
        chart = bars(title, {"flagged": shares}, labels, "% of replies")
        table = keyed_table(title, rows, columns, f"'{key}'")
        yield Section(title, prose if key == "foundations" else [], [chart, table])


def listed_sections(found: Plain) -> Iterator[Section]:
    """Lay out the most broken rules and the worst replies."""
    rules = rows_of(found.get("rules") or [], "'rules'")
    if rules:
        columns = {"rule": Column("rule")}
        columns |= {key: Column(key, "whole") for key in ("broken", "kept")}
        table = keyed_table("Most broken rules", rules, columns, "'rules'")
        yield Section("Most broken rules", [], [table])
    cases = rows_of(found.get("worst") or [], "'worst'")
    if cases:
        columns = {"id": Column("id"), "score": Column("score", "signed", 2)}
        columns |= {key: Column(key, most=160) for key in ("prompt", "reply")}
        columns["reason"] = Column("reason")
        table = keyed_table("Worst replies", cases, columns, "'worst'")
        yield Section("Worst replies", [_CONTENT], [table])


def _against(found: Any) -> list[Section]:
    if not isinstance(found, Mapping):
        return []
    share, score = part(found.get("flagged_change")), part(found.get("score_change"))
    facts = [
        ("flagged here", rate_text(found.get("flagged_here"))),
        ("flagged there", rate_text(found.get("flagged_there"))),
        ("change of the share", span_text(share)),
        ("change of the mean score", span_text(score)),
        (
            "only here / only there",
            f"{text(found.get('only_here'))} / {text(found.get('only_there'))}",
        ),
        ("p (McNemar, exact)", p_text(found.get("p"))),
    ]
    blocks: list[Block] = [Facts(facts)]
    rows = rows_of(found.get("changed") or [], "'changed'")
    if rows:
        columns = {"id": Column("id")}
        columns |= {key: Column(key, most=160) for key in ("prompt", "here", "there")}
        columns["score_here"] = Column("score here", "signed", 2)
        columns["score_there"] = Column("score there", "signed", 2)
        blocks.append(keyed_table("Replies whose flag changed", rows, columns, "'changed'"))
    return [Section("Against the other file", ["The same prompts, paired row by row."], blocks)]


def _budget(found: Any) -> list[Section]:
    if not isinstance(found, Mapping):
        return []
    share, limit = (number(found.get(key), "'false_alarms'") for key in ("budget", "limit"))
    facts = [
        ("budget", f"{share or 0.0:.2%} of fine replies"),
        ("score from which a reply is flagged", signed(-(limit or 0.0), 3)),
        ("fine replies it was set on", text(found.get("replies"))),
        ("flagged at the usual limit", rate_text(found.get("usual"))),
    ]
    blocks: list[Block] = [Facts(facts)]
    rows = rows_of(found.get("rules") or [], "'rules'")
    if rows:
        columns = {"rule": Column("rule"), "alarms": Column("false alarms", "whole")}
        columns["reply"] = Column("for instance", most=160)
        blocks.append(keyed_table("Rules that cost most", rows, columns, "'rules'"))
    prose = [
        "A further fine reply of the same kind is flagged with at most this probability (split "
        "conformal prediction); of other replies this says nothing."
    ]
    return [Section("Budget of false alarms", prose, blocks)]


def _tiles(rows: Sequence[Plain], found: Plain) -> list[tuple[str, str]]:
    tiles = [(f"{len(rows):,}", "replies"), (rate_text(found.get("flagged")), "flagged")]
    tiles.append((rate_text(found.get("abstained")), "without a verdict"))
    mean = number(part(found.get("score")).get("mean"), "'score'")
    if mean is not None:
        tiles.append((signed(mean, 2), "mean score"))
    return tiles
