"""The targets of fuzzing on valid files, files made to do harm, and valid files mutated."""

import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .seeds import HOSTILE, bombs, seeds
from .targets import TARGETS

CHEAP = 5.0  # seconds of processor time for the dearest of these inputs, on a slow machine
SMALL = 64_000_000  # bytes


@pytest.fixture(params=TARGETS)
def target(request):
    return TARGETS[request.param]


def test_valid_files_are_read(target, tmp_path):
    assert [target.run(data, tmp_path) for data in seeds(target)] == [True] * len(seeds(target))


def test_files_made_to_do_harm_cost_little(target, tmp_path):
    target.run(seeds(target)[0], tmp_path)  # what is imported is not the input's doing
    for data in bombs(target):
        tracemalloc.start()
        began = time.process_time()
        try:
            target.run(data, tmp_path)
            spent, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (spent < CHEAP, peak < SMALL) == (True, True), (data[:80], spent, peak)


@st.composite
def mutated(draw, valid):
    """A valid input with up to six spans cut out, doubled, moved or replaced."""
    data = draw(st.sampled_from(valid))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(1, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from((*HOSTILE, b"", data[start:end] * 2)) | st.binary(max_size=4))
        data = data[:start] + piece + data[end:]
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_files_are_read_or_refused_in_one_line(name, tmp_path_factory):
    target, folder = TARGETS[name], tmp_path_factory.mktemp(name)

    @settings(
        max_examples=15,  # CI gives each a thousand more: tests/fuzz/run.py
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(mutated(seeds(target)))
    def check(data):
        target.run(data, folder)

    check()
