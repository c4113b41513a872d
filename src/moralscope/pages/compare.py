"""The pages of `compare`: models on the same actions, in languages, saved runs, runs over time.

Prompts and replies of audits are hostile input: data to be written, never markup.
"""

from collections.abc import Sequence

from moralscope.axes.compare import ComparedAction, CompareStatistics, PairSummary
from moralscope.axes.languages import LanguagesStatistics, ParallelScore
from moralscope.axes.measured import agreement_in_words
from moralscope.axes.options import LANGUAGES
from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import (
    GROUPS,
    bars,
    error_bars,
    line_marks,
    marks,
    named_rows,
    named_scatter,
    rounded,
    row_chart,
    slopes,
)
from moralscope.pages.closing import AUDIT_LIMITS, SCORE_LIMITS, axis_limits
from moralscope.pages.page import (
    MINUS,
    TYPED,
    Chart,
    Column,
    Facts,
    Page,
    Section,
    Table,
    columns,
    head,
)
from moralscope.pages.words import correlation_text, cut, gate_line, more_note, text, texts
from moralscope.runs.changes import ComparedItem, RunChanges
from moralscope.runs.watch import WatchedRun, WatchStatistics
from moralscope.stats.correlation import Correlation
from moralscope.stats.gates import GateResult

_SHOWN = 15  # disagreements and differences that the terminal lists
_SLOPES = 24
_MAX_ROWS = 5_000
_DRAWN = 2_000
_LISTED = 10  # items that the terminal lists
_ITEM = 60  # characters of an item there
_CONTENT = (
    "Content warning: prompts and replies are shown as they were given; some may be offensive."
)
_LISTS = {
    "newly_flagged": "Newly flagged",
    "newly_cleared": "No longer flagged",
    "drops": "Largest drops",
    "rises": "Largest rises",
    "flipped": "Changed sign",
}
_CHECKS = (
    "Each language beside the first. Configural: the same order. Metric: the same unit. Scalar: "
    "actions keep their places after linear alignment."
)
_DETECTABLE = (
    "Detectable: the smallest difference of one action that would be found in 80 % of cases."
)
_SPAN = Column("", "signed interval", 4)
_SHARE = Column("", "share interval", 2)
_CHANGE = Column("", "signed", 2)


