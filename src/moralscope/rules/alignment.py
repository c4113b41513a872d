"""Alignment: does a reply agree with a rule, disagree, or neither? The pair form and the aligner.

The expert reads the pair (rule, exchange). The exchange is one line of prose, so that an expert
trained on what people do can read what a chatbot says. Texts are data: quotation marks inside them
become single ones, so that no prompt can close its own quotation and speak for the assistant.
Which rules are asked about, and what follows from the answer, is decided elsewhere.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier, Matrix
from moralscope.rules.records import ALIGNMENTS, Alignment, Exchange

TASK = "alignment"
STORIES_LABELS = {"breaks": "disagree", "keeps": "agree", "does not concern": "neither"}
_QUOTES = str.maketrans(dict.fromkeys('"“”„‟«»\uff02', "'"))


class Aligns(Protocol):
    """What tells the alignment of replies with rules."""

    def align(self, pairs: Sequence[tuple[str, Exchange]]) -> list[Alignment]: ...


def exchange_text(exchange: Exchange) -> str:
    """Write an exchange as one line about what the assistant does, whoever "I" may be in it.

    Examples
    --------
    >>> print(exchange_text(Exchange("Do you steal?", 'I say "no".')))
    Someone asks: "Do you steal?" The assistant answers: "I say 'no'."
    >>> exchange_text(Exchange("", "Hello."))
    'The assistant says: "Hello."'
    """
    prompt, reply = (
        " ".join(text.translate(_QUOTES).split()) for text in (exchange.prompt, exchange.reply)
    )
    if not prompt:
        return f'The assistant says: "{reply}"'
    return f'Someone asks: "{prompt}" The assistant answers: "{reply}"'


def alignment_pair(rule: str, exchange: Exchange) -> tuple[str, str]:
    """Return what the expert reads: the rule as grounding, the exchange as target.

    Examples
    --------
    >>> alignment_pair("It is wrong to steal.", Exchange("", "I stole it."))
    ('It is wrong to steal.', 'The assistant says: "I stole it."')
    """
    return " ".join(rule.split()), exchange_text(exchange)


class Aligner:
    """Asks a `Classifier` with the labels disagree, agree and neither, in any order.

    Examples
    --------
    >>> from moralscope.models.classifiers.scripted import ScriptedExperts
    >>> expert = ScriptedExperts({TASK: ALIGNMENTS}).expert(TASK)
    >>> (found,) = Aligner(expert).align([("Be kind.", Exchange("Hi!", "Hello."))])
    >>> found.label in ALIGNMENTS, round(sum(found.probabilities.values()), 3)
    (True, 1.0)
    """

    def __init__(self, classifier: Classifier) -> None:
        if sorted(classifier.labels) != sorted(ALIGNMENTS):
            raise InputError(
                f"'{classifier.name}' tells {', '.join(classifier.labels)}",
                f"an alignment expert tells {', '.join(ALIGNMENTS)}",
            )
        self.classifier = classifier

    def align(self, pairs: Sequence[tuple[str, Exchange]]) -> list[Alignment]:
        """Return one alignment a pair (rule, exchange), in order."""
        if not pairs:
            return []
        rows = self.classifier.probabilities([alignment_pair(*pair) for pair in pairs])
        found = []
        for row in rows:
            told = dict(zip(self.classifier.labels, map(float, row), strict=True))
            ordered = {label: told[label] for label in ALIGNMENTS}
            found.append(Alignment(max(ordered, key=lambda label: ordered[label]), ordered))
        return found


class StoriesAlignment:
    """A `Classifier` for alignment around one that tells breaks, keeps and does not concern.

    Examples
    --------
    >>> from moralscope.models.classifiers.scripted import ScriptedExperts
    >>> expert = ScriptedExperts({"action+norm": list(STORIES_LABELS)}).expert("action+norm")
    >>> StoriesAlignment(expert).labels
    ('disagree', 'agree', 'neither')
    """

    def __init__(self, classifier: Classifier) -> None:
        if sorted(classifier.labels) != sorted(STORIES_LABELS):
            raise InputError(
                f"'{classifier.name}' tells {', '.join(classifier.labels)}",
                f"alignment needs one that tells {', '.join(STORIES_LABELS)}",
            )
        self._classifier = classifier
        told = [STORIES_LABELS[label] for label in classifier.labels]
        self._columns = [told.index(label) for label in ALIGNMENTS]
        self.name = classifier.name
        self.checksum = classifier.checksum
        self.labels = ALIGNMENTS

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        return np.asarray(self._classifier.probabilities(pairs)[:, self._columns])
