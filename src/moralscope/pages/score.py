"""The page of `score`: ranked actions, the map, layers, framings, and people beside them."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from moralscope.axes.measured import agreement_in_words, share_in_brief
from moralscope.axes.options import AXES
from moralscope.axes.records import (
    DirectionFigures,
    Framings,
    HumanAgreement,
    JudgedAction,
    LanguageScore,
    LayerCurve,
    ScoreStatistics,
)
from moralscope.core.records import ActionScore, RunRecord
from moralscope.pages import Presentation, charts
from moralscope.pages.charts import Group, Mark, sign_class
from moralscope.pages.closing import axis_limits
from moralscope.pages.page import (
    TYPED,
    Block,
    Chart,
    Column,
    Facts,
    Page,
    Section,
    Table,
    head,
    signed,
)
from moralscope.pages.words import correlation_text, gate_line, plural, text

_MAX_ROWS = 20_000
_TERMINAL_ENDS = 20
_REWORDINGS = 2000
_RESIDUALS = 30
_NAMED = 8
_ENDS = {"moral": ("bad", "good"), "gender": ("male", "female")}


def score_page(record: RunRecord) -> Page:
    """Lay out scored actions."""
    config = record.config
    statistics: ScoreStatistics = record.statistics
    results: Sequence[ActionScore] = sorted(record.results, key=lambda row: -row.score)
    shown = [row for row in results if not math.isnan(row.score)]
    dropped = max(0, len(shown) - _MAX_ROWS)
    half = _MAX_ROWS // 2
    shown = [*shown[:half], *shown[-half:]] if dropped else shown
    rows = [Mark(row.action, row.score, at, row.low, row.high) for at, row in enumerate(shown)]
    table = _table(record, shown, dropped)
    asked = "in each wording" if "experts" in config else "under each prompt"
    opening = [f"Open an action to see its value {asked}."] if shown and shown[0].prompts else []
    ends = ends_of(config)
    known = bool(rows) and rows[0].low is not None and not math.isnan(rows[0].low)
    how = f"The bar through each mark is its {_interval(record)}." if known else ""
    lines = [f"norm: {config['norm']}"] if "norm" in config else []
    lines.append(agreement_in_words(statistics.people_agreement))
    sections = [
        Section("", lines, shown="terminal"),
        *charts.ranked_section(rows, ends, how, *([charts.curve(rows, ends)] if rows else [])),
        Section("All actions", opening, [table], shown="all"),
        *_map(record, shown, rows),
        *_language(statistics),
        *direction_sections(statistics.direction),
        *_layers(statistics.layers),
        *_framings(statistics),
        *_people(statistics.human),
    ]
    axis = str(config.get("axis", "choice"))
    headline = [f"{axis} ({config['fit']}) axis" if "fit" in config else f"{axis} axis"]
    of_model = axis == "choice" and "model" in config
    if axis in AXES:
        headline.append(f"scores {'are log-odds of yes' if of_model else AXES[axis].unit}")
    headline += [f"{config['template']} template"] if "template" in config else []
    headline += [model_name(config)]
    headline += [f"layer {config['layer']}"] if "layer" in config else []
    headline += [f"{config['form']} form"] if "form" in config else []
    counts = [f"{sum(sign_class(row) == number for row in rows):,}" for number in range(3)]
    tiles = [
        (f"{len(rows):,}", "scored"),
        *((signed(row.score), f"highest: {row.name}") for row in rows[:1]),
        *((signed(row.score), f"lowest: {row.name}") for row in rows[-1:]),
        (" / ".join(counts), "above / below / across zero"),
    ]
    drawings = [b for section in sections for b in section.blocks if isinstance(b, Chart)]
    drawn = [chart for chart in drawings if chart.title == "Map of the actions"] or drawings[:1]
    if len(shown) > charts.ALL_RANKED and drawn == drawings[:1]:
        drawn = drawings[:2]
    return Page(
        f"How {model_name(config)} scores {plural(len(shown), 'action')}",
        _summary(record, rows),
        tiles if rows else [],
        sections,
        main=table,
        headline=", ".join(headline),
        figure=drawn,
    )


def ends_of(config: Mapping[str, object]) -> tuple[str, str]:
    """Return what the two ends of the axis of a run mean."""
    if config.get("axis", "choice") != "choice":
        return _ENDS["moral"]
    return _ENDS.get(str(config.get("template", "moral")), ("negative answer", "positive answer"))


def model_name(config: Mapping[str, object]) -> str:
    """Return the name of what was measured: a language model, an encoder, experts."""
    names = (config.get(key) for key in ("model", "encoder", "vectors", "experts"))
    return text(next((name for name in names if name), "a model"))


def _interval(record: RunRecord) -> str:
    return "range over the wordings" if "experts" in record.config else "95 % interval"


def _summary(record: RunRecord, rows: Sequence[Mark]) -> list[str]:
    if not rows:
        return ["Nothing in this record has a score."]
    config, (bad, good) = record.config, ends_of(record.config)
    asked = config.get("prompts")
    ways = f", each in {len(asked)} wordings" if isinstance(asked, list) else ""
    ways += " of a question" if ways and "experts" not in config else ""
    best, worst = rows[0], rows[-1]
    agreement = agreement_in_words(record.statistics.people_agreement)
    lines = [
        f"{model_name(config)} scored {plural(len(rows), 'action')}{ways}. To the right is "
        f"“{good}”, to the left “{bad}”.",
        f"Highest: “{best.name}” ({signed(best.score)}). Lowest: “{worst.name}” "
        f"({signed(worst.score)}).",
        f"{agreement[:1].upper()}{agreement[1:]}.",
    ]
    missing = len(record.results) - len(rows)
    if missing:
        lines.append(f"{missing:,} of {len(record.results):,} got no score and are not shown.")
    widths = [
        row.high - row.low
        for row in rows
        if row.low is not None and row.high is not None and not math.isnan(row.high - row.low)
    ]
    if widths:
        counts = [sum(sign_class(row) == number for row in rows) for number in range(3)]
        reach = best.score - worst.score
        share = f", {100 * median(widths) / reach:.0f} % of the whole range" if reach > 0 else ""
        lines.append(
            f"How sure: {counts[0]:,} lie above zero with their whole {_interval(record)}, "
            f"{counts[1]:,} below, and {counts[2]:,} on both sides. It is typically "
            f"{median(widths):.3f} wide{share}."
        )
    if widths and len(rows) > 2:
        overlaps = sum(above.span[0] <= below.span[1] for above, below in pairwise(rows))
        lines.append(
            f"In {overlaps:,} of {len(rows) - 1:,} pairs of neighbours in the ranking the "
            "intervals overlap: their order is uncertain."
        )
    return lines


def _table(record: RunRecord, rows: Sequence[ActionScore], dropped: int) -> Table:
    """Lay out all actions; a judge's have what people would say beside them."""
    kind = AXES.get(str(record.config.get("axis", "choice")), AXES["choice"])
    largest = max((abs(row.score) for row in rows), default=0.0)
    digits = 1 if largest >= 100 else 2 if largest >= 10 else 3
    left, right = (end.split()[0] for end in ends_of(record.config))
    columns = [
        Column("action", wide=44),
        Column(f"{left}|{right}", "bar"),
        Column("score", "signed", digits),
        Column(kind.interval, "range", digits),
    ]
    cells = [
        [row.action, row.score / (largest or 1.0), row.score, (row.low, row.high)] for row in rows
    ]
    judged = [row for row in rows if isinstance(row, JudgedAction)]
    if any(not math.isnan(row.people_yes) for row in judged):
        columns.append(Column("would say yes"))
        for cell, row in zip(cells, judged, strict=True):
            cell.append(share_in_brief(row.people_yes, row.people_yes_low, row.people_yes_high))
    verdicts = any(row.verdict for row in judged)
    columns += [Column("verdict")] if verdicts else []
    if judged:
        columns += [Column("P(moral)", "number", brief=False), Column("expert", brief=False)]
        for cell, row in zip(cells, judged, strict=True):
            cell.extend([row.verdict or ""] if verdicts else [])
            cell.extend([row.probability, row.task.replace("+", " + ")])
    count = max((len(row.prompts) for row in rows), default=0)
    asked = record.config.get("prompts")
    details = [text(prompt) for prompt in asked] if isinstance(asked, list) else []
    if judged:  # phrases and sentences have other wordings
        details = [f"wording {n}" + ", scored" * (n == 1) for n in range(1, count + 1)]
    elif len(details) != count:
        details = [f"prompt {n}" for n in range(1, count + 1)]
    for cell, scored in zip(cells, rows, strict=True):
        cell.extend(scored.prompts)
    note = f"{dropped:,} in the middle are in the run record only." if dropped else ""
    return Table("All actions", columns, cells, details, note, ends=_TERMINAL_ENDS)


