import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from moralscope.core.errors import MoralscopeError
from moralscope.words.corpora import build_corpus
from moralscope.words.spaces import (
    TrainingSettings,
    centred_units,
    rotation,
    similarity,
    train_runs,
    train_space,
)

SETTINGS = TrainingSettings(dimensions=8, sample=0)
PROGRAM = """
import hashlib
from moralscope.words.corpora import build_corpus
from moralscope.words.spaces import TrainingSettings, train_space
pairs = [["monks", "give", "alms"], ["thieves", "steal", "gold"]] * 150
space = train_space(build_corpus("c", pairs), TrainingSettings(dimensions=8, sample=0), 7)
print(hashlib.sha256(space.matrix.tobytes()).hexdigest())
"""


def corpus(name="c"):
    return build_corpus(name, [["monks", "give", "alms"], ["thieves", "steal", "gold"]] * 150)


@pytest.mark.parametrize("hashseed", ["1", "2"])
def test_vectors_do_not_depend_on_the_process_or_its_hash_seed(hashseed):
    space = train_space(corpus(), SETTINGS, 7)
    environment = {**os.environ, "PYTHONHASHSEED": hashseed}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True
    )
    assert done.stderr == b""
    assert done.stdout.decode().strip() == hashlib.sha256(space.matrix.tobytes()).hexdigest()


def test_seeds_give_other_vectors_of_the_same_words():
    one, other = (train_space(corpus(), SETTINGS, seed) for seed in (1, 2))
    assert one.index == other.index
    assert not np.allclose(one.matrix, other.matrix)


def test_words_that_keep_company_are_near():
    rows = centred_units(train_space(corpus(), SETTINGS, 1).rows(("monks", "alms", "gold")))
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


def test_equal_corpora_get_different_draws_and_progress_is_told():
    told = []
    report = lambda done, total: told.append((done, total))  # noqa: E731
    spaces = train_runs([corpus("a"), corpus("b")], SETTINGS, runs=2, seed=0, report=report)
    assert not np.allclose(spaces[0][0].matrix, spaces[1][0].matrix)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    again = train_runs([corpus("a"), corpus("b")], SETTINGS, runs=2, seed=0)
    assert np.array_equal(spaces[1][1].matrix, again[1][1].matrix)


def test_short_texts_are_read_more_often():
    assert SETTINGS.epochs_for(build_corpus("long", [["a"] * 1000] * 4000)) == 5
    assert SETTINGS.epochs_for(corpus()) == 20


def test_short_texts_are_not_thinned_out():
    assert TrainingSettings().sample_for(build_corpus("long", [["a"] * 1000] * 4000)) == 1e-4
    assert TrainingSettings().sample_for(corpus()) == pytest.approx(100 / 900)


def test_a_text_without_repeated_words_is_refused():
    with pytest.raises(MoralscopeError, match="no word of c occurs 5 times"):
        train_space(build_corpus("c", [["one", "two"]]), SETTINGS, 0)


def test_alignment_undoes_a_rotation_and_finds_the_row_that_moved():
    generator = np.random.default_rng(0)
    rows = centred_units(generator.normal(size=(60, 5)))
    turn, _ = np.linalg.qr(generator.normal(size=(5, 5)))
    moved = rows @ turn
    moved[3] = -moved[3]
    found = similarity(rows, moved, np.ones(60))
    assert found.argmin() == 3
    assert np.delete(found, 3).min() > 0.95
    assert np.allclose(rotation(rows, rows @ turn, np.ones(60)), turn)
