"""Word spaces of corpora: skip-gram (Mikolov et al. 2013) by gensim, brought into one frame.

A run draws the text's blocks again with replacement and trains on the draw with a seed of its own,
so that the spread over runs holds what Antoniak and Mimno (2018) found to matter on small corpora:
which documents are there, and the seed. Same corpus, settings and seed: same vectors, whatever
PYTHONHASHSEED and however many runs go on at once.

Two trainings give axes that mean nothing to each other. The rotation that brings shared words
closest together makes rows comparable across spaces (orthogonal Procrustes: Schönemann 1966;
Hamilton, Leskovec and Jurafsky 2016). Cosines inside a space do not change. It knows nothing of
what vectors are for.
"""

import logging
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from moralscope.core.errors import MoralscopeError
from moralscope.core.extras import missing_extra
from moralscope.core.protocols import Floats, Matrix
from moralscope.stats.summary import unit_rows
from moralscope.words.corpora import TextCorpus

_FEW_EPOCHS, _MANY_EPOCHS = 5, 20


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How vectors are trained; the defaults are for corpora of a hundred thousand words or more."""

    dimensions: int = 50  # a small corpus cannot fill more; 100 gave the same stability and movers
    window: int = 5  # words to each side that count as context
    min_count: int = 5  # rarer words are left out of the text before windows are drawn
    epochs: int | None = None
    """None: as many as bring the words read to `budget`, from 5 (long texts) to 20 (short ones; 40
    drifted away from what the same words mean in more text)."""
    budget: int = 8_000_000  # words to read in all
    sample: float | None = None
    """Words more frequent than this share are thinned out, which leaves room in the windows for
    content words and halves the time. None: one in 10,000, but never words that occur fewer than a
    hundred times, since a short text has none to give away."""
    negative: int = 5

    def epochs_for(self, corpus: TextCorpus) -> int:
        """Return how often the corpus is read."""
        if self.epochs is not None:
            return self.epochs
        return min(_MANY_EPOCHS, max(_FEW_EPOCHS, round(self.budget / max(1, corpus.size))))

    def sample_for(self, corpus: TextCorpus) -> float:
        """Return the share above which words are thinned out."""
        return max(1e-4, 100 / max(1, corpus.size)) if self.sample is None else self.sample


@dataclass(frozen=True, slots=True, eq=False)
class WordSpace:
    """Words and their vectors, one row each."""

    index: dict[str, int]
    matrix: Matrix

    def rows(self, words: tuple[str, ...]) -> Floats:
        """Return the vectors of words that are all there."""
        return np.asarray(self.matrix[[self.index[word] for word in words]], dtype=np.float64)


def train_space(corpus: TextCorpus, settings: TrainingSettings, seed: int) -> WordSpace:
    """Draw the corpus' blocks with replacement and train on the draw."""
    logging.getLogger("gensim").setLevel(logging.ERROR)
    try:
        from gensim.models import Word2Vec
    except ModuleNotFoundError as error:
        raise missing_extra("words", "training vectors of a corpus") from error
    counts = dict(zip(corpus.words, corpus.counts.tolist(), strict=True))
    if not any(count >= settings.min_count for count in counts.values()):
        raise MoralscopeError(
            f"no word of {corpus.name} occurs {settings.min_count} times", "give more text"
        )
    text = _Draw(corpus, seed)
    model = Word2Vec(
        vector_size=settings.dimensions,
        window=settings.window,
        min_count=settings.min_count,
        sample=settings.sample_for(corpus),
        negative=settings.negative,
        sg=1,
        workers=1,
        # 32 bits for gensim, not coupled to the draw of blocks.
        seed=int(np.random.SeedSequence([seed, 1]).generate_state(1)[0]),
        hashfxn=lambda word: zlib.crc32(word.encode()),  # the same in every process
    )
    # The vocabulary of the whole corpus, not of the draw: every run knows the same words.
    model.build_vocab_from_freq(counts, corpus_count=len(text))
    model.train(text, total_examples=len(text), epochs=settings.epochs_for(corpus))
    return WordSpace(dict(model.wv.key_to_index), model.wv.vectors)


def train_runs(
    corpora: Sequence[TextCorpus],
    settings: TrainingSettings,
    *,
    runs: int,
    seed: int,
    report: Callable[[int, int], None] | None = None,
) -> list[list[WordSpace]]:
    """Train every corpus `runs` times; return its spaces, in the order of the corpora.

    Each training is single-threaded; two go on at once where there are cores for them (gensim
    works outside Python's lock), which changes nothing in the vectors.
    """
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        futures = {
            pool.submit(train_space, corpus, settings, run_seed(seed, number, run)): (number, run)
            for run in range(runs)
            for number, corpus in enumerate(corpora)
        }
        spaces: dict[tuple[int, int], WordSpace] = {}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                spaces[futures[future]] = future.result()
                if report is not None:
                    report(done, len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [[spaces[number, run] for run in range(runs)] for number in range(len(corpora))]


def run_seed(seed: int, corpus: int, run: int) -> int:
    """Return the seed of one training: two equal corpora get different draws."""
    return int(np.random.SeedSequence([seed, corpus, run]).generate_state(1)[0])


class _Draw:
    """The sentences of a bootstrap draw of blocks; can be read again and again."""

    def __init__(self, corpus: TextCorpus, seed: int) -> None:
        blocks = corpus.blocks()
        edges = np.concatenate([np.flatnonzero(np.diff(blocks, prepend=-1)), [len(blocks)]])
        drawn = np.random.default_rng(seed).integers(len(edges) - 1, size=len(edges) - 1)
        self._order = np.concatenate([np.arange(edges[b], edges[b + 1]) for b in drawn])
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[list[str]]:
        return self._corpus.sentences(self._order)


def centred_units(rows: Floats) -> Floats:
    """Return rows of length one around their common mean, which carries frequency, not meaning."""
    unit = unit_rows(rows)
    return unit_rows(unit - unit.mean(axis=0))


def rotation(source: Floats, target: Floats, weights: Floats) -> Floats:
    """Return the orthogonal Q that minimises the weighted distance of source Q to target.

    Frequent words have vectors that a retraining hardly
    moves, so they should carry the frame: weight them more.
    """
    from scipy.linalg import orthogonal_procrustes

    return orthogonal_procrustes(source * weights[:, None], target)[0].astype(np.float64)


def similarity(source: Floats, target: Floats, weights: Floats) -> Floats:
    """Return each row's cosine with its counterpart after alignment; rows have length one."""
    return np.asarray(((source @ rotation(source, target, weights)) * target).sum(axis=1))
