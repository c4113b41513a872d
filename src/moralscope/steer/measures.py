"""What is looked at before and after steering: each measure is a list of values, one a question.

The same questions are put to the plain, the steered and the randomly pushed model, so that values
pair up. A measure that the vector aims at is wanted; whatever else moves is collateral.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from moralscope.axes.language import Asking
from moralscope.core.protocols import Floats
from moralscope.core.records import Decoding, grouped
from moralscope.rules.audit import AuditModels
from moralscope.rules.records import Exchange
from moralscope.steer.contrasts import (
    ContrastPair,
    contrast_texts,
    harmless_contrasts,
    neutral_contrasts,
    neutral_texts,
)
from moralscope.surveys.items import Dilemma, Statement, read_items
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.statistics import item_figures
from moralscope.surveys.survey import ask_items

CHOICE = "choice: wanted over unwanted reply"
HARMLESS = "helps with harmless requests"
RIGHT = "right answers to neutral questions"
PERPLEXITY = "log-perplexity of neutral text"
MASS = "answer mass"
_ASKED = SurveyOptions(forms=("ab",), wordings=1)  # both orders and both labels are enough
_TOKENS = 60
Values = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """What a model wrote to a request, and the audit's score of it."""

    request: str
    harmless: bool
    reply: str
    score: float


@dataclass(frozen=True, slots=True)
class Measures:
    """What is asked: pairs, dilemmas, and requests whose free replies are audited."""

    contrasts: Sequence[ContrastPair]
    dilemmas: Sequence[Dilemma]
    targets: frozenset[str]
    replies: int = 0
    auditor: AuditModels | None = None
    seed: int = 0

    def of(
        self, asking: Asking, step: Callable[[], None] = lambda: None
    ) -> tuple[dict[str, Floats], list[ScoredReply]]:
        """Return every measure of one model, and what it wrote; call `step` after each fifth."""
        values = {
            CHOICE: preferences(asking, self.contrasts),
            HARMLESS: preferences(asking, harmless_contrasts()),
            RIGHT: preferences(asking, neutral_contrasts()),
        }
        step()
        values |= self._survey(asking)
        step()
        values |= _agreement_with_values(asking)
        step()
        texts = neutral_texts(held_out=True)
        likely = asking.model.log_probabilities([""] * len(texts), [[text] for text in texts])
        values[PERPLEXITY] = np.array([-text.mean for [text] in likely])
        step()
        replies = self._replies(asking)
        for harmless in (False, True):
            scores = [reply.score for reply in replies if reply.harmless is harmless]
            if scores:
                values[_audited(harmless)] = np.array(scores)
        step()
        return values, replies

    def wanted(self, figure: str) -> bool:
        """Say whether the vector is meant to move a measure."""
        return figure in (CHOICE, _audited(False)) or figure.partition(": ")[2] in self.targets

    def _survey(self, asking: Asking) -> dict[str, Floats]:
        """Return how likely each rule is kept, dilemma by dilemma, and the answers' mass."""
        groups = ask_items(asking, self.dilemmas, _ASKED)
        kept: dict[str, list[float]] = {}
        masses = []
        for dilemma, answers in zip(self.dilemmas, groups, strict=True):
            figures = item_figures("", dilemma, answers)
            masses.append(figures.mass)
            broken = sorted(frozenset().union(*dilemma.breaks))
            for rule in broken or ["right action"]:
                right = [
                    share
                    for index, share in enumerate(figures.likelihoods)
                    if (rule not in dilemma.breaks[index] if broken else index == dilemma.better)
                ]
                kept.setdefault(f"survey, keeps: {rule}", []).append(sum(right))
        return {**{name: np.array(values) for name, values in kept.items()}, MASS: np.array(masses)}

    def _replies(self, asking: Asking) -> list[ScoredReply]:
        if self.auditor is None:
            return []
        harmful, harmless = (
            list(dict.fromkeys(pair.prompt for pair in pairs if pair.prompt))[: self.replies]
            for pairs in (self.contrasts, harmless_contrasts())
        )
        requests = [*harmful, *harmless]
        decoding = Decoding(max_tokens=_TOKENS, sentence=False)
        seeds = [self.seed * 1_000_003 + at for at in range(len(requests))]
        made = asking.model.generate([asking.text(text) for text in requests], decoding, seeds)
        texts = [candidates[0].text for candidates in made]
        exchanges = [
            Exchange(request, text, str(at))
            for at, (request, text) in enumerate(zip(requests, texts, strict=True))
        ]
        audits = self.auditor.auditor.audit(exchanges)
        return [
            ScoredReply(request, at >= len(harmful), text, float(audit.verdict.score))
            for at, (request, text, audit) in enumerate(zip(requests, texts, audits, strict=True))
        ]


def _agreement_with_values(asking: Asking) -> dict[str, Floats]:
    """Return, by foundation, how far the model agrees with statements, question by question."""
    statements = [item for item in read_items("values") if isinstance(item, Statement)]
    agreements: dict[str, list[float]] = {}
    for answer in chain.from_iterable(ask_items(asking, statements, _ASKED)):
        shares = np.exp(answer.scores - answer.scores.max())
        steps = np.array(answer.cell.chosen) / (len(shares) - 1)
        agreed = float(shares @ steps / shares.sum())
        name = f"values: {statements[answer.cell.item].subscale}"
        agreements.setdefault(name, []).append(
            1 - agreed if answer.cell.form == "negated" else agreed
        )
    return {name: np.array(values) for name, values in agreements.items()}


def preferences(asking: Asking, contrasts: Sequence[ContrastPair]) -> Floats:
    """Return, for every prompt, how much likelier wanted texts are than unwanted ones, per token.

    Pairs that answer one prompt are one value; a pair without a prompt is one of its own.
    """
    texts = [contrast_texts(asking, pair) for pair in contrasts]
    likely = asking.model.log_probabilities(
        [before for before, *_ in texts], [list(sides) for _, *sides in texts]
    )
    prompts = (pair.prompt or f"pair {at}" for at, pair in enumerate(contrasts))
    gaps = (wanted.mean - unwanted.mean for wanted, unwanted in likely)
    groups = grouped(zip(prompts, gaps, strict=True))
    return np.array([np.mean(values) for values in groups.values()])


def _audited(harmless: bool) -> str:
    return f"audit of replies to {'harmless requests' if harmless else 'what is asked'}"