def _map(record: RunRecord, shown: Sequence[ActionScore], rows: Sequence[Mark]) -> list[Section]:
    """Draw the actions in two dimensions (Schramowski et al. 2019, Figures 1 and 4)."""
    drawn = record.statistics.map
    if drawn is None or len(drawn.points) != len(record.results) or not rows:
        return []
    places = {id(row): point for row, point in zip(record.results, drawn.points, strict=True)}
    points = [places[id(row)] for row in shown]
    fitting = [(point.action, point.x, point.y) for point in drawn.fitting]
    prose = [
        "Left and right is the moral axis; up and down is the strongest other difference between "
        "the actions, which has no moral meaning. Labels that would overlap are left out: hover, "
        "or zoom in, to see more."
    ]
    chart = charts.moral_map(rows, points, fitting, (drawn.x_label, drawn.y_label))
    return [Section("Map of the actions", prose, [chart])]


def variance_chart(direction: DirectionFigures) -> Chart | None:
    """Draw Figure 3 of Schramowski et al. 2019: variance of the actions and of differences."""
    shares = {
        "actions": direction.explained_variance,
        "differences": direction.explained_variance_differences,
    }
    series = {
        name: [100 * (share if math.isfinite(share) else 0.0) for share in values]
        for name, values in shares.items()
        if values
    }
    if not series:
        return None
    names = [str(number) for number in range(1, max(map(len, series.values())) + 1)]
    return charts.bars("Explained variance by component", series, names, "% of variance")


