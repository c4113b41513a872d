"""`reproduce stories`: the tables of Emelin et al. 2021 beside ours.

Data and splits (Tables 1, 7, 10), classification (Tables 2, 3, 8, 9) and generated texts (Tables 4
to 6 and 15 to 17, `text_tables`). It generates nothing: texts come from saved runs, measured by
`score_texts`. What people said of the paper's texts stands beside what a held-out judge says of
ours: two different measurements of one question.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from moralscope.core.protocols import Encoder, ExpertSet
from moralscope.core.records import NOT_ADVICE, ModelRef, RunRecord, Statistics
from moralscope.papers import PaperRow, PaperTable, paper_row, with_outcomes
from moralscope.stories.evaluate import TaskEvaluation, evaluate, trained_part
from moralscope.stories.options import SPLITS, EvaluateOptions
from moralscope.stories.paper import PaperText, load_generation_paper, load_paper
from moralscope.stories.reading import StoryFile
from moralscope.stories.split import SAMPLES, SplitPart, stories_split
from moralscope.stories.splits import official_parts
from moralscope.stories.stats import categories
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.text_metrics import NOT_ADVICE as TEXTS_NOT_ADVICE
from moralscope.stories.text_metrics import TextScores, score_texts
from moralscope.stories.text_runs import read_texts

_MEASURED = {  # the paper's tables of accuracies, by part and by what is classified
    ("test", "action"): "Table 2: action classification, test",
    ("test", "consequence"): "Table 3: consequence classification, test",
    ("dev", "action"): "Table 8: action classification, dev",
    ("dev", "consequence"): "Table 9: consequence classification, dev",
}
_OTHER_MODEL = (
    "the paper fine-tunes RoBERTa-large (355M) for each cell; these experts are small adapters on "
    "one base for all tasks"
)
_SMALLER = "other weights: small adapters on one base, the paper's RoBERTa-large per cell"
_OTHER_DATA = "other encoder and tokeniser than the paper's, or other stories"
_OTHER_TEXTS = "other generators than the paper's BART and T5, and a judge instead of people"
_NOT_MEASURED = "not measured: name runs on the test part (--runs), or the data lacks it"
Tell = Callable[[PaperTable], None]
_WHO = "shares: a judge for ours, people for the paper's"
_TABLES = {
    4: f"action generation ({_WHO})",
    5: f"consequence generation ({_WHO})",
    6: f"norm generation ({_WHO})",
    15: "action generation, more models",
    16: "consequence generation, more models",
    17: "norm generation, more models",
}
_TABLE_OF = {"action": 4, "consequence": 5, "norm": 6}  # for runs that the paper does not have
# What people were asked, and what the judge says of it (a share in per cent).
_JUDGED = {
    "norm": "norm_adherence_share",
    "plausibility": "plausibility_share",
    "relevance": "relevance_share",
}
_SIDES = ("total", *ORIENTATIONS)


@dataclass(frozen=True, slots=True)
class TextTables:
    """The six tables on generated texts, what is to be said about our runs, and who judged."""

    tables: Sequence[PaperTable]
    warnings: Sequence[str] = ()
    runs: Sequence[str] = ()
    judge: ModelRef | None = None


@dataclass(frozen=True, slots=True)
class StoriesCells(Statistics):
    """Every cell of Tables 2, 3, 8 and 9 with all that was measured, less single mistakes."""

    cells: tuple[TaskEvaluation, ...]


def reproduce_stories(
    file: StoryFile,
    experts: Sequence[ExpertSet],
    options: EvaluateOptions | None = None,
    *,
    encoder: Encoder | None = None,
    texts: TextTables | None = None,
    tell: Tell | None = None,
) -> RunRecord:
    """Compute the tables; every row says whether the paper's figure came out again, and why not.

    Parameters
    ----------
    file
        The stories.
    experts
        One set or more: each split is measured with the set that was trained on it, else with
        the first.
    options
        Tasks, `max_stories` and seed of the evaluation.
    encoder
        For the splits of Table 1; without one they are left out.
    texts
        Tables on generated texts, from `text_tables`; by default the paper's figures alone.
    tell
        Gets every table as soon as it is there; a table of accuracies split by split.
    """
    show = tell or (lambda table: None)
    chosen = replace(options or EvaluateOptions(), reversed=False, calibrate=False)
    texts = texts or text_tables()
    warnings: list[str] = [*texts.warnings]
    tables = [*texts.tables]
    for table in texts.tables:
        show(table)
    for table in (_sizes(file), *_data_tables(file, encoder, chosen.seed, warnings)):
        tables.append(with_outcomes(table, other=_OTHER_DATA, missing=_NOT_MEASURED))
        show(tables[-1])
    cells: list[TaskEvaluation] = []
    for part, split in product(("test", "dev"), SPLITS):
        suited = [one for one in experts if (trained_part(one.card) or ("",))[0] == split]
        record = evaluate(
            (suited or experts)[0], file.stories, replace(chosen, part=part, splits=(split,))
        )
        cells += record.results
        warnings += record.warnings
        for key in _MEASURED:
            if (new := _measured(*key, record.results)).rows:
                show(new)
    tables += [table for key in _MEASURED if (table := _measured(*key, cells)).rows]

    return RunRecord(
        "reproduce",
        seed=chosen.seed,
        config={
            "paper": "stories",
            "experts": [one.ref.name for one in experts],
            "encoder": encoder.name if encoder else None,
            "stories": len(file.stories),
            "complete_stories": len(file.complete),
            "max_stories": chosen.max_stories,
            "runs": texts.runs,
            "judge": texts.judge.name if texts.judge else None,
        },
        models=[*(one.ref for one in experts), *([texts.judge] if texts.judge else [])],
        results=sorted(tables, key=lambda table: int(table.name.partition(":")[0].split()[1])),
        statistics=StoriesCells(tuple(replace(cell, mistakes=()) for cell in cells)),
        warnings=list(dict.fromkeys([NOT_ADVICE, _OTHER_MODEL, *warnings])),
    )


def _data_tables(
    file: StoryFile, encoder: Encoder | None, seed: int, warnings: list[str]
) -> list[PaperTable]:
    lengths = [
        PaperRow(row.name, "tokens", row.tokens, None, None, row.paper)
        for row in categories(file.stories)
    ]
    tables = [PaperTable("Table 7: mean length per category", lengths)]
    if encoder is None:
        warnings.append("Table 1 was left out: no encoder was named for the splits")
        return tables
    split = stories_split(file, encoder=encoder, seed=seed)
    warnings += split.warnings
    parts: tuple[SplitPart, ...] = split.statistics.parts
    rows = [
        PaperRow(f"{part.split}, {part.kind}: {whose}", part.part, mean, None, None, part.paper)
        for part in parts
        for whose, mean in (
            ("our split", part.mean),
            ("official split, our metric", part.official_mean),
        )
    ]
    return [PaperTable("Table 1: the splits' own metrics", rows), *tables]


def _sizes(file: StoryFile) -> PaperTable:
    """Count the samples of Table 10 by the official membership, where the data gives it."""
    paper = load_paper().table10
    rows = []
    for (kind, count), split in product(SAMPLES.items(), SPLITS):
        parts = Counter(official_parts(file.stories, split, kind).values())
        rows += [
            PaperRow(f"{kind} classification, {split}", part, parts[part] * count, None, None, size)
            for part, size in paper[kind].items()
            if parts
        ]
    return PaperTable("Table 10: samples by the official membership", rows)


def _measured(part: str, kind: str, cells: Sequence[TaskEvaluation]) -> PaperTable:
    rows = []
    for cell in cells:
        if cell.part == part and cell.task.startswith(kind):
            for metric, ours, printed in (
                ("accuracy", cell.measured.accuracy, cell.paper_accuracy),
                ("F1", cell.measured.f1, cell.paper_f1),
            ):
                rows.append(paper_row(cell.task, f"{metric}, {cell.split}", ours, printed))
    table = PaperTable(_MEASURED[part, kind], rows)
    return with_outcomes(table, other=_SMALLER, missing=_NOT_MEASURED)


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
    """
    scores: Sequence[TextScores] = ()
    notes: list[str] = []
    if runs:
        record = score_texts(runs, stories or None, judge=judge, seed=seed)
        scores = record.results
        notes = [note for note in record.warnings if note != TEXTS_NOT_ADVICE]
        parts = official_parts(stories, "norm_distance", "action")
        for run in read_texts(runs, stories or None):
            others = sum(parts.get(item.id) != "test" for item in run.items)
            if others:
                notes.append(
                    f"{run.strategy}: {others:,} of {len(run.items):,} texts are not on the "
                    "norm-distance test part, which the paper's figures are on"
                )
    else:
        notes.append("Tables 4-6 and 15-17 show the paper's figures alone: no --runs were given")
    tables = [
        with_outcomes(
            PaperTable(f"Table {number}: {name}", list(_rows(number, scores))),
            other=_OTHER_TEXTS,
            missing=_NOT_MEASURED,
        )
        for number, name in _TABLES.items()
    ]
    return TextTables(tables, notes, [str(path) for path in runs], judge.ref if judge else None)


