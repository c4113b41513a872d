"""The pages of `stories chain`, `generate` and `metrics`: texts side by side, and measured.

Laid out as Figures 2, 4, 5 and 6 of Emelin et al. 2021: the story, then what each strategy wrote
beside what people wrote. Texts are those of a model and of a file: data, never markup.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import RunRecord
from moralscope.io.run_records import NOTHING
from moralscope.pages import Presentation
from moralscope.pages.closing import TEXT_LIMITS
from moralscope.pages.page import (
    MINUS,
    Block,
    Code,
    Column,
    Facts,
    Page,
    Section,
    Table,
    columns,
    head,
)
from moralscope.pages.words import more_note
from moralscope.stories.chains.records import ChainResult, ChainStatistics, ScoredText, StepTrace
from moralscope.stories.text_metrics import MetricsStatistics, TextScores

_EXAMPLES = 12
_MAX_ROWS = 20_000
_ENDS = 10  # rows from both ends that the terminal shows
_CONTEXT = ("norm", "situation", "intention")
_METRICS = ("bleu", "rougeL", "diversity", "perplexity", "length")
_PRINTED = ("bleu", "rougeL", "diversity")  # what the paper has too
_TITLES = (("bleu", "BLEU"), ("rougeL", "ROUGE-L"))
Choices = Mapping[tuple[str, str | None], str | None]  # of another run, by story and target


def chain_page(record: RunRecord) -> Page:
    """Lay out a run of a chain, with other runs beside it where the record holds them."""
    statistics: ChainStatistics = record.statistics
    rows: Sequence[ChainResult] = record.results
    recipe, kind = str(record.config.get("recipe")), str(record.config.get("kind"))
    others: dict[str, Choices] = {}
    for run in statistics.beside or ():
        name = run.name if run.name not in others else f"{run.name} ({len(others) + 1})"
        others[name] = {(row.id, row.target): row.choice for row in run.results}
    choices = _choices(rows, others)
    short = Table("Choices", choices.columns[:4], [row[:4] for row in choices.rows], ends=_ENDS)
    prose = ["What each step found, best first where an expert ranked."]
    titles = "step | does | model | stories: whole | candidates: whole | seconds: number 1"
    spent = [[s.step, s.do, s.model, s.stories, s.candidates, s.seconds] for s in statistics.steps]
    costs = Table("What each step cost", head(titles), spent)
    candidates = _candidates(rows)
    sections = [
        *_examples(rows, recipe, others, kind),
        Section("All choices", [], [choices]),
        Section("", [], [short], shown="terminal"),
        *([Section("Every candidate", prose, [candidates])] if candidates.rows else []),
        Section("What each step cost", [], [costs], shown="all", gap=True),
        Section("The recipe", [], [Code("\n".join(statistics.diagram))]),
    ]
    stories = len({row.id for row in rows})
    shown = f"The first {_EXAMPLES} of {stories:,} stories"
    shown = shown if stories > _EXAMPLES else "All stories"
    beside = f", beside {', '.join(others)}" if others else ""
    tiles = [(f"{len(rows):,}", "results")]
    scores = [row[3] for row in choices.rows if row[3] is not None]
    if scores:
        tiles.append((f"{sum(scores) / len(scores):.2f}", "mean probability of the choices"))
    if rows:
        tiles.append((f"{statistics.seconds / len(rows):.2f} s", "a result"))
    models = ", ".join(model.name for model in record.models)
    what = "Generated texts" if record.job == "generate" else "Chain of experts"
    return Page(
        f"{what}: {recipe}",
        [
            f"{recipe}{beside}: {len(rows):,} results. {shown} are shown in full, as they come; "
            "nobody picked them."
        ],
        tiles,
        sections,
        headline=f"{recipe}: {statistics.results:,} results, {models}",
    )


def _examples(
    rows: Sequence[ChainResult], recipe: str, others: Mapping[str, Choices], kind: str
) -> Iterator[Section]:
    stories: dict[str, list[ChainResult]] = {}
    for row in rows:
        if row.id in stories or len(stories) < _EXAMPLES:
            stories.setdefault(row.id, []).append(row)
    for story, results in stories.items():
        context = [name for name in _CONTEXT if name != kind]
        sentences = dict.fromkeys(context, NOTHING) | dict(results[0].story)
        blocks: list[Block] = [Facts([(_title(name), sentences[name]) for name in context])]
        for row in results:
            target = f"{row.target} " if row.target else ""
            name, key = _title(f"{target}{kind}"), (row.id, row.target)
            pairs = [(f"{name} ({recipe})", row.choice or NOTHING)]
            pairs += [
                (f"{name} ({other})", choices[key] or NOTHING)
                for other, choices in others.items()
                if key in choices
            ]
            pairs += [(f"{name} (reference)", row.reference)] if row.reference else []
            pairs += [
                (_title(f"{target}{other}"), sentence)
                for other, sentence in row.story.items()
                if other not in (*_CONTEXT, kind)
            ]
            blocks.append(Facts(pairs))
        yield Section(f"Story {story}", [], blocks)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _choices(rows: Sequence[ChainResult], others: Mapping[str, Choices]) -> Table:
    references = any(row.reference for row in rows)
    titles = head(
        "story: wide 24 | target | choice: wide 60 | score: number",
        *columns(*others, *(["reference"] if references else [])),
    )
    values = []
    for row in rows[:_MAX_ROWS]:
        best = row.candidates[0].score if row.candidates else None  # candidates come best first
        beside = [choices.get((row.id, row.target)) for choices in others.values()]
        beside += [row.reference] if references else []
        values.append([row.id, row.target, row.choice, best, *beside])
    return Table("All choices", titles, values, note=more_note(len(rows) - len(values)))


def _candidates(rows: Sequence[ChainResult]) -> Table:
    titles = head("story | target | step | candidate | score: number | chosen")
    values = [
        [row.id, row.target, step.step, text.text, text.score, "●" if best else ""]
        for row in rows
        for step, texts in _steps(row)
        for text, best in texts
        if best is not None
    ]
    note = more_note(len(values) - _MAX_ROWS)
    return Table("Every candidate", titles, values[:_MAX_ROWS], note=note)


def _steps(row: ChainResult) -> Iterator[tuple[StepTrace, list[tuple[ScoredText, bool | None]]]]:
    """Yield each step's candidates, and whether one was chosen.

    None: a later step ranks these texts, so that none is chosen here, though the first stands in.
    """
    ranked = {step.source for step in row.path if step.do == "rank"}
    for step in row.path:
        texts: list[tuple[ScoredText, bool | None]] = [(text, None) for text in step.candidates]
        if step.step not in ranked:
            same = [text.text == step.choice for text in step.candidates]
            best = same.index(True) if any(same) else -1
            texts = [(text, index == best) for index, text in enumerate(step.candidates)]
        yield step, texts


def path_page(record: RunRecord, story: str) -> Page:
    """Lay out one story's whole path as a tree, a tree for each target."""
    rows: list[ChainResult] = [row for row in record.results if row.id == story]
    if not rows:
        first = record.results[0].id if len(record.results) else "none"
        raise InputError(f"there is no result for story '{story}'", f"the first one is '{first}'")
    sections = []
    for row in rows:
        branches = [("story", [f"{name}: {text}" for name, text in row.story.items()])]
        for step, texts in _steps(row):
            parts = [part for part in (step.task, step.expert, step.field) if part]
            parts += [f"P({step.label})"] if step.do == "rank" else []
            if step.do == "refine":
                parts.append(f"draft is {step.label}, {step.probability or 0:.3f}")
            leaves = [
                f"{'●' if best else ' '} "
                f"{'' if text.score is None else f'{text.score:.3f}  '}{text.text}"
                for text, best in texts
            ]
            name = f"{step.do} {step.step}  {', '.join(parts)}"
            branches.append((name, leaves or [f"● {step.choice or NOTHING}"]))
        branches.append((f"choice: {row.choice or row.failed or NOTHING}", []))
        lines = [f"{row.id} {row.target or ''}".strip()]
        for number, (name, leaves) in enumerate(branches, 1):
            fork, trunk = ("├── ", "│   ") if number < len(branches) else ("└── ", "    ")
            lines.append(fork + name)
            lines += [f"{trunk}├── {leaf}" for leaf in leaves[:-1]]
            lines += [f"{trunk}└── {leaf}" for leaf in leaves[-1:]]
        sections.append(Section(f"Story {row.id}", lines, shown="terminal"))
    return Page(f"Story {story}", sections=sections, warnings=list(record.warnings))


