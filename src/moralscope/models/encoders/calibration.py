"""Which batch size and how many threads are fastest on this machine: measured, in a moment.

Rows do not change with either, beyond the last digits of a sum; only the time does. What was found
is a pair of numbers, so a record can state it and a later run can be told to do the same.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from moralscope.core.errors import InputError

_FACTORS = (1.0, 0.5, 2.0)  # of the batch a backend would take by itself
_LEAST_GAIN = 1.05  # what is less than this faster may be noise: nothing is changed for it
_SAMPLE_TOKENS = 2  # batches of the usual size that a try computes

Embed = Callable[[Sequence[Any], int], Any]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A batch size in tokens and a number of threads (0: not ours to choose), and their rate.

    `tokens_per_second` is that of the chosen pair, `gain` what it is beside the usual one.
    """

    batch_tokens: int
    threads: int
    tokens_per_second: float
    gain: float


def measure(
    backend: Any, sample: Sequence[str], embed: Embed, *, seconds: float = 2.0
) -> Calibration:
    """Try batch sizes and thread counts in turn until `seconds` are over; return the fastest.

    Every try is set beside one of the usual pair in the same round, so that a machine that is
    busy for a while does not decide. The number of threads is put back as it was.

    Parameters
    ----------
    backend
        A `Backend`; the number of its `threads` is tried too, unless it is 0.
    sample
        Texts like those to come; some dozens are enough.
    embed
        Computes prepared texts in batches of so many tokens.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> found = load_encoder("scripted").calibrate(["kill time", "kill people"], seconds=0.01)
    >>> found.threads, found.tokens_per_second > 0
    (0, True)
    """
    if not sample:
        raise InputError("there is no text to calibrate with", "give some of those to come")
    usual = (int(backend.batch_tokens), int(backend.threads))
    prepared = _enough(backend.prepare(list(sample)), _SAMPLE_TOKENS * usual[0])
    tokens = sum(max(1, len(item)) for item in prepared)
    pairs = list(_pairs(*usual))
    times: dict[tuple[int, int], list[float]] = {pair: [] for pair in pairs}
    deadline = time.monotonic() + seconds
    try:
        for pair in _turns(pairs):
            if pair[1]:
                backend.threads = pair[1]
            start = time.perf_counter()
            embed(prepared, pair[0])
            times[pair].append(time.perf_counter() - start)
            if time.monotonic() > deadline:
                break
    finally:
        if usual[1]:
            backend.threads = usual[1]
    return _best(times, usual, tokens)


def _pairs(batch_tokens: int, threads: int) -> Iterator[tuple[int, int]]:
    for factor in _FACTORS:
        yield max(1, int(batch_tokens * factor)), threads
    if threads > 1:
        yield batch_tokens, threads // 2


def _turns(pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    yield pairs[0]  # the first is slow: memory is taken, weights are read; `_best` drops it
    while True:
        yield from pairs


def _enough(prepared: Sequence[Any], tokens: int) -> list[Any]:
    """Return items of the sample, again and again if it is small, for about so many tokens."""
    found: list[Any] = []
    held = 0
    while held < tokens and len(found) < tokens:
        item = prepared[len(found) % len(prepared)]
        found.append(item)
        held += max(1, len(item))
    return found


def _best(
    times: dict[tuple[int, int], list[float]], usual: tuple[int, int], tokens: int
) -> Calibration:
    """Return the pair with the best median of time beside the usual pair's, round by round."""
    base = times[usual][1:] or times[usual]
    gains = {
        pair: median(one / other for one, other in zip(base, found, strict=False))
        for pair, found in times.items()
        if pair != usual and len(found) > 1
    }
    chosen = max(gains, key=lambda pair: gains[pair], default=usual)
    if gains.get(chosen, 1.0) < _LEAST_GAIN:
        chosen = usual
    spent = base if chosen == usual else times[chosen]
    rate = tokens / max(min(spent), 1e-9)
    return Calibration(*chosen, tokens_per_second=rate, gain=gains.get(chosen, 1.0))
