"""`stories metrics`: generated texts measured, with intervals, a held-out judge and paired tests.

BLEU, ROUGE, diversity, perplexity and length of saved runs; norm adherence, plausibility or
relevance by experts that had no part in the run: a chain cannot grade itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import ExpertSet
from moralscope.core.records import RunRecord, SampleInterval, Statistics
from moralscope.stats.text.diversity import (
    DISTINCT_SIGNATURE,
    compare_distinct,
    distinct,
    measure_distinct,
)
from moralscope.stats.text.overlap import bleu_signature, bleu_sums, rouge_signature, rouge_table
from moralscope.stats.text.sums import (
    PairedComparison,
    Sums,
    SystemComparison,
    compare,
    corrected,
    mean_sums,
    measure,
    perplexity_sums,
)
from moralscope.stats.text.words import words
from moralscope.stories.options import MetricsOptions
from moralscope.stories.paper import PaperText, load_generation_paper
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import ClassificationTask, classification_task
from moralscope.stories.text_runs import TextItem, TextRun, read_texts

NOT_ADVICE = "figures describe texts of a model, they are not moral advice"
# Which expert judges which kind of text, and what its figures are called.
JUDGES = {
    "action": ("action+context", "norm_adherence"),
    "consequence": ("consequence+context+action", "plausibility"),
    "norm": ("action+norm", "relevance"),
}


@dataclass(frozen=True, slots=True)
class TextScores:
    """A run's figures, and the paper's rows for the same setting."""

    strategy: str
    kind: str
    n: int
    # Metric → total and, but for norms, moral and immoral.
    metrics: Mapping[str, Mapping[str, SampleInterval]]
    paper: tuple[PaperText, ...]


@dataclass(frozen=True, slots=True)
class MetricsStatistics(Statistics):
    """How runs compare on the stories they share, and how diverse people's texts are."""

    comparisons: tuple[SystemComparison, ...]
    reference_diversity: Mapping[str, float]  # by strategy


def score_texts(
    paths: Sequence[Path],
    stories: Sequence[MoralStory] | None = None,
    options: MetricsOptions | None = None,
    *,
    judge: ExpertSet | None = None,
    **fields: Any,
) -> RunRecord:
    """Measure the texts of saved runs and compare the runs on the stories they share.

    Parameters
    ----------
    paths
        Run records of `stories generate` and `stories chain`.
    stories
        Where references and context come from; by default the records' own copies.
    judge
        Experts of another base and seed than those that ranked; refused if they ranked.
    options
        `MetricsOptions`, or its fields as keywords: stem, seed.
    """
    chosen = chosen_options(MetricsOptions, options, fields)
    stem, seed = chosen.stem, chosen.seed
    runs, notes = [], []
    for run in read_texts(paths, stories):
        items = tuple(item for item in run.items if item.reference)
        if not items:
            raise InputError(
                f"no text of {run.strategy} has a reference: its stories have no {run.kind}",
                "give stories that have it with --stories",
            )
        if run.without_choice:
            notes.append(f"{run.strategy}: {run.without_choice:,} results without a text left out")
        if lost := len(run.items) - len(items):
            notes.append(f"{run.strategy}: {lost:,} texts without a reference left out")
        runs.append(replace(run, items=items))
    for kind in dict.fromkeys(run.kind for run in runs):
        keys = [{item.key for item in run.items} for run in runs if run.kind == kind]
        if any(other != keys[0] for other in keys):
            shared = len(set.intersection(*keys))
            notes.append(
                f"the runs of {kind}s are not on the same stories: rows of the table are over "
                f"each run's own, comparisons over shared ones ({shared:,} are in all)"
            )
    notes += check_judge(judge, runs)
    tables = [_sums(run, judge, stem) for run in runs]
    results = [_scores(run, table, seed) for run, table in zip(runs, tables, strict=True)]
    references = [[item.reference or ""] for run in runs for item in run.items]
    return RunRecord(
        "stories metrics",
        seed=seed,
        config={
            "runs": [str(path) for path in paths],
            "judge": judge.ref.name if judge else None,
            "bleu": bleu_signature(references),
            "rouge": rouge_signature(stem=stem),
            "diversity": DISTINCT_SIGNATURE,
            "interval": "95 %, over stories",
            "options": plain_options(chosen),
        },
        models=[judge.ref] if judge else [],
        results=results,
        statistics=MetricsStatistics(
            corrected(_comparisons(runs, tables, seed)),
            {run.strategy: distinct([item.reference or "" for item in run.items]) for run in runs},
        ),
        warnings=[NOT_ADVICE, *notes],
    )


def check_judge(judge: ExpertSet | None, runs: Sequence[TextRun]) -> list[str]:
    """Refuse a judge that ranked one of the runs; warn of one with the ranker's base."""
    if judge is None:
        return []
    notes, base = [], str(judge.card.get("base") or "")
    for run in [run for run in runs if run.ranked]:
        if judge.ref.sha256 in {model.sha256 for model in run.models}:
            raise InputError(
                f"'{judge.ref.name}' ranked the texts of {run.strategy}: a chain cannot grade "
                "itself",
                "judge with experts of another base and seed (--judge)",
            )
        if base and run.experts and base in run.experts:
            notes.append(
                f"the judge has the same base ({base}) as the ranker of {run.strategy}: it may "
                "share the ranker's mistakes"
            )
    return notes