def metrics_page(record: RunRecord) -> Page:
    """Lay out the figures of each run beside the paper's, and how the runs compare."""
    statistics: MetricsStatistics = record.statistics
    runs: list[TextScores] = list(record.results)
    scores = [_scores(run) for run in runs]
    shown = {name for run in runs for name in _metric_names(run)}
    rows = [row for row in statistics.comparisons if row.metric in shown]
    pairs = dict.fromkeys((row.first, row.second) for row in rows)
    heads = head("metric | difference: signed interval 2 | p: p | p (Holm): p")
    compared = []
    for pair in pairs:
        cells = [
            [row.metric.replace("_", " "), (row.difference, row.low, row.high), row.p, row.p_holm]
            for row in rows
            if (row.first, row.second) == pair
        ]
        compared.append(Table(f"{pair[0]} {MINUS} {pair[1]}", heads, cells, titled=True))
    metrics = ("bleu", "rouge", "diversity")
    signatures = Facts([(name, str(record.config.get(name))) for name in metrics])
    sections = [
        Section("Metrics", ["Intervals are over stories."], scores, shown="all"),
        *([Section("Runs compared", [], compared, shown="all", gap=True)] if compared else []),
        Section("How metrics are computed", [], [signatures], shown="all", gap=True),
    ]
    names = ", ".join(run.strategy for run in runs)
    return Page(f"Generated texts measured: {names}", [f"{names}."], sections=sections)