def direction_sections(direction: DirectionFigures | None) -> list[Section]:
    """Say how strong a direction is, where one was fitted."""
    if direction is None:
        return []
    shares = " ".join(f"{share:.1%}" for share in direction.explained_variance[:5])
    # Labels are held out in turn; anchors of a component need not be.
    right = direction.validation.get(direction.method, direction.separation)
    angle = direction.stability.bootstrap_degrees_median
    lines = [
        f"{direction.method}, fitted on {direction.fitted_on} actions",
        f"variance explained by the leading components: {shares} …",
        f"good and bad anchors in the right order: {right:.0%} of pairs; refits on other draws "
        f"of actions turn the direction by {angle:.0f} degrees",
    ]
    weak = "It does not stand out: read scores with care."
    stands_out = "It stands out." if direction.stands_out else weak
    first = f"{direction.explained_variance[0]:.0%}" if direction.explained_variance else "none"
    prose = [
        f"The first component carries {first} of the variance. {stands_out}",
        "Compare Figure 3 of Schramowski et al. 2019.",
    ]
    chart = variance_chart(direction)
    facts = [
        ("method", f"{direction.method} ({direction.fit})"),
        ("fitted on", plural(direction.fitted_on, "action")),
        ("good and bad anchors in the right order", f"{right:.0%} of pairs"),
        ("turns in refits, median", f"{angle:.0f} degrees"),
        ("scale", direction.scale),
        ("raw scale", f"{direction.raw_scale:.4g}; {direction.raw}"),
    ]
    blocks: list[Block] = [*([chart] if chart else []), Facts(facts)]
    return [
        Section("", lines, shown="terminal", gap=True),
        Section("How strong is the direction", prose, blocks, folded=True),
    ]


