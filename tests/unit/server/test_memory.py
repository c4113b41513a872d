"""What a server holds in memory: idle models go, and come back when they are asked for."""

import threading
import time

import pytest

from moralscope.server import memory as memory_module
from moralscope.server.memory import Memory
from moralscope.server.models import Models
from moralscope.server.options import ServeOptions


@pytest.fixture
def memory():
    made = Memory(keep_minutes=1)
    yield made
    made.close()


def test_a_model_is_loaded_at_its_first_use_and_once(memory):
    loads = []
    model = memory.hold(lambda: loads.append(1) or "weights")
    assert not model.is_loaded
    threads = [threading.Thread(target=lambda: model.use().__enter__()) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert loads == [1]


def test_an_idle_model_is_released_and_loaded_again(memory):
    loads = []
    model = memory.hold(lambda: loads.append(1) or "weights")
    with model.use():
        pass
    assert memory.release_idle() == 0  # used just now
    assert memory.release_idle(now=time.monotonic() + 61) == 1
    assert not model.is_loaded
    with model.use() as weights:
        assert weights == "weights"
    assert loads == [1, 1]


def test_a_model_in_use_is_never_released(memory):
    model = memory.hold(lambda: "weights")
    with model.use():
        assert memory.release_idle(now=time.monotonic() + 3600) == 0
        assert model.is_loaded


def test_a_failed_load_leaves_nothing_behind(memory):
    def fail():
        raise OSError("no weights")

    model = memory.hold(fail)
    with pytest.raises(OSError, match="no weights"), model.use():
        pass
    assert not model.release()


def test_the_longest_unused_makes_room(memory, monkeypatch):
    held = [memory.hold(lambda: "weights") for _ in range(3)]
    for each in held:
        with each.use():
            time.sleep(0.002)
    with held[0].use():
        time.sleep(0.002)
    sizes = iter([2000, 2000, 1000])  # megabytes, as one after the other goes
    monkeypatch.setattr(memory_module, "resident_mb", lambda: next(sizes))
    fresh = memory.hold(lambda: "more")
    with fresh.use():
        assert [each.is_loaded for each in held] == [True, False, False]


def test_the_thread_releases_by_itself():
    made = Memory(keep_minutes=0.001)
    model = made.hold(lambda: "weights")
    with model.use():
        pass
    until = time.monotonic() + 10
    while model.is_loaded and time.monotonic() < until:
        time.sleep(0.05)
    made.close()
    assert not model.is_loaded


def test_shared_models_outlive_a_release():
    models = Models()
    encoder, experts = models.encoder("scripted"), models.experts("scripted")
    generator = models.generator("scripted")
    before = encoder.encode(["kill time"]).tolist()
    judged = experts.expert("action").probabilities([("", "lie")]).tolist()
    assert models.loaded() == {"scripted"}
    models.memory.release_idle(now=time.monotonic() + 10**6)
    assert models.loaded() == set()
    assert encoder.encode(["kill time"]).tolist() == before
    assert experts.expert("action").probabilities([("", "lie")]).tolist() == judged
    assert generator.name == "scripted"
    models.close()


@pytest.mark.slow
def test_generator_and_language_model_have_one_set_of_weights():
    from moralscope.axes.options import AxisOptions

    models = Models()
    language = models.language(AxisOptions(axis="choice", model="smollm2"))
    assert models.generator("smollm2").held is language.held
    models.close()


def test_keep_minutes_is_an_option_of_serve():
    assert ServeOptions(keep_minutes=2).keep_minutes == 2
    assert ServeOptions().keep_minutes == 15
