"""The pages of `steer make`, `steer check`, `edit` and `teach`: what changed, and what else."""

import math
from collections.abc import Sequence

from moralscope.core.records import RunRecord, grouped
from moralscope.io.run_records import NOTHING
from moralscope.pages import Presentation
from moralscope.pages.charts import error_bars, marks, named_rows, named_scatter, row_chart
from moralscope.pages.closing import STEER_LIMITS
from moralscope.pages.page import Block, Chart, Column, Facts, Page, Section, Table, head, signed
from moralscope.pages.words import correlation_text, cut, gate_line, plural, text
from moralscope.steer.check import CertificateStatistics, MeasureChange, ReplyTriple
from moralscope.steer.edit import EditStatistics, ScoreChange
from moralscope.steer.fit import LayerFit
from moralscope.steer.make import VectorStatistics
from moralscope.steer.teach import TaughtScore, TeachStatistics

_SHOWN = 10  # rows of what moved most
_SURE = 0.05
_NATS = Column("", "signed interval", 2)


def make_page(record: RunRecord) -> Page:
    """Lay out a steering vector: its layers and its strength."""
    config, statistics = record.config, record.statistics
    columns = head("layer: whole | length: number | held-out pairs separated: share 0")
    rows = [[row.layer, row.length, row.separation] for row in record.results]
    calibration = statistics.calibration
    strength = (
        f"strength {calibration.strength:.4g}: KL {calibration.kl:.3f} on {calibration.texts} "
        f"neutral texts (wanted {calibration.target:g})"
    )
    title = (
        f"{text(config.get('model'))}: {statistics.pairs:,} pairs of {text(config.get('pairs'))}, "
        f"{text(config.get('method'))}"
    )
    lines = [strength]
    if moves := statistics.selectivity:
        wanted, harmless = (_NATS.write(span) for span in (moves.wanted, moves.harmless))
        lines.append(
            f"wanted replies move by {wanted} nats per token, helping with harmless requests by "
            f"{harmless}"
        )
    if gate := statistics.gate:
        lines.append(
            f"gate in layers {gate.layers}: opens on {gate.opened:.0%} of prompts like the pairs' "
            f"and on {gate.opened_wrongly:.0%} of harmless ones ({gate.prompts}, each held out)"
        )
    summary = [f"{line[0].upper()}{line[1:]}." for line in lines]
    layers = Section("Layers", [], [Table("Layers", columns, rows)], shown="all")
    sections = [layers, Section("", lines, shown="terminal")]
    return Page(f"Steering vector for {title}", summary, sections=sections, headline=title)


def check_page(record: RunRecord) -> Page:
    """Lay out the certificate of a steering vector."""
    config = record.config
    statistics: CertificateStatistics = record.statistics
    figures = statistics.figures
    parts = {
        "moved as wanted": [row for row in record.results if row.wanted],
        "moved besides": [row for row in record.results if not row.wanted],
    }
    columns = head(
        ": wide 44 | n: whole | plain: number | change: signed interval | in sd: signed 2",
        "p (Holm): right | random: right",
    )

    def cells(row: MeasureChange) -> list[object]:
        star = " *" if row.p_holm < _SURE else "  "
        cross = " †" if row.p_random_holm < _SURE else "  "
        random = f"{round(row.random, 3) + 0.0:+.3f}{cross}"
        p = f"{row.p_holm:.3f}{star}"
        return [row.figure, row.n, row.plain, row.change, row.effect, p, random]

    tables = [
        Table(title, [Column(title, wide=44), *columns[1:]], [cells(row) for row in rows])
        for title, rows in parts.items()
    ]
    key = "* moved (p < 0.05, Holm); † moved otherwise than by a random vector of equal norm"
    layers = config.get("layers") or [NOTHING]
    band = f"{text(layers[0])}-{text(layers[-1])}" if isinstance(layers, list) else text(layers)
    model, method = text(config.get("model")), text(config.get("method"))
    about = f"{model}, steered in layers {band} by {method}"
    strength = text(config.get("strength"))
    end = (
        f"KL on held-out neutral text {figures.kl:.3f}; largest collateral "
        f"{figures.collateral:.2f} sd ({statistics.largest})"
    )
    return Page(
        f"Certificate of {text(config.get('vector'))}",
        [
            f"{about}. Most collateral: {statistics.largest}.",
            "In sd: the change divided by the standard deviation of the plain model's values. The "
            "control is a random vector of equal norm in the same layers.",
        ],
        [
            (signed(figures.wanted, 2), "sd moved as wanted"),
            (signed(figures.collateral, 2), "sd of the largest collateral"),
            (signed(figures.kl, 2), "KL on held-out neutral text"),
        ],
        [
            Section("What moved", [], [_change_chart(*parts.values())]),
            Section("As wanted", [key], tables[:1], shown="all"),
            Section("Besides", [], tables[1:], shown="all"),
            Section("", [key, end, *gate_line(statistics.gate)], shown="terminal"),
            *_reply_sections(statistics.replies),
        ],
        headline=f"{model} steered: layers {band}, {method}, strength {strength}",
    )


