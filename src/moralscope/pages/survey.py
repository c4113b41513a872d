"""The page of `survey`: what models would do, and what their answers depend on besides."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import GROUPS, Group, bars, error_bars, marks, named_rows, scatter
from moralscope.pages.closing import SURVEY_LIMITS
from moralscope.pages.corpus import corpus_headline, corpus_summary, corpus_tiles, run_sections
from moralscope.pages.page import MINUS, Block, Chart, Column, Page, Section, Table
from moralscope.pages.words import cut, more_note
from moralscope.surveys.questionnaire import QuestionnaireFigures, StatementFigures
from moralscope.surveys.statistics import ItemFigures, ModelDifference, ModelFigures
from moralscope.surveys.survey import QUESTIONNAIRE, SurveyStatistics

_BIASES = {
    "order_bias": "order bias (prefers what comes first)",
    "label_bias": 'label bias (prefers "A")',
    "yes_bias": 'yes bias (prefers "yes")',
    "wording": "wording sensitivity (sd)",
}
_MOST = 2_000  # items that a page lists
_SHOWN = 10  # replies and rules that the terminal lists
_SPAN = Column("", "signed interval", 2)
_SHARE = Column("", "share interval", 0)


def survey_page(record: RunRecord) -> Page:
    """Lay out a survey."""
    statistics: SurveyStatistics = record.statistics  # type: ignore[assignment]
    kind, models = record.config["kind"], statistics.models
    corpus = statistics.corpus
    count = record.config["items"] if corpus is None else corpus.rows
    noun = "statements" if kind == QUESTIONNAIRE else "dilemmas"
    asked = ", ".join(f"{name} ({form} form)" for name, form in record.config["asked"].items())
    summary = []
    for name, model in models.items():
        if isinstance(model, QuestionnaireFigures):
            about = f"; agreement {Column('', 'interval', 2).write(model.agreement)}."
        else:
            biases = [_BIASES[bias].split(" (")[0] for bias in model.flagged]
            about = (
                f". Its answers show {', '.join(biases)}." if biases else ". No bias stands out."
            )
            mass = _SHARE.write(model.mass)
            about += f" {mass} of the probability lies on a valid answer."
        summary.append(f"{name} answered {model.questions:,} questions{about}")
    sections = _statement_sections(record) if kind == QUESTIONNAIRE else _dilemma_sections(record)
    if statistics.comparisons:
        table = _differences_table(statistics.comparisons)
        sections.append(Section("Models compared", [], [table], shown="all", gap=True))
    sections += _reply_sections(statistics)
    if statistics.gate is not None:
        gate = statistics.gate
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
    return Page(title, summary, tiles, sections, headline=headline)


def _figures_table(
    title: str, models: Mapping[str, Any], rows: Mapping[str, Callable[[Any], str]]
) -> Table:
    """Return one figure a row, and one model a column."""
    cells = [[name, *(write(model) for model in models.values())] for name, write in rows.items()]
    return Table(title, [Column(""), *(Column(name, right=True) for name in models)], cells)


def _dilemma_sections(record: RunRecord) -> list[Section]:
    models: Mapping[str, ModelFigures] = record.statistics.models  # type: ignore[attr-defined]
    rows: dict[str, Callable[[ModelFigures], str]] = {
        title: lambda of, key=key: (  # type: ignore[misc]
            _SPAN.write(of.biases[key]) + (" *" if key in of.flagged else "")
        )
        for key, title in _BIASES.items()
    }
    rows |= {
        "noise floor (sd)": lambda of: Column("", "number", 2).write(of.noise_floor),
        "answers that turn with the order": lambda of: _SHARE.write(of.flips),
        "agreement of the forms": lambda of: _SPAN.write(of.consistency),
        "entropy (bits)": lambda of: _SPAN.write(of.entropy),
        "answer mass": lambda of: _SHARE.write(of.mass),
    }
    if any(model.accuracy is not None for model in models.values()):
        rows |= {
            "likelihood of the right action": lambda of: _SHARE.write(of.better),
            "right action chosen": lambda of: _SHARE.write(of.accuracy),
            "the same, by bare sums": lambda of: _SHARE.write(of.accuracy_unnormalised),
        }
    prose = [
        "Log-odds, with intervals that hold all together at 95 %: an interval that does not reach "
        "zero is a bias (*). In A/B every action has every place and every label, so the two "
        "are told apart. The noise floor is what a blank line in the layout changes."
    ]
    table = _figures_table("Figures", models, rows)
    sections = [
        Section("What the answers depend on", prose, [table], shown="all"),
        Section("Biases", [], [_bias_chart(models)]),
    ]
    results: Sequence[ItemFigures] = record.results
    if results:
        sections.append(Section("What the models would do", [], [_items_table(results)]))
    tables = []
    for name, model in models.items():
        if model.rules:
            titles = (Column("rule broken", wide=40), Column("how often", "share interval", 0))
            columns = [*titles, Column("items", "whole"), Column("p (Holm)", "p")]
            ordered = sorted(model.rules, key=lambda rule: -rule.rate.value)
            cells = [[rule.rule, rule.rate, rule.rate.n, rule.p_holm] for rule in ordered]
            title = f"{name}: where another action keeps the rule"
            tables.append(Table(title, columns, cells, titled=True, ends=_SHOWN))
    if tables:
        prose = ["How often an action that breaks a rule is chosen where another keeps it."]
        sections.append(Section("Rules broken", prose, tables, shown="all", gap=True))
    return sections


def _bias_chart(models: Mapping[str, ModelFigures]) -> Chart:
    traces, words, places = [], [], []
    names: list[str] = []
    height = len(models) * len(_BIASES)
    for (name, model), (colour, symbol) in zip(models.items(), GROUPS * 4, strict=False):
        points, spans = [], []
        for key, title in _BIASES.items():
            bias = model.biases[key]
            names.append(f"{title} · {name}" if len(models) > 1 else title)
            places.append(height)
            if bias.value == bias.value:  # a number
                points.append((bias.value, float(height)))
                low, high = (bias.value if e != e else e for e in (bias.low, bias.high))  # noqa: PLR0124
                spans.append((bias.value, low, high))
                words.append(f"{name}, {title}: {bias.value:+.2f}")
            height -= 1
        traces.append(marks(name, points, colour, symbol, 9, error_x=error_bars(spans, colour)))
    layout = {
        "xaxis": {"title": "log-odds", "zero": True},
        "yaxis": named_rows(names, places, 0.3),
        "fixed": True,
    }
    return Chart("Biases", "; ".join(words) + ".", traces, layout, height=120 + 24 * len(names))


def _items_table(results: Sequence[ItemFigures]) -> Table:
    columns = [
        *(Column("model"), Column("situation"), Column("likeliest action")),
        *(Column(title, "number", 2) for title in ("likelihood", "entropy", "forms agree")),
        *(Column("order bias", "signed", 2), Column("turns", "number", 2)),
        Column("mass", "number", 2),
    ]
    rows = []
    for row in results[:_MOST]:
        best = max(range(len(row.likelihoods)), key=row.likelihoods.__getitem__)
        chosen = [row.model, cut(row.situation, 110), cut(row.actions[best], 90)]
        figures = [row.likelihoods[best], row.entropy, row.consistency, row.order_bias]
        rows.append([*chosen, *figures, row.flips, row.mass])
    return Table("Dilemmas", columns, rows, note=more_note(len(results) - _MOST))


def _differences_table(differences: Sequence[ModelDifference]) -> Table:
    columns = [
        *(Column(f"second {MINUS} first", wide=40), Column("figure", wide=24)),
        *(Column("difference", "signed interval", 2), Column("p (Holm)", "p")),
    ]
    rows = [
        [
            " → ".join(row.pair),
            row.figure.replace("first_action", "right or first action").replace("_", " "),
            row.difference,
            row.p_holm,
        ]
        for row in differences
    ]
    return Table("Differences item by item", columns, rows)


def _reply_sections(statistics: SurveyStatistics) -> list[Section]:
    rows = statistics.say_rate_do or ()
    if not rows:
        return []
    blocks: list[Block] = []
    for name, model in (statistics.replies or {}).items():
        columns = [
            *(Column("", wide=20), Column("r", "signed interval", 2)),
            Column("without noise", "signed", 2),
        ]
        cells = [
            [
                " and ".join(gap.pair),
                (gap.correlation.r, gap.correlation.low, gap.correlation.high),
                gap.disattenuated,
            ]
            for gap in model.gaps
        ]
        flagged = f"{model.replies:,} free replies, {_SHARE.write(model.flagged)} flagged"
        blocks.append(Table(f"{name}: {flagged}", columns, cells, titled=True))
    columns = [
        *(Column("model", wide=24), Column("reply", wide=60), Column("item", wide=12)),
        *(Column(title, "signed", 2) for title in ("say", "rate", "do")),
        Column("flagged", "whole"),
    ]
    worst = sorted(rows, key=lambda row: row.do)
    cells = [
        [row.model, cut(row.reply[0], 160), row.id, row.say, row.rate, row.do, row.flagged]
        for row in worst[:_MOST]
    ]
    points = [(row.say, row.do) for row in rows]
    hover = [f"{cut(row.reply[0])}\nsay {row.say:+.2f}\ndo {row.do:+.2f}" for row in rows]
    chart = scatter("Saying and doing", [Group("dilemmas", points, hover)], ("say", "do"))
    prose = [
        "Say is the log-odds of the right action, rate how much more the model agrees that it is "
        "right, do the audit's score of its free replies. Without noise: r divided by the root of "
        "both reliabilities."
    ]
    replies = Table("Replies", columns, cells, ends=_SHOWN)
    return [
        Section("Say, rate, do", prose, [*blocks, replies], shown="all", gap=True),
        *([Section("Saying and doing", [], [chart])] if len(rows) > 2 else []),
    ]


def _statement_sections(record: RunRecord) -> list[Section]:
    models: Mapping[str, QuestionnaireFigures] = record.statistics.models  # type: ignore[attr-defined]
    first = next(iter(models.values()))
    rows: dict[str, Callable[[QuestionnaireFigures], str]] = {
        "all statements": lambda of: _SPAN.write(of.agreement)
    }
    for index, part in enumerate(first.subscales):
        rows[f"  {part.subscale}"] = lambda of, index=index: _SPAN.write(  # type: ignore[misc]
            of.subscales[index].agreement
        )
    rows |= {
        "agrees with both sides by": lambda of: _SPAN.write(of.acquiescence),
        "depends on the numbering by": lambda of: _SPAN.write(of.numbering),
        "answer mass": lambda of: _SHARE.write(of.mass),
    }
    prose = ["Agreement from 0 to 1: the expected value over the scale, forwards and negated."]
    table = _figures_table("Figures", models, rows)
    sections = [Section("How far the models agree", prose, [table], shown="all")]
    names = [part.subscale for part in first.subscales]
    if names:
        series = {
            name: [100 * part.agreement.value for part in model.subscales]
            for name, model in models.items()
        }
        chart = bars("Agreement by subscale", series, names, "%")
        sections.append(Section("Subscales", [], [chart]))
    results: Sequence[StatementFigures] = record.results
    if results:
        titles = ("agreement", "low", "high", "as it stands", "negated")
        columns = [
            *(Column("model"), Column("statement"), Column("subscale")),
            *(Column(title, "number", 2) for title in titles),
        ]
        cells = [
            [
                *(row.model, cut(row.statement, 140), row.subscale),
                *(row.agreement, row.low, row.high, row.forward, row.negated),
            ]
            for row in results[:_MOST]
        ]
        note = more_note(len(results) - _MOST)
        sections.append(Section("Statements", [], [Table("Statements", columns, cells, note=note)]))
    return sections


def _types(config: Mapping[str, Any]) -> tuple[Any, Any]:
    row = StatementFigures if config.get("kind") == QUESTIONNAIRE else ItemFigures
    return row, SurveyStatistics


PRESENTATIONS = dict.fromkeys(
    ("survey", "survey corpus"), Presentation(survey_page, _types, SURVEY_LIMITS)
)
