"""Batches of several callers: put together, shared fairly, each caller's failure its own."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.batching import Batcher, Cancelled, Closed, OutOfTime, Patience, patience


class Slow:
    """Work that waits until it is let go, and remembers every batch."""

    def __init__(self):
        self.batches = []
        self.go = threading.Event()

    def __call__(self, key, items):
        self.go.wait(5)
        self.batches.append(list(items))
        if "bad" in items:
            raise InputError("a bad item", "leave it out")
        return np.array([[len(str(item))] for item in items])


@pytest.fixture
def slow():
    return Slow()


@pytest.fixture
def batcher(slow):
    made = Batcher("test", slow, most=6, share=4)
    yield made
    slow.go.set()
    made.close()


def waiting(batcher, count):
    """Wait until so many items wait."""
    until = time.monotonic() + 5
    while batcher.counts().waiting < count and time.monotonic() < until:
        time.sleep(0.005)
    assert batcher.counts().waiting == count


def held(batcher, pool):
    """Hold the worker with a first order, so that everything after it waits."""
    first = pool.submit(batcher.submit, ["first"])
    until = time.monotonic() + 5
    while batcher.counts().batches < 1 and time.monotonic() < until:
        time.sleep(0.005)
    return first


def test_callers_that_wait_are_computed_together_and_get_their_own_rows(batcher, slow):
    with ThreadPoolExecutor() as pool:
        held(batcher, pool)
        asked = [pool.submit(batcher.submit, [f"{'x' * n}"]) for n in (1, 2, 3)]
        waiting(batcher, 3)
        slow.go.set()
        rows = [np.concatenate(each.result(5)).tolist() for each in asked]
    assert rows == [[[1]], [[2]], [[3]]]
    assert sorted(map(len, slow.batches)) == [1, 3]


def test_a_long_list_does_not_keep_a_short_one_waiting(batcher, slow):
    with ThreadPoolExecutor() as pool:
        held(batcher, pool)
        long = pool.submit(batcher.submit, [f"long{n:02}" for n in range(20)])
        waiting(batcher, 20)
        short = pool.submit(batcher.submit, ["short"])
        waiting(batcher, 21)
        slow.go.set()
        assert np.concatenate(short.result(5)).tolist() == [[5]]
        assert np.concatenate(long.result(5)).tolist() == [[6]] * 20
    assert "short" in slow.batches[1]
    assert max(map(len, slow.batches)) <= 6


def test_items_of_different_keys_never_meet():
    met = []
    batcher = Batcher("keys", lambda key, items: met.append((key, items)) or items)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda n: batcher.submit([n], key=n % 2), range(20)))
    batcher.close()
    assert all(item % 2 == key for key, items in met for item in items)


def test_one_callers_bad_item_fails_that_caller_alone(batcher, slow):
    with ThreadPoolExecutor() as pool:
        held(batcher, pool)
        good, bad = (pool.submit(batcher.submit, [text]) for text in ("good", "bad"))
        waiting(batcher, 2)
        slow.go.set()
        assert np.concatenate(good.result(5)).tolist() == [[4]]
        with pytest.raises(InputError):
            bad.result(5)


def test_patience_ends_and_the_order_is_taken_back(batcher, slow):
    with ThreadPoolExecutor() as pool:
        held(batcher, pool)
        with patience(Patience(time.monotonic() + 0.05)), pytest.raises(OutOfTime):
            batcher.submit(["late"])
        assert batcher.counts().waiting == 0
        slow.go.set()
    assert ["late"] not in slow.batches


def test_who_goes_away_is_not_computed_for(batcher, slow):
    given = Patience(time.monotonic() + 60)

    def ask():
        with patience(given):
            batcher.submit(["gone"])

    with ThreadPoolExecutor() as pool:
        held(batcher, pool)
        asked = pool.submit(ask)
        waiting(batcher, 1)
        given.cancelled.set()
        with pytest.raises(Cancelled):
            asked.result(5)
        slow.go.set()
    assert ["gone"] not in slow.batches


def test_closing_finishes_what_was_handed_in(slow):
    batcher = Batcher("closing", slow)
    with ThreadPoolExecutor() as pool:
        held(batcher, pool)
        asked = pool.submit(batcher.submit, ["last"])
        waiting(batcher, 1)
        closing = pool.submit(batcher.close)
        slow.go.set()
        closing.result(5)
        assert np.concatenate(asked.result(5)).tolist() == [[4]]
    with pytest.raises(Closed):
        batcher.submit(["too late"])
