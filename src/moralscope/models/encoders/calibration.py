"""Which batch size and how many threads are fastest on this machine: measured, in a moment.

Rows do not change with either, beyond the last digits of a sum; only the time does. What was found
is a pair of numbers, so a record can state it and a later run can be told to do the same.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from statistics import median
from typing import Any

from moralscope.core.errors import InputError

_FACTORS = (1.0, 0.5, 2.0)  # of the batch a backend would take by itself
_LEAST_GAIN = 1.05  # what is less than this faster may be noise: nothing is changed for it
_SAMPLE_TOKENS = 2  # batches of the usual size that a try computes

Embed = Callable[[Sequence[Any], int], Any]


@dataclass(frozen=True, slots=True)
class BatchCalibration:
    """The fastest batch size and number of threads, and their rate."""

    batch_tokens: int
    threads: int  # 0: not ours to choose
    tokens_per_second: float
    gain: float  # over the usual pair


def measure(
    backend: Any, sample: Sequence[str], embed: Embed, *, seconds: float = 2.0
) -> BatchCalibration:
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
    """
    if not sample:
        raise InputError("there is no text to calibrate with", "give some of those to come")
    usual = (int(backend.batch_tokens), int(backend.threads))
    texts, prepared, tokens = backend.prepare(list(sample)), [], 0
    enough = _SAMPLE_TOKENS * usual[0]
    while tokens < enough and len(prepared) < enough:  # again and again, if the sample is small
        prepared.append(texts[len(prepared) % len(texts)])
        tokens += max(1, len(prepared[-1]))
    pairs = [(max(1, int(usual[0] * factor)), usual[1]) for factor in _FACTORS]
    if usual[1] > 1:
        pairs.append((usual[0], usual[1] // 2))
    times: dict[tuple[int, int], list[float]] = {pair: [] for pair in pairs}
    deadline = time.monotonic() + seconds
    try:
        # The first is slow (memory is taken, weights are read): it comes twice, and is dropped.
        for pair in chain(pairs[:1], cycle(pairs)):
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
    # The pair with the best median of time beside the usual pair's, round by round.
    base = times[usual][1:] or times[usual]
    gains = {
        pair: median(one / other for one, other in zip(base, spent, strict=False))
        for pair, spent in times.items()
        if pair != usual and len(spent) > 1
    }
    chosen = max(gains, key=lambda pair: gains[pair], default=usual)
    if gains.get(chosen, 1.0) < _LEAST_GAIN:
        chosen = usual
    spent = base if chosen == usual else times[chosen]
    rate = tokens / max(min(spent), 1e-9)
    return BatchCalibration(*chosen, tokens_per_second=rate, gain=gains.get(chosen, 1.0))