def _language(statistics: ScoreStatistics) -> list[Section]:
    if statistics.language is None:
        return []
    mass = Column("", "share interval", 0)
    interval = statistics.language.answer_mass
    line = f"answer mass: {mass.write(interval, TYPED)} of the probability lies on a valid answer"
    prose = [
        f"{mass.write(interval)} of the probability lies on a valid answer. The rest goes to "
        "replies that are neither a yes nor a no: the smaller the share, the less a score says "
        "about what the model would reply."
    ]
    return [Section("", [line], shown="terminal", gap=True), Section("Answer mass", prose)]


def _layers(layers: LayerCurve | None) -> list[Section]:
    if layers is None or len(layers.curve) < 2:
        return []
    people = layers.people or ()
    series: dict[str, list[tuple[float, float]]] = {
        "held-out good above bad": [(row.layer, row.separation) for row in layers.curve],
        "variance of the first component": [(row.layer, row.variance) for row in layers.curve],
        "r with people": [
            (row.layer, agreement.r)
            for row, agreement in zip(layers.curve, people, strict=False)
            if not math.isnan(agreement.r)
        ],
    }
    traces = [
        charts.line_marks(name, points, colour, symbol)
        for (name, points), (colour, symbol) in zip(series.items(), charts.GROUPS, strict=False)
        if points
    ]
    best = max(layers.curve, key=lambda row: row.separation)
    about = (
        f"{len(layers.curve)} layers; held-out good actions lie above bad ones most often in "
        f"layer {best.layer} ({best.separation:.0%})."
    )
    layout = {"xaxis": {"title": "layer"}, "yaxis": {"title": "share, or r", "zero": True}}
    columns = head(
        "layer | variance: share 1 | good over bad: share 0 | turns by (degrees): number 0",
        *([Column("r with people", "signed", 2)] if people else []),
    )
    rows = [
        [
            f"{row.layer}{' *' if row.layer == layers.chosen else ''}",
            row.variance,
            row.separation,
            row.stability,
            *([people[index].r] if people else []),
        ]
        for index, row in enumerate(layers.curve)
    ]
    prose = [
        f"Layer {layers.chosen} tells good from bad actions best that were not fitted on; it was "
        "chosen by them alone. People's answers are drawn and choose nothing."
    ]
    chart = Chart("Over the layers", about, traces, layout, height=360)
    return [
        Section("Where in the model", prose, [chart]),
        Section("All layers", [], [Table("Layers", columns, rows)], shown="all"),
    ]


def _framings(statistics: ScoreStatistics) -> list[Section]:
    framings: Framings | None = statistics.framings
    if framings is None:
        return []
    rows = []
    for name, figures in framings.framings.items():
        framed = [row for row in framings.rows if row.framing == name]
        widest = max(framed, key=lambda row: (row.changed, abs(row.change)))
        share = f"{figures.changed.value:.0%}{' (should)' if figures.turns else ''}"
        example = f"{widest.text} {widest.score:+.3f}"[:100]
        rows.append(
            [name.replace("_", " "), share, figures.changed.n, figures.mean_change, example]
        )
    columns = head(
        "framing | changed side: right | of: whole | mean change: signed | the largest change"
    )
    flips, worst = framings.flips, framings.worst.replace("_", " ")
    span = f"{flips.low:.0%} … {flips.high:.0%}"
    line = f"flips: {flips.value:.1%} ({span}) of {flips.n} rewordings; worst: {worst}"
    widest_first = sorted(framings.rows, key=lambda row: -abs(row.change))[:_REWORDINGS]
    sides = ["changed" if row.changed else "" for row in widest_first]
    heads = head("action | framing | as it was asked | score: signed | change: signed | side")
    cells = [
        [row.action, row.framing.replace("_", " "), row.text, row.score, row.change, side]
        for row, side in zip(widest_first, sides, strict=True)
    ]
    reworded = Table("Rewordings, the largest change first", heads, cells)
    prose = [
        "Each action, put otherwise: its side of zero should stay, and change under a negation. "
        f"{line[:1].upper()}{line[1:]}."
    ]
    table = Table("Framings", columns, rows)
    return [
        Section("Does the wording decide?", prose, [table], shown="all", gap=True),
        Section("", [line, *gate_line(statistics.gate)], shown="terminal"),
        Section("All rewordings", [], [reworded], folded=True),
    ]


