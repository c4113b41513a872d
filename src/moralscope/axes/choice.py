"""The Moral Choice Machine: bias of actions from question/answer cosines.

    bias(q, a, b) = cos(a, q) - cos(b, q)                      (Jentzsch et al. 2019, Eq. 2)

where q is the question about an action, a the positive and b the negative answer. An action's
score is the mean over the prompts of a template; the paper's tables print the sum, which is
the mean times the number of prompts. `rank` orders candidate answers to a free question by cosine
(their Table 3).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from moralscope.axes.build import AxisModels, question_encoder
from moralscope.axes.options import AxisOptions, RankOptions
from moralscope.axes.prompts import (
    Forms,
    PromptAxis,
    forms_of,
    in_blocks,
    question_config,
    questions_unread,
    spans_of,
)
from moralscope.axes.templates import Template, load_template
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import AxisCard, Encoder, Floats
from moralscope.core.records import NOT_ADVICE, ActionScore, RankedAnswer, RunRecord
from moralscope.io.actions import check_actions
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoder
from moralscope.stats.summary import unit_rows

_SHIFTED = (
    "question/answer scores are shifted against zero by the model's bias for one of the answers: "
    "compare rows with each other, not with zero"
)


def build_choice(
    options: AxisOptions, models: AxisModels, *, state: Template | None = None, many: bool = False
) -> "ChoiceMachine":
    """Read the template and load the encoder."""
    template = state or load_template(options.template, options.language)
    return ChoiceMachine(question_encoder(options, models), template, seed=options.seed)


class ChoiceMachine(PromptAxis):
    """An `Axis`: scores actions by their question/answer bias.

    Parameters
    ----------
    encoder
        Any `Encoder`.
    template
        The questions and answers; `load_template("moral")` is the papers'.
    seed
        The bootstrap over prompts that gives each score its interval.
    """

    name = "choice"

    def __init__(self, encoder: Encoder, template: Template, *, seed: int = 0) -> None:
        super().__init__(template, seed=seed)
        self._encoder = encoder

    @property
    def card(self) -> AxisCard:
        """What a record says of the axis."""
        return AxisCard(
            config=question_config(self.name, self._encoder, self._template),
            models=model_refs([self._encoder]),
            warnings=[_SHIFTED, *self._template.warnings],
            arithmetic=self._encoder.arithmetic,
            fingerprint=self._template.fingerprint,
        )

    def biases(self, actions: Sequence[str]) -> Floats:
        """Return the bias of every action (rows) under every prompt (columns)."""
        rows = in_blocks(
            forms_of(actions, None), lambda block: self._biases_block([a for (a,) in block])
        )
        return np.stack(rows) if rows else np.empty((0, len(self._template.prompts)))

    def _score_block(self, block: Sequence[Forms]) -> list[ActionScore]:
        biases = self._biases_block([form for group in block for form in group])
        means = self._bootstrap.means([biases[span] for span in spans_of(block)])
        unread = questions_unread(self._encoder, self._template, block)
        return [
            ActionScore(group[0], row.mean, row.low, row.high, row.prompts, sum(row.prompts), more)
            for group, row, more in zip(block, means, unread, strict=True)
        ]

    def _biases_block(self, actions: Sequence[str]) -> Floats:
        questions = [text for action in actions for text in self._template.questions(action)]
        rows = self._units(questions).reshape(len(actions), len(self._template.prompts), -1)
        # cos(a, q) - cos(b, q) = (a - b) . q for unit vectors
        biases: Floats = np.einsum("npd,pd->np", rows, self._answer_differences)
        return biases

    @cached_property
    def _answer_differences(self) -> Floats:
        """Encode each answer once per machine, however many actions follow."""
        prompts = self._template.prompts
        answers = [p.positive for p in prompts] + [p.negative for p in prompts]
        distinct = list(dict.fromkeys(answers))
        rows = dict(zip(distinct, self._units(distinct), strict=True))
        return np.stack([rows[p.positive] - rows[p.negative] for p in prompts])

    def _units(self, texts: Sequence[str]) -> Floats:
        return unit_rows(self._encoder.encode(texts).astype(np.float64))


def rank(
    question: str,
    answers: Sequence[str],
    options: RankOptions | None = None,
    *,
    model: Encoder | None = None,
    **keywords: Any,
) -> RunRecord:
    """Rank answers by their cosine with the question and return a run record.

    Parameters
    ----------
    question, answers
        What is asked, and the candidates.
    options
        `RankOptions`, or its fields as keywords.
    model
        An encoder that is loaded already; else the one that the options name.

    Examples
    --------
    >>> record = rank("to toast bread", ["my hamster", "bread"], encoder="scripted")
    >>> record.results[0].answer
    'bread'
    """
    chosen = chosen_options(RankOptions, options, keywords)
    check_actions([question])
    candidates = check_actions(answers).actions
    encoder = model or load_encoder(chosen.encoder)
    config = {
        "question": question,
        "answers": list(candidates),
        "encoder": encoder.name,
        "options": plain_options(chosen),
    }
    ranked, models = rank_answers(encoder, question, candidates), model_refs([encoder])
    return RunRecord("rank", chosen.seed, config, models, ranked, warnings=[NOT_ADVICE])


def rank_answers(encoder: Encoder, question: str, answers: Sequence[str]) -> list[RankedAnswer]:
    """Return the answers by falling cosine with the question; ties keep their order."""
    rows = unit_rows(encoder.encode([question, *answers]).astype(np.float64))
    cosines = rows[1:] @ rows[0]
    order = np.argsort(-cosines, kind="stable")
    return [RankedAnswer(answers[index], float(cosines[index])) for index in order]
