"""Batches side by side: in order, each alone on its thread, the caller's threads untouched."""

import threading

import pytest
import torch

from moralscope.models.fastcpu.threads import SingleThreadPool


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_each_lane_computes_alone_and_the_caller_as_before(two_threads):
    lanes = SingleThreadPool(3)
    assert list(lanes.map(lambda _: torch.get_num_threads(), range(6))) == [1] * 6
    assert torch.get_num_threads() == 2


def test_all_lanes_work_at_once_and_answers_keep_their_order(two_threads):
    meeting = threading.Barrier(2, timeout=10)  # broken unless two are there together

    def meet(number):
        meeting.wait()
        return number

    assert list(SingleThreadPool(2).map(meet, range(4))) == [0, 1, 2, 3]


def test_an_error_reaches_the_caller(two_threads):
    with pytest.raises(ZeroDivisionError):
        list(SingleThreadPool(2).map(lambda number: 1 // number, [1, 0]))
