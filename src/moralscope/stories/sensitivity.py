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
    Examined,
    Predictions,
    confusion,
    measure,
    predict,
    share_of,
)
from moralscope.stories.norms.reversal import reverse_norm
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import ClassificationTask, Sample, samples

WORDINGS = 3  # of a reversed norm
_SHOWN = 15
_MANY = 100
_NOTHING = 0.01  # below it a word is noise of the fit
Reverse = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Reversed:
    """Accuracy with reversed norms and labels, beside the same samples as they were written.

    `coverage` is the share of samples whose norm could be reversed in this wording.
    """

    variant: int
    samples: int
    coverage: float
    accuracy: Interval
    original: Interval


@dataclass(frozen=True, slots=True)
class Swapped:
    """Share called "does not concern" under the norm of another story, and under its own."""

    samples: int
    rejected: Interval
    rejected_own: Interval


def reads_norm(task: ClassificationTask) -> bool:
    """Tell whether the label of a task hangs on its norm, so that a reversed norm turns it.

    Examples
    --------
    >>> from moralscope.stories.tasks import classification_tasks
    >>> [name for name, task in classification_tasks().items() if reads_norm(task)]
    ['action+norm', 'action+context']
    """
    return THIRD in task.labels and "norm" in task.grounding


def reversed_norms(
    examined: Examined, reverse: Reverse, *, variant: int = 0, seed: int = 0
) -> Reversed | None:
    """Measure with reversed norms and labels; None when `reverse` can turn none of the norms."""
    stories = [replace(s, norm=reverse(s.norm)) for s in examined.stories if s.norm]
    places, turned = _changed(examined, stories)
    if not places:
        return None
    flipped = [replace(sample, label=1 - sample.label) for sample in turned]
    new = measure(predict(examined.classifier, flipped), seed=seed)
    plain = measure(_chosen(examined.found, places), seed=seed)
    share = len(places) / len(examined.found.samples)
    return Reversed(variant, len(places), share, new.accuracy, plain.accuracy)


def swapped_norms(
    examined: Examined, norms: Mapping[str, str], *, seed: int = 0
) -> tuple[Swapped, Confusion] | None:
    """Measure under norms of other stories (by story ID): they do not concern the action.

    The confusion holds the samples under their own norms and under the others'. None when no norm
    of these stories is swapped.
    """
    stories = [replace(story, norm=norms.get(story.id)) for story in examined.stories]
    places, turned = _changed(examined, stories)
    if not places:
        return None
    third = examined.task.labels.index(THIRD)
    own = _chosen(examined.found, places)
    other = predict(examined.classifier, [replace(sample, label=third) for sample in turned])
    rates = [
        share_of(part, part.probabilities.argmax(axis=1) == third, seed) for part in (other, own)
    ]
    return Swapped(len(places), *rates), confusion(own, other)


def reversed_wordings(examined: Examined, seed: int) -> list[Reversed]:
    """Measure with norms reversed in the first wordings; one in which none can be is left out."""
    found = (
        reversed_norms(examined, partial(reverse_norm, variant=at), variant=at, seed=seed)
        for at in range(WORDINGS)
    )
    return [each for each in found if each]


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
    for_positive: Sequence[WordWeight]
    for_negative: Sequence[WordWeight]


def lexical_shortcut(
    train: Sequence[Sample], test: Sequence[Sample], *, seed: int = 0
) -> Shortcut | None:
    """Train on words, measure; None when a part is empty or the train part has one label only.

    Words count once a text; those of the grounding and of the target are told apart by a prefix.

    Examples
    --------
    >>> def row(number, text, label):
    ...     return Sample(str(number), "action", "", text, label, "moral")
    >>> train = [row(n, "Jo helps" if n % 2 else "Jo lies", n % 2) for n in range(20)]
    >>> lexical_shortcut(train, [row(99, "Al helps", 1)]).accuracy.value
    1.0
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
    found = measure(Predictions(("0", "1"), test, rows), seed=seed)
    names, weights = words.get_feature_names_out(), model.coef_[0]
    listed = sorted(zip(weights.tolist(), names.tolist(), strict=True))
    heavy = [WordWeight(name, weight) for weight, name in listed if abs(weight) > _NOTHING]
    return Shortcut(
        len(train),
        len(test),
        found.accuracy,
        found.f1,
        [each for each in heavy[::-1] if each.weight > 0][:_SHOWN],
        [each for each in heavy if each.weight < 0][:_SHOWN],
    )


def _words_of(sample: Sample) -> list[str]:
    """Return the words of a sample, those of its grounding marked."""
    marked = [f"grounding:{word}" for word in _words(sample.grounding)]
    return [*marked, *_words(sample.target)]


def _words(text: str) -> list[str]:
    stripped = (word.strip(".,;:!?\"'()") for word in text.lower().split())
    return [word for word in stripped if word]


def _changed(examined: Examined, stories: Sequence[MoralStory]) -> tuple[list[int], list[Sample]]:
    """Return the samples that changed stories still have, and their places among the originals."""
    changed = {(s.id, s.target, s.label): s for s in samples(examined.task, stories)}
    keys = [(s.id, s.target, s.label) for s in examined.found.samples]
    places = [place for place, key in enumerate(keys) if key in changed]
    return places, [changed[keys[place]] for place in places]


def _chosen(found: Predictions, places: Sequence[int]) -> Predictions:
    rows = [found.samples[place] for place in places]
    return Predictions(found.labels, rows, found.probabilities[list(places)])
