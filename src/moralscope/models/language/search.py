"""The decoding loops: sampling (greedy is its limit) and beam search, over any model's steps.

Nucleus sampling (Holtzman et al. 2020) uses numbers drawn in advance: a candidate's come from its
seed and its number alone, so neither the batch nor the order decides anything. Knows neither
prompts' texts nor models: it walks `Steps` and asks `Ending` when to stop.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from moralscope.core.records import Candidate, Decoding
from moralscope.models.language.decoding import Ending

_TOP = 1024  # a nucleus is nearly always within the likeliest 1,024 tokens; else all are sorted


def uniform_draws(seed: int, candidate: int, count: int) -> list[float]:
    """Return `count` numbers in [0, 1) that belong to one candidate of one seed.

    By a counter-based generator, which needs no state of its own (Salmon et al. 2011, Philox).

    Examples
    --------
    >>> uniform_draws(7, 0, 2) == uniform_draws(7, 0, 5)[:2]
    True
    """
    key = np.array([seed % 2**64, candidate], dtype=np.uint64)
    numbers: list[float] = np.random.Generator(np.random.Philox(key=key)).random(count).tolist()
    return numbers


def pick_nucleus(
    logits: Any, rows: Sequence[int], draws: Sequence[float], p: float, temperature: float
) -> tuple[list[int], list[float]]:
    """Pick a token for each of `rows` from the smallest set of tokens that holds `p`.

    `rows` may repeat. The set is that of the tempered distribution; the log-probabilities beside
    the tokens are the model's own, at temperature 1 and with nothing cut off.
    """
    index = torch.tensor(rows, device=logits.device)
    plain = torch.log_softmax(logits, -1)
    tempered = plain if temperature == 1 else torch.log_softmax(logits / temperature, -1)
    values, tokens = tempered.topk(min(_TOP, logits.shape[-1]), -1)
    shares = values.double().exp()
    chosen = tokens[index].gather(1, _ranks(shares[index], draws, p)[:, None])[:, 0]
    for row in (shares.sum(-1)[index] < min(p, 1 - 1e-6)).nonzero()[:, 0].tolist():
        values, tokens = tempered[rows[row]].sort(descending=True, stable=True)
        chosen[row] = tokens[_ranks(values.double().exp()[None], draws[row : row + 1], p)[0]]
    return chosen.tolist(), plain[index, chosen].tolist()


def _ranks(shares: Any, draws: Sequence[float], p: float) -> Any:
    """Return, for rows of falling shares, the rank in the nucleus that each draw hits."""
    until = shares.cumsum(-1)
    inside = until - shares < p
    mass = (shares * inside).sum(-1, keepdim=True)
    draw = torch.tensor(draws, dtype=torch.float64, device=shares.device)[:, None]
    return (until <= draw * mass).sum(-1).clamp(max=inside.sum(-1) - 1)


_SHRINK = 0.8  # finished rows leave when at most this share still writes: moving rows costs too


class Steps(Protocol):
    """One model's arithmetic: prompts → logits, then token by token. See `steps`."""

    def padded(self, length: int) -> int: ...

    def start(self, prompts: Sequence[Sequence[int]], width: int) -> Any: ...

    def step(self, tokens: Sequence[int]) -> Any: ...

    def select(self, rows: Sequence[int], slots: Sequence[int]) -> None: ...


@dataclass(slots=True)
class _Row:
    slot: int
    draws: Sequence[float] = ()
    tokens: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    done: Candidate | None = None


@dataclass(frozen=True, slots=True)
class _Beam:
    tokens: tuple[int, ...]
    scores: tuple[float, ...]
    row: int

    @property
    def total(self) -> float:
        return sum(self.scores)


