"""One GPU: how fast texts are encoded and replies audited, and how much of its peak that is.

    python bench/gpu.py [--encoders minilm,mpnet] [--experts mpnet,large] [--texts 100000]
        [--replies 5000]
    python bench/gpu.py --smoke          a hundredth of it, on a CPU too: does it run?

The peak is measured, not read from a sheet: the best of square matrix products in the arithmetic
that the encoder uses. What an encoder needs is counted from its weights: two operations for each
weight of a linear layer and token, and four for each width, token and token attended to. Time is
wall time from texts to rows, tokenising and copying included; `model alone` leaves those out.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from moralscope.models.encoders import TextEncoder
from moralscope.models.encoders.sentence_transformer import SentenceTransformerBackend
from moralscope.models.store import Store
from moralscope.rules.audit import AuditOptions, prepare_auditor
from moralscope.rules.records import Exchange
from moralscope.rules.training.alignment_examples import written_exchanges

KINDS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds(work: Any, repeat: int) -> float:
    """Return the best wall time of `repeat` runs after one that warms up."""
    work()
    took = []
    for _ in range(repeat):
        wait()
        start = time.perf_counter()
        work()
        wait()
        took.append(time.perf_counter() - start)
    return min(took)


def peak(arithmetic: str, size: int) -> float:
    """Return operations a second of the best matrix product in this arithmetic."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = KINDS.get(arithmetic, torch.float32)
    best = 0.0
    for width in (size, size // 2):
        one, other = (torch.randn(width, width, device=device, dtype=kind) for _ in range(2))
        best = max(best, 2 * width**3 / seconds(lambda one=one, other=other: one @ other, 10))
    return best


def operations(backend: SentenceTransformerBackend, lengths: Sequence[int]) -> float:
    """Return how many operations the model needs for texts of these lengths."""
    body = backend._model[0].auto_model
    layers = [each for each in body.encoder.modules() if isinstance(each, torch.nn.Linear)]
    weights = sum(each.weight.numel() for each in layers)
    squares = sum(length * length for length in lengths)
    width, count = body.config.hidden_size, body.config.num_hidden_layers
    return float(2 * weights * sum(lengths) + 4 * width * count * squares)


def replies(count: int) -> list[str]:
    """Return distinct texts: shipped replies in ever new pairs, numbered when those run out."""
    found = [row.exchange.reply for row in written_exchanges()]
    size = len(found)
    return [f"{found[n % size]} {found[(n * 7 + n // size) % size]} ({n})" for n in range(count)]


def encoding(name: str, texts: list[str], light: bool, size: int) -> str:
    """Measure one encoder in float32 or, if `light`, in the fewer bits of this machine."""
    backend = SentenceTransformerBackend(Store().pull(name), name, "bench")
    if light and not backend.quantise():
        return f"{name}: this machine computes in float32 only"
    encoder = TextEncoder(backend)
    prepared = backend.prepare(texts)
    lengths = [len(ids) for ids in prepared]
    needed = operations(backend, lengths)
    whole = seconds(lambda: encoder.encode(texts), 1)
    alone = seconds(lambda: encoder._embed_all(prepared, backend.batch_tokens), 1)
    measured = peak(backend.arithmetic, size)
    held = torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else 0.0
    return (
        f"{name} {backend.arithmetic}, batches of {backend.batch_tokens} tokens: "
        f"{len(texts) / whole:,.0f} texts/s ({sum(lengths) / whole:,.0f} tokens/s), "
        f"{needed / whole / measured:.1%} of a peak of {measured / 1e12:.2f} Tflop/s; model alone "
        f"{len(texts) / alone:,.0f} texts/s, {needed / alone / measured:.1%}; {held:.1f} GB"
    )


def auditing(name: str, count: int, block: int) -> str:
    """Measure audits of distinct replies, a block at a time as over a corpus."""
    models = prepare_auditor(AuditOptions(experts=name))
    rows = written_exchanges()
    asked = [
        Exchange(rows[n % len(rows)].exchange.prompt, f"{text} I say.")
        for n, text in enumerate(replies(count + block))
    ]
    models.auditor.audit(asked[:block])
    start = time.perf_counter()
    found: list[Any] = []
    for place in range(block, len(asked), block):
        found.extend(models.auditor.audit(asked[place : place + block]))
    took = time.perf_counter() - start
    rules = np.mean([len(each.rules) for each in found])
    return f"audit with {name}: {len(found) / took:,.1f} replies/s, {rules:.1f} rules a reply"


def main() -> None:
    """Measure what was asked for and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoders", default="minilm,mpnet")
    parser.add_argument("--experts", default="minilm,mpnet,large,cascade")
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--replies", type=int, default=5_000)
    parser.add_argument("--smoke", action="store_true", help="small, and on a CPU too")
    given = parser.parse_args()
    if not torch.cuda.is_available() and not given.smoke:
        raise SystemExit("there is no CUDA device here; --smoke runs a small part on the CPU")
    print(torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU, smoke run only")
    texts, count, block, size = given.texts, given.replies, 512, 8192
    if given.smoke:
        texts, count, block, size = 24, 4, 2, 256
    for name in given.encoders.split(","):
        for light in (False, True):
            print(encoding(name, replies(texts), light, size), flush=True)
    for name in given.experts.split(","):
        print(auditing(name, count, block), flush=True)


if __name__ == "__main__":
    main()