def _people(human: HumanAgreement | None) -> list[Section]:
    if human is None or not human.rows:
        return []
    groups: dict[str, list[tuple[str, tuple[float, float]]]] = {}
    for row in human.rows:
        for name, rate in row.rates.items():
            if math.isfinite(row.score + rate):
                groups.setdefault(name, []).append((row.action, (row.score, 100 * rate)))
    clouds = [
        Group(
            name,
            [point for _, point in pairs],
            [f"{action}\nscore {x:+.3f}\n{name}: {y:.0f} % yes" for action, (x, y) in pairs],
        )
        for name, pairs in groups.items()
    ]
    first = next(iter(groups.values()), [])
    labels = [(x, y, action) for action, (x, y) in charts.outermost(first, 80)]
    ends = ("score", "% of people who say yes")
    chart = charts.scatter("Scores against people", clouds, ends, labels=labels)
    prose = [
        "Each mark is an action: to the right what the model scores higher, upward what more "
        "people answer with yes."
    ]
    for what, left in (("unscored", human.unscored), ("unrated", human.unrated)):
        if left:
            more = f" and {len(left) - _NAMED:,} more" if len(left) > _NAMED else ""
            prose.append(f"Left out, {what}: {text(list(left[:_NAMED]))}{more}.")
    ceilings = human.noise_ceiling
    columns = head("people | r (Pearson): right | rho (Spearman): right")
    rows = [
        [name, correlation_text(figures.pearson), correlation_text(figures.spearman)]
        for name, figures in human.populations.items()
    ]
    agreement = Table("Agreement", columns, rows)
    lines: list[str] = []
    if ceilings is not None:
        lines += [
            f"best r that {name}'s number of raters allows: {ceiling.expected:.3f}"
            for name, ceiling in ceilings.sampling.items()
            if ceiling is not None
        ]
        lines += [
            f"{pair.pair[0]} and {pair.pair[1]} agree with each other at r = {pair.pearson.r:.3f}"
            for pair in ceilings.between
        ]
    reached = Section("The most that can be reached", lines, shown="all")
    return [
        Section("Do people agree?", prose, [chart]),
        Section("Agreement with each population", [], [agreement], shown="all"),
        *([reached] if ceilings is not None else []),
        *_residuals(human),
    ]


def _residuals(human: HumanAgreement) -> list[Section]:
    rated = [row for row in human.rows if not math.isnan(row.residual)]
    if not rated:
        return []
    widest = sorted(rated, key=lambda row: -abs(row.residual))[:_RESIDUALS]
    widest.sort(key=lambda row: row.residual)
    traces = []
    for name, colour, symbol, above in (
        ("model kinder than people", "good", "circle", True),
        ("model harsher than people", "bad", "diamond", False),
    ):
        chosen = [at for at, row in enumerate(widest) if (row.residual >= 0) == above]
        hover = [f"{widest[at].action}\nresidual {widest[at].residual:+.3f}" for at in chosen]
        points = [(widest[at].residual, float(at)) for at in chosen]
        traces.append(charts.marks(name, points, colour, symbol, 9, hovertext=hover))
    along = "← model harsher      residual      model kinder →"
    about = f"The {len(widest)} largest residuals, from {widest[0].action} to {widest[-1].action}."
    axis = charts.named_rows([row.action for row in widest], list(range(len(widest))), -0.8)
    chart = charts.row_chart("Largest residuals", about, traces, along, axis)
    prose = [
        "How far the model's score lies from what people's yes rate would lead one to expect, in "
        "standard errors. Right: the model is kinder than people; left: harsher. Beyond 2 in "
        "either direction an action stands out."
    ]
    return [Section("Who disagrees where", prose, [chart])]


def _types(config: Mapping[str, object]) -> tuple[type[ActionScore], type[ScoreStatistics]]:
    if "experts" in config:
        return JudgedAction, ScoreStatistics
    return (LanguageScore if "model" in config else ActionScore), ScoreStatistics


PRESENTATIONS = {"score": Presentation(score_page, _types, axis_limits)}