def _metric_names(run: TextScores) -> list[str]:
    """Return the lines: the paper's metrics first, then what the judge says."""
    judged = [name.removesuffix("_share") for name in run.metrics if name.endswith("_share")]
    said = [name for name in run.metrics if name.removesuffix("_share") in judged]
    return [*(name for name in _METRICS if name in run.metrics), *said]


def _scores(run: TextScores) -> Table:
    sides = list(run.metrics["bleu"])[1:]
    rows: list[list[Any]] = []
    for name in _metric_names(run):
        how = Column("", "number", 3 if name == "diversity" else 2)
        total = run.metrics[name]["total"]
        printed = []
        for row in run.paper if name in _PRINTED else ():
            values = dict(zip(_PRINTED, (row.bleu, row.rouge_l, row.diversity), strict=True))
            if values[name]:
                printed.append(f"{values[name]:g} {row.model}".strip())
        title = name.replace("_share", ", share").replace("_", " ")
        for metric, written in _TITLES:
            title = title.replace(metric, written)
        line = [title, how.write(total.value), f"{how.write(total.low)} … {how.write(total.high)}"]
        by_side = (how.write(run.metrics[name][side].value) for side in sides)
        rows.append([*line, *by_side, ", ".join(printed)])
    titles = ("value", "95 % interval", *sides, "paper")
    columns_ = [Column("metric"), *(Column(title, right=True) for title in titles)]
    return Table(f"{run.strategy}: {run.n:,} {run.kind}s", columns_, rows, titled=True)


_CHAIN = Presentation(chain_page, (ChainResult, ChainStatistics), TEXT_LIMITS)
PRESENTATIONS = {
    "chain": _CHAIN,
    "generate": _CHAIN,
    "stories metrics": Presentation(metrics_page, (TextScores, MetricsStatistics), TEXT_LIMITS),
}