def _change_chart(wanted: Sequence[MeasureChange], besides: Sequence[MeasureChange]) -> Chart:
    rows = [*wanted, *besides]
    heights = {row.figure: float(len(rows) - index) for index, row in enumerate(rows)}
    traces = []
    for title, part, colour, symbol in (
        ("wanted", wanted, "good", "circle"),
        ("besides", besides, "bad", "square"),
    ):
        # The change divided by its effect is the standard deviation that the interval needs too.
        drawn = [
            row
            for row in part
            if row.effect
            and row.change.value
            and math.isfinite(row.effect + row.change.value + row.change.low + row.change.high)
        ]
        points = [(row.effect, heights[row.figure]) for row in drawn]
        spans = []
        for row in drawn:
            scale = row.change.value / row.effect
            spans.append((row.effect, row.change.low / scale, row.change.high / scale))
        traces.append(marks(title, points, colour, symbol, 9, error_x=error_bars(spans, colour)))
    about = "; ".join(f"{row.figure}: {row.effect:+.2f} sd" for row in rows)
    axis = named_rows([row.figure for row in rows], [int(h) for h in heights.values()], 0.3)
    return row_chart("Changes", f"{about}.", traces, "change in standard deviations", axis)


def _reply_sections(replies: Sequence[ReplyTriple]) -> list[Section]:
    if not replies:
        return []
    columns = [Column("request"), Column("kind")]
    for title in ("plain", "steered", "random vector"):
        columns += [Column(title), Column("audit", "signed", 2)]
    rows = []
    for reply in replies:
        pairs = zip((reply.plain, reply.steered, reply.random), reply.scores, strict=True)
        told_and_scored = [cell for said, score in pairs for cell in (cut(said, 400), score)]
        rows.append([reply.request, "harmless" if reply.harmless else "asked", *told_and_scored])
    prose = "Free replies of the three models, with the audit's score (-1 worst, +1 best)."
    return [Section("Replies", [prose], [Table("Replies", columns, rows)], folded=True)]


def edit_page(record: RunRecord) -> Page:
    """Lay out what an edit removed from an encoder, and what stayed."""
    config = record.config
    statistics: EditStatistics = record.statistics
    removed, keep = text(config.get("remove")), text(config.get("keep") or "nothing")
    about = (
        f"removed: {text(config.get('dimensions_removed'))} dimensions, "
        f"{text(config.get('source'))}, strength {text(config.get('strength'))}; kept: {keep}"
    )
    biases = []
    for row in statistics.gender:
        falls = (row.fall, row.centred_fall, row.spread_fall)
        biases.append([f"{row.n} {row.words}", row.template, row.before, row.after, *falls])
    heads = head(
        "mean |bias| | template | before: number 4 | after: number 4",
        "fall, %: number 0 | centred, %: number 0 | spread, %: number 0",
    )
    bias = Table("mean |bias|", heads, biases)
    pairs = statistics.pairs
    apart = (
        f"the two sides of the pairs: {pairs.before:.3f} apart before, {pairs.after:.3f} after "
        f"({pairs.fall:.0f} % nearer)"
    )
    agreements = [[axis, correlation_text(row)] for axis, row in statistics.moral.items()]
    heads = head("moral scores before/after | r, 95 % interval, n: right")
    moral = Table("moral scores before/after", heads, agreements)
    before, after = statistics.leakage.before, statistics.leakage.after
    told_by = Column(f"{removed} can still be inferred by")
    heads = head(told_by, "before: share 0 | after: share 0 | chance: share 0")
    probes = [
        ["linear probe", before.probe, after.probe, 0.5],
        ["nearest neighbours", before.neighbours, after.neighbours, 0.5],
    ]
    leaks = Table(told_by.title, heads, probes)
    largest, charts = _axis_blocks(record.results)
    title = f"{text(config.get('encoder'))} without {removed}"
    return Page(
        title,
        [f"{about[0].upper()}{about[1:]}.", f"{apart[0].upper()}{apart[1:]}."],
        sections=[
            Section("", [about], shown="terminal"),
            Section("Bias before and after", [], [bias], shown="all"),
            Section("", [apart], shown="terminal"),
            Section("What stayed, and what leaks", [], [moral, leaks], shown="all"),
            Section("What moved most", [], largest, shown="all"),
            Section("Before and after", [], charts),
        ],
        headline=title,
    )


