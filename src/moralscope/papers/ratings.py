"""People's columns of Table 1 (well-formed, fluent, relevant) from exports of `rule-ratings`.

People judge rules without knowing who wrote them. Who did is looked up here by prompt, reply and
rule: in the file of generated rules, and for the row "Human" among the rules of the corpus.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval
from moralscope.io.tables import Layout, Limits, Table
from moralscope.rules.metrics import PEOPLE
from moralscope.rules.records import Annotation
from moralscope.stats.intervals import bootstrap_mean, wilson

SEVERE = 3.0  # of five
_FIELDS = ("well_formed", "fluent", "relevant")
_REMEDY = "give the jsonl export of a 'rule-ratings' project"
_MAX_RATINGS = 1_000_000

Judged = tuple[str, str, str]  # prompt, reply, rule


@dataclass(frozen=True, slots=True)
class RuleRating:
    """What one person said of one rule: 0 or 1, 1 to 5, 1 to 5."""

    judged: Judged
    values: tuple[float, float, float]


def read_ratings(path: Path) -> list[RuleRating]:
    """Read the jsonl export of a `rule-ratings` project."""
    layout = Layout(remedy=_REMEDY)
    table = Table(path, kind=".jsonl", layout=layout, limits=Limits(rows=_MAX_RATINGS))
    found = []
    for line, cells in table.strict_rows():
        texts, answer = cells.get("texts"), cells.get("answer")
        if not isinstance(texts, Mapping) or not isinstance(answer, Mapping):
            raise table.wrong(line, "has no texts and answer", _REMEDY)
        try:
            prompt, reply, rule = (str(texts[name]).strip() for name in ("prompt", "reply", "rule"))
            first, second, third = (float(answer[name]) for name in _FIELDS)
        except (KeyError, TypeError, ValueError):
            raise table.wrong(line, f"lacks one of {', '.join(_FIELDS)}", _REMEDY) from None
        found.append(RuleRating((prompt, reply, rule), (first, second, third)))
    if not found:
        raise InputError(f"{path} holds no ratings", _REMEDY)
    return found


def people_columns(
    ratings: Sequence[RuleRating], writers: Mapping[Judged, Sequence[str]], *, seed: int = 0
) -> dict[str, dict[str, SampleInterval]]:
    """Return the three columns of each system; a rule's figure is the mean over who judged it.

    Examples
    --------
    >>> rated = [RuleRating(("a", "b", "Be kind."), (1, 4, value)) for value in (2, 4)]
    >>> found = people_columns(rated, {("a", "b", "Be kind."): ["T-5, beam"]})
    >>> {name: cell.value for name, cell in found["T-5, beam"].items()}
    {'Well-Formed': 1.0, 'Fluent': 4.0, 'Relevant': 3.0}
    """
    by_rule: dict[Judged, list[RuleRating]] = {}
    for rating in ratings:
        by_rule.setdefault(rating.judged, []).append(rating)
    by_writer: dict[str, list[list[float]]] = {}
    for judged, said in by_rule.items():
        means = [fmean(values) for values in zip(*(one.values for one in said), strict=True)]
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

    Examples
    --------
    >>> from moralscope.rules.records import Exchange
    >>> rows = [
    ...     Annotation(Exchange("a", "b"), "Be kind.", "agree", 3.0),
    ...     Annotation(Exchange("c", "d"), "Be neat.", "agree", 2.0),
    ... ]
    >>> interesting(rows).value
    0.5
    """
    found: dict[tuple[str, str], bool] = {}
    for row in annotations:
        if row.alignment is not None and row.severity is not None:
            strong = row.alignment != "neither" and row.severity >= SEVERE
            found[row.pair] = found.get(row.pair, False) or strong
    return wilson(sum(found.values()), len(found))
