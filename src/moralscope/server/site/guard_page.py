"""The page of the guard: what it withheld, passed on and could not judge, and how long it took."""

import time
from collections.abc import Iterator

from moralscope.pages.charts import bars
from moralscope.pages.page import Page, Section, Table, head
from moralscope.pages.words import cut
from moralscope.server.guard.log import KINDS, GuardFigures, GuardLog

_WORDS = {
    "blocked": "Blocked",
    "revised": "Revised",
    "flagged": "Flagged, passed on",
    "abstained": "Not judged",
    "partly": "Partly judged",
    "kept": "Fine",
    "none": "Without text",
}
_COLOURS = dict(
    zip(KINDS, ("bad", "third", "fifth", "muted", "fourth", "good", "ink"), strict=True)
)


def retention(log: GuardLog) -> str:
    """Say what is kept and for how long.

    Examples
    --------
    >>> from pathlib import Path
    >>> retention(GuardLog(Path("guard.sqlite"), 30))
    'Decisions are kept for 30 days, then deleted. Prompts and replies are not kept.'
    """
    texts = (
        "Prompts and replies are kept with them."
        if log.texts
        else "Prompts and replies are not kept."
    )
    return f"Decisions are kept for {log.days:g} days, then deleted. {texts}"


def guard_page(figures: GuardFigures, log: GuardLog) -> Page:
    """Lay out what the guard did."""
    kinds = figures.kinds
    latency = figures.latency
    return Page(
        "Guard",
        [retention(log)],
        [
            (f"{figures.decisions:,}", "replies"),
            (f"{kinds['blocked']:,}", "blocked"),
            (f"{kinds['revised'] + kinds['flagged']:,}", "revised or flagged"),
            (f"{kinds['abstained']:,}", "not judged"),
            (f"{kinds['partly']:,}", "partly judged"),
            (_ms(latency and latency[0]), "median audit time"),
            (_ms(latency and latency[1]), "95th percentile"),
        ],
        list(_sections(figures, log)) if figures.decisions else [],
    )


def _sections(figures: GuardFigures, log: GuardLog) -> Iterator[Section]:
    by_hour = figures.days <= 2
    names = [
        time.strftime("%a %H:00" if by_hour else "%d %b", time.localtime(start))
        for start, _ in figures.periods
    ]
    used = [kind for kind in KINDS if figures.kinds[kind]]
    series = {_WORDS[kind]: [c.get(kind, 0) for _, c in figures.periods] for kind in used}
    title = "Replies per hour" if by_hour else "Replies per day"
    shown = {name: [float(value) for value in values] for name, values in series.items()}
    heads = head("period", *(f"{_WORDS[kind]}: whole" for kind in used))
    rows = [[name, *(values[at] for values in series.values())] for at, name in enumerate(names)]
    table = Table(title, heads, [row for row in rows if any(row[1:])])
    chart = bars(title, shown, names, "replies", [_COLOURS[kind] for kind in used])
    yield Section(title, [], [chart, table])
    listed = {
        "rule": ("Rules that flagged replies", figures.rules),
        "concern": ("Concerns", figures.concerns),
    }
    for name, (title, counts) in listed.items():
        if counts:
            heads = head(f"{name}: wide 70 | replies: whole")
            yield Section(title, [], [Table(title, heads, [list(pair) for pair in counts])])
    if figures.recent:
        heads = head("when | outcome | rule | concern | audit, ms: whole")
        details = ("verdict", "prompt", "reply") if log.texts else ("verdict",)
        rows = []
        for row in figures.recent:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.time))
            facts = (_WORDS[row.kind], cut(row.rule, 100), row.concern, round(1000 * row.seconds))
            rows.append([when, *facts, row.card or "", row.prompt or "", row.reply or ""])
        table = Table("Latest flagged replies", heads, rows, details)
        yield Section(table.title, [], [table])


def _ms(seconds: float | None) -> str:
    return "none yet" if seconds is None else f"{1000 * seconds:,.0f} ms"
