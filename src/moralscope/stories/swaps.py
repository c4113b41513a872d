"""Giving each story the norm of an unrelated one. It looks at words, not at meaning."""

import random
import re
from collections.abc import Sequence
from functools import cache

from moralscope.stories.norms.inflection import base_of_finite, base_of_gerund, tables
from moralscope.stories.story import SENTENCES, MoralStory

_TRIES = 40
_SPECIFIC = 2  # content words; "It's good to be kind" concerns nearly every story


def swap_norms(stories: Sequence[MoralStory], seed: int) -> dict[str, str]:
    """Give each story the norm of an unrelated story: one that shares no content word with it.

    Norms are drawn at random until one shares no content word with the story's own sentences; of
    40 that all do, the one that shares fewest is taken. Norms with a single content word are
    passed over where others exist, for they concern nearly everything. A story for which there is
    no other norm is left out.

    Examples
    --------
    >>> pair = [MoralStory("1", "Pay debts."), MoralStory("2", "Feed your dog.")]
    >>> swap_norms(pair, seed=0)
    {'1': 'Feed your dog.', '2': 'Pay debts.'}
    """
    draw = random.Random(seed)  # noqa: S311
    found = {story.norm: content_words(story.norm) for story in stories if story.norm}
    specific = {norm: words for norm, words in found.items() if len(words) >= _SPECIFIC}
    norms, words = (
        zip(*(specific if len(specific) > 1 else found).items(), strict=True) if found else ((), ())
    )
    swapped = {}
    for story in stories:
        own = content_words(" ".join(getattr(story, name) or "" for name in SENTENCES))
        best, least = None, len(own) + 1
        for _ in range(_TRIES if len(norms) > 1 else 0):
            place = draw.randrange(len(norms))
            shared = len(own & words[place])
            if norms[place] != story.norm and shared < least:
                best, least = norms[place], shared
            if least == 0:
                break
        if best is not None:
            swapped[story.id] = best
    return swapped


def content_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning.

    Examples
    --------
    >>> sorted(content_words("It's wrong to be stealing cars."))
    ['car', 'steal']
    """
    words = re.findall(r"[a-z]+", text.lower())
    return frozenset(_stem(word) for word in words if word not in _common() and len(word) > 2)


@cache
def _common() -> frozenset[str]:
    return frozenset(tables()["common"]["words"])


def _stem(word: str) -> str:
    if word.endswith("ing") and len(word) > 5:
        return base_of_gerund(word)
    if word.endswith("ed") and len(word) > 4:
        return base_of_gerund(word[:-2] + "ing")
    return base_of_finite(word)