def compare_page(record: RunRecord) -> Page:
    """Lay out a comparison of models on the same actions."""
    config = record.config
    statistics: CompareStatistics = record.statistics
    models = texts(config.get("encoders"))
    pairs = statistics.pairs
    compared: list[ComparedAction] = [
        row
        for row in record.results
        if row.scores.keys() >= set(models) and len(row.differences) >= len(pairs)
    ]
    compared.sort(key=lambda row: -row.spread)
    summary = [f"{len(compared):,} actions, scored by {len(models)} models: {', '.join(models)}."]
    summary += [
        f"{' / '.join(pair.pair)}: r = {correlation_text(pair.pearson)}; differences that are "
        f"significant after correction: {pair.significant}."
        for pair in pairs
    ]
    if compared:
        summary.append(
            f"Most disputed: “{compared[0].action}”, {compared[0].spread:.2f} standard deviations "
            "apart."
        )
    summary += _gate_sentence(statistics.gate)
    lines = [
        f"{name}: {agreement_in_words(people)}"
        for name, people in statistics.people_agreement.items()
    ]
    lines.append(f"scale: {text(config.get('scale'))}")
    sections = [Section("", lines, shown="terminal")]
    if compared and len(models) > 1:
        drawn = compared[:_SLOPES]
        note = f"Drawn are the {_SLOPES} most disputed." if len(compared) > _SLOPES else ""
        prose = [
            f"Each line is an action: rising where {models[-1]} is kinder to it than {models[0]}, "
            f"falling where it is harsher. {note}",
            f"Scale: {text(config.get('scale'))}.",
        ]
        ends = [[row.scores[name] for name in models] for row in drawn]
        colours = ["good" if values[-1] >= values[0] else "bad" for values in ends]
        items = list(zip((row.action for row in drawn), ends, colours, strict=True))
        title = "Score of each action by model"
        sections.append(Section(title, prose, [slopes(title, models, items)]))
    if pairs:
        rows = [
            ["Pearson's r", *(_coefficient(pair.pearson) for pair in pairs)],
            ["Spearman's rho", *(_coefficient(pair.spearman) for pair in pairs)],
            ["Kendall's tau", *(_coefficient(pair.kendall) for pair in pairs)],
            ["mean difference", *(_CHANGE.write(pair.mean_difference, TYPED) for pair in pairs)],
            ["mean shift", *(f"{pair.mean_shift:.2f}" for pair in pairs)],
            ["largest shift", *(f"{pair.max_shift:.2f}" for pair in pairs)],
            ["detectable shift", *(f"{pair.minimum_detectable_effect:.2f}" for pair in pairs)],
            ["significant", *(f"{pair.significant:,} of {pair.pearson.n:,}" for pair in pairs)],
        ]
        heads = [Column("agreement"), *(Column(" → ".join(p.pair), right=True) for p in pairs)]
        table = Table("Agreement by pair of models", heads, rows, note=_DETECTABLE)
        sections.append(Section("Agreement of the models", [], [table], shown="all"))
    for index, pair in enumerate(pairs):
        sections += _disagreements(compared, index, pair)
    if statistics.human:
        rows = [
            [name, people, correlation_text(one.pearson), correlation_text(one.spearman)]
            for name, human in statistics.human.items()
            for people, one in human.populations.items()
        ]
        heads = head("model | people | r: right | rho: right")
        beside = Table("Agreement with people", heads, rows)
        sections.append(Section("Beside what people say", [], [beside], shown="all"))
    sections.append(Section("", gate_line(statistics.gate), shown="terminal"))
    figures = [(f"{len(compared):,}", "actions compared")]
    figures += [(f"{pair.pearson.r:.2f}", f"r, {' / '.join(pair.pair)}") for pair in pairs[:3]]
    title = f"{' and '.join(models) or 'Models'} compared"
    headline = f"{', '.join(models)}: {len(record.results):,} actions, {config.get('axis')} axis"
    return Page(title, summary, figures, sections, headline=headline)


def _disagreements(
    compared: Sequence[ComparedAction], index: int, pair: PairSummary
) -> list[Section]:
    first, second = pair.pair
    ordered = sorted(compared, key=lambda row: -abs(row.differences[index].difference))
    rows = []
    for row in ordered[:_MAX_ROWS]:
        one = row.differences[index]
        ends = round(one.low, 2), round(one.high, 2)  # as the table writes them
        is_sure = one.p_holm < 0.05 and (ends[0] > 0 or ends[1] < 0)
        p = Column("", "p").write(one.p_holm) + (" *" if is_sure else "")
        scores = (rounded(row.scores[name]) for name in pair.pair)
        rows.append([row.action, *scores, one.difference, (one.low, one.high), p])
    heads = head(
        "action: wide 60",
        *columns(first, second, "difference", kind="signed", digits=2),
        "95 % interval: range 2 | p (Holm): right",
    )
    title = f"Largest differences ({second} {MINUS} {first})"
    prose = [
        "Differences are paired prompt by prompt, with 95 % intervals; p is Holm-corrected over "
        "all actions and pairs (*: below 0.05, and the interval does not reach zero)."
    ]
    table = Table(title, heads, rows, note=more_note(len(ordered) - _MAX_ROWS))
    more = f", {_SHOWN} of {len(ordered):,}" if len(ordered) > _SHOWN else ""
    brief = Table(f"{title}{more}", heads, rows[:_SHOWN], titled=True)
    return [Section(title, prose, [table]), Section("", [], [brief], shown="terminal", gap=True)]


def _coefficient(of: Correlation) -> str:
    return Column("", "interval", 2).write((of.r, of.low, of.high), TYPED)


def _gate_sentence(gate: GateResult | None) -> list[str]:
    outcome = "met" if gate and gate.met else "not met"
    return [f"The gate {gate.expression} was {outcome}."] if gate else []