def judge_texts(items: Sequence[TextItem], kind: str, judge: ExpertSet) -> dict[str, list[float]]:
    """Return what the judge says of each text, not a number where the story lacks a sentence.

    For an action P(target) against the opposite, `…_share` whether it is above one half; for a
    consequence the same of "plausible"; for a norm whether the moral action keeps it and the
    immoral action breaks it, the third class ("does not concern") counting as a miss.
    """
    task, name = JUDGES[kind]
    row = classification_task(task)
    if kind == "norm":
        sides = [
            _probabilities(
                judge,
                row,
                [{"norm": item.text, "action": item.row.get(f"{side}_action")} for item in items],
            )
            for side in ORIENTATIONS
        ]
        hits = [
            np.where(np.isnan(table[:, 0]), np.nan, table.argmax(axis=1) == wanted)
            for table, wanted in zip(sides, (1, 0), strict=True)
        ]
        return {f"{name}_share": (100 * hits[0] * hits[1]).tolist()}
    table = _probabilities(judge, row, [{**item.row, kind: item.text} for item in items])
    good = table[:, 1] / (table[:, 0] + table[:, 1])
    if kind == "action":
        good = np.where([item.target == "moral" for item in items], good, 1 - good)
    share = np.where(np.isnan(good), np.nan, good > 0.5)
    return {name: (100 * good).tolist(), f"{name}_share": (100 * share).tolist()}


def _probabilities(
    judge: ExpertSet, task: ClassificationTask, rows: Sequence[Mapping[str, str | None]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    pairs = {index: pair for index, row in enumerate(rows) if (pair := task.pair(row))}
    table = np.full((len(rows), len(task.labels)), np.nan)
    if pairs:
        table[list(pairs)] = judge.expert(task.name).probabilities(list(pairs.values()))
    return table


def _sums(run: TextRun, judge: ExpertSet | None, stem: bool) -> dict[str, Sums]:
    texts = [item.text for item in run.items]
    references = [[item.reference or ""] for item in run.items]
    table = {"bleu": bleu_sums(texts, references)}
    for kind, values in rouge_table(texts, references, stem=stem).items():
        table[kind] = mean_sums(values)
    if any(item.tokens for item in run.items):
        totals = [(item.log_probability, item.tokens) for item in run.items]
        table["perplexity"] = perplexity_sums(totals)
    table["length"] = mean_sums([len(words(text)) for text in texts])
    if judge is not None:
        for name, said in judge_texts(run.items, run.kind, judge).items():
            table[name] = mean_sums(said)
    return table


def _scores(run: TextRun, table: Mapping[str, Sums], seed: int) -> TextScores:
    sides = {"total": list(range(len(run.items)))}
    for side in ORIENTATIONS:
        rows = [row for row, item in enumerate(run.items) if item.target == side]
        if rows:
            sides[side] = rows
    metrics: dict[str, dict[str, SampleInterval]] = {name: {} for name in table}
    metrics |= {"diversity": {}, "diversity_pooled": {}}
    for side, rows in sides.items():
        groups = [run.items[row].id for row in rows]
        for name, sums in table.items():
            metrics[name][side] = measure(Sums(sums.table[rows], sums.combine), groups, seed=seed)
        texts = [run.items[row].text for row in rows]
        metrics["diversity"][side] = measure_distinct(texts, groups)
        metrics["diversity_pooled"][side] = measure_distinct(texts, groups, pooled=True)
    paper = load_generation_paper().beside(run.paper)
    return TextScores(run.strategy, run.kind, len(run.items), metrics, paper)


def _comparisons(
    runs: Sequence[TextRun], tables: Sequence[Mapping[str, Sums]], seed: int
) -> Iterator[tuple[str, str, str, PairedComparison]]:
    """Yield the later run less the earlier one, on the items that both have."""
    for (a, ours), (b, theirs) in combinations(zip(runs, tables, strict=True), 2):
        if a.kind != b.kind:
            continue
        first = {item.key: row for row, item in enumerate(a.items)}
        second = {item.key: row for row, item in enumerate(b.items)}
        shared = sorted(first.keys() & second.keys())
        if not shared:
            continue
        old, new = [first[key] for key in shared], [second[key] for key in shared]
        groups = [key[0] for key in shared]
        for name in [name for name in ours if name in theirs]:
            before = Sums(ours[name].table[old], ours[name].combine)
            after = Sums(theirs[name].table[new], theirs[name].combine)
            yield name, b.strategy, a.strategy, compare(after, before, groups, seed=seed)
        texts = [b.items[row].text for row in new], [a.items[row].text for row in old]
        yield "diversity", b.strategy, a.strategy, compare_distinct(*texts, groups)
