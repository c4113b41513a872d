"""Moral Choice Machine, side by side: ours, plain sentence-transformers, the paper's release.

    python bench/choice.py [--actions 1000] [--encoder minilm] [--repeat 1]

One run on one machine; only the ratios mean anything. Scores must agree within 1e-5.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from moralscope.axes.choice import ChoiceMachine
from moralscope.axes.templates import load_template
from moralscope.models.encoders import TextEncoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.encoders.sentence_transformer import SentenceTransformerBackend
from moralscope.models.store import Store

VERBS = (
    "help",
    "harm",
    "greet",
    "insult",
    "trust",
    "betray",
    "feed",
    "teach",
    "mislead",
    "praise",
    "mock",
    "visit",
    "rob",
    "love",
    "blame",
    "thank",
    "attack",
    "comfort",
    "cheat",
    "admire",
)
WHOM = (
    "people",
    "animals",
    "strangers",
    "children",
    "my neighbour",
    "my boss",
    "my friends",
    "my parents",
    "a thief",
    "the poor",
    "an old friend",
    "my own brother",
    "the people next door",
)
HOW = ("", "for money", "in secret", "every day")


def actions(count: int) -> list[str]:
    """Return `count` different actions of two to six words, as the papers' are."""
    phrases = (" ".join(parts).strip() for parts in itertools.product(VERBS, WHOM, HOW))
    return list(itertools.islice(phrases, count))


def biases_of(questions: np.ndarray, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    """Return cos(question, yes) - cos(question, no) row by row."""
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (questions, yes, no)]
    return (unit[0] * unit[1]).sum(axis=1) - (unit[0] * unit[2]).sum(axis=1)


def plain(model: SentenceTransformer, chosen: list[str]) -> np.ndarray:
    """One call of SentenceTransformer.encode for all questions, one for the answers."""
    template = load_template("moral")
    prompts = template.prompts
    rows = model.encode([text for action in chosen for text in template.questions(action)])
    yes, no = (
        model.encode([getattr(prompt, side) for prompt in prompts])
        for side in ("positive", "negative")
    )
    count = len(chosen)
    return biases_of(rows, np.tile(yes, (count, 1)), np.tile(no, (count, 1))).reshape(count, -1)


def release(model: SentenceTransformer, chosen: list[str]) -> np.ndarray:
    """Encode every question and both answers again for every action, prompt by prompt."""
    template = load_template("moral")
    columns = []
    for place, prompt in enumerate(template.prompts):
        questions = model.encode([template.questions(action)[place] for action in chosen])
        yes = model.encode([prompt.positive for _ in chosen])
        no = model.encode([prompt.negative for _ in chosen])
        columns.append(biases_of(questions, yes, no))
    return np.stack(columns, axis=1)


def timed(work: Callable[[], np.ndarray], repeat: int) -> tuple[float, np.ndarray]:
    """Return the best of `repeat` wall times and the last result."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    """Run the four procedures and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=1000)
    parser.add_argument("--encoder", default="minilm", choices=["minilm", "mpnet"])
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    folder = Store().pull(options.encoder)
    model = SentenceTransformer(str(folder))
    backend = SentenceTransformerBackend(folder, options.encoder, "bench")
    template = load_template("moral")
    chosen = actions(options.actions)
    for warm in (model.encode, lambda texts: TextEncoder(backend).encode(texts)):
        warm(template.questions("warm up the machine") * 20)

    def ours(cache_folder: str) -> np.ndarray:
        cache = EmbeddingCache(Path(cache_folder), backend.checksum, backend.dimension)
        return ChoiceMachine(TextEncoder(backend, cache), template).biases(chosen)

    def ours_cold() -> np.ndarray:
        with tempfile.TemporaryDirectory() as fresh:
            return ours(fresh)

    plain_s, plain_b = timed(lambda: plain(model, chosen), options.repeat)
    cold_s, cold_b = timed(ours_cold, options.repeat)
    release_s, release_b = timed(lambda: release(model, chosen), options.repeat)
    with tempfile.TemporaryDirectory() as kept:
        ours(kept)
        warm_s, warm_b = timed(lambda: ours(kept), max(3, options.repeat))
    drift = max(np.abs(other - cold_b).max() for other in (plain_b, release_b, warm_b))
    print(f"{options.encoder}, {len(chosen)} actions x {len(template.prompts)} prompts")
    print(
        f"plain encode        {plain_s:7.2f} s   ours is {plain_s / cold_s:6.2f}x faster (>= 1.3)"
    )
    print(
        f"paper's procedure   {release_s:7.2f} s   ours is {release_s / cold_s:6.2f}x faster (>= 3)"
    )
    print(f"ours, first run     {cold_s:7.2f} s")
    print(f"ours, repeated run  {warm_s:7.2f} s   {cold_s / warm_s:6.2f}x the first run (>= 30)")
    print(f"largest difference of a score {drift:.1e} (<= 1e-5)")


if __name__ == "__main__":
    main()
