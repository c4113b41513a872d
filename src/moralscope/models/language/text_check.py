"""Does a text read well, and does it answer what was asked? A small language model says.

fluency = mean log P(token | the question); relevance = fluency - mean log P(token | no question),
how much likelier the question makes the text. The limits were set with smollm2 on 200 replies of
ours that people would send: nine in ten pass each. None passes with its words in any order, one in
five with the letters of every sixth word in any order, and one in three as the answer to another
question (`python bench/bad_texts.py limits`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.core.protocols import LanguageModel

CHECKER = "smollm2"  # the model that the limits belong to
LEAST_FLUENCY = -5.3
_LEAST_ALONE = -6.0  # fluency of a text that answers no question: likewise, nine in ten
LEAST_RELEVANCE = 0.04
_NO_QUESTION = "Please say something."


@dataclass(frozen=True, slots=True)
class TextQuality:
    """How well a text reads, and how much its question says about it, in nats per token."""

    fluency: float
    relevance: float

    @property
    def passes(self) -> bool:
        """Whether it may be shown."""
        least = _LEAST_ALONE if self.relevance == float("inf") else LEAST_FLUENCY
        return self.fluency >= least and self.relevance >= LEAST_RELEVANCE


class TextCheck:
    """Reads texts before anybody else does."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[TextQuality]:
        """Return the quality of each (question, text); without a question any text is relevant."""
        questions = [question.strip() or _NO_QUESTION for question, _ in pairs]
        prompts = [
            self._model.prompt(text, chat=True)
            for text in [*questions, *[_NO_QUESTION] * len(pairs)]
        ]
        rows = self._model.log_probabilities(prompts, [[text] for _, text in pairs] * 2)
        means = [row[0].mean for row in rows]
        return [
            TextQuality(mean, float("inf") if question == _NO_QUESTION else mean - alone)
            for question, mean, alone in zip(
                questions, means[: len(pairs)], means[len(pairs) :], strict=True
            )
        ]
