"""The training loop: the same from the same seed, and through every kind of stop."""

import errno
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.models.training import loop
from moralscope.models.training.loop import Schedule, batches, rate, train

from .tiny_learner import LONG, TinyLearner

SCRIPT = Path(__file__).with_name("tiny_learner.py")
SHORT = Schedule(epochs=2, batch_size=16, learning_rate=1e-2)


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def trained(schedule=SHORT, checkpoint=None, **learner):
    found = TinyLearner(**learner)
    return found, train(found, schedule, checkpoint)


def test_the_same_seed_gives_the_same_weights_bit_for_bit():
    (first, one), (second, other), (third, _) = (trained(replace(SHORT, seed=s)) for s in (3, 3, 4))
    assert same(first.weights, second.weights)
    assert one.evaluations == other.evaluations
    assert not same(first.weights, third.weights)


def test_it_learns():
    learner, history = trained(replace(SHORT, epochs=12, patience=12))
    assert learner.dev()["score"] > 0.9
    assert history.evaluations[-1]["loss"] < history.evaluations[0]["loss"]
    assert history.steps == 12 * math.ceil(100 / 16)


def test_it_ends_within_its_time_with_a_look_at_dev():
    # 14 steps of 0.05 s at least: 0.3 s are over in the first epoch.
    learner, history = trained(replace(SHORT, max_minutes=0.3 / 60), pause=0.05)
    assert 0 < history.steps == len(learner.seen) < 7
    assert len(history.evaluations) == 1
    learner, history = trained(replace(SHORT, max_minutes=1e-9))  # over before the first step
    assert (history.steps, learner.seen, len(history.evaluations)) == (0, [], 1)
    whole, history = trained(replace(SHORT, max_minutes=60))
    assert history.steps == 2 * math.ceil(100 / 16) == len(whole.seen)


def test_time_takes_the_rate_down_where_steps_would_not(monkeypatch):
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr(loop.time, "monotonic", lambda: next(clock))
    rates = []
    monkeypatch.setattr(loop, "rate", lambda *place: rates.append(rate(*place)) or rates[-1])
    trained(replace(SHORT, max_minutes=5))
    assert len(rates) < 14
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.2


def test_a_batch_in_pieces_steps_as_the_whole_does():
    whole, pieces = TinyLearner(examples=32), TinyLearner(examples=32)
    for learner in (whole, pieces):
        learner.module[1].p = 0.0
        learner.lengths = [5] * 32
    train(whole, replace(SHORT, epochs=1, batch_size=32))
    train(pieces, replace(SHORT, epochs=1, batch_size=32, batch_tokens=64))
    for name, value in whole.weights.items():
        torch.testing.assert_close(pieces.weights[name], value, atol=1e-5, rtol=0)
    assert len(pieces.seen) == 3
    assert max(map(len, pieces.seen)) * 5 <= 64


def test_examples_that_are_compared_with_all_of_their_batch_stay_together():
    learner = TinyLearner(examples=32)
    learner.lengths = [loop.TOGETHER + 5] * 32
    train(learner, replace(SHORT, epochs=1, batch_size=32, batch_tokens=64))
    assert len(learner.seen) == 1


def test_every_example_comes_once_an_epoch_and_in_another_order_the_next():
    learner, _ = trained()
    steps = math.ceil(100 / 16)
    epochs = [
        [p for batch in half for p in batch]
        for half in (learner.seen[:steps], learner.seen[steps:])
    ]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(100))
    assert epochs[0] != epochs[1]


def test_batches_hold_examples_of_like_length():
    lengths = [1, 9] * 32
    assert all(len({lengths[place] for place in batch}) == 1 for batch in batches(lengths, 8, 0, 0))


def test_accumulated_batches_step_as_one_large_batch_does():
    one = TinyLearner(examples=32)
    other = TinyLearner(examples=32)
    for learner in (one, other):
        learner.module[1].p = 0.0
        learner.lengths = [1] * 32
    train(one, replace(SHORT, epochs=1, batch_size=32))
    train(other, replace(SHORT, epochs=1, batch_size=8, accumulate=4))
    for name, value in one.weights.items():
        torch.testing.assert_close(other.weights[name], value, atol=1e-5, rtol=0)
    assert len(other.seen) == 4


