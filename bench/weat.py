"""WEAT with 10,000 permutations: moralscope against WEFE, same vectors, same query.

WEFE 1.0.1 needs numpy 1.26, so it runs in an environment of its own:

    python -m venv wefe && wefe/bin/pip install numpy==1.26.4 wefe==1.0.1
    python bench/weat.py wefe/bin/python --tests caliskan-5,caliskan-7

Prints effect sizes (they must agree to 1e-6), p-values and the ratio of times (bar: 20). Times
are the test alone, vectors loaded, best of several. WEFE draws target words with replacement,
so its p is not the p of a permutation test; the exact p is printed beside both.
"""

import argparse
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from moralscope.core.protocols import WordVectors
from moralscope.models.store import Store
from moralscope.words.association import weat
from moralscope.words.vectors import load_vectors
from moralscope.words.word_sets import load_word_sets

VECTORS = "googlenews-26k"
PERMUTATIONS = 10_000
BAR = 20.0

WEFE = """
import json, sys
from time import perf_counter
from gensim.models import KeyedVectors
from wefe.metrics import WEAT
from wefe.query import Query
from wefe.word_embedding_model import WordEmbeddingModel

job = json.load(sys.stdin)
model = WordEmbeddingModel(KeyedVectors.load_word2vec_format(job["file"], binary=True), "bench")
for sets in job["queries"]:
    query = Query([sets["x"], sets["y"]], [sets["positive"], sets["negative"]])
    times = []
    for _ in range(job["repeats"]):
        start = perf_counter()
        found = WEAT().run_query(
            query, model, calculate_p_value=True, p_value_iterations=job["permutations"]
        )
        times.append(perf_counter() - start)
    print(json.dumps([found["effect_size"], found["p_value"], min(times)]), flush=True)
"""


def known(words: tuple[str, ...], vectors: WordVectors) -> tuple[str, ...]:
    return tuple(word for word in words if word in vectors)


def best_of(repeats: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", type=Path, help="python of an environment with wefe 1.0.1")
    parser.add_argument("--tests", default="caliskan-5")
    parser.add_argument("--repeats", type=int, default=2, help="runs of WEFE (ours: 20)")
    options = parser.parse_args()
    vectors, store = load_vectors(VECTORS), Store()
    names = options.tests.split(",")
    queries = []
    for name in names:
        # WEFE drops a query that misses many words: both get the words that are there.
        sets = load_word_sets(name)
        lists = {key: known(getattr(sets, key), vectors) for key in ("x", "y")}
        lists |= {key: known(getattr(sets, key), vectors) for key in ("positive", "negative")}
        queries.append(lists)
    job = {
        "file": str(store.folder(VECTORS) / store.entry(VECTORS).weights),
        "queries": queries,
        "repeats": options.repeats,
        "permutations": PERMUTATIONS,
    }
    done = subprocess.run(
        [str(options.python), "-c", WEFE],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
    )
    failed = False
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        failed |= not report(name, vectors, json.loads(line))
    return int(failed)


def report(name: str, vectors: WordVectors, theirs: list[float]) -> bool:
    targets = load_word_sets(name).targets()
    sampled = weat(vectors, targets, permutations=PERMUTATIONS, exact=False)
    exact = weat(vectors, targets)
    seconds = best_of(20, lambda: weat(vectors, targets, permutations=PERMUTATIONS, exact=False))
    exact_seconds = best_of(20, lambda: weat(vectors, targets))
    effect, p, their_seconds = theirs
    ratio, apart = their_seconds / seconds, abs(effect - sampled.effect_size)
    print(f"{name}: {sampled.n_x} + {sampled.n_y} targets, {exact.p.partitions:,} partitions")
    print(f"  effect size  ours {sampled.effect_size:+.8f}  WEFE {effect:+.8f}  apart {apart:.1e}")
    kind = "exact" if sampled.p.exact else "sampled"
    print(f"  p            ours {sampled.p.p:.4f} ({kind})  WEFE {p:.4f}  exact {exact.p.p:.4f}")
    print(f"  seconds      ours {seconds:.4f}  exact {exact_seconds:.4f}  WEFE {their_seconds:.2f}")
    print(f"  ratio        {ratio:.0f}x (bar {BAR:.0f}x)")
    return ratio >= BAR and apart <= 1e-6


if __name__ == "__main__":
    raise SystemExit(main())