def sample(
    steps: Steps,
    prompts: Sequence[Sequence[int]],
    decoding: Decoding,
    seeds: Sequence[int],
    ending: Ending,
) -> list[list[Candidate]]:
    """Return `decoding.count` sampled (or one greedy) candidates for each prompt."""
    width = decoding.count
    rows = [
        _Row(slot, uniform_draws(seeds[slot // width], slot % width, decoding.max_tokens))
        for slot in range(len(prompts) * width)
    ]
    logits = steps.start(prompts, width)
    indices, running = [row.slot // width for row in rows], list(rows)
    steps.select(indices, [row.slot for row in rows])
    while True:
        if decoding.strategy == "greedy":
            best, likeliest = torch.log_softmax(logits, -1).max(-1)
            tokens, scores = likeliest[indices].tolist(), best[indices].tolist()
        else:
            at = [min(len(row.tokens), decoding.max_tokens - 1) for row in running]
            draws = [row.draws[step] for row, step in zip(running, at, strict=True)]
            tokens, scores = pick_nucleus(logits, indices, draws, decoding.p, decoding.temperature)
        for row, token, score in zip(running, tokens, scores, strict=True):
            if row.done is None:
                row.tokens.append(token)
                row.scores.append(score)
                row.done = ending.candidate(row.tokens, row.scores, decoding)
        writing = [index for index, row in enumerate(running) if row.done is None]
        if not writing:
            break
        if len(writing) <= _SHRINK * len(running):
            running = [running[index] for index in writing]
            steps.select(writing, [row.slot for row in running])
        logits = steps.step([row.tokens[-1] for row in running])
        indices = list(range(len(running)))
    done = [row.done for row in rows if row.done is not None]
    return [done[at : at + width] for at in range(0, len(done), width)]


def beam(
    steps: Steps, prompts: Sequence[Sequence[int]], decoding: Decoding, ending: Ending
) -> list[list[Candidate]]:
    """Return the best `decoding.count` of `decoding.beams` beams, best mean log-probability first.

    A prompt is done when as many candidates are finished as there are beams. A candidate's score
    is the mean over its tokens, its end token included: no length is favoured.
    """
    width = decoding.beams
    logits = steps.start(prompts, width)
    living = [[_Beam((), (), index)] for index in range(len(prompts))]
    finished: list[list[Candidate]] = [[] for _ in prompts]
    while any(living):
        scores, tokens = torch.log_softmax(logits, -1).topk(min(2 * width, logits.shape[-1]), -1)
        top = tokens.tolist(), scores.tolist()
        for number, beams in enumerate(living):
            living[number] = _advance(beams, top, finished[number], decoding, ending)
        alive = [
            (number, at, one) for number, some in enumerate(living) for at, one in enumerate(some)
        ]
        if not alive:
            break
        steps.select(
            [one.row for _, _, one in alive], [number * width + at for number, at, _ in alive]
        )
        logits = steps.step([one.tokens[-1] for _, _, one in alive])
        rows = iter(range(len(alive)))
        living = [[_Beam(one.tokens, one.scores, next(rows)) for one in some] for some in living]

    def mean(candidate: Candidate) -> float:
        return sum(candidate.log_probabilities) / max(1, len(candidate.log_probabilities))

    return [sorted(some, key=mean, reverse=True)[: decoding.count] for some in finished]


def _advance(
    beams: Sequence[_Beam],
    top: tuple[list[list[int]], list[list[float]]],
    finished: list[Candidate],
    decoding: Decoding,
    ending: Ending,
) -> list[_Beam]:
    """Return a prompt's next beams; those that end go to `finished`."""
    longer = [
        _Beam((*one.tokens, token), (*one.scores, score), one.row)
        for one in beams
        for token, score in zip(top[0][one.row], top[1][one.row], strict=True)
    ]
    longer.sort(key=lambda one: -one.total)
    kept: list[_Beam] = []
    for rank, one in enumerate(longer):
        done = ending.candidate(one.tokens, one.scores, decoding)
        if done is None:
            kept.append(one)
        elif rank < decoding.beams or len(one.tokens) >= decoding.max_tokens:
            finished.append(done)
        if len(kept) == decoding.beams or len(finished) >= decoding.beams:
            break
    return [] if len(finished) >= decoding.beams else kept