def test_it_stops_early_and_puts_the_best_weights_back():
    scores = [0.5, 0.9, 0.8, 0.7, 0.95]
    learner, history = trained(replace(SHORT, epochs=5, patience=2), scores=list(scores))
    assert (history.best, history.stopped_early, len(history.evaluations)) == (1, True, 4)
    two, _ = trained(replace(SHORT, epochs=5, patience=1), scores=[0.5, 0.9, 0.8])
    assert same(learner.weights, two.weights)  # both: the weights after the second epoch


def test_patience_of_a_run_that_gets_better_is_endless():
    _, history = trained(replace(SHORT, epochs=4, patience=1), scores=[0.1, 0.2, 0.3, 0.4])
    assert (history.best, history.stopped_early) == (3, False)


@pytest.mark.parametrize(
    ("step", "share"), [(0, 1.0), (5, 0.5), (9, 0.1)], ids=["first", "middle", "last"]
)
def test_without_warm_up_the_rate_falls_from_the_first_step(step, share):
    assert rate(step, 10, 0.0) == pytest.approx(share)


def test_a_run_that_was_killed_ends_in_the_same_weights(tmp_path):
    checkpoint, out = tmp_path / "run.safetensors", tmp_path / "weights.safetensors"
    command = [sys.executable, str(SCRIPT), str(checkpoint), str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = subprocess.Popen(command, env=environment)
    limit = time.monotonic() + 60
    while not checkpoint.exists():
        assert time.monotonic() < limit
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    assert not out.exists()
    subprocess.run(command, env=environment, check=True, timeout=120)
    whole, history = trained(LONG)
    assert same(load_file(out), whole.weights)
    resumed = TinyLearner()
    again = train(resumed, LONG, checkpoint)  # it is over: nothing is left to do
    assert resumed.seen == []
    assert again.evaluations == history.evaluations
    assert same(resumed.weights, whole.weights)


class Stop(Exception):
    pass


@pytest.mark.parametrize("after", [1, 6, 7, 13, 14, 20])
def test_a_run_may_stop_after_any_step(tmp_path, monkeypatch, after):
    monkeypatch.setattr(loop, "_SAVE_SECONDS", -1.0)
    whole, history = trained(replace(SHORT, epochs=3))
    stopping, calls = TinyLearner(), []
    plain = stopping.loss

    def loss(places):
        calls.append(places)
        if len(calls) > after:
            raise Stop
        return plain(places)

    stopping.loss = loss
    with pytest.raises(Stop):
        train(stopping, replace(SHORT, epochs=3), tmp_path / "run")
    learner, resumed = trained(replace(SHORT, epochs=3), tmp_path / "run")
    assert len(learner.seen) == 21 - after
    assert (
        resumed.evaluations == history.evaluations
    )  # every epoch was looked at, the running loss too
    assert same(learner.weights, whole.weights)


@pytest.mark.parametrize("look", [1, 2, 3])
def test_a_run_may_stop_while_it_looks_at_dev(tmp_path, monkeypatch, look):
    monkeypatch.setattr(loop, "_SAVE_SECONDS", -1.0)
    whole, history = trained(replace(SHORT, epochs=3))
    stopping, calls = TinyLearner(), []
    plain = stopping.dev

    def dev():
        calls.append(1)
        if len(calls) == look:
            raise Stop
        return plain()

    stopping.dev = dev
    with pytest.raises(Stop):
        train(stopping, replace(SHORT, epochs=3), tmp_path / "run")
    learner, resumed = trained(replace(SHORT, epochs=3), tmp_path / "run")
    assert resumed.evaluations == history.evaluations  # that epoch too
    assert same(learner.weights, whole.weights)


@pytest.mark.parametrize(
    ("schedule", "learner"),
    [
        (replace(SHORT, learning_rate=2e-2), {}),
        (replace(SHORT, seed=1), {}),
        (SHORT, {"start": 1}),
        (SHORT, {"examples": 99}),
    ],
    ids=["rate", "seed", "weights", "data"],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, schedule, learner):
    trained(SHORT, tmp_path / "run")
    before = (tmp_path / "run").read_bytes()
    with pytest.raises(InputError, match="belongs to a run with other settings, data or base"):
        trained(schedule, tmp_path / "run", **learner)
    assert (tmp_path / "run").read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "text"])
