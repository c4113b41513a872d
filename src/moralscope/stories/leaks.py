"""The leak audit: how many held-out stories have a twin, exact or near, in another part.

Exact twins are equal but for case, punctuation and spaces. Near twins have a similarity of at
least `threshold`: 1 - (insertions and deletions) / (characters of both), over characters.
All pairs are compared; no embedding is needed.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.stories.reading import PARTS
from moralscope.stories.statistics import plain
from moralscope.stories.story import MoralStory

THRESHOLD = 0.9
FIELDS: Mapping[str, tuple[str, ...]] = {
    "norm": ("norm",),
    "action": ("moral_action", "immoral_action"),
    "consequence": ("moral_consequence", "immoral_consequence"),
}
CROSSINGS = (("test", "train"), ("dev", "train"), ("test", "dev"))
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Leak:
    """How many stories of `part` have a twin in `into`; `near` counts exact twins too."""

    split: str
    field: str
    part: str
    into: str
    stories: int
    exact: int
    near: int


def audit_leaks(
    stories: Sequence[MoralStory],
    field: str,
    splits: Mapping[str, Mapping[str, str]],
    threshold: float = THRESHOLD,
) -> list[Leak]:
    """Count the held-out stories whose norm, action or consequence crosses the parts of a split.

    Examples
    --------
    >>> stories = [MoralStory("1", "Be kind."), MoralStory("2", "be  kind")]
    >>> parts = {"mine": {"1": "train", "2": "test"}}
    >>> audit_leaks(stories, "norm", parts)[0]
    Leak(split='mine', field='norm', part='test', into='train', stories=1, exact=1, near=1)
    """
    texts = _texts(stories, field)
    unique = sorted(set(texts.values()), key=lambda text: (len(text), text))
    place = {text: number for number, text in enumerate(unique)}
    own = np.zeros(len(unique), dtype=np.uint64)  # one bit for each split and part
    for (story, _), text in texts.items():
        own[place[text]] |= np.uint64(_bits(story, splits))
    near = own | _neighbours(unique, own, threshold)
    found = []
    for number, (split, parts) in enumerate(splits.items()):
        for part, into in CROSSINGS:
            bit = np.uint64(1 << (number * len(PARTS) + PARTS.index(into)))
            held = [
                (story, place[text])
                for (story, _), text in texts.items()
                if parts.get(story) == part
            ]
            exact = {story for story, at in held if own[at] & bit}
            close = {story for story, at in held if near[at] & bit}
            size = len({story for story, _ in held})
            found.append(Leak(split, field, part, into, size, len(exact), len(close)))
    return found


def _texts(stories: Sequence[MoralStory], field: str) -> dict[tuple[str, str], str]:
    """Return the plain form of each text, by story and sentence."""
    return {
        (story.id, name): plain(text)
        for story in stories
        for name in FIELDS[field]
        if (text := getattr(story, name))
    }


def _bits(story: str, splits: Mapping[str, Mapping[str, str]]) -> int:
    found = 0
    for number, parts in enumerate(splits.values()):
        if story in parts:
            found |= 1 << (number * len(PARTS) + PARTS.index(parts[story]))
    return found


def _neighbours(
    texts: Sequence[str], own: NDArray[np.uint64], threshold: float
) -> NDArray[np.uint64]:
    """Gather the bits of every text's near twins. `texts` go from short to long.

    A text can only be near one of at most (2 - threshold) / threshold times its length.
    """
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cdist

    lengths = [len(text) for text in texts]
    found = np.zeros_like(own)
    for start in range(0, len(texts), _BLOCK):
        stop = min(start + _BLOCK, len(texts))
        end = bisect_right(lengths, lengths[stop - 1] * (2 - threshold) / threshold)
        scores = cdist(
            texts[start:stop],
            texts[start:end],
            scorer=ratio,
            score_cutoff=100 * threshold,
            dtype=np.uint8,
            workers=-1,
        )
        first, second = np.nonzero(scores)
        np.bitwise_or.at(found, start + first, own[start + second])
        np.bitwise_or.at(found, start + second, own[start + first])
    return found
