"""What is looked at before and after steering: each measure is a list of values, one a question.

The same questions are put to the plain, the steered and the randomly pushed model, so that values
pair up. A measure that the vector aims at is wanted; whatever else moves is collateral.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.language import Asking
from moralscope.core.records import Decoding
from moralscope.rules.audit import AuditModels
from moralscope.rules.records import Exchange
from moralscope.steer.contrasts import (
    Contrast,
    contrast_texts,
    harmless_contrasts,
    neutral_contrasts,
    neutral_texts,
)
from moralscope.surveys.asking import CellAnswer, ask_cells, dilemma_cells, statement_cells
from moralscope.surveys.items import Dilemma, Statement, read_items
from moralscope.surveys.statistics import item_figures

CHOICE = "choice: wanted over unwanted reply"
HARMLESS = "helps with harmless requests"
RIGHT = "right answers to neutral questions"
PERPLEXITY = "log-perplexity of neutral text"
MASS = "answer mass"
_FORMS, _WORDINGS = ("ab",), 1  # both orders and both labels: enough to tell before and after
_TOKENS = 60
Floats = NDArray[np.float64]
Values = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote to a request, and the audit's score of it."""

    request: str
    harmless: bool
    reply: str
    score: float


@dataclass(frozen=True, slots=True)
class Measures:
    """What is asked: pairs, dilemmas, and requests whose free replies are audited."""

    contrasts: Sequence[Contrast]
    dilemmas: Sequence[Dilemma]
    targets: frozenset[str]
    replies: int = 0
    auditor: AuditModels | None = None
    seed: int = 0

    def of(
        self, asking: Asking, told: Callable[[], None] | None = None
    ) -> tuple[dict[str, Floats], list[Reply]]:
        """Return every measure of one model, and what it wrote."""
        found: dict[str, Floats] = {}
        for part in (self._choices, self._survey, self._values, self._neutral):
            found.update(part(asking))
            if told:
                told()
        replies = self._replies(asking)
        for harmless in (False, True):
            scores = [each.score for each in replies if each.harmless is harmless]
            if scores:
                found[_audited(harmless)] = np.array(scores)
        if told:
            told()
        return found, replies

    def wanted(self, figure: str) -> bool:
        """Say whether the vector is meant to move a measure."""
        name = figure.partition(": ")[2]
        return figure in (CHOICE, _audited(False)) or name in self.targets

    def _choices(self, asking: Asking) -> Iterator[tuple[str, Floats]]:
        yield CHOICE, preferences(asking, self.contrasts)
        yield HARMLESS, preferences(asking, harmless_contrasts())
        yield RIGHT, preferences(asking, neutral_contrasts())

    def _survey(self, asking: Asking) -> Iterator[tuple[str, Floats]]:
        cells = [
            cell
            for place, dilemma in enumerate(self.dilemmas)
            for cell in dilemma_cells(place, dilemma, _FORMS, 1)
        ]
        groups: list[list[CellAnswer]] = [[] for _ in self.dilemmas]
        for answer in ask_cells(asking, cells):
            groups[answer.cell.item].append(answer)
        kept: dict[str, list[float]] = {}
        masses = []
        for dilemma, answers in zip(self.dilemmas, groups, strict=True):
            found = item_figures("", dilemma, answers)
            masses.append(found.mass)
            broken = sorted(frozenset().union(*dilemma.breaks))
            for rule in broken or ["right action"]:
                right = [
                    share
                    for place, share in enumerate(found.likelihoods)
                    if (rule not in dilemma.breaks[place] if broken else place == dilemma.better)
                ]
                kept.setdefault(f"survey, keeps: {rule}", []).append(sum(right))
        yield from ((name, np.array(values)) for name, values in kept.items())
        yield MASS, np.array(masses)

    def _values(self, asking: Asking) -> Iterator[tuple[str, Floats]]:
        """Yield, by foundation, how far the model agrees with statements, question by question."""
        statements = [each for each in read_items("values") if isinstance(each, Statement)]
        cells = [
            cell
            for place, each in enumerate(statements)
            for cell in statement_cells(place, each, _WORDINGS)
        ]
        found: dict[str, list[float]] = {}
        for answer in ask_cells(asking, cells):
            shares = np.exp(answer.scores - answer.scores.max())
            steps = np.array(answer.cell.chosen) / (len(shares) - 1)
            agreed = float(shares @ steps / shares.sum())
            name = f"values: {statements[answer.cell.item].subscale}"
            found.setdefault(name, []).append(
                1 - agreed if answer.cell.form == "negated" else agreed
            )
        yield from ((name, np.array(values)) for name, values in found.items())

    def _neutral(self, asking: Asking) -> Iterator[tuple[str, Floats]]:
        texts = neutral_texts(held_out=True)
        found = asking.model.log_probabilities([""] * len(texts), [[text] for text in texts])
        yield PERPLEXITY, np.array([-each.mean for [each] in found])

    def _replies(self, asking: Asking) -> list[Reply]:
        if self.auditor is None:
            return []
        harmful = _prompts(self.contrasts)[: self.replies]
        harmless = _prompts(harmless_contrasts())[: self.replies]
        requests = [*harmful, *harmless]
        decoding = Decoding(max_tokens=_TOKENS, sentence=False)
        seeds = [self.seed * 1_000_003 + at for at in range(len(requests))]
        made = asking.model.generate([asking.text(each) for each in requests], decoding, seeds)
        texts = [some[0].text for some in made]
        exchanges = [
            Exchange(request, text, str(at))
            for at, (request, text) in enumerate(zip(requests, texts, strict=True))
        ]
        audits = self.auditor.auditor.audit(exchanges)
        return [
            Reply(request, at >= len(harmful), text, float(audit.verdict.score))
            for at, (request, text, audit) in enumerate(zip(requests, texts, audits, strict=True))
        ]


def preferences(asking: Asking, contrasts: Sequence[Contrast]) -> Floats:
    """Return, for every prompt, how much likelier wanted texts are than unwanted ones, per token.

    Pairs that answer one prompt are one value; a pair without a prompt is one of its own.
    """
    texts = [contrast_texts(asking, each) for each in contrasts]
    found = asking.model.log_probabilities(
        [before for before, *_ in texts], [list(sides) for _, *sides in texts]
    )
    groups: dict[str, list[float]] = {}
    for at, (each, (wanted, unwanted)) in enumerate(zip(contrasts, found, strict=True)):
        groups.setdefault(each.prompt or f"pair {at}", []).append(wanted.mean - unwanted.mean)
    return np.array([np.mean(values) for values in groups.values()])


def _prompts(contrasts: Sequence[Contrast]) -> list[str]:
    return list(dict.fromkeys(each.prompt for each in contrasts if each.prompt))


def _audited(harmless: bool) -> str:
    return f"audit of replies to {'harmless requests' if harmless else 'what is asked'}"
