"""Tokens from logits: nucleus sampling (Holtzman et al. 2020) with numbers drawn in advance.

A candidate's random numbers come from its seed and its number alone, so neither the batch nor the
order decides anything. Runs no model.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

_TOP = 1024  # a nucleus is nearly always within the likeliest 1,024 tokens; else all are sorted


class Picked(NamedTuple):
    """A token for each row and its log-probability under the model."""

    tokens: list[int]
    log_probabilities: list[float]


def uniform_draws(seed: int, candidate: int, count: int) -> list[float]:
    """Return `count` numbers in [0, 1) that belong to one candidate of one seed.

    Examples
    --------
    >>> uniform_draws(7, 0, 2) == uniform_draws(7, 0, 5)[:2]
    True
    """
    key = np.array([seed % 2**64, candidate], dtype=np.uint64)
    numbers: list[float] = np.random.Generator(np.random.Philox(key=key)).random(count).tolist()
    return numbers


def pick_greedy(logits: Any, rows: Sequence[int]) -> Picked:
    """Pick the likeliest token for each of `rows`."""
    scores, tokens = torch.log_softmax(logits, -1).max(-1)
    return Picked(tokens[list(rows)].tolist(), scores[list(rows)].tolist())


def pick_nucleus(
    logits: Any, rows: Sequence[int], draws: Sequence[float], p: float, temperature: float
) -> Picked:
    """Pick a token for each of `rows` from the smallest set of tokens that holds `p`.

    `rows` may repeat. The set is that of the tempered distribution; the log-probability returned is
    the model's own, at temperature 1 and with nothing cut off.
    """
    index = torch.tensor(rows, device=logits.device)
    plain = torch.log_softmax(logits, -1)
    tempered = plain if temperature == 1 else torch.log_softmax(logits / temperature, -1)
    values, tokens = tempered.topk(min(_TOP, logits.shape[-1]), -1)
    shares = values.double().exp()
    places = _places(shares[index], draws, p)
    chosen = tokens[index].gather(1, places[:, None])[:, 0]
    for row in (shares.sum(-1)[index] < min(p, 1 - 1e-6)).nonzero()[:, 0].tolist():
        values, tokens = tempered[rows[row]].sort(descending=True, stable=True)
        place = _places(values.double().exp()[None], draws[row : row + 1], p)[0]
        chosen[row] = tokens[place]
    return Picked(chosen.tolist(), plain[index, chosen].tolist())


def _places(shares: Any, draws: Sequence[float], p: float) -> Any:
    """Return, for rows of falling shares, the place in the nucleus that each draw hits."""
    until = shares.cumsum(-1)
    inside = until - shares < p
    mass = (shares * inside).sum(-1, keepdim=True)
    draw = torch.tensor(draws, dtype=torch.float64, device=shares.device)[:, None]
    return (until <= draw * mass).sum(-1).clamp(max=inside.sum(-1) - 1)
