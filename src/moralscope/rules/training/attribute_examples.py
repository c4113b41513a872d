"""What experts for foundations, severity and consensus are taught, and what they must beat.

Each reads the rule alone. Foundations may hold together (binary cross-entropy, macro-F1); severity
and consensus are places on a scale from 1 to 5 (squared error, r and MSE). The baselines are those
that need no model: the commonest answers, and words that go with a foundation.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moralscope.models.training.metrics import label_f1
from moralscope.models.training.records import TrainingExample
from moralscope.rules import records
from moralscope.rules.records import FOUNDATIONS, Annotation

FOUNDATIONS_TASK, SCALES = "foundations", tuple(records.SCALES)
LOSSES = {FOUNDATIONS_TASK: "multi_label", **dict.fromkeys(SCALES, "regression")}
KEYWORDS = (5, 10, 20, 40, 80)  # how many words a foundation may have
_WORD = re.compile(r"[a-z']+")
Rewordings = Callable[[str], Sequence[str]]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Baselines:
    """Macro-F1 without a model: the commonest answer, every label always, words from train."""

    majority: float
    always: float
    keywords: float
    words: int

    @property
    def best(self) -> float:
        """What a model has to beat."""
        return max(self.majority, self.always, self.keywords)


def known_foundations(rows: Sequence[Annotation]) -> tuple[str, ...]:
    """Return the foundations that occur, in their order."""
    names = {name for row in rows for name in row.foundations or ()}
    return tuple(name for name in FOUNDATIONS if name in names)


def foundation_examples(
    rows: Sequence[Annotation],
    labels: Sequence[str],
    reworded: Rewordings | None = None,
    turns: int = 1,
) -> list[TrainingExample]:
    """Return rules with their foundations; `reworded` gives other wordings, one a turn.

    A rule and its reverse touch the same foundations: so the polarity cannot tell them.
    """
    examples = []
    for index, row in enumerate(rows):
        if row.foundations is None:
            continue
        values = tuple(float(name in row.foundations) for name in labels)
        one = TrainingExample(FOUNDATIONS_TASK, ("", row.rule), 0, values=values)
        examples.append(one)
        others = reworded(row.rule) if reworded else ()
        for turn in range(turns if others else 0):
            text = others[(index + turn) % len(others)]
            examples.append(replace(one, pair=("", text), weight=0.5, turn=(turn, turns)))
    return examples


def scale_examples(rows: Sequence[Annotation], name: str) -> list[TrainingExample]:
    """Return rules with their severity or consensus; minority consensus is put together."""
    examples = []
    for row in rows:
        value = row.scales[name]
        if value is not None:
            merged = records.SCALES[name].merge(value)
            examples.append(TrainingExample(name, ("", row.rule), 0, values=(merged,)))
    return examples


def foundation_baselines(
    train: Sequence[TrainingExample],
    dev: Sequence[TrainingExample],
    test: Sequence[TrainingExample],
) -> Baselines:
    """Return the baselines on `test`; dev chooses how many words a foundation has."""
    gold, prior = _flags(test), _flags(train).mean(axis=0)
    best: tuple[float, int, Flags] | None = None
    for words in KEYWORDS:
        table = _keywords(train, words)
        on_dev = float(label_f1(_flags(dev), _by_words(dev, table)).mean())
        if best is None or on_dev > best[0]:
            best = (on_dev, words, _by_words(test, table))
    return Baselines(
        majority=float(label_f1(gold, np.broadcast_to(prior >= 0.5, gold.shape)).mean()),
        always=float(label_f1(gold, np.ones_like(gold)).mean()),
        keywords=0.0 if best is None else float(label_f1(gold, best[2]).mean()),
        words=0 if best is None else best[1],
    )


def _keywords(train: Sequence[TrainingExample], many: int) -> list[frozenset[str]]:
    """Return each label's words by smoothed log-odds of standing in a rule with the label."""
    flags = _flags(train)
    texts = [_words(row) for row in train]
    every = Counter(word for words in texts for word in words)
    tables = []
    for column in flags.T:
        held = Counter(
            word
            for words, has_label in zip(texts, column, strict=True)
            if has_label
            for word in words
        )
        total, size = int(column.sum()), len(train)
        odds = {
            word: math.log((held[word] + 1) / (total + 2))
            - math.log((count - held[word] + 1) / (size - total + 2))
            for word, count in every.items()
            if count >= 5
        }
        likely = [word for word, value in odds.items() if value > 0]
        tables.append(frozenset(sorted(likely, key=lambda word: (-odds[word], word))[:many]))
    return tables


def _by_words(rows: Sequence[TrainingExample], tables: Sequence[frozenset[str]]) -> Flags:
    return np.array([[bool(_words(row) & table) for table in tables] for row in rows], dtype=bool)


def _words(row: TrainingExample) -> set[str]:
    return set(_WORD.findall(row.pair[1].lower()))


def _flags(rows: Sequence[TrainingExample]) -> Flags:
    return np.array([[value > 0 for value in row.values] for row in rows], dtype=bool)
