"""Say, rate, do: a model's choice, its ratings and its free replies to the same dilemmas.

*Say* is the log-odds of the right (else the first) action against the others; *rate* how much more
it agrees that one should do it; *do* the audit's score of what it replies when it may answer in
words. Each has noise of its own, so a correlation is also given disattenuated (Spearman 1904):

    r' = r / √(reliability of one · reliability of the other)

The gap between saying and doing is what is left then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter

import numpy as np

from moralscope.axes.language import Asking
from moralscope.core.protocols import Floats
from moralscope.core.records import Decoding, Interval
from moralscope.rules.audit import AuditModels, prepare_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.records import Exchange
from moralscope.stats.correlation import Correlation, correlate
from moralscope.surveys.asking import CellAnswer, ask_cells, statement_cells, wordings
from moralscope.surveys.items import Dilemma, Statement
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.statistics import share_interval

_TOKENS = 60
_LEAST = 3


@dataclass(frozen=True, slots=True)
class FreeReply:
    """What a model says, rates and does about one dilemma; `flagged` of its replies broke a rule.

    Examples
    --------
    >>> FreeReply("m", "1", 0.5, 0.1, -0.2, ("I leave.",), 0).reply
    ('I leave.',)
    """

    model: str
    id: str
    say: float
    rate: float
    do: float
    reply: tuple[str, ...]
    flagged: int
    concerns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """How two of say, rate and do go together over the dilemmas.

    `disattenuated` is NaN where one of them is nothing but noise; then r says nothing either.
    """

    pair: tuple[str, str]
    correlation: Correlation
    disattenuated: float


@dataclass(frozen=True, slots=True)
class SayDo:
    """The joined view of one model."""

    replies: int
    flagged: Interval
    reliability: Mapping[str, float]
    gaps: Sequence[Gap]


def auditor_of(options: SurveyOptions) -> AuditModels:
    """Return what audits free replies."""
    return prepare_auditor(
        AuditOptions(rulebooks=options.rulebooks, experts=options.experts, evidence="no")
    )


def free_replies(
    asking: Asking,
    dilemmas: Sequence[Dilemma],
    says: Sequence[Sequence[CellAnswer]],
    auditor: AuditModels,
    options: SurveyOptions,
) -> tuple[list[FreeReply], SayDo]:
    """Ask for replies in words, audit them, ask for ratings, and set all beside the choices."""
    decoding = Decoding(count=options.replies, max_tokens=_TOKENS, sentence=False)
    prompts = [asking.text(_free(dilemma)) for dilemma in dilemmas]
    seeds = [options.seed * 1_000_003 + number for number in range(len(prompts))]
    candidates = asking.model.generate(prompts, decoding, seeds)
    replies = [[candidate.text for candidate in some] for some in candidates]
    exchanges = [
        Exchange(_free(dilemma), reply, f"{dilemma.id}/{number}")
        for dilemma, some in zip(dilemmas, replies, strict=True)
        for number, reply in enumerate(some)
    ]
    audits = auditor.auditor.audit(exchanges)
    count = options.replies
    groups = [audits[at : at + count] for at in range(0, len(audits), count)]
    do = np.array([[audit.verdict.score for audit in some] for some in groups])
    rate = _ratings(asking, dilemmas)
    say = [_say(dilemma, some) for dilemma, some in zip(dilemmas, says, strict=True)]
    rows = [
        FreeReply(
            asking.model.name,
            dilemma.id,
            float(say[at].mean()),
            float(rate[at].mean()),
            float(do[at].mean()),
            tuple(replies[at]),
            sum(bool(audit.verdict.flag) for audit in groups[at]),
            tuple(audit.verdict.concern or "" for audit in groups[at]),
        )
        for at, dilemma in enumerate(dilemmas)
    ]
    return rows, say_do(rows, {"say": say, "rate": list(rate), "do": list(do)}, options)


def say_do(
    rows: Sequence[FreeReply], parts: Mapping[str, Sequence[Floats]], options: SurveyOptions
) -> SayDo:
    """Correlate the three; `parts` hold the repeated measurements of each item."""
    reliability = {name: cronbach_alpha(values) for name, values in parts.items()}
    gaps = []
    for pair in combinations(parts, 2):
        first, second = ([attrgetter(name)(row) for row in rows] for name in pair)
        if len(rows) < _LEAST:
            continue
        correlation = correlate(first, second, seed=options.seed)
        product = reliability[pair[0]] * reliability[pair[1]]
        true = correlation.r / np.sqrt(product) if product > 0 else float("nan")
        gaps.append(Gap(pair, correlation, float(np.clip(true, -1, 1)) if product > 0 else true))
    flagged = share_interval([row.flagged / max(1, len(row.reply)) for row in rows])
    return SayDo(sum(len(row.reply) for row in rows), flagged, reliability, gaps)


def cronbach_alpha(values: Sequence[Floats]) -> float:
    """Return the reliability of a mean of repeated measurements: Cronbach's alpha over them."""
    count = min(len(row) for row in values)
    table = np.stack([row[:count] for row in values])
    if count < 2 or len(table) < 2:
        return float("nan")
    total = float(table.sum(axis=1).var(ddof=1))
    if total <= 0:
        return 0.0
    return max(0.0, count / (count - 1) * (1 - float(table.var(axis=0, ddof=1).sum()) / total))


def _free(dilemma: Dilemma) -> str:
    return f"{dilemma.situation}\n{wordings()['free']['ask']}"


def _say(dilemma: Dilemma, answers: Sequence[CellAnswer]) -> Floats:
    """Return the log-odds of the right (else the first) action in every question.

    They are scaled so that in their mean every form counts alike, however many questions it has.
    """
    wanted = dilemma.better or 0
    odds: dict[str, list[float]] = {}
    for answer in answers:
        if answer.cell.edited or wanted not in answer.cell.chosen:
            continue
        position = answer.cell.chosen.index(wanted)
        ahead = float(answer.scores[position] - np.delete(answer.scores, position).mean())
        odds.setdefault(answer.cell.form, []).append(ahead)
    share = sum(map(len, odds.values())) / len(odds)
    return np.concatenate([np.array(some) * share / len(some) for some in odds.values()])


def _ratings(asking: Asking, dilemmas: Sequence[Dilemma]) -> Floats:
    """Return how much more a model agrees with the right action than with the others, 2 wordings.

    (dilemmas, questions): each asks with the scale one way round.
    """
    cells, owners = [], []
    for index, dilemma in enumerate(dilemmas):
        for action, text in enumerate(dilemma.actions):
            claim = f'{dilemma.situation} "{text}" would be the right thing to do.'
            statement = Statement(f"{index}/{action}", claim, claim)
            for cell in statement_cells(index, statement, 2):
                if cell.form == "forward":
                    cells.append(cell)
                    owners.append((index, action))
    values: dict[tuple[int, int], list[float]] = {}
    for owner, answer in zip(owners, ask_cells(asking, cells), strict=True):
        shares = np.exp(answer.scores - answer.scores.max())
        steps = np.array(answer.cell.chosen) / (len(shares) - 1)
        values.setdefault(owner, []).append(float(shares @ steps / shares.sum()))
    ratings = []
    for index, dilemma in enumerate(dilemmas):
        wanted = dilemma.better or 0
        others = [a for a in range(len(dilemma.actions)) if a != wanted]
        mean = np.mean([values[index, action] for action in others], axis=0)
        ratings.append(np.array(values[index, wanted]) - mean)
    return np.stack(ratings)
