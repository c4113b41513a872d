"""What a set of annotations is made of: `moralscope rules stats`, and where annotations come from.

Counts, how the attributes are distributed, and how far people agree: Figure 2 and section 4 of
Ziems et al. 2022. Judges nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord, Statistics, grouped
from moralscope.rules.annotations.metrics import load_paper
from moralscope.rules.annotations.reading import (
    PARTS,
    read_annotations,
    source_warnings,
    split_annotations,
)
from moralscope.rules.options import RulesStatsOptions
from moralscope.rules.records import FOUNDATIONS, SCALE, SCALES, Annotation
from moralscope.stats.agreement import agreement, krippendorff_alpha
from moralscope.stats.intraclass import intraclass

ATTRIBUTES = ("alignment", *SCALES, *FOUNDATIONS)
CODES = {"disagree": 0.0, "neither": 1.0, "agree": 2.0}
_SHOWN_LABELS = ("agree", "neither", "disagree")
_STEPS = tuple(str(step) for step in range(int(SCALE[0]), int(SCALE[1]) + 1))
_BOOTSTRAPPED = 2_000  # units; more of them would need a large table of resamples
_GROUPS = 30
_T29 = 2.045  # 97.5 % quantile of Student's t for 30 groups
CONTENT = "content warning: the texts may offend or upset"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many annotations, exchanges, prompts and rules there are, and of what length."""

    annotations: int
    exchanges: int
    prompts: int
    rules: int
    repeated_rules: int  # annotations whose rule an earlier one has already
    several: int  # exchanges with more than one annotation
    per_exchange: float
    words: float  # of a rule, what stands between spaces
    revised: int
    chatbots: Mapping[str, int]  # annotations of each one's replies


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of Figure 2: how many annotations have a value of an attribute, and their share.

    `disagree` is the share of them whose reply disagrees with the rule (the shaded part of the
    bars of the foundations), or None without alignments. Foundations add up to more than one.
    """

    attribute: str
    value: str
    count: int
    share: float
    disagree: float | None = None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Krippendorff's alpha with its interval and ICC(1, k) of an attribute; None: no unit."""

    attribute: str
    alpha: float | None
    low: float | None
    high: float | None
    icc: float | None
    units: int
    ratings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSizes(Statistics):
    """How annotations and exchanges are shared out among train, dev and test."""

    official: bool
    annotations: Mapping[str, int]
    exchanges: Mapping[str, int]
    unknown: int
    exchanges_in_two_parts: int
    prompts_in_two_parts: int


@dataclass(frozen=True, slots=True)
class PaperFigures(Statistics):
    """The same figures as the paper printed them."""

    corpus: Mapping[str, Any]
    reliability: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationStatistics(Statistics):
    """What a file of annotations is made of."""

    counts: Counts
    malformed_lines: int
    bad_rules: int
    reliability_same_rule: Sequence[Reliability]
    reliability_own_rules: Sequence[Reliability]
    split: PartSizes | None  # None: too few exchanges for three parts
    paper: PaperFigures


def counts(annotations: Sequence[Annotation]) -> Counts:
    """Count annotations, exchanges, prompts and rules."""
    exchanges = Counter(row.pair for row in annotations)
    rules = {" ".join(row.rule.casefold().split()) for row in annotations}
    return Counts(
        annotations=len(annotations),
        exchanges=len(exchanges),
        prompts=len({prompt for prompt, _ in exchanges}),
        rules=len(rules),
        repeated_rules=len(annotations) - len(rules),
        several=sum(count > 1 for count in exchanges.values()),
        per_exchange=len(annotations) / len(exchanges) if exchanges else 0.0,
        words=fmean(len(row.rule.split()) for row in annotations) if annotations else 0.0,
        revised=sum(row.revised_reply is not None for row in annotations),
        chatbots=dict(sorted(Counter(row.chatbot for row in annotations if row.chatbot).items())),
    )


def distributions(annotations: Sequence[Annotation]) -> list[Bar]:
    """Return the bars of Figure 2; shares are of the annotations that have the attribute."""
    columns: dict[str, list[str | None]] = {"alignment": [row.alignment for row in annotations]}
    for name in reversed(SCALES):  # Figure 2 has consensus before severity
        numbers = [row.scales[name] for row in annotations]
        # The whole step that is nearest; halves go up.
        columns[name] = [None if value is None else str(int(value + 0.5)) for value in numbers]
    bars = []
    for name, values in columns.items():
        size = sum(value is not None for value in values)
        rows_of = grouped(zip(values, annotations, strict=True))
        for step in (_SHOWN_LABELS if name == "alignment" else _STEPS) if size else ():
            bars.append(_bar(name, step, rows_of.get(step, ()), size))
    known = [row for row in annotations if row.foundations is not None]
    for name in FOUNDATIONS if known else ():
        having = [row for row in known if name in (row.foundations or ())]
        bars.append(_bar("foundations", name, having, len(known)))
    if known:
        bare = [row for row in known if not row.foundations]
        bars.append(_bar("foundations", "none", bare, len(known)))
    return bars


