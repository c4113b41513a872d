"""The moral direction as a `MoralAxis`: actions in, scores with intervals and map places out.

    score(a) = (mean over prompts of q_p(a) . m - centre) / scale

with q_p(a) the embedding of prompt p's question about action a. Intervals are bootstraps over
the prompts: they say how much a score hangs on the wording, not on the actions fitted on.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from moralscope.axes.direction.fitting import Direction
from moralscope.axes.direction.questions import Asking, question_rows
from moralscope.axes.prompts import Forms, PromptBootstrap, Report, forms_of, in_blocks
from moralscope.core.protocols import Encoder
from moralscope.core.records import ActionScore

Place = tuple[float, float]


class DirectionAxis:
    """A `MoralAxis`: scores actions by their projection on a fitted direction.

    Parameters
    ----------
    direction
        What `fit_pca`, `fit_labelled` or `load_direction` return.
    encoder, asking
        Those that the direction was fitted with.
    seed
        Seeds the bootstrap over prompts.

    Examples
    --------
    >>> from moralscope.axes.direction import fit_pca, load_paper
    >>> from moralscope.models.encoders import load_encoder
    >>> encoder = load_encoder("scripted")
    >>> asking = Asking("mine", "1", lambda action: [f"May I {action}?"], ("Yes.",), ("No.",))
    >>> axis = DirectionAxis(fit_pca(encoder, asking, load_paper().atomic), encoder, asking)
    >>> [score.action for score in axis.score(["kill people", "kill time"])]
    ['kill people', 'kill time']
    """

    name = "direction"

    def __init__(
        self, direction: Direction, encoder: Encoder, asking: Asking, *, seed: int = 0
    ) -> None:
        self.direction = direction
        self._encoder, self._asking = encoder, asking
        self._bootstrap = PromptBootstrap(len(asking.positive), seed=seed)

    def score(
        self,
        actions: Sequence[str],
        paraphrases: Sequence[Sequence[str]] | None = None,
        report: Report | None = None,
    ) -> list[ActionScore]:
        """Score actions in order; an action's paraphrases join its mean and its interval."""
        return self.score_and_place(actions, paraphrases, report)[0]

    def score_and_place(
        self,
        actions: Sequence[str],
        paraphrases: Sequence[Sequence[str]] | None = None,
        report: Report | None = None,
    ) -> tuple[list[ActionScore], list[Place]]:
        """Score actions and say where they lie on the map of the two components."""
        found = in_blocks(forms_of(actions, paraphrases), self._block, report)
        return [score for score, _ in found], [(score.score, y) for score, y in found]

    def _block(self, block: Sequence[Forms]) -> list[tuple[ActionScore, float]]:
        texts = [form for group in block for form in group]
        placed = self.direction.project(question_rows(self._encoder, self._asking, texts))
        starts = np.cumsum([0, *(len(group) for group in block)])
        groups = [placed[start:end] for start, end in pairwise(starts)]
        means = self._bootstrap.means([group[:, :, 0] for group in groups])
        return [
            (
                ActionScore(forms[0], mean.mean, mean.low, mean.high, mean.prompts),
                float(group[:, :, 1].mean()),
            )
            for forms, mean, group in zip(block, means, groups, strict=True)
        ]
