"""The lexical-shortcut audit: how far single words go on a task, without reading a sentence.

A bag-of-words logistic regression trained on a split's train part and tested on another part of
the same split. An expert that does no better than this has learnt words, not norms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.records import Interval
from moralscope.stories.evaluation import Predictions, measure
from moralscope.stories.tasks import Sample

_SHOWN = 15
_MANY = 100
_NOTHING = 0.01  # below it a word is noise of the fit


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
