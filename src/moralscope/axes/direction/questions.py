"""Actions as rows of numbers: every question about an action, encoded.

How an action becomes a question is told from outside (`Asking`): this room has no templates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asking:
    """How actions are asked about: a template's questions and its two kinds of answers.

    `fingerprint` changes when any question or answer does; a saved direction is tied to it.
    """

    template: str
    fingerprint: str
    questions: Callable[[str], Sequence[str]]
    positive: tuple[str, ...]
    negative: tuple[str, ...]


def question_rows(encoder: Encoder, asking: Asking, actions: Sequence[str]) -> Floats:
    """Return the rows of all questions: actions x prompts x dimension.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> asking = Asking("mine", "1", lambda action: [f"May I {action}?"], ("Yes.",), ("No.",))
    >>> question_rows(load_encoder("scripted"), asking, ["kill", "help"]).shape
    (2, 1, 64)
    """
    questions = [text for action in actions for text in asking.questions(action)]
    rows = encode_finite(encoder, questions)
    return rows.reshape(len(actions), len(asking.positive), -1)


def encode_finite(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """Encode texts as float64; refuse rows that hold a number that is not finite."""
    rows = encoder.encode(texts).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise InputError(
            f"{encoder.name} gives numbers that are not finite for {texts[bad[0]][:60]!r}",
            "use another encoder, or repair its weights",
        )
    return rows
