"""The simulation behind docs/scale.md: queues grow where the peak needs more workers."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "bench" / "queue_simulation.py"
REPLIES, SECONDS = (
    86_400,
    10.0,
)  # one a second, two at the peak: ten workers on average, twenty then


@pytest.fixture(scope="module")
def simulation():
    if not FILE.exists():
        pytest.skip("not in a checkout")
    spec = spec_from_file_location("queue_simulation", FILE)
    sys.modules[spec.name] = module = module_from_spec(spec)  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_a_day_has_all_its_replies_and_twice_the_mean_at_its_peak(simulation):
    flow = simulation.rates(REPLIES)
    assert flow.mean() == pytest.approx(1)
    assert flow.max() == pytest.approx(2, abs=0.01)


def test_below_capacity_no_queue_is_left_and_nobody_waits_long(simulation):
    row = simulation.day(REPLIES, SECONDS, 30)
    assert row.at_peak == pytest.approx(2 / 3, abs=0.01)
    assert (row.queue, row.minutes) == (0, 0)
    assert row.median < 0.1 * SECONDS


def test_above_capacity_the_queue_grows_and_with_fewer_workers_more(simulation):
    days = [simulation.day(REPLIES, SECONDS, workers) for workers in (11, 14, 17)]
    assert all(row.busy < 1 < row.at_peak for row in days)
    queues = [row.queue for row in days]
    assert queues == sorted(queues, reverse=True)
    assert queues[-1] > 1000
    assert all(row.median > 10 * SECONDS for row in days)


def test_waits_are_those_of_a_queue_whose_answer_is_known(simulation):
    """One worker, half busy: with gamma times of variation 1/2 the mean wait is 0.625 times one."""
    waited = np.mean([simulation.waits(0.5, 0, 1.0, 1, seed).mean() for seed in range(60)])
    assert waited == pytest.approx(0.625, rel=0.1)
