"""Real word vectors for the choice room, fetched once through the model store."""

import pytest

from moralscope.engine.vectors import load_vectors


@pytest.fixture(scope="session")
def word_vectors_26k():
    return load_vectors("googlenews-26k")
