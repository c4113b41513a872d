"""Run public test sets over judges: quality with intervals, speed and cost beside it.

F1, recall and false alarms are those of the judge's own flag. `tuned` is F1 at a limit that was
chosen by cross-validation: on four fifths of the cases for the last fifth, rows of one group
together. It says what the ranking is worth where somebody sets the limit on texts of this kind; it
is not computed where the weights were trained on the set.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from moralscope.benchmarks.judges import CaseJudge, Judgment, load_judge
from moralscope.benchmarks.options import BenchOptions
from moralscope.benchmarks.sets import (
    ACTION,
    CHOICE,
    SPOKEN,
    Case,
    PublishedFigure,
    SetCard,
    read_cases,
    set_card,
    set_file,
)
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import Interval, ModelRef, RunRecord, SampleInterval, Statistics
from moralscope.models.store import Progress
from moralscope.models.store._entries import sha256_of
from moralscope.stats.correlation import auc
from moralscope.stats.intervals import percentile_interval, wilson, without_certainty

FOLDS = 5
NOT_OTHERS = (
    "published figures are others', on their own rows and at their own limits: they are printed "
    "for orientation and were not measured here"
)
_ALONE = 20  # cases that are judged one at a time, for the latency
_BLOCK = 64
_RESAMPLES = 1000
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Figure = Callable[[Bools, Bools], Floats]


@dataclass(frozen=True, slots=True)
class PartFigure:
    """The share of right decisions in one part of a set."""

    name: str
    bad: int
    right: SampleInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast a judge was here, and what it used."""

    per_second: float
    """cases a second, in blocks"""
    latency: float
    """median seconds of one case alone"""
    latency_p95: float
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """One judge on one set; figures that do not fit the set or the judge are null."""

    set: str
    title: str
    model: str
    kind: str
    cases: int
    bad: int
    seen: str
    """what the judge's weights saw of the set; empty: nothing that their card names"""
    accuracy: SampleInterval
    f1: Interval | None = None
    tuned: Interval | None = None
    precision: SampleInterval | None = None
    recall: SampleInterval | None = None
    false_alarms: SampleInterval | None = None
    auc: Interval | None = None
    no_verdict: int
    speed: Speed
    parts: tuple[PartFigure, ...] = ()


