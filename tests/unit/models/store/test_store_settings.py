"""Where the store lives and what it may reach."""

import hashlib
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from moralscope.models.store import Store, home_folder, sha256_of


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for variable in ("MORALSCOPE_HOME", "MORALSCOPE_OFFLINE", "MORALSCOPE_HUB", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)


def test_home_is_the_users_cache_unless_named(monkeypatch, tmp_path):
    assert home_folder() == user_cache_path("moralscope")
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path))
    assert home_folder() == tmp_path
    assert Store().folder("minilm") == tmp_path / "models" / "minilm"
    assert Store(Path("/elsewhere")).home == Path("/elsewhere")


def test_a_relative_home_is_made_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MORALSCOPE_HOME", "here")
    assert home_folder() == tmp_path / "here"
    assert Store(Path("there")).home == tmp_path / "there"


@pytest.mark.parametrize(
    ("environment", "offline", "hub"),
    [
        ({}, False, True),
        ({"MORALSCOPE_OFFLINE": "1"}, True, False),
        ({"MORALSCOPE_OFFLINE": "0"}, False, True),
        ({"MORALSCOPE_HUB": "0"}, False, False),
        ({"HF_HUB_OFFLINE": "1"}, False, False),
    ],
)
def test_the_environment_decides_what_may_be_reached(monkeypatch, environment, offline, hub):
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert (Store().offline, Store().hub_allowed) == (offline, hub)


def test_an_argument_beats_the_environment(monkeypatch):
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    monkeypatch.setenv("MORALSCOPE_HUB", "0")
    store = Store(offline=False, hub=True)
    assert not store.offline
    assert store.hub_allowed
    assert not Store(offline=True, hub=True).hub_allowed


def test_nothing_is_written_by_looking(tmp_path):
    store = Store(tmp_path / "home")
    assert not store.is_present("minilm")
    assert not store.home.exists()


def test_sha256_of_a_file(tmp_path):
    (tmp_path / "f").write_bytes(b"moral" * 100_000)
    assert sha256_of(tmp_path / "f") == hashlib.sha256(b"moral" * 100_000).hexdigest()
