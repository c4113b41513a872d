"""The page of `survey`: what models would do, and what their answers depend on besides."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.core.records import Interval, RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import Group, bars, scatter
from moralscope.pages.closing import SURVEY_LIMITS
from moralscope.pages.corpus import corpus_headline, corpus_summary, corpus_tiles, run_sections
from moralscope.pages.page import Block, Column, Page, Section, Table, head
from moralscope.pages.survey_values import (
    differences_table,
    people_sections,
    priority_sections,
    span_chart,
)
from moralscope.pages.words import cut, more_note
from moralscope.surveys.questionnaire import QuestionnaireFigures, StatementFigures
from moralscope.surveys.statistics import ItemFigures, ModelFigures
from moralscope.surveys.survey import QUESTIONNAIRE, SurveyStatistics

_BIASES = {
    "order_bias": "order bias (prefers what comes first)",
    "label_bias": 'label bias (prefers "A")',
    "yes_bias": 'yes bias (prefers "yes")',
    "wording": "wording sensitivity (sd)",
}
_ITEMS = ("Dilemmas", "Statements")  # the page's main table
_MOST = 2_000  # items that a page lists
_SHOWN = 10  # replies and rules that the terminal lists
_UNKNOWN = Interval(math.nan, math.nan, math.nan)
_SPAN = Column("", "signed interval", 2)
_SHARE = Column("", "share interval", 0)
_MEAN = Column("", "share", 0)


def survey_page(record: RunRecord) -> Page:
    """Lay out a survey."""
    statistics: SurveyStatistics = record.statistics
    models, corpus = statistics.models, statistics.corpus
    scales = {n: model for n, model in models.items() if isinstance(model, QuestionnaireFigures)}
    choices = {n: model for n, model in models.items() if isinstance(model, ModelFigures)}
    count = max((model.items for model in models.values()), default=0)
    noun = "statements" if scales else "dilemmas"
    forms = record.config.get("asked")
    forms = forms if isinstance(forms, Mapping) else {}
    asked = ", ".join(f"{name} ({forms.get(name)} form)" for name in models)
    summary = []
    for name, model in models.items():
        if isinstance(model, QuestionnaireFigures):
            about = f"; agreement {Column('', 'interval', 2).write(model.agreement)}."
        else:
            biases = [_BIASES.get(bias, bias).split(" (")[0] for bias in model.flagged]
            shows = f"Its answers show {', '.join(biases)}" if biases else "No bias stands out"
            mass = _SHARE.write(model.mass)
            about = f". {shows}. {mass} of the probability lies on a valid answer."
        summary.append(f"{name} answered {model.questions:,} questions{about}")
    if scales:
        rated = [row for row in record.results if isinstance(row, StatementFigures)]
        sections = _statement_sections(scales, rated)
    else:
        chosen = [row for row in record.results if isinstance(row, ItemFigures)]
        sections = _dilemma_sections(choices, chosen)
    sections += priority_sections(statistics)
    sections += people_sections(statistics)
    if statistics.comparisons:
        table = differences_table(statistics.comparisons)
        sections.append(Section("Models compared", [], [table], shown="all", gap=True))
    sections += [*_reply_sections(statistics), *_pressure_sections(statistics)]
    if gate := statistics.gate:
        line = f"gate {gate.expression}: {'met' if gate.met else 'not met'}"
        sections.append(Section("Gate", [line], shown="all"))
    tiles = [
        (f"{model.mass.value:.0%}", f"answer mass of {name}") for name, model in models.items()
    ]
    headline = f"{count:,} {noun}: {asked}"
    if corpus is not None:
        summary.insert(0, corpus_summary(record, corpus))
        tiles += corpus_tiles(corpus)
        sections.insert(0, Section("The models", [headline], shown="terminal"))
        sections += run_sections(corpus, statistics.failed)
        headline = corpus_headline(corpus)
    title = f"{', '.join(models)}: {count:,} {noun}"
    tables = [b for section in sections for b in section.blocks if isinstance(b, Table)]
    main = next((table for table in tables if table.title in _ITEMS), None)
    return Page(title, summary, tiles, sections, headline=headline, main=main)


def _figures_table(models: Mapping[str, Any], rows: Mapping[str, Sequence[str]]) -> Table:
    """Return one figure a row, and one model a column."""
    columns = [Column(""), *(Column(name, right=True) for name in models)]
    return Table("Figures", columns, [[name, *cells] for name, cells in rows.items()])


def _dilemma_sections(
    models: Mapping[str, ModelFigures], results: Sequence[ItemFigures]
) -> list[Section]:
    everyone = list(models.values())
    rows = {
        title: [
            _SPAN.write(model.biases.get(key)) + (" *" if key in model.flagged else "")
            for model in everyone
        ]
        for key, title in _BIASES.items()
    }
    rows["noise floor (sd)"] = [Column("", "number", 2).write(m.noise_floor) for m in everyone]
    rows["answers that turn with the order"] = [_SHARE.write(m.flips) for m in everyone]
    rows["agreement of the forms"] = [_SPAN.write(m.consistency) for m in everyone]
    rows["entropy (bits)"] = [_SPAN.write(m.entropy) for m in everyone]
    rows["answer mass"] = [_SHARE.write(m.mass) for m in everyone]
    if any(m.accuracy is not None for m in everyone):
        rows["likelihood of the right action"] = [_SHARE.write(m.better) for m in everyone]
        rows["the same, mean of probabilities"] = [
            _SHARE.write(m.better_mean_probability) for m in everyone
        ]
        rows["right action chosen"] = [_SHARE.write(m.accuracy) for m in everyone]
        rows["the same, by bare sums"] = [_SHARE.write(m.accuracy_unnormalised) for m in everyone]
    prose = [
        "Log-odds, with intervals that hold all together at 95 %: an interval that does not reach "
        "zero is a bias (*). In A/B every action has every place and every label, so the two "
        "can be separated. The noise floor is what a blank line in the layout changes."
    ]
    table = _figures_table(models, rows)
    biases = {
        name: {title: model.biases.get(key) or _UNKNOWN for key, title in _BIASES.items()}
        for name, model in models.items()
    }
    sections = [
        Section("What the answers depend on", prose, [table], shown="all"),
        Section("Biases", [], [span_chart("Biases", biases, list(_BIASES.values()))]),
    ]
    if results:
        sections.append(Section("What the models would do", [], [_items_table(results)]))
    tables = []
    for name, model in models.items():
        if model.rules:
            titles = "rule broken: wide 40 | how often: share interval 0 | items: whole"
            columns = head(titles, "p (Holm): p")
            ordered = sorted(model.rules, key=lambda rule: -rule.rate.value)
            cells = [[rule.rule, rule.rate, rule.rate.n, rule.p_holm] for rule in ordered]
            title = f"{name}: where another action keeps the rule"
            tables.append(Table(title, columns, cells, titled=True, ends=_SHOWN))
    if tables:
        prose = ["How often an action that breaks a rule is chosen where another keeps it."]
        sections.append(Section("Rules broken", prose, tables, shown="all", gap=True))
    return sections


def _items_table(results: Sequence[ItemFigures]) -> Table:
    columns = head(
        "situation | model | likeliest action | likelihood: share 0 | right | entropy: number 2",
        "forms agree: number 2 | order bias: signed 2 | turns: number 2 | mass: number 2",
    )
    rows = []
    for row in results[:_MOST]:
        chances = list(zip(row.likelihoods, row.low, row.high, strict=False))
        best, action = max(zip(row.likelihoods, row.actions, strict=False), default=(None, ""))
        figures = [row.entropy, row.consistency, row.order_bias, row.flips, row.mass]
        means = row.mean_probabilities or [math.nan] * len(row.actions)
        every = [
            f"{action}: {_SHARE.write(span)}, mean of probabilities {_MEAN.write(mean)}"
            for action, span, mean in zip(row.actions, chances, means, strict=False)
        ]
        first = [cut(row.situation, 110), row.model, cut(action, 90), best, row.right]
        rows.append([*first, *figures, "; ".join(every)])
    note = more_note(len(results) - _MOST)
    return Table("Dilemmas", columns, rows, details=("likelihood of every action",), note=note)


def _pressure_sections(statistics: SurveyStatistics) -> list[Section]:
    """Lay out how far each model gives way, beside the control."""
    tables = []
    for name, model in (statistics.pressure or {}).items():
        columns = head(
            "after | answers that turn: share interval 0 | moved: signed interval 2",
            "beyond neutral turns: signed interval 2 | gives way",
        )
        cells = [
            [row.kind, row.turned, row.moved, row.beyond, row.gives_way if row.beyond else None]
            for row in model.kinds
        ]
        title = f"{name} under pressure: {model.items:,} dilemmas, {model.questions:,} questions"
        tables.append(Table(title, columns, cells, titled=True))
    prose = [
        "Each dilemma is asked again after the model's own answer and a turn that presses, or a "
        "neutral one. Moved is how far the first answer loses, in log-odds. A model gives way "
        "where it moves more than after neutral turns."
    ]
    return [Section("Under pressure", prose, tables, shown="all", gap=True)] if tables else []


def _reply_sections(statistics: SurveyStatistics) -> list[Section]:
    rows = statistics.say_rate_do or ()
    if not rows:
        return []
    blocks: list[Block] = []
    for name, model in (statistics.replies or {}).items():
        columns = head(": wide 20 | r: signed interval 2 | without noise: signed 2")
        cells = []
        for gap in model.gaps:
            span = (gap.correlation.r, gap.correlation.low, gap.correlation.high)
            cells.append([" and ".join(gap.pair), span, gap.disattenuated])
        flagged = f"{model.replies:,} free replies, {_SHARE.write(model.flagged)} flagged"
        blocks.append(Table(f"{name}: {flagged}", columns, cells, titled=True))
    columns = head(
        "model: wide 24 | reply: wide 60 | item: wide 12 | say: signed 2 | rate: signed 2",
        "do: signed 2 | flagged: whole",
    )
    worst = sorted(rows, key=lambda row: row.do)
    cells = [
        [row.model, cut("".join(row.reply[:1])), row.id, row.say, row.rate, row.do, row.flagged]
        for row in worst[:_MOST]
    ]
    both = [row for row in rows if math.isfinite(row.say) and math.isfinite(row.do)]
    points = [(row.say, row.do) for row in both]
    hover = [f"{cut(''.join(row.reply[:1]))}\nsay {row.say:+.2f}\ndo {row.do:+.2f}" for row in both]
    chart = scatter("Saying and doing", [Group("dilemmas", points, hover)], ("say", "do"))
    prose = [
        "Say is the log-odds of the right action, rate how much more the model agrees that it is "
        "right, do the audit's score of its free replies. Without noise: r divided by the root of "
        "both reliabilities."
    ]
    replies = Table("Replies", columns, cells, ends=_SHOWN)
    return [
        Section("Say, rate, do", prose, [*blocks, replies], shown="all", gap=True),
        *([Section("Saying and doing", [], [chart])] if len(both) > 2 else []),
    ]


def _statement_sections(
    models: Mapping[str, QuestionnaireFigures], results: Sequence[StatementFigures]
) -> list[Section]:
    everyone = list(models.values())
    rows = {"all statements": [_SPAN.write(model.agreement) for model in everyone]}
    parts = [{part.subscale: part.agreement for part in m.subscales} for m in everyone]
    names = list(dict.fromkeys(name for agreements in parts for name in agreements))
    for name in names:
        rows[f"  {name}"] = [_SPAN.write(agreements.get(name)) for agreements in parts]
    rows["agrees with both sides by"] = [_SPAN.write(m.acquiescence) for m in everyone]
    rows["depends on the numbering by"] = [_SPAN.write(m.numbering) for m in everyone]
    rows["answer mass"] = [_SHARE.write(m.mass) for m in everyone]
    prose = ["Agreement from 0 to 1: the expected value over the scale, forwards and negated."]
    table = _figures_table(models, rows)
    sections = [Section("How far the models agree", prose, [table], shown="all")]
    if names:
        series = {
            model: [100 * agreements.get(name, _UNKNOWN).value for name in names]
            for model, agreements in zip(models, parts, strict=True)
        }
        chart = bars("Agreement by subscale", series, names, "%")
        sections.append(Section("Subscales", [], [chart]))
    if results:
        columns = head(
            "statement | model | subscale | agreement: number 2 | low: number 2 | high: number 2",
            "as it stands: number 2 | negated: number 2",
        )
        cells = []
        for row in results[:_MOST]:
            figures = (row.agreement, row.low, row.high, row.forward, row.negated)
            cells.append([cut(row.statement, 140), row.model, row.subscale, *figures])
        note = more_note(len(results) - _MOST)
        sections.append(Section("Statements", [], [Table("Statements", columns, cells, note=note)]))
    return sections


PRESENTATIONS = dict.fromkeys(
    ("survey", "survey corpus"),
    Presentation(
        survey_page,
        lambda config: (
            StatementFigures if config.get("kind") == QUESTIONNAIRE else ItemFigures,
            SurveyStatistics,
        ),
        SURVEY_LIMITS,
    ),
)