def reliability(
    annotations: Sequence[Annotation], *, unit: str = "rule", seed: int = 0
) -> list[Reliability]:
    """Return how far people agree where several annotate one unit.

    Parameters
    ----------
    annotations
        Rows of one file.
    unit
        rule: the same rule for the same exchange, as in the paper's second task; exchange: each
        person judged a rule of their own, so disagreement may lie in the rules.
    seed
        Of the interval.
    """
    groups = grouped(((row.pair, row.rule if unit == "rule" else ""), row) for row in annotations)
    several = [rows for rows in groups.values() if len(rows) > 1]
    reliabilities = []
    for name in ATTRIBUTES:
        ratings = [[v for row in rows if (v := rating(row, name)) is not None] for rows in several]
        rated = [values for values in ratings if len(values) > 1]
        if not rated:
            reliabilities.append(Reliability(name, None, None, None, None, 0, 0))
            continue
        alpha, low, high = _alpha(rated, "ordinal" if name in SCALES else "nominal", seed)
        count = sum(map(len, rated))
        icc = intraclass(rated).mean
        reliabilities.append(Reliability(name, alpha, low, high, icc, len(rated), count))
    return reliabilities


def rating(row: Annotation, attribute: str) -> float | None:
    """Return an attribute as a number: alignment 0, 1, 2 as in MIC.csv; a foundation 0 or 1."""
    if attribute == "alignment":
        return None if row.alignment is None else CODES[row.alignment]
    if attribute in FOUNDATIONS:
        return None if row.foundations is None else float(attribute in row.foundations)
    value: float | None = row.scales[attribute]
    return value


def _alpha(rated: Sequence[Sequence[float]], level: str, seed: int) -> tuple[float, float, float]:
    """Return alpha and its interval: by bootstrap, or for many units from random groups of them."""
    if len(rated) <= _BOOTSTRAPPED:
        measured = agreement(_table(rated), level, seed=seed)
        return measured.alpha, measured.low, measured.high
    alpha = krippendorff_alpha(_table(rated), level)
    alphas = [
        krippendorff_alpha(_table([rated[index] for index in group]), level)
        for group in np.array_split(np.random.default_rng(seed).permutation(len(rated)), _GROUPS)
    ]
    half = _T29 * float(np.std(alphas, ddof=1)) / _GROUPS**0.5
    return alpha, alpha - half, alpha + half


def _table(rated: Sequence[Sequence[float]]) -> list[list[float | None]]:
    """Return raters x units; who is who does not matter to alpha."""
    return [
        [values[index] if index < len(values) else None for values in rated]
        for index in range(max(len(values) for values in rated))
    ]


def _bar(attribute: str, value: str, having: Sequence[Annotation], known: int) -> Bar:
    aligned = [row for row in having if row.alignment is not None]
    wrong = sum(row.alignment == "disagree" for row in aligned)
    disagree = None if attribute == "alignment" or not aligned else wrong / len(aligned)
    return Bar(attribute, value, len(having), len(having) / known, disagree)


def stats(
    path: Path | None = None,
    options: RulesStatsOptions | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    **changes: Any,
) -> RunRecord:
    """Count and describe the annotations of a file (Figure 2 beside the paper's).

    Parameters
    ----------
    path
        MIC.csv, a SOCIAL-CHEM-101 file, or one like them; by default the user's MIC.csv.
    options
        `RulesStatsOptions`, or its fields as keywords; the seed is that of intervals, and of the
        split where the file has none.
    columns
        Our name of a column → the file's.
    """
    chosen = chosen_options(RulesStatsOptions, options, changes)
    seed = chosen.seed
    file = read_annotations(path, kind=chosen.kind, columns=columns, malformed=chosen.malformed)
    rows, paper = file.annotations, load_paper()
    same_rule = reliability(rows, unit="rule", seed=seed)
    own_rules = reliability(rows, unit="exchange", seed=seed)
    sizes = None
    with suppress(InputError):  # too few exchanges for three parts: no split, no fault of the file
        split = split_annotations(rows, seed=seed)
        counted = Counter(split.parts)
        sizes = PartSizes(
            official=split.official,
            annotations={part: counted[part] for part in PARTS},
            exchanges={part: len({row.pair for row in split.of(rows, part)}) for part in PARTS},
            unknown=counted[None],
            exchanges_in_two_parts=split.moved,
            prompts_in_two_parts=split.shared_prompts,
        )
    return RunRecord(
        "rules stats",
        seed=seed,
        config={
            "source": file.source,
            "kind": file.kind,
            "columns": dict(columns or {}),
            "options": plain_options(chosen),
        },
        results=distributions(rows),
        statistics=AnnotationStatistics(
            counts=counts(rows),
            malformed_lines=len(file.problems),
            bad_rules=file.bad_rules,
            reliability_same_rule=[row for row in same_rule if row.units],
            reliability_own_rules=[row for row in own_rules if row.units],
            split=sizes,
            paper=PaperFigures(paper.corpus, paper.figure2, paper.shares),
        ),
        warnings=[CONTENT, *source_warnings(file)],
    )
