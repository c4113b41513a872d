"""Training throughput: the product's loop against a plain one that tokenises inside it.

    python bench/training.py [BASE] [--pairs N] [--batch N]

Both train the same LoRA adapter and head on the same synthetic pairs, same batch size, same
optimizer. The plain loop is what tutorials show: shuffled batches, tokenised and padded to their
longest as they come, float32, the loss read at every step.
"""

import argparse
import random
import time
from pathlib import Path
from typing import Any

import torch

from moralscope.models.adapters import with_adapter
from moralscope.models.classifiers.module import build_network, load_body, resolve_base
from moralscope.models.training.classifier import ClassifierLearner
from moralscope.models.training.heads import Head
from moralscope.models.training.loop import Schedule, train
from moralscope.models.training.records import TrainingExample

TEXT = "the a friend asks to keep promise when money work family and then says no yes"
WORDS = TEXT.split()


def synthetic(count: int) -> list[TrainingExample]:
    rng = random.Random(0)
    rows = []
    for _ in range(count):
        norm = " ".join(rng.choices(WORDS, k=rng.randint(5, 45)))
        action = " ".join(rng.choices(WORDS, k=rng.randint(8, 25)))
        rows.append(TrainingExample("task", (norm, action), rng.randrange(2)))
    return rows


def network(folder: Path) -> tuple[torch.nn.Module, Any]:
    torch.manual_seed(0)
    body, tokenizer = load_body(folder, "base")
    made = build_network(with_adapter(body, 16), 2)
    return made.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


def ours(folder: Path, examples: list[TrainingExample], batch: int) -> float:
    module, tokenizer = network(folder)
    started = time.perf_counter()  # tokenising counts
    heads = {"task": Head(("a", "b"))}
    learner = ClassifierLearner(module, tokenizer, heads, examples, examples[:64])
    train(learner, Schedule(epochs=1, batch_size=batch))
    return len(examples) / (time.perf_counter() - started)


def plain(folder: Path, examples: list[TrainingExample], batch: int) -> float:
    module, tokenizer = network(folder)
    device = module.head.weight.device
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], lr=4e-4)
    order = random.Random(0).sample(range(len(examples)), len(examples))
    module.train()
    started = time.perf_counter()
    total = 0.0
    for at in range(0, len(order), batch):
        rows = [examples[place] for place in order[at : at + batch]]
        first, second = zip(*(row.pair for row in rows), strict=True)
        inputs = tokenizer(
            list(first),
            list(second),
            padding=True,
            truncation=True,
            max_length=128,
            return_tensors="pt",
        ).to(device)
        logits = module(inputs["input_ids"], inputs["attention_mask"])
        target = torch.tensor([row.label for row in rows], device=device)
        loss = torch.nn.functional.cross_entropy(logits, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    return len(examples) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", default="mpnet")
    parser.add_argument("--pairs", type=int, default=6400)
    parser.add_argument("--batch", type=int, default=64)
    given = parser.parse_args()
    folder, _ = resolve_base(given.base)
    examples = synthetic(given.pairs)
    for measure in (ours, plain):  # the first GPU kernels are compiled here, not timed
        measure(folder, examples[: given.batch * 4], given.batch)
    fast, slow = ours(folder, examples, given.batch), plain(folder, examples, given.batch)
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{where}: ours {fast:.0f}, plain {slow:.0f} pairs a second: {fast / slow:.2f} times")


if __name__ == "__main__":
    main()