def test_a_damaged_checkpoint_is_refused_in_one_line(tmp_path, damage):
    path = tmp_path / "run"
    trained(SHORT, path)
    data = path.read_bytes()
    bare = torch.nn.Linear(2, 2).state_dict()
    from safetensors.torch import save

    path.write_bytes(
        {"cut": data[: len(data) // 2], "empty": b"", "other": save(bare), "text": b"{}"}[damage]
    )
    with pytest.raises(InputError, match="is not our checkpoint") as caught:
        trained(SHORT, path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kept", [False, True])
def test_a_device_that_fails_is_named_with_its_step(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(loop, "_SAVE_SECONDS", -1.0)
    learner, plain = TinyLearner(), TinyLearner.loss

    def loss(places):
        if len(learner.seen) == 3:
            raise RuntimeError("CUDA error: an illegal memory access\nCompile with ...")
        return plain(learner, places)

    learner.loss = loss
    with pytest.raises(MoralscopeError) as caught:
        train(learner, SHORT, tmp_path / "run" if kept else None)
    assert "the device stopped in step 3 (CUDA error: an illegal" in str(caught.value)
    assert ("resumes from step 3" if kept else "starts again") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bug_is_no_device_failure():
    learner = TinyLearner()
    learner.loss = lambda places: learner.module(torch.ones(3, 3))
    with pytest.raises(RuntimeError, match="shapes"):
        train(learner, SHORT)


def test_a_full_disk_leaves_the_older_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "run"
    learner = TinyLearner()
    plain, writes = os.fsync, []

    def full(handle):
        writes.append(handle)
        if len(writes) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MoralscopeError, match="No space left on device"):
        train(learner, SHORT, path)
    assert [item.name for item in tmp_path.iterdir()] == ["run"]
    resumed, _ = trained(SHORT, path)
    whole, _ = trained(SHORT)
    assert len(resumed.seen) == len(whole.seen) // 2  # from the end of the first epoch
    assert same(resumed.weights, whole.weights)


def test_a_loss_that_is_no_number_ends_the_run():
    learner, plain = TinyLearner(), TinyLearner.loss
    learner.loss = lambda places: plain(learner, places) * math.nan
    with pytest.raises(MoralscopeError, match="not a number from step 7; take a lower"):
        train(learner, SHORT)


def test_few_steps_without_a_number_are_left_out_where_a_recipe_allows_it():
    learner, plain, calls = TinyLearner(), TinyLearner.loss, []

    def loss(places):
        calls.append(places)
        return plain(learner, places) * (math.nan if len(calls) == 2 else 1.0)

    learner.loss = loss
    history = train(learner, replace(SHORT, skip=0.1))
    assert history.skipped == 1
    assert all(value.isfinite().all() for value in learner.weights.values())
    learner.loss = lambda places: plain(learner, places) * math.nan
    with pytest.raises(MoralscopeError, match="not a number from step"):
        train(learner, replace(SHORT, skip=0.1))


def test_a_run_tells_where_it_stands():
    told = []
    train(TinyLearner(), replace(SHORT, batch_size=4), report=told.append)
    assert [(moment.step, moment.evaluated) for moment in told][:3] == [
        (10, False),
        (20, False),
        (25, True),
    ]
    assert [moment.epoch for moment in told if moment.evaluated] == [1, 2]
    assert {moment.steps for moment in told} == {50}
    assert told[-1].seconds_left == 0
