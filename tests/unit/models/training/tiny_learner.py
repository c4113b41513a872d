"""A learner of 58 numbers, and a run of it that can be killed: `tiny_learner.py FILE OUT`."""

import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from moralscope.models.training import loop
from moralscope.models.training.loop import Schedule, train

LONG = Schedule(epochs=3, batch_size=4, accumulate=2, learning_rate=1e-2, patience=9, seed=5)


class TinyLearner:
    """Two layers with dropout learn the sign of a sum; `scores` replaces what dev says."""

    def __init__(self, scores=None, pause=0.0, start=0, examples=100):
        torch.manual_seed(start)
        layers = (torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 2))
        self.module = torch.nn.Sequential(*layers)
        self.rows = torch.tensor(np.random.default_rng(0).normal(size=(examples, 4))).float()
        self.labels = (self.rows.sum(1) > 0).long()
        self.lengths = [place % 7 + 1 for place in range(examples)]
        self.scores, self.pause, self.seen = scores, pause, []

    @property
    def data_sha256(self):
        return sha256(self.rows.numpy().tobytes()).hexdigest()

    def indices(self, epoch):
        return range(len(self.lengths))

    def loss(self, places):
        time.sleep(self.pause)
        self.seen.append(list(places))
        found = self.module(self.rows[list(places)])
        return torch.nn.functional.cross_entropy(found, self.labels[list(places)])

    def dev(self):
        if self.scores:
            return {"score": self.scores.pop(0)}
        right = (self.module(self.rows).argmax(1) == self.labels).float().mean()
        return {"score": float(right)}

    @property
    def weights(self):
        return {name: value.detach().clone() for name, value in self.module.named_parameters()}


def main():
    from safetensors.torch import save_file

    loop._SAVE_SECONDS = 0.0  # a checkpoint after every step
    checkpoint, out = map(Path, sys.argv[1:])
    learner = TinyLearner(pause=0.02)
    train(learner, LONG, checkpoint)
    save_file(learner.weights, out)


if __name__ == "__main__":
    main()
