"""People's columns of Table 1 (well-formed, fluent, relevant) from exports of `rule-ratings`.

People judge rules without knowing who wrote them. Who did is looked up here by prompt, reply and
rule: in the file of generated rules, and for the row "Human" among the rules of the corpus.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval, grouped
from moralscope.io.tables import Layout, Limits, TableFile
from moralscope.rules.annotations.metrics import PEOPLE
from moralscope.rules.records import Annotation
from moralscope.stats.intervals import bootstrap_mean, wilson

SEVERE = 3.0  # of five
_REMEDY = "give the jsonl export of a 'rule-ratings' project"
_MAX_RATINGS = 1_000_000

Judged = tuple[str, str, str]  # prompt, reply, rule


@dataclass(frozen=True, slots=True)
class RuleRating:
    """What one person said of one rule: 0 or 1, 1 to 5, 1 to 5."""

    judged: Judged
    values: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class _Texts:
    prompt: str
    reply: str
    rule: str


@dataclass(frozen=True, slots=True)
class _Answer:
    well_formed: bool
    fluent: str  # a number of the scale, as forms send it
    relevant: str


@dataclass(frozen=True, slots=True)
class _ExportedRating:
    texts: _Texts
    answer: _Answer


def read_ratings(path: Path) -> list[RuleRating]:
    """Read the jsonl export of a `rule-ratings` project."""
    layout = Layout(remedy=_REMEDY)
    table = TableFile(path, kind=".jsonl", layout=layout, limits=Limits(rows=_MAX_RATINGS))
    ratings = []
    for line, cells in table.strict_rows():
        row = decode(_ExportedRating, cells, f"{path} line {line}", remedy=_REMEDY)
        judged = row.texts.prompt.strip(), row.texts.reply.strip(), row.texts.rule.strip()
        try:
            scales = float(row.answer.fluent), float(row.answer.relevant)
        except ValueError:
            raise table.wrong(line, "rates with a word", _REMEDY) from None
        ratings.append(RuleRating(judged, (float(row.answer.well_formed), *scales)))
    if not ratings:
        raise InputError(f"{path} holds no ratings", _REMEDY)
    return ratings


def people_columns(
    ratings: Sequence[RuleRating], writers: Mapping[Judged, Sequence[str]], *, seed: int = 0
) -> dict[str, dict[str, SampleInterval]]:
    """Return the three columns of each system; a rule's figure is the mean over who judged it."""
    by_writer: dict[str, list[list[float]]] = {}
    for judged, opinions in grouped((one.judged, one.values) for one in ratings).items():
        means = [fmean(values) for values in zip(*opinions, strict=True)]
        for writer in writers.get(judged, ()):
            by_writer.setdefault(writer, []).append(means)
    return {
        writer: {
            name: SampleInterval(*bootstrap_mean(np.array(values), seed), len(values))
            for name, values in zip(PEOPLE, zip(*rows, strict=True), strict=True)
        }
        for writer, rows in by_writer.items()
    }


def interesting(annotations: Sequence[Annotation]) -> SampleInterval:
    """Return the share of exchanges that are interesting (section 1, footnote 1).

    Their reply agrees or disagrees with at least one rule whose breach has a severity of 3 or
    more. Exchanges without a rule that has both judgments are left out.
    """
    strong: dict[tuple[str, str], bool] = {}
    for row in annotations:
        if row.alignment is not None and row.severity is not None:
            severe = row.alignment != "neither" and row.severity >= SEVERE
            strong[row.pair] = strong.get(row.pair, False) or severe
    return wilson(sum(strong.values()), len(strong))
