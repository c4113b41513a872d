"""`reproduce stories`: the tables of Emelin et al. 2021 beside ours.

Data and splits (Tables 1, 7, 10), classification (Tables 2, 3, 8, 9) and generated texts (Tables 4
to 6 and 15 to 17, `reproduce_texts`). It generates nothing: texts come from saved runs.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.papers.stories_texts import PaperRow, PaperTable, TextTables, text_tables
from moralscope.stories.evaluate import Evaluated, EvaluateOptions, evaluate
from moralscope.stories.experts import ExpertSet
from moralscope.stories.paper import SPLITS, load_paper
from moralscope.stories.reading import StoryFile
from moralscope.stories.split import SAMPLES, stories_split
from moralscope.stories.splits import official_parts
from moralscope.stories.stats import stories_stats

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
Report = Callable[[int, int], None]


def reproduce_stories(
    file: StoryFile,
    experts: Sequence[ExpertSet],
    options: EvaluateOptions | None = None,
    *,
    encoder: Encoder | None = None,
    texts: TextTables | None = None,
    report: Report | None = None,
) -> RunRecord:
    """Compute the tables.

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
    report
        Called with (done, total) of the evaluation.
    """
    chosen = replace(options or EvaluateOptions(), reversed=False, calibrate=False)
    texts = texts or text_tables()
    warnings: list[str] = [*texts.warnings]
    tables = [*_data_tables(file, encoder, chosen.seed, warnings), *_sizes(file)]
    cells: list[Evaluated] = []
    for place, (part, split) in enumerate((p, s) for p in ("test", "dev") for s in SPLITS):
        found = evaluate(
            _for_split(experts, split), file.stories, replace(chosen, part=part, splits=(split,))
        )
        cells += found.results
        warnings += found.warnings
        if report:
            report(place + 1, 2 * len(SPLITS))
    tables += [table for key in _MEASURED if (table := _measured(*key, cells)).rows]
    return RunRecord(
        "reproduce",
        seed=chosen.seed,
        config={
            "paper": "stories",
            "experts": [each.ref.name for each in experts],
            "encoder": encoder.name if encoder else None,
            "stories": len(file.stories),
            "complete_stories": len(file.complete),
            "max_stories": chosen.max_stories,
            "runs": texts.runs,
            "judge": texts.judge.name if texts.judge else None,
        },
        models=[*(each.ref for each in experts), *([texts.judge] if texts.judge else [])],
        results=sorted([*tables, *texts.tables], key=lambda table: _number(table.name)),
        statistics={"cells": [replace(cell, mistakes=()) for cell in cells]},
        warnings=list(dict.fromkeys([NOT_ADVICE, _OTHER_MODEL, *warnings])),
    )


def _for_split(experts: Sequence[ExpertSet], split: str) -> ExpertSet:
    for each in experts:
        trained = each.card.get("trained_on")
        if isinstance(trained, Mapping) and trained.get("split") == split:
            return each
    return experts[0]


def _data_tables(
    file: StoryFile, encoder: Encoder | None, seed: int, warnings: list[str]
) -> list[PaperTable]:
    stats = stories_stats(file, topics=0, seed=seed)
    lengths = [
        PaperRow(row["name"], "tokens", row["tokens"], None, None, row["paper"])
        for row in stats.results
    ]
    tables = [PaperTable("Table 7: mean length per category", lengths)]
    if encoder is None:
        warnings.append("Table 1 was left out: no encoder was named for the splits")
        return tables
    split = stories_split(file, encoder=encoder, seed=seed)
    warnings += split.warnings
    rows = [
        PaperRow(
            f"{row['split']}, {row['kind']}: {whose}",
            row["part"],
            row[key],
            None,
            None,
            row["paper"],
        )
        for row in split.statistics["parts"]
        for whose, key in (("our split", "mean"), ("official split, our metric", "official_mean"))
    ]
    return [PaperTable("Table 1: the splits' own metrics", rows), *tables]


def _sizes(file: StoryFile) -> list[PaperTable]:
    """Count the samples of Table 10 by the official membership, where the data gives it."""
    paper = load_paper().table10
    rows = []
    for kind, count in SAMPLES.items():
        for split in SPLITS:
            parts = Counter(official_parts(file.stories, split, kind).values())
            rows += [
                PaperRow(
                    f"{kind} classification, {split}", part, parts[part] * count, None, None, size
                )
                for part, size in paper[kind].items()
                if parts
            ]
    return [PaperTable("Table 10: samples by the official membership", rows)]


def _measured(part: str, kind: str, cells: Sequence[Evaluated]) -> PaperTable:
    rows = []
    for cell in cells:
        if cell.part != part or not cell.task.startswith(kind):
            continue
        for metric, found, printed in (
            ("accuracy", cell.measured.accuracy, cell.paper_accuracy),
            ("F1", cell.measured.f1, cell.paper_f1),
        ):
            column = f"{metric}, {cell.split}"
            rows.append(PaperRow(cell.task, column, found.value, found.low, found.high, printed))
    return PaperTable(_MEASURED[part, kind], rows)


def _number(name: str) -> int:
    """Return the number of "Table 12: …" to sort by."""
    digits = "".join(char for char in name.partition(":")[0] if char.isdigit())
    return int(digits or 0)
