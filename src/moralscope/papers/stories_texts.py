"""Tables 4-6 and 15-17 of `reproduce stories`: printed figures, ours beside them where there are.

Ours are saved runs measured by `stories_score_texts`. What people said of the paper's texts stands
beside what a held-out judge says of ours: two different measurements of one question.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.records import ModelRef, SampleInterval
from moralscope.stories.experts import ExpertSet
from moralscope.stories.paper_generation import PaperText, load_generation_paper
from moralscope.stories.saved_texts import read_texts
from moralscope.stories.splits import official_parts
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.text_metrics import NOT_ADVICE, TextScores, score_texts

_WHO = "shares: a judge for ours, people for the paper's"
_TABLES = {
    4: f"action generation ({_WHO})",
    5: f"consequence generation ({_WHO})",
    6: f"norm generation ({_WHO})",
    15: "action generation, more models",
    16: "consequence generation, more models",
    17: "norm generation, more models",
}
_OWN = {"action": 4, "consequence": 5, "norm": 6}  # where a run that the paper does not have goes
# What people were asked, and what the judge says of it (a share in per cent).
_JUDGED = {
    "norm": "norm_adherence_share",
    "plausibility": "plausibility_share",
    "relevance": "relevance_share",
}
_COLUMNS = (("BLEU", "bleu", "bleu"), ("ROUGE-L", "rouge_l", "rougeL"))
_SIDES = ("total", *ORIENTATIONS)


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One number of a table: ours with its interval, where it has one, beside the paper's."""

    row: str
    column: str
    ours: float | None
    low: float | None
    high: float | None
    paper: float | None


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper beside ours."""

    name: str
    rows: Sequence[PaperRow]


@dataclass(frozen=True, slots=True)
class TextTables:
    """The six tables on generated texts, what is to be said about our runs, and who judged."""

    tables: Sequence[PaperTable]
    warnings: Sequence[str] = ()
    runs: Sequence[str] = ()
    judge: ModelRef | None = None


def text_tables(
    runs: Sequence[Path] = (),
    stories: Sequence[MoralStory] = (),
    *,
    judge: ExpertSet | None = None,
    seed: int = 0,
) -> TextTables:
    """Return the printed tables with our runs beside them.

    Parameters
    ----------
    runs
        Records of `stories generate` and `stories chain`; without any, only the paper's figures.
    stories
        What the runs were made from: references, and who is in the test part.
    judge
        Experts that ranked none of the runs.
    seed
        Seeds the intervals.

    Examples
    --------
    >>> found = text_tables()
    >>> [table.name.partition(":")[0] for table in found.tables]
    ['Table 4', 'Table 5', 'Table 6', 'Table 15', 'Table 16', 'Table 17']
    >>> row = found.tables[0].rows[0]
    >>> row.row, row.column, row.ours, row.paper
    ('action|context (BART)', 'BLEU', None, 5.69)
    """
    scores: Sequence[TextScores] = ()
    notes: list[str] = []
    if runs:
        record = score_texts(runs, stories or None, judge=judge, seed=seed)
        scores = record.results
        notes = [note for note in record.warnings if note != NOT_ADVICE]
        notes += _outside(runs, stories)
    else:
        notes.append("Tables 4-6 and 15-17 show the paper's figures alone: no --runs were given")
    tables = [
        PaperTable(f"Table {n}: {told}", list(_rows(n, scores))) for n, told in _TABLES.items()
    ]
    return TextTables(tables, notes, [str(path) for path in runs], judge.ref if judge else None)


def _outside(runs: Sequence[Path], stories: Sequence[MoralStory]) -> Iterator[str]:
    """Say where texts are on other stories than the paper's, which are the test part's."""
    parts = official_parts(stories, "norm_distance", "action")
    for run in read_texts(runs, stories or None):
        others = sum(parts.get(item.id) != "test" for item in run.items)
        if others:
            yield (
                f"{run.strategy}: {others:,} of {len(run.items):,} texts are not on the "
                "norm-distance test part, which the paper's figures are on"
            )


def _rows(number: int, scores: Sequence[TextScores]) -> Iterator[PaperRow]:
    printed = load_generation_paper().table(number)
    for row in printed:
        name = f"{row.task} ({row.model})" if row.task else row.recipe
        found = [score for score in scores if row in score.paper]
        if not found:
            yield from _cells(name, row, None)
        for score in found:
            label = name if len(found) == 1 else f"{name}: {score.strategy}"
            yield from _cells(label, row, score)
    for score in scores:
        if not score.paper and _OWN[score.kind] == number:
            yield from _cells(score.strategy, None, score)


def _cells(label: str, paper: PaperText | None, score: TextScores | None) -> Iterator[PaperRow]:
    metrics = score.metrics if score else {}
    for column, printed, ours in _COLUMNS:
        value = getattr(paper, printed) if paper else None
        yield _cell(label, column, metrics.get(ours, {}).get("total"), value)
    diversity = metrics.get("diversity", {}).get("total")
    if diversity or (paper and paper.diversity is not None):
        yield _cell(label, "diversity", diversity, paper.diversity if paper else None)
    if paper and not paper.people:  # Tables 15-17: nobody was asked
        return
    people: Mapping[str, Sequence[float]] = (paper.people if paper else None) or {}
    judged = [question for question, name in _JUDGED.items() if name in metrics]
    for question in dict.fromkeys([*judged, *people]):
        said = dict(zip(_SIDES, people.get(question, ()), strict=False))
        found = metrics.get(_JUDGED.get(question, ""), {})
        for side in [side for side in _SIDES if side in said or side in found]:
            yield _cell(label, f"{question}, {side}", found.get(side), said.get(side), 0.01)


def _cell(
    label: str, column: str, found: SampleInterval | None, paper: float | None, scale: float = 1.0
) -> PaperRow:
    ours = (None,) * 3 if found is None else (found.value, found.low, found.high)
    scaled = [None if value is None else value * scale for value in ours]
    return PaperRow(label, column, scaled[0], scaled[1], scaled[2], paper)
