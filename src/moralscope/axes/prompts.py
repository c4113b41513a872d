"""Actions under several prompts: questions encoded, in blocks, then a mean with its interval.

What every axis over a question template shares. Knows nothing of what the values mean.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np

from moralscope.axes.options import ENGLISH
from moralscope.axes.templates import Template
from moralscope.core.errors import InputError
from moralscope.core.protocols import Axis, Encoder, Floats, Paraphrases, Report
from moralscope.core.records import ActionScore
from moralscope.models.windows import unread_tokens
from moralscope.stats.intervals import crossed_bootstrap, percentile_interval, resample_weights

_RESAMPLES = 2000
_BLOCK = 256  # actions whose questions are in memory at once
Forms = tuple[str, ...]  # an action and its paraphrases
T = TypeVar("T")


def question_config(axis: str, encoder: Encoder, template: Template) -> dict[str, Any]:
    """Return what a record says of an axis that asks the questions of a template."""
    return {
        "axis": axis,
        "encoder": encoder.name,
        "template": template.name,
        **language_config(template),
        "prompts": [prompt.question for prompt in template.prompts],
        "interval": "95 % percentile bootstrap over prompts",
    }


def language_config(template: Template) -> dict[str, str]:
    """Return what a record says of the language of the questions; nothing where it is English."""
    return {} if template.language == ENGLISH else {"language": template.language}


@dataclass(frozen=True, slots=True)
class PromptMean:
    """A mean over prompts with its interval, and the value under each prompt."""

    mean: float
    low: float
    high: float
    prompts: tuple[float, ...]


class PromptBootstrap:
    """Means over prompts with bootstrap intervals; one seeded set of resamples serves all."""

    def __init__(self, prompts: int, *, seed: int = 0) -> None:
        self._weights = resample_weights(prompts, _RESAMPLES, seed)
        self._seed = seed

    def means(self, tables: Sequence[Floats]) -> list[PromptMean]:
        """Summarise tables of forms x prompts; several forms widen the interval by their own."""
        if not tables:
            return []
        means = np.stack([table.mean(axis=0) for table in tables])
        lows, highs = percentile_interval(means @ self._weights.T)
        rows = []
        for row, table, low, high in zip(means, tables, lows.tolist(), highs.tolist(), strict=True):
            ends = (low, high)
            if len(table) > 1:
                drawn = crossed_bootstrap(table, self._weights, self._seed)
                first, last = percentile_interval(drawn)
                ends = (float(first[0]), float(last[0]))
            prompts = tuple(row.tolist())
            rows.append(PromptMean(sum(prompts) / len(prompts), *ends, prompts))
        return rows


class PromptAxis(Axis):
    """An `Axis` that asks the questions of a template about actions, block by block."""

    def __init__(self, template: Template, *, seed: int = 0) -> None:
        self._template = template
        # One set of resamples for all actions: an interval does not depend on its neighbours.
        self._bootstrap = PromptBootstrap(len(template.prompts), seed=seed)

    @property
    def state(self) -> Any:
        """The template that was read."""
        return self._template

    def score(
        self, actions: Sequence[str], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> list[ActionScore]:
        """Score actions in order; an action's paraphrases join its mean and its interval."""
        return in_blocks(forms_of(actions, paraphrases), self._score_block, report)

    def _score_block(self, block: Sequence[Forms]) -> Sequence[ActionScore]:
        raise NotImplementedError


def spans_of(block: Sequence[Forms]) -> list[slice]:
    """Return where the forms of each action lie once all stand in one list.

    Examples
    --------
    >>> spans_of([("kill", "slay"), ("help",)])
    [slice(0, 2, None), slice(2, 3, None)]
    """
    ends = accumulate((len(group) for group in block), initial=0)
    return [slice(start, end) for start, end in pairwise(ends)]


def forms_of(actions: Sequence[str], paraphrases: Paraphrases) -> list[Forms]:
    """Join each action with its paraphrases.

    Examples
    --------
    >>> forms_of(["kill", "help"], [["slay"], []])
    [('kill', 'slay'), ('help',)]
    """
    others = paraphrases or [()] * len(actions)
    return [(action, *more) for action, more in zip(actions, others, strict=True)]


def in_blocks(
    forms: Sequence[Forms],
    work: Callable[[Sequence[Forms]], Iterable[T]],
    report: Report | None = None,
) -> list[T]:
    """Do the work for each distinct action once, block by block, and return it in order."""
    done: dict[Forms, T] = {}
    distinct = list(dict.fromkeys(forms))
    for start in range(0, len(distinct), _BLOCK):
        block = distinct[start : start + _BLOCK]
        done.update(zip(block, work(block), strict=True))
        if report:
            report(len(done), len(distinct))
    return [done[group] for group in forms]


def questions_unread(encoder: Encoder, template: Template, forms: Sequence[Forms]) -> list[int]:
    """Return how many tokens of each action and its paraphrases the encoder does not read."""
    first = [[template.questions(action)[0] for action in group] for group in forms]
    counts = iter(unread_tokens(encoder, [text for group in first for text in group]))
    return [sum(next(counts) for _ in group) for group in first]


def unread_warning(rows: int, tokens: int) -> list[str]:
    """Return one line where texts were not read whole.

    Examples
    --------
    >>> unread_warning(1, 12)
    ['1 text was not read whole (12 tokens): too long, or words that the model does not know']
    >>> unread_warning(0, 0)
    []
    """
    if not rows:
        return []
    were = "text was" if rows == 1 else "texts were"
    return [
        f"{rows:,} {were} not read whole ({tokens:,} token{'s' * (tokens != 1)}): too long, or "
        "words that the model does not know"
    ]


def question_rows(encoder: Encoder, template: Template, actions: Sequence[str]) -> Floats:
    """Return the rows of all questions: actions x prompts x dimension."""
    questions = [text for action in actions for text in template.questions(action)]
    return encode_finite(encoder, questions).reshape(len(actions), len(template.positive), -1)


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
