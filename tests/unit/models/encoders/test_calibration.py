"""Calibration finds the fastest batch and leaves everything else as it was."""

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.encoders import TextEncoder, pipeline
from moralscope.models.encoders.scripted import ScriptedBackend


class Clock:
    """Time that passes only when a backend says so."""

    now = 0.0

    def perf_counter(self):
        return self.now

    monotonic = perf_counter


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(pipeline, "time", made)
    return made


class SlowBackend(ScriptedBackend):
    """Takes time for each batch and each token; on other than four threads, a share of it."""

    batch_tokens = 40

    def __init__(self, clock, *, batch=0.0, token=0.001, share=1.0):
        super().__init__()
        self.threads = 4
        self.clock, self.batch, self.token, self.share = clock, batch, token, share
        self.sizes = []

    def embed(self, batch):
        self.sizes.append(sum(map(len, batch)))
        took = self.batch + self.token * self.sizes[-1]
        self.clock.now += took if self.threads == 4 else took * self.share
        return super().embed(batch)


SAMPLE = [f"{number} ten chars"[:10] for number in range(10, 40)]


def test_larger_batches_are_chosen_where_a_batch_costs_more_than_its_tokens(clock):
    backend = SlowBackend(clock, batch=0.1)
    found = TextEncoder(backend).calibrate(SAMPLE, seconds=5)
    assert found.batch_tokens == 80
    assert found.threads == backend.threads == 4
    assert found.gain == pytest.approx((2 * 0.1 + 0.08) / (0.1 + 0.08))
    assert found.tokens_per_second == pytest.approx(80 / 0.18)


def test_fewer_threads_are_chosen_where_they_are_faster(clock):
    backend = SlowBackend(clock, share=0.5)
    found = TextEncoder(backend).calibrate(SAMPLE, seconds=5)
    assert (found.batch_tokens, found.threads, found.gain) == (40, 2, 2.0)
    assert backend.threads == 2


def test_what_is_hardly_faster_changes_nothing(clock):
    backend = SlowBackend(clock, batch=0.001)
    found = TextEncoder(backend).calibrate(SAMPLE, seconds=5)
    assert (found.batch_tokens, found.threads, found.gain) == (40, 4, 1.0)


def test_it_ends_in_time_even_when_a_try_takes_longer(clock):
    backend = SlowBackend(clock, token=1.0)
    found = TextEncoder(backend).calibrate(SAMPLE, seconds=2)
    assert clock.now <= 80
    assert (found.batch_tokens, found.threads) == (40, 4)


def test_rows_stay_and_batches_follow_what_was_settled():
    backend = SlowBackend(Clock())
    encoder = TextEncoder(backend)
    before = encoder.encode(SAMPLE)
    encoder.set_batch_size(20, 3)
    backend.sizes.clear()
    np.testing.assert_array_equal(encoder.encode(SAMPLE), before)
    assert max(backend.sizes) == 20
    assert backend.threads == 3


def test_it_needs_a_text():
    with pytest.raises(InputError, match="no text"):
        TextEncoder(SlowBackend(Clock())).calibrate([])
