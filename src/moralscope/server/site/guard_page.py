"""The page of the guard: what it withheld, passed on and could not judge, and how long it took."""

import time
from collections.abc import Iterator

from moralscope.pages.charts import bars
from moralscope.pages.page import Page, Section, Table, head
from moralscope.pages.words import cut, plural
from moralscope.server.guard.log import KINDS, GuardFigures, GuardLog

OUTCOMES = {
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
_STEPS = {  # hours of a period: how its beginning is written, and what it is
    1: ("%a %H:00", "hour"),
    24: ("%d %b", "day"),
    168: ("%d %b", "week"),
    672: ("%d %b \u2019%y", "4 weeks"),
    2184: ("%b %Y", "13 weeks"),
}
_LISTED = 20  # rules in a table; its chart draws as many as there are colours
_PLAIN = ("third", "fourth", "fifth", "muted")


def retention(log: GuardLog) -> str:
    """Say what is kept and for how long.

    Examples
    --------
    >>> from pathlib import Path
    >>> retention(GuardLog(Path("guard.sqlite"), 30))
    'Decisions are kept for 30 days, then deleted. Prompts and replies are not kept.'
    """
    texts = f"Prompts and replies are {'kept with them' if log.texts else 'not kept'}."
    return f"Decisions are kept for {plural(log.days, 'day')}, then deleted. {texts}"


def guard_page(figures: GuardFigures, log: GuardLog) -> Page:
    """Lay out what the guard did; the last section lists the decisions that were asked for."""
    kinds = figures.total.kinds
    median, p95 = figures.total.latency or (None, None)
    return Page(
        "Guard",
        [retention(log)],
        [
            (f"{kinds.total():,}", "replies"),
            (f"{kinds['blocked']:,}", "blocked"),
            (f"{kinds['revised'] + kinds['flagged']:,}", "revised or flagged"),
            (f"{kinds['abstained']:,}", "not judged"),
            (f"{kinds['partly']:,}", "partly judged"),
            (_ms(median), "median audit time"),
            (_ms(p95), "95th percentile"),
        ],
        list(_sections(figures, texts=log.texts)) if kinds else [],
    )


def _sections(figures: GuardFigures, *, texts: bool) -> Iterator[Section]:
    form, per = _STEPS[figures.hours]
    total, periods = figures.total, figures.periods
    if per == "day" and len(periods) <= 7:
        form = "%a %d"
    names = [time.strftime(form, time.localtime(period.start)) for period in periods]
    used = [kind for kind in KINDS if total.kinds[kind]]

    title = f"Replies per {per}"
    counts = {OUTCOMES[kind]: [float(period.kinds[kind]) for period in periods] for kind in used}
    chart = bars(title, counts, names, "replies", [_COLOURS[kind] for kind in used])
    times = [period.latency or (0, 0) for period in periods]
    times_ms = ("median, ms: whole", "95th percentile, ms: whole")
    heads = head("period", *(f"{OUTCOMES[kind]}: whole" for kind in used), *times_ms)
    rows = [
        [name, *(period.kinds[kind] for kind in used), *latency]
        for name, period, latency in zip(names, periods, times, strict=True)
        if period.kinds
    ]
    yield Section(title, [], [chart, Table(title, heads, rows)])
    medians, p95s = ([float(pair[at]) for pair in times] for at in (0, 1))
    title = f"Audit time per {per}"
    drawn = {"Median": medians, "95th percentile": p95s}
    yield Section(title, [], [bars(title, drawn, names, "ms", ["third", "fourth"])])

    counters = {
        "Rules that flagged replies": [period.rules for period in (total, *periods)],
        "Concerns": [period.concerns for period in (total, *periods)],
    }
    for title, (whole, *parts) in counters.items():
        if not whole:
            continue
        common = sorted(whole, key=lambda name: (-whole[name], name))[:_LISTED]
        drawn = {
            cut(name, 60): [float(part[name]) for part in parts] for name in common[: len(_PLAIN)]
        }
        chart = bars(title, drawn, names, f"replies per {per}", _PLAIN)
        rows = [[name, whole[name], *(str(part[name]) for part in parts)] for name in common]
        heads = head(f"{title.split()[0].lower().rstrip('s')}: wide 70 | replies: whole")
        yield Section(title, [], [chart, Table(title, heads, rows, names)])
    yield _list(figures, texts=texts)


def _list(figures: GuardFigures, *, texts: bool) -> Section:
    title = "Replies"
    if not figures.recent:
        return Section(title, ["There is no such reply in this period."])
    details = ["verdict"] * any(row.card for row in figures.recent) + ["prompt", "reply"] * texts
    heads = head("when | outcome | rule | concern | audit, ms: whole")
    rows = []
    for row in figures.recent:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.time))
        facts = (OUTCOMES[row.kind], cut(row.rule, 100), row.concern, round(1000 * row.seconds))
        more = {"verdict": row.card, "prompt": row.prompt, "reply": row.reply}
        rows.append([when, *facts, *(more[name] or "" for name in details)])
    last = figures.skipped + len(rows)
    prose = f"{figures.skipped + 1:,} to {last:,} of {figures.listed:,}, the newest first."
    return Section(title, [prose], [Table(title, heads, rows, details)])


def _ms(milliseconds: int | None) -> str:
    return "none yet" if milliseconds is None else f"{milliseconds:,} ms"
