"""The Moral Choice Machine: bias of actions from question/answer cosines.

    bias(q, a, b) = cos(a, q) - cos(b, q)                      (Jentzsch et al. 2019, Eq. 2)

where q is the question about an action, a the positive and b the negative answer. An action's
score is the mean over the prompts of a template; the paper's tables print the sum, which is
the mean times the number of prompts.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from moralscope.choice.templates import Template
from moralscope.core.protocols import Encoder
from moralscope.core.records import ActionScore
from moralscope.engine.stats import crossed_bootstrap, percentile_interval, resample_weights

_BLOCK = 256  # actions whose questions are in memory at once
Biases = NDArray[np.float64]
Report = Callable[[int, int], None]
Forms = tuple[str, ...]  # an action and its paraphrases
Scored = tuple[float, float, float, tuple[float, ...], float]


class ChoiceMachine:
    """A `MoralAxis`: scores actions by their question/answer bias.

    Parameters
    ----------
    encoder
        Any `Encoder`.
    template
        The questions and answers; `load_template("moral")` is the papers'.
    seed, resamples, level
        The bootstrap over prompts that gives each score its interval.

    Examples
    --------
    >>> from moralscope.choice import load_template
    >>> from moralscope.engine.encoders import load_encoder
    >>> machine = ChoiceMachine(load_encoder("scripted"), load_template("moral"))
    >>> scores = machine.score(["kill people", "kill time"])
    >>> [score.action for score in scores], len(scores[0].prompts)
    (['kill people', 'kill time'], 10)
    """

    name = "choice"

    def __init__(
        self,
        encoder: Encoder,
        template: Template,
        *,
        seed: int = 0,
        resamples: int = 2000,
        level: float = 0.95,
    ) -> None:
        self._encoder = encoder
        self._template = template
        self._seed = seed
        self._level = level
        # One set of resamples for all actions: an interval does not depend on its neighbours.
        self._weights = resample_weights(len(template.prompts), resamples, seed)

    def score(
        self,
        actions: Sequence[str],
        paraphrases: Sequence[Sequence[str]] | None = None,
        report: Report | None = None,
    ) -> list[ActionScore]:
        """Score actions in order; an action's paraphrases join its mean and its interval."""
        forms = [
            (action, *others)
            for action, others in zip(actions, paraphrases or [()] * len(actions), strict=True)
        ]
        done: dict[Forms, Scored] = {}
        distinct = list(dict.fromkeys(forms))
        for block in _blocks(distinct, _BLOCK):
            done.update(self._score_block(block))
            if report:
                report(len(done), len(distinct))
        return [ActionScore(group[0], *done[group]) for group in forms]

    def biases(self, actions: Sequence[str]) -> Biases:
        """Return the bias of every action (rows) under every prompt (columns)."""
        blocks = [self._biases_block(block) for block in _blocks(list(actions), _BLOCK)]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self._template.prompts)))

    def _score_block(self, block: Sequence[Forms]) -> Iterator[tuple[Forms, Scored]]:
        texts = [form for group in block for form in group]
        biases = self._biases_block(texts)
        starts = np.cumsum([0, *(len(group) for group in block)])
        groups = [biases[start:end] for start, end in pairwise(starts)]
        means = np.stack([group.mean(axis=0) for group in groups])
        lows, highs = percentile_interval(means @ self._weights.T, self._level)
        for place, group in enumerate(groups):
            low, high = float(lows[place]), float(highs[place])
            if len(group) > 1:
                drawn = crossed_bootstrap(group, self._weights, self._seed)
                low, high = (float(end[0]) for end in percentile_interval(drawn, self._level))
            prompts = tuple(means[place].tolist())
            total = sum(prompts)
            yield block[place], (total / len(prompts), low, high, prompts, total)

    def _biases_block(self, actions: Sequence[str]) -> Biases:
        questions = [text for action in actions for text in self._template.questions(action)]
        rows = _unit(self._encoder.encode(questions))
        prompts = len(self._template.prompts)
        rows = rows.reshape(len(actions), prompts, -1)
        # cos(a, q) - cos(b, q) = (a - b) . q for unit vectors
        biases: Biases = np.einsum("npd,pd->np", rows, self._answer_differences())
        return biases

    def _answer_differences(self) -> NDArray[np.float64]:
        """Encode each answer once per machine, however many actions follow."""
        cached: NDArray[np.float64] | None = getattr(self, "_differences", None)
        if cached is None:
            prompts = self._template.prompts
            answers = [p.positive for p in prompts] + [p.negative for p in prompts]
            distinct = list(dict.fromkeys(answers))
            rows = dict(zip(distinct, _unit(self._encoder.encode(distinct)), strict=True))
            cached = np.stack([rows[p.positive] - rows[p.negative] for p in prompts])
            self._differences = cached
        return cached


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = rows.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return wide / np.where(norms == 0, 1.0, norms)


def _blocks(items: Sequence, size: int) -> Iterator[Sequence]:  # type: ignore[type-arg]
    for start in range(0, len(items), size):
        yield items[start : start + size]