def languages_page(record: RunRecord) -> Page:
    """Lay out one model in several languages."""
    config = record.config
    statistics: LanguagesStatistics = record.statistics
    results: Sequence[ParallelScore] = record.results
    codes = texts(config.get("languages"))
    ranking = statistics.ranking
    verdict = (
        ranking.refused
        or "all checks hold, so languages are ranked by their level above neutral actions"
    )
    model = text(config.get("model"))
    summary = [
        f"{model} was asked about {len(results):,} actions in {', '.join(codes)}.",
        f"{verdict[:1].upper()}{verdict[1:]}.",
    ]
    checked = []
    for check in statistics.checks:
        ends = (f"{check.differ} of {check.of}", ", ".join(check.fails) or "nothing")
        figures = (_coefficient(check.r), check.slope, check.residual)
        checked.append([check.language, *figures, *ends])
    language = Column(f"beside {codes[0]}" if codes else "language")
    titles = "r: right | slope: interval 2 | residual: number 2 | differ: right | fails"
    checks = Table("Checks", head(language, titles), checked)
    sections = [Section("Are languages measured alike?", [_CHECKS], [checks], shown="all")]
    strange = [check for check in statistics.checks if "configural" in check.fails]
    lines = [
        f"{LANGUAGES.get(check.language, check.language)} is refused: {model} does not order its "
        f"actions as those in {codes[0]} (r {_coefficient(check.r)})."
        for check in strange
    ]
    if lines:
        sections.append(Section("", lines, shown="all"))
    compared = [code for code in codes[1:] if code not in {check.language for check in strange}]
    chart = _difference_chart(results, compared, codes[0]) if compared else None
    if chart is not None:
        sections.append(Section("What differs", [], [chart]))
    for code in compared:
        differing = [row for row in results if code in row.differences]
        differing = [row for row in differing if row.differences[code].differs]
        differing.sort(key=lambda row: -abs(row.differences[code].difference))
        rows = []
        for row in differing:
            one = row.differences[code]
            p = Column("", "p").write(one.p_holm)
            rows.append([row.action, row.texts[code], one.difference, (one.low, one.high), p])
        heads = head(
            Column(f"{code} {MINUS} {codes[0]}, aligned"),
            Column(code),
            "difference: signed 2 | 95 % interval: range 2 | p (Holm): right",
        )
        table = Table(f"Actions that differ in {code}", heads, rows[:_SHOWN])
        if rows:
            sections.append(Section(table.title, [], [table], shown="all"))
    if ranking.levels:
        heads = [Column("language"), Column("level above neutral", "signed interval")]
        levels = [[row.language, (row.level, row.low, row.high)] for row in ranking.levels]
        prose = ["Mean score above neutral actions."]
        table = Table("Levels", heads, levels)
        sections.append(Section("Levels", prose, [table], shown="all"))
    if ranking.refused:
        sections.append(Section("", [ranking.refused], shown="terminal"))
    sections.append(Section("All actions", [], [_parallel_table(results, codes)]))
    headline = f"{model}: {len(results):,} actions in {', '.join(codes)}"
    return Page("One model, several languages", summary, [], sections, headline=headline)