def _axis_blocks(changes: Sequence[ScoreChange]) -> tuple[list[Block], list[Chart]]:
    """Return, axis by axis, what moved most and a chart of everything before and after."""
    largest: list[Block] = []
    charts: list[Chart] = []
    for axis, rows in grouped((row.axis, row) for row in changes).items():
        order = sorted(rows, key=lambda row: -abs(row.change))
        distinct = list({row.text: row for row in order}.values())[:_SHOWN]
        title = f"largest changes, {axis}"
        heads = [Column(title), *_change_columns(4)]
        values = [[row.text, row.before, row.after, row.change] for row in distinct]
        largest.append(Table(title, heads, values))
        groups = grouped((row.group, (row.text, row.before, row.after)) for row in rows)
        name, titles = f"After against before, {axis}", ("before", "after")
        chart = named_scatter(name, groups, titles, fits=False, same=True)
        charts += [chart] if chart else []
    return largest, charts


def _change_columns(digits: int) -> list[Column]:
    return [Column(title, "signed", digits) for title in ("before", "after", "change")]


def teach_page(record: RunRecord) -> Page:
    """Lay out whether corrections took, and what else they moved."""
    statistics: TeachStatistics = record.statistics
    corrections = [
        [lesson.action, lesson.label, lesson.before, lesson.after, lesson.took]
        for lesson in statistics.lessons
    ]
    heads = head("correction | wanted | before: signed 2 | after: signed 2 | took")
    lessons = Table("Corrections", heads, corrections)
    turned = (
        f"the axis turned by {statistics.angle_degrees:.1f} degrees; r of the other actions "
        f"before/after {statistics.agreement.r:.3f} (n = {statistics.agreement.n}); "
        f"{len(statistics.changed_side)} changed side"
    )
    corrected = {lesson.action for lesson in statistics.lessons}
    rows: Sequence[TaughtScore] = record.results
    heads = _change_columns(2)
    values = [[row.action, row.before, row.score, row.change] for row in rows]
    others = [value for value in values if value[0] not in corrected]
    points = {"actions": [(row.action, row.before, row.score) for row in rows]}
    titles = ("before", "after")
    chart = named_scatter("Scores after against before", points, titles, fits=False, same=True)
    moved = Table("what else moved", [Column("what else moved"), *heads], others[:_SHOWN])
    table = Table("All actions", [Column("action"), *heads], values)
    return Page(
        f"{text(record.config.get('axis'))} of {text(record.config.get('encoder'))}, corrected",
        [
            f"{statistics.took} of {plural(len(statistics.lessons), 'correction')} took.",
            f"{turned[0].upper()}{turned[1:]}.",
        ],
        sections=[
            Section("Corrections", [], [lessons], shown="all"),
            Section("", [turned], shown="terminal"),
            Section("What else moved", [], [moved], shown="all"),
            Section("Before and after", [], [*([chart] if chart else []), table]),
            Section("Changed side", [], [Facts([("", text(list(statistics.changed_side)))])]),
        ],
        main=table,
    )


PRESENTATIONS = {
    "steer make": Presentation(make_page, (LayerFit, VectorStatistics), STEER_LIMITS),
    "steer check": Presentation(check_page, (MeasureChange, CertificateStatistics), STEER_LIMITS),
    "edit": Presentation(edit_page, (ScoreChange, EditStatistics)),
    "teach": Presentation(teach_page, (TaughtScore, TeachStatistics)),
}
