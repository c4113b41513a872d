"""The pages of `stories train`, `rules train` and `collect-train`: figures, and how dev went."""

from collections.abc import Mapping, Sequence

from moralscope.core.records import RunRecord
from moralscope.models.training.trainer import TrainingStatistics
from moralscope.pages import Presentation
from moralscope.pages.page import Column, Page, Section, Table, columns, head
from moralscope.rules.collect.train import FilterResult

_NOT_GROUPS = {"epoch", "loss", "score"}
_LIMITS = (
    "Dev chose the epoch: its figures are a little kind. Only the test part says how well it does.",
    "The model belongs to its base; the card beside it says what it must not be taken for.",
)


def training_page(record: RunRecord) -> Page:
    """Lay out what a training run found."""
    statistics: TrainingStatistics = record.statistics
    figures, history = statistics.figures, statistics.history
    groups = [name for name in figures["dev"] if name not in _NOT_GROUPS]
    rows = [[group, *(figures[part].get(group) for part in figures)] for group in groups]
    table = Table("Figures", [Column("task"), *columns(*figures, kind="number")], rows)
    pace = (
        f"{history.steps} steps, {history.examples_per_second:.0f} examples a second, "
        f"best after epoch {figures['dev']['epoch']:.0f}"
    )
    names = ("loss", "score", *groups)
    heads = [Column("epoch", "whole"), *columns(*names, kind="number")]
    steps = [[row.get(name) for name in ("epoch", *names)] for row in history.evaluations]
    evaluations = Table("Evaluations", heads, steps)
    notes = [f"written to {record.config.get('out')}"]
    if plain := statistics.baselines:
        notes.append(
            f"foundations without a model, on {plain['part']}: commonest answer "
            f"{plain['majority']:.3f}, every label {plain['always']:.3f}, words "
            f"{plain['keywords']:.3f} (macro-F1)"
        )
    rewritten: Mapping[str, tuple[int, int]] = (statistics.counts or {}).get("rewritten", {})
    for name, (count, acts) in rewritten.items():
        share = count / max(acts, 1)
        notes.append(f"{name}: {count:,} of {acts:,} acts rewritten ({share:.1%})")
    sections = [
        Section("Figures by task", [], [table], shown="all"),
        Section("How it went", [pace, *notes], shown="terminal"),
        Section("How dev went", notes, [evaluations]),
    ]
    title = f"Trained: {record.config.get('task') or record.config.get('recipe')}"
    tiles = [(f"{figures['dev']['score']:.3f}", "score on dev")]
    return Page(title, [f"{pace}."], tiles, sections, main=table)


def filters_page(record: RunRecord) -> Page:
    """Lay out how well the filters of `collect` do on the test part (Table 4 of the paper)."""
    statistics: TrainingStatistics = record.statistics
    results: Sequence[FilterResult] = record.results
    titles = head(
        "task | chatbot: wide 24 | precision: number 1 | recall: number 1 | F1: interval 1",
        "replies: whole",
    )
    rows = [
        [row.task, row.chatbot, row.precision, row.recall, (row.f1, row.low, row.high), row.n]
        for row in results
    ]
    table = Table("Figures", titles, rows)
    parts = ", ".join(f"{part} {count:,}" for part, count in (statistics.parts or {}).items())
    written = f"written to {record.config.get('out')}"
    summary = [f"Labelled replies, shared out by prompt: {parts}."]
    sections = [
        Section("On the test part, in percent", [written], [table], shown="all"),
        Section("Where it is", [written], shown="terminal"),
    ]
    return Page("Trained: filters of chatbot replies", summary, sections=sections, main=table)


_PRESENTATION = Presentation(training_page, (dict[str, float], TrainingStatistics), _LIMITS)
PRESENTATIONS = {
    "train": _PRESENTATION,
    "rules train": _PRESENTATION,
    "collect-train": Presentation(filters_page, (FilterResult, TrainingStatistics), _LIMITS),
}