def _difference_chart(
    results: Sequence[ParallelScore], codes: Sequence[str], first: str
) -> Chart | None:
    """Draw the actions that differ somewhere, a row each, and in it a mark per language."""
    largest: dict[str, tuple[float, ParallelScore]] = {}
    for row in results:
        shown = [row.differences[code] for code in codes if code in row.differences]
        sizes = [abs(one.difference) for one in shown if one.differs]
        if sizes:
            largest[row.action] = (max(sizes), row)
    if not largest:
        return None
    rows = [row for _, row in sorted(largest.values(), key=lambda pair: pair[0])]
    traces = []
    for at, code in enumerate(codes):
        colour = GROUPS[at % len(GROUPS)][0]
        symbol = GROUPS[(at + at // len(GROUPS)) % len(GROUPS)][1]  # the sixth has its own
        points, hover = [], []
        for rank, row in enumerate(rows, 1):
            one = row.differences.get(code)
            if one is not None and one.differs:
                points.append((one.difference, float(rank)))
                hover.append(
                    f"{row.action} · {row.texts[code]}\n{code} {MINUS} {first}: "
                    f"{one.difference:+.2f} ({one.low:+.2f} … {one.high:+.2f})"
                )
        traces.append(marks(code, points, colour, symbol, 9, hovertext=hover))
    title = f"Actions that differ from {first}"
    about = f"{len(rows)} actions differ in one of {', '.join(codes)}; largest at the top."
    axis = named_rows([row.action for row in rows], list(range(1, len(rows) + 1)), 0.4)
    return row_chart(title, about, traces, "difference in standard deviations, aligned", axis)


def _parallel_table(results: Sequence[ParallelScore], codes: Sequence[str]) -> Table:
    heads = columns("label", *codes)
    heads += columns(*(f"score, {code}" for code in codes), kind="signed")
    for code in codes[1:]:
        heads += [Column(f"{code} {MINUS} {codes[0]}", "signed", 2), Column(f"{code} differs")]
    rows = []
    for row in results:
        cells: list[object] = [row.label, *(row.texts.get(code) for code in codes)]
        cells += [row.scores.get(code) for code in codes]
        for code in codes[1:]:
            one = row.differences.get(code)
            cells += [one.difference, one.differs] if one else [None, None]
        rows.append(cells)
    note = "Differences are aligned, in standard deviations."
    return Table("All actions", heads, rows, note=note)


def runs_page(record: RunRecord) -> Page:
    """Lay out a comparison of two saved runs."""
    config = record.config
    changes: RunChanges = record.statistics
    items: Sequence[ComparedItem] = record.results
    audits = config.get("job") == "audit"
    runs = texts(config.get("runs"))
    summary = [f"{runs[0]} (before) and {runs[1]} (after)."] if len(runs) == 2 else []
    summary += _gate_sentence(changes.gate)
    p = Column("", "p").write(changes.change.p)
    summary.append(f"The mean score changed by {_SPAN.write(changes.change)}, p = {p}.")
    checks = head("figure | found: number 4 | wanted | met")
    met = [
        [check.name, check.value, f"{check.operator} {check.limit:.4g}", check.met]
        for check in (changes.gate.checks if changes.gate else ())
    ]
    if changes.flagged is not None:
        before, after = (_SHARE.write(s) for s in (changes.flagged.before, changes.flagged.after))
        moved = _SPAN.write(changes.flagged.change)
        summary.append(f"Flagged: {before} before, {after} after; a change of {moved}.")
    sections = [
        *([Section("The gate", [], [Table("The gate", checks, met)])] if met else []),
        Section("", [], [_figures_table(changes)], shown="terminal"),
        *_before_and_after(items),
        *_foundations(changes),
    ]
    for key, title in _LISTS.items():
        listed: Sequence[ComparedItem] = changes.get(key) or ()
        if listed:
            prose = [_CONTENT] if audits else []
            sections.append(Section(title, prose, [_items_table(title, listed, audits)]))
            first = listed[:_LISTED] if key != "flipped" else ()
            brief = [[cut(row.text, _ITEM), row.before, row.after, row.change] for row in first]
            heads = head("item | before: signed | after: signed | change: signed")
            table = Table(title.lower(), heads, brief, titled=True)
            if brief:
                sections.append(Section("", [], [table], shown="terminal", gap=True))
    for title, count, unpaired in (
        ("Only in the baseline", changes.only_before, changes.missing_items),
        ("Only in the new run", changes.only_after, changes.added_items),
    ):
        if unpaired:
            facts = [(item.id or "action", cut(item.text)) for item in unpaired]
            prose = [f"{count:,} items; the first of them:"]
            sections.append(Section(title, prose, [Facts(facts)]))
    if items:
        sections.append(Section("Every item", [], [_items_table("Every item", items, audits)]))
    sections.append(Section("", gate_line(changes.gate), shown="terminal"))
    job = text(config.get("job"))
    what = f"{job}, {config['axis']}" if "axis" in config else job
    title = f"{job} before and after".capitalize()
    headline = f"{' → '.join(runs)}: {what}, {changes.items:,} in both"
    return Page(title, summary, _tiles(changes), sections, headline=headline)


def _tiles(changes: RunChanges) -> list[tuple[str, str]]:
    tiles = [(f"{changes.items:,}", "items in both")]
    tiles.append((Column("", "signed").write(changes.change.value), "mean change"))
    if changes.spearman is not None:
        tiles.append((Column("", "number", 2).write(changes.spearman.r), "Spearman's rho"))
    shares = {"changed sign": changes.flips}
    if changes.flagged is not None:
        shares["newly flagged"] = changes.flagged.newly_flagged
        shares["no longer flagged"] = changes.flagged.newly_cleared
    for name, share in shares.items():
        if share is not None:
            tiles.append((Column("", "share", 1).write(share.value), name))
    if changes.only_before:
        tiles.append((f"{changes.only_before:,}", "missing after"))
    return tiles


def _figures_table(changes: RunChanges) -> Table:
    """Return what changed, a figure a row."""
    mean, change, flagged = changes.mean, changes.change, changes.flagged
    rows = {
        "mean before, after": f"{mean.before:+.4f}, {mean.after:+.4f}",
        "mean change": f"{_SPAN.write(change, TYPED)}, p {change.p:.3g}",
    }
    if changes.spearman is not None and changes.flips is not None:
        rho = changes.spearman
        rows["Spearman's rho"] = f"{rho.r:.4f} ({rho.low:.4f} … {rho.high:.4f})"
        rows["changed sign"] = _SHARE.write(changes.flips, TYPED)
        rows["largest drop, rise"] = f"{changes.max_drop:.4f}, {changes.max_rise:.4f}"
    if changes.changed is not None:
        rows["beyond the prompts' noise"] = f"{changes.changed:,} of {changes.items:,}"
    if flagged is not None:
        rows["flagged before"] = _SHARE.write(flagged.before, TYPED)
        rows["flagged after"] = _SHARE.write(flagged.after, TYPED)
        rows["flagged change"] = _SPAN.write(flagged.change, TYPED)
        if flagged.newly_flagged is not None and flagged.newly_cleared is not None:
            rows["newly flagged"] = _SHARE.write(flagged.newly_flagged, TYPED)
            rows["no longer flagged"] = _SHARE.write(flagged.newly_cleared, TYPED)
            rows["p (McNemar, exact)"] = f"{flagged.p:.3g}"
    for row in changes.foundations or ():
        if row.before.value or row.after.value:
            rows[f"  {row.foundation}"] = f"{row.before.value:.1%} → {row.after.value:.1%}"
    if changes.other_replies is not None:
        rows["other replies"] = f"{changes.other_replies:,} of {changes.items:,}"
    rows["only before, only after"] = f"{changes.only_before:,}, {changes.only_after:,}"
    return Table("Changes", [Column("change"), Column("", right=True)], list(rows.items()))


def _before_and_after(items: Sequence[ComparedItem]) -> list[Section]:
    """Draw scores after against scores before; of very many, those that changed most."""
    widest = sorted(items, key=lambda row: -abs(row.change))[:_DRAWN]
    title = "Scores before and after"
    groups = {"items": [(row.text, row.before, row.after) for row in widest]}
    chart = named_scatter(title, groups, ("before", "after"), same=True)
    if chart is None:
        return []
    prose = ["Where nothing changed, after equals before; the line is the fit through all items."]
    if len(items) > _DRAWN:
        prose.append(f"Drawn are the {_DRAWN:,} of {len(items):,} items that changed most.")
    return [Section(title, prose, [chart])]


def _foundations(changes: RunChanges) -> list[Section]:
    rows = changes.foundations or ()
    if not rows:
        return []
    title = "Flagged replies by foundation"
    series = {
        "before": [100 * row.before.value for row in rows],
        "after": [100 * row.after.value for row in rows],
    }
    heads = head("foundation | before: share interval 1 | after: share interval 1 | change: signed")
    cells = [[row.foundation, row.before, row.after, row.change] for row in rows]
    chart = bars(title, series, [row.foundation for row in rows], "% of replies")
    return [Section(title, [], [chart, Table(title, heads, cells)])]


def _items_table(title: str, items: Sequence[ComparedItem], audits: bool) -> Table:
    shown, note = items[:_MAX_ROWS], more_note(len(items) - _MAX_ROWS)
    if not audits:
        heads = [Column("action"), *columns("before", "after", "change", kind="signed")]
        rows = [[cut(row.text), row.before, row.after, row.change, row.p_holm] for row in shown]
        return Table(title, [*heads, Column("p (Holm)", "p")], rows, note=note)
    cells = []
    for row in shown:
        flags = ["yes" if flag else "no" for flag in (row.flagged_before, row.flagged_after)]
        flagged = flags[0] if flags[0] == flags[1] else " → ".join(flags)
        replies = (cut(row.reply_before), cut(row.reply_after))
        cells.append([row.id, cut(row.text), *replies, row.before, row.after, flagged])
    heads = columns("id", "prompt", "reply before", "reply after")
    heads += [*columns("before", "after", kind="signed"), Column("flagged")]
    return Table(title, heads, cells, note=note)


def watch_page(record: RunRecord) -> Page:
    """Lay out a sequence of runs: the trend, and whether it left the baseline."""
    statistics: WatchStatistics = record.statistics
    rows: list[WatchedRun] = list(record.results)
    base, change = statistics.baseline, statistics.change
    measure = statistics.measure
    if statistics.alarm is None or change is None:
        headline = f"No drift in {len(rows):,} runs: {measure}"
    else:
        way = "rose" if change.value > base.value else "fell"
        headline = (
            f"Drift found at {statistics.alarm}: the {measure} {way} from {base.value:.1%} to "
            f"{change.value:.1%}, most likely since {statistics.since}"
        )
    span = f"{base.low:.1%} to {base.high:.1%}"
    summary = [f"{headline}.", f"The first run is the baseline: {base.value:.1%} ({span})."]
    points = [(float(at), 100 * row.share.value) for at, row in enumerate(rows)]
    hover = [f"{row.name}\n{row.share.value:.1%} of {row.share.n:,}" for row in rows]
    ends = [(100 * row.share.value, 100 * row.share.low, 100 * row.share.high) for row in rows]
    last = float(len(rows) - 1)
    traces = [line_marks("runs", points, "good", hovertext=hover, error_y=error_bars(ends, "good"))]
    for end in (base.low, base.high):
        line = line_marks("baseline", [(0.0, 100 * end), (last, 100 * end)], "muted")
        traces.append({**line, "mode": "lines"})
    layout = {"xaxis": {"title": "run"}, "yaxis": {"title": f"{measure} (%)"}}
    about = f"{measure} in {len(rows)} runs; the grey lines are the baseline's interval."
    prose = [
        f"An e-value is the capital of a bet on a drift. It reaches {statistics.limit:,.0f} by "
        "chance in at most 1 % of sequences (all four bets together), however often one looks."
    ]
    heads = head(
        "run: wide 30 | time: wide 20 | items: whole | share: share interval 1",
        "e (rise): number 1 | e (fall): number 1",
    )
    cells = [[r.name, r.created[:16], r.share.n, r.share, r.rise, r.fall] for r in rows]
    sections = [
        Section("Trend", prose, [Chart("Trend", about, traces, layout)]),
        Section("Runs", [], [Table("Runs", heads, cells, ends=_SHOWN)], shown="all"),
    ]
    return Page(f"Drift: {len(rows):,} runs", summary, [], sections, headline=headline)


PRESENTATIONS = {
    "compare": Presentation(compare_page, (ComparedAction, CompareStatistics), axis_limits),
    "compare languages": Presentation(
        languages_page, (ParallelScore, LanguagesStatistics), SCORE_LIMITS
    ),
    "compare runs": Presentation(
        runs_page,
        (ComparedItem, RunChanges),
        lambda config: AUDIT_LIMITS if config.get("job") == "audit" else axis_limits(config),
    ),
    "compare watch": Presentation(watch_page, (WatchedRun, WatchStatistics), AUDIT_LIMITS),
}
