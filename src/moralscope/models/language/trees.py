"""Sequences of tokens that share beginnings, laid out as trees: what is shared is computed once.

The tokens of many sequences become the nodes of a tree and go through the model side by side, in
one row. A node's position is its depth, and it attends to its ancestors and itself alone, which is
all that it would see in its own sequence (tree attention, Miao et al. 2024). Questions about one
dilemma in every order and wording, and the answers to each, share most of their tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np
import torch

from moralscope.models.fastcpu.threads import SingleThreadPool

MOST = 512  # nodes of a tree: attention over all of them grows with the square
_MOST_ON_GPU = 2048  # a small tree leaves a GPU idle
_LEAST_NODES = 64  # of a tree that has a thread for itself
_REPEATED = (1.1, 1.2, 1.3, 1.4, 1.5)  # times as many nodes where parts repeat what they share
R = TypeVar("R")


class TokenTree:
    """Some sequences as one row of tokens."""

    def __init__(self, sequences: Sequence[Sequence[int]], device: Any = "cpu") -> None:
        self.tokens: list[int] = []
        self.depths: list[int] = []
        self.paths: list[list[int]] = []
        self._device = device
        self._parents: list[int] = []
        children: dict[tuple[int, int], int] = {}
        for sequence in sequences:
            path: list[int] = []
            for depth, token in enumerate(sequence):
                key = (path[-1] if path else -1, token)
                if key not in children:
                    self._parents.append(key[0])
                    children[key] = len(self.tokens)
                    self.tokens.append(token)
                    self.depths.append(depth)
                path.append(children[key])
            self.paths.append(path)
        self._masks: dict[int | None, Any] = {}

    def inputs(self) -> dict[str, Any]:
        """Return what a model is called with: one row of tokens and their positions."""
        return {
            "input_ids": torch.tensor([self.tokens], device=self._device),
            "position_ids": torch.tensor([self.depths], device=self._device),
            "use_cache": False,
            "shared": self,
        }

    def visible(self, window: int | None) -> Any:
        """Return which node (row) may look at which (column), within a sliding window if any."""
        if window is not None and window > max(self.depths):
            window = None
        if window in self._masks:
            return self._masks[window]
        rows = np.eye(len(self.tokens), dtype=bool)
        for node, parent in enumerate(self._parents):  # a parent stands before its children
            if parent >= 0:
                rows[node] |= rows[parent]
        if window is not None:
            depths = np.array(self.depths)
            rows &= depths[:, None] - depths[None] < window
        self._masks[window] = torch.from_numpy(rows).to(self._device)
        return self._masks[window]


def grow_trees(
    sequences: Sequence[Sequence[int]], device: Any = "cpu", most: int = MOST
) -> Iterator[tuple[list[int], TokenTree]]:
    """Yield trees of at most `most` nodes with the indices of their sequences.

    Sorted, sequences with a common beginning are neighbours. A longer one has a tree for itself.
    """
    order = sorted(range(len(sequences)), key=lambda index: list(sequences[index]))
    indices: list[int] = []
    nodes = 0
    for index in order:
        sequence = sequences[index]
        before = sequences[indices[-1]] if indices else ()
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(before, sequence, strict=False))
        new = len(sequence) - sum(1 for _ in alike)
        if indices and nodes + new > most:
            yield indices, TokenTree([sequences[at] for at in indices], device)
            indices, nodes, new = [], 0, len(sequence)
        indices.append(index)
        nodes += new
    if indices:
        yield indices, TokenTree([sequences[at] for at in indices], device)


class TreePool:
    """Computes trees; on a CPU side by side, one thread each.

    Threads that share a product spend more time waiting for each other than computing.
    """

    _pool: SingleThreadPool | None = None

    def run(
        self,
        sequences: Sequence[Sequence[int]],
        work: Callable[[list[int], TokenTree], R],
        device: Any,
    ) -> Iterator[tuple[list[int], R]]:
        """Yield the indices of each tree's sequences and what `work` makes of both."""

        def done(grown: tuple[list[int], TokenTree]) -> tuple[list[int], R]:
            with torch.inference_mode():  # each thread has a mode of its own
                return grown[0], work(*grown)

        on_cpu = device.type == "cpu"
        trees = list(grow_trees(sequences, device, MOST if on_cpu else _MOST_ON_GPU))
        threads = torch.get_num_threads() if on_cpu else 1
        if len(trees) < threads:  # a part each; what parts share is computed in each of them
            nodes = sum(len(tree.tokens) for _, tree in trees)
            for repeated in _REPEATED:
                most = max(_LEAST_NODES, int(repeated * nodes / threads))
                parts = list(grow_trees(sequences, device, most))
                if len(parts) <= threads:
                    trees = parts
                    break
        if threads < 2 or len(trees) < 2:
            return map(done, trees)
        if self._pool is None or self._pool.count != threads:
            self._pool = SingleThreadPool(threads)
        return self._pool.map(done, trees)