def _rows(number: int, scores: Sequence[TextScores]) -> Iterator[PaperRow]:
    for row in load_generation_paper().table(number):
        name = f"{row.task} ({row.model})" if row.task else row.recipe
        ours = [score for score in scores if row in score.paper]
        if not ours:
            yield from _cells(name, row, None)
        for score in ours:
            label = name if len(ours) == 1 else f"{name}: {score.strategy}"
            yield from _cells(label, row, score)
    for score in scores:
        if not score.paper and _TABLE_OF[score.kind] == number:
            yield from _cells(score.strategy, None, score)


def _cells(label: str, paper: PaperText | None, score: TextScores | None) -> Iterator[PaperRow]:
    metrics = score.metrics if score else {}
    bleu, rouge = (paper.bleu, paper.rouge_l) if paper else (None, None)
    for column, name, value in (("BLEU", "bleu", bleu), ("ROUGE-L", "rougeL", rouge)):
        yield paper_row(label, column, metrics.get(name, {}).get("total"), value)
    diversity = metrics.get("diversity", {}).get("total")
    if diversity or (paper and paper.diversity is not None):
        yield paper_row(label, "diversity", diversity, paper.diversity if paper else None)
    if paper and not paper.people:  # Tables 15-17: nobody was asked
        return
    people: Mapping[str, Sequence[float]] = (paper.people if paper else None) or {}
    judged = [question for question, name in _JUDGED.items() if name in metrics]
    for question in dict.fromkeys([*judged, *people]):
        said = dict(zip(_SIDES, people.get(question, ()), strict=False))
        ours = metrics.get(_JUDGED.get(question, ""), {})
        for side in [side for side in _SIDES if side in said or side in ours]:
            yield paper_row(label, f"{question}, {side}", ours.get(side), said.get(side), 0.01)