@dataclass(frozen=True, slots=True)
class SetFile:
    """Which file of a set was read."""

    set: str
    title: str
    file: str
    sha256: str
    published: tuple[PublishedFigure, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchStatistics(Statistics):
    """What was read, and what others print of it."""

    sets: tuple[SetFile, ...]


def bench(
    options: BenchOptions | None = None,
    *,
    report: Callable[[int, int], None] | None = None,
    progress: Progress | None = None,
    **keywords: Any,
) -> RunRecord:
    """Run test sets over judges and return one result for each pair.

    Parameters
    ----------
    options
        `BenchOptions`, or its fields as keywords: `sets=("moderation",)`, `models=("mpnet",)`.
    report
        Called with (done, total) cases as the work goes on.
    progress
        Told of weights as they are fetched.
    """
    chosen = chosen_options(BenchOptions, options, keywords)
    if not chosen.sets:
        raise InputError("no test set was named", "name one: moderation, xstest, hatecheck, …")
    cards = [set_card(name) for name in dict.fromkeys(chosen.sets)]
    paths = {card.name: set_file(card) for card in cards}
    cases = {card.name: read_cases(card, paths[card.name], chosen.limit) for card in cards}
    total = sum(map(len, cases.values())) * len(chosen.models)
    results: list[BenchResult] = []
    warnings: list[str] = []
    refs: dict[str, ModelRef] = {}
    done = 0
    for name in chosen.models:
        judges: dict[str, CaseJudge] = {}  # by what they read: texts, replies, actions
        for card in cards:
            family = card.kind if card.kind in SPOKEN else ACTION
            judge = judges.get(family) or load_judge(name, card.kind, chosen, progress)
            judges[family] = judge
            if card.kind not in judge.kinds:
                warnings.append(f"{name} cannot judge {card.title}: it was left out")
                continue

            def count(ready: int, before: int = done) -> None:
                if report:
                    report(before + ready, total)

            results.append(_measure(card, cases[card.name], judge, chosen.seed, count))
            done += len(cases[card.name])
            refs |= {ref.sha256: ref for ref in judge.refs}
    if not results:
        raise InputError("no judge can read these sets", "endpoints and guards read only replies")
    files = tuple(
        SetFile(card.name, card.title, path.name, sha256_of(path), card.published)
        for card in cards
        for path in [paths[card.name]]
    )
    published = [NOT_OTHERS] if any(card.published for card in cards) else []
    return RunRecord(
        "bench",
        seed=chosen.seed,
        config={"options": plain_options(chosen), "folds": FOLDS, "resamples": _RESAMPLES},
        models=list(refs.values()),
        results=results,
        statistics=BenchStatistics(files),
        warnings=[*published, *warnings],
    )


def _measure(
    card: SetCard, cases: Sequence[Case], judge: CaseJudge, seed: int, count: Callable[[int], None]
) -> BenchResult:
    """Ask a judge about every case and sum up."""
    judgments, speed = _timed(judge, cases, count)
    bad = np.array([case.bad for case in cases])
    flags = np.array([row.flag for row in judgments])
    badness = np.array([row.badness for row in judgments])
    named = [text for text in judge.trained_on if card.credit.lower() in text.lower()]
    halves = [text.rpartition(", ")[2] for text in named]  # "HateCheck (…), …, the even half"
    seen = card.seen if named else ""
    if named and all("half" in words for words in halves):
        seen += f": {halves[0]}"
    right = ~flags if card.kind == CHOICE else flags == bad
    figures: dict[str, Any] = {}
    if card.kind != CHOICE:
        figures = {
            "f1": interval(f1_scores, bad, flags, seed),
            "precision": wilson(int((flags & bad).sum()), int(flags.sum())),
            "recall": wilson(int((flags & bad).sum()), int(bad.sum())),
            "false_alarms": wilson(int((flags & ~bad).sum()), int((~bad).sum())),
        }
        if judge.graded and 0 < bad.sum() < len(bad):
            ranks = np.where(np.isnan(badness), np.nanmin(badness), badness)
            figures["auc"] = auc_interval(ranks, bad, seed)
            if not seen:
                groups = [case.group for case in cases]
                figures["tuned"] = interval(f1_scores, bad, tuned_flags(ranks, bad, groups), seed)
    parts = []
    for name in sorted({case.part for case in cases} - {""}):
        inside = np.array([case.part == name for case in cases])
        hits = wilson(int(right[inside].sum()), int(inside.sum()))
        parts.append(PartFigure(name, int(bad[inside].sum()), hits))
    return BenchResult(
        set=card.name,
        title=card.title,
        model=judge.name,
        kind=card.kind,
        cases=len(cases),
        bad=int(bad.sum()),
        seen=seen,
        accuracy=wilson(int(right.sum()), len(cases)),
        no_verdict=sum(not row.is_judged for row in judgments),
        speed=speed,
        parts=tuple(parts),
        **figures,
    )


def _timed(
    judge: CaseJudge, cases: Sequence[Case], count: Callable[[int], None]
) -> tuple[list[Judgment], Speed]:
    """Judge some cases one at a time for the latency, the rest in blocks for the speed."""
    before = judge.usage
    judge.judge(cases[:1])  # what loads at the first call is not its latency
    rows: list[Judgment] = []
    times = []
    for case in cases[:_ALONE]:
        started = time.perf_counter()
        rows += judge.judge([case])
        times.append(time.perf_counter() - started)
    rest = cases[len(rows) :]
    started = time.perf_counter()
    for start in range(0, len(rest), _BLOCK):
        rows += judge.judge(rest[start : start + _BLOCK])
        count(len(rows))
    seconds = time.perf_counter() - started
    used = judge.usage
    speed = Speed(
        per_second=len(rest) / seconds if rest else 1 / float(np.mean(times)),
        latency=float(np.median(times)),
        latency_p95=float(np.quantile(times, 0.95)),
        input_tokens=used.input_tokens - before.input_tokens,
        output_tokens=used.output_tokens - before.output_tokens,
        cost=None if used.cost is None else used.cost - (before.cost or 0.0),
    )
    return rows, speed


def f1_scores(bad: Bools, flags: Bools) -> Floats:
    """Return F1 of each row; nothing to find and nothing found is 0."""
    hits = (bad & flags).sum(axis=-1)
    either = bad.sum(axis=-1) + flags.sum(axis=-1)
    return np.asarray(2.0 * hits / np.maximum(either, 1))


def interval(figure: Figure, bad: Bools, flags: Bools, seed: int) -> Interval:
    """Return a figure with its 95 % bootstrap over cases."""
    value = float(figure(bad, flags))
    drawn = np.random.default_rng(seed).integers(0, len(bad), (_RESAMPLES, len(bad)))
    low, high = percentile_interval(figure(bad[drawn], flags[drawn])[None])
    return Interval(value, *without_certainty(value, float(low[0]), float(high[0]), len(bad)))


def auc_interval(badness: Floats, bad: Bools, seed: int) -> Interval:
    """Return the area under the curve with its 95 % bootstrap over cases."""
    generator = np.random.default_rng(seed)
    draws: list[float] = []
    while len(draws) < _RESAMPLES:
        drawn = generator.integers(0, len(bad), len(bad))
        if 0 < bad[drawn].sum() < len(bad):
            draws.append(auc(badness[drawn], bad[drawn]))
    low, high = percentile_interval(np.array(draws)[None])
    value = auc(badness, bad)
    return Interval(value, *without_certainty(value, float(low[0]), float(high[0]), len(bad)))


def tuned_flags(badness: Floats, bad: Bools, groups: Sequence[str]) -> Bools:
    """Return flags at the limit of the best F1 on the other folds.

    Examples
    --------
    >>> worse = np.array([0.1, 0.2, 0.8, 0.9] * 5)
    >>> flags = tuned_flags(worse, worse > 0.5, [str(n) for n in range(20)])
    >>> bool((flags == (worse > 0.5)).all())
    True
    """
    folds = np.array([crc32(group.encode()) % FOLDS for group in groups])
    flags = np.zeros(len(bad), dtype=bool)
    for fold in range(FOLDS):
        inside = folds == fold
        limit = _best_limit(badness[~inside], bad[~inside])
        flags[inside] = badness[inside] >= limit
    return flags


def _best_limit(badness: Floats, bad: Bools) -> float:
    """Return the limit of the best F1: midway between two neighbours in badness."""
    order = np.argsort(-badness, kind="stable")
    values, hits = badness[order], np.cumsum(bad[order])
    scores = 2 * hits / (np.arange(1, len(bad) + 1) + bad.sum())
    last = np.append(values[1:] != values[:-1], True)  # of equal ones all are flagged
    if not len(bad) or not bad.any():
        return float("inf")
    best = int(np.argmax(np.where(last, scores, -1.0)))
    below = values[best + 1] if best + 1 < len(values) else values[best]
    return float((values[best] + below) / 2)
