"""What an expert goes by: its norm turned round or swapped, and how far single words go.

A reversed norm turns the label, a norm of another story does not concern the action: an expert that
answers as before has not read it. A bag-of-words logistic regression, trained on a split's train
part and tested on another part of the same split, sets the mark: an expert that does no better has
learnt words, not norms.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from moralscope.core.records import Interval
from moralscope.stories.evaluation import (
    THIRD,
    Confusion,
    Examination,
    Predictions,
    confusion,
    mean_over_stories,
    measure,
    predict,
)
from moralscope.stories.norms.reversal import reverse_norm
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import ClassificationTask, LabelledPair, samples

WORDINGS = 3  # of a reversed norm
_SHOWN = 15
_MANY = 100
_NOTHING = 0.01  # below it a word is noise of the fit
Reverse = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class ReversedNorms:
    """Accuracy with reversed norms and labels, beside the same samples as they were written."""

    variant: int
    samples: int
    coverage: float  # the share of samples whose norm could be reversed in this wording
    accuracy: Interval
    original: Interval


@dataclass(frozen=True, slots=True)
class SwappedNorms:
    """Share called "does not concern" under the norm of another story, and under its own."""

    samples: int
    rejected: Interval
    rejected_own: Interval


def reads_norm(task: ClassificationTask) -> bool:
    """Tell whether the label of a task hangs on its norm, so that a reversed norm turns it."""
    return THIRD in task.labels and "norm" in task.grounding


def reversed_norms(
    answers: Examination, reverse: Reverse, *, variant: int = 0, seed: int = 0
) -> ReversedNorms | None:
    """Measure with reversed norms and labels; None when `reverse` can turn none of the norms."""
    stories = [replace(s, norm=reverse(s.norm)) for s in answers.stories if s.norm]
    original, changed = _changed(answers, stories)
    if not changed:
        return None
    flipped = [replace(sample, label=1 - sample.label) for sample in changed]
    return ReversedNorms(
        variant=variant,
        samples=len(changed),
        coverage=len(changed) / len(answers.predictions.samples),
        accuracy=measure(predict(answers.classifier, flipped), seed=seed).accuracy,
        original=measure(original, seed=seed).accuracy,
    )


def swapped_norms(
    answers: Examination, norms: Mapping[str, str], *, seed: int = 0
) -> tuple[SwappedNorms, Confusion] | None:
    """Measure under norms of other stories (by story ID): they do not concern the action.

    The confusion holds the samples under their own norms and under the others'. None when no norm
    of these stories is swapped.
    """
    stories = [replace(story, norm=norms.get(story.id)) for story in answers.stories]
    original, changed = _changed(answers, stories)
    if not changed:
        return None
    third = answers.task.labels.index(THIRD)
    other = predict(answers.classifier, [replace(sample, label=third) for sample in changed])
    rejected, rejected_own = (
        mean_over_stories(part, part.probabilities.argmax(axis=1) == third, seed)
        for part in (other, original)
    )
    return SwappedNorms(len(changed), rejected, rejected_own), confusion(original, other)


def reversed_wordings(answers: Examination, seed: int) -> tuple[ReversedNorms, ...]:
    """Measure with norms reversed in the first wordings; one in which none can be is left out."""
    wordings = (
        reversed_norms(answers, partial(reverse_norm, variant=at), variant=at, seed=seed)
        for at in range(WORDINGS)
    )
    return tuple(wording for wording in wordings if wording)


@dataclass(frozen=True, slots=True)
class WordWeight:
    """A word and its weight in favour of label 1."""

    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class Shortcut:
    """What words alone reach, and the words that weigh most for label 1 and for label 0."""

    trained_on: int
    samples: int
    accuracy: Interval
    f1: Interval
    for_positive: tuple[WordWeight, ...]
    for_negative: tuple[WordWeight, ...]


def lexical_shortcut(
    train: Sequence[LabelledPair], test: Sequence[LabelledPair], *, seed: int = 0
) -> Shortcut | None:
    """Train on words, measure; None when a part is empty or the train part has one label only.

    Words count once a text; those of the grounding and of the target are told apart by a prefix.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    if not test or len({sample.label for sample in train}) < 2:
        return None
    rare = 2 if len(train) >= _MANY else 1  # a word of one text tells nothing in a large set
    words = CountVectorizer(analyzer=_words_of, binary=True, min_df=rare, dtype=np.float64)
    table = words.fit_transform(train)
    model = LogisticRegression(max_iter=1000, random_state=seed)
    model.fit(table, [sample.label for sample in train])
    rows = model.predict_proba(words.transform(test))
    metrics = measure(Predictions(("0", "1"), test, rows), seed=seed)
    names, weights = words.get_feature_names_out(), model.coef_[0]
    # Words that weigh the same but for the solver's noise stand in the same order on every machine.
    rounded = zip(weights.round(6).tolist(), names.tolist(), weights.tolist(), strict=True)
    listed = [(weight, name) for _, name, weight in sorted(rounded)]
    heavy = [WordWeight(name, weight) for weight, name in listed if abs(weight) > _NOTHING]
    return Shortcut(
        trained_on=len(train),
        samples=len(test),
        accuracy=metrics.accuracy,
        f1=metrics.f1,
        for_positive=tuple(word for word in heavy[::-1] if word.weight > 0)[:_SHOWN],
        for_negative=tuple(word for word in heavy if word.weight < 0)[:_SHOWN],
    )


def _words_of(sample: LabelledPair) -> list[str]:
    """Return the words of a sample, those of its grounding marked."""
    return [
        prefix + word
        for prefix, text in (("grounding:", sample.grounding), ("", sample.target))
        for part in text.lower().split()
        if (word := part.strip(".,;:!?\"'()"))
    ]


def _changed(
    answers: Examination, stories: Sequence[MoralStory]
) -> tuple[Predictions, list[LabelledPair]]:
    """Return the samples that changed stories still have, and their originals before them."""
    changed = {(s.id, s.target, s.label): s for s in samples(answers.task, stories)}
    old = answers.predictions
    keys = [(s.id, s.target, s.label) for s in old.samples]
    rows = [row for row, key in enumerate(keys) if key in changed]
    original = Predictions(old.labels, [old.samples[row] for row in rows], old.probabilities[rows])
    return original, [changed[keys[row]] for row in rows]
