"""What a set of stories is made of: counts, lengths, duplicates, frequent norms. Judges nothing."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from moralscope.stories.story import SENTENCES, MoralStory
from moralscope.stories.words import content_lemmas, tokens

_SHOWN = 10
_NEGATION = re.compile(r"n['\u2019]t\b|\b(?:not|never|no|nobody|cannot)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Category:
    """One of the seven sentences over all stories; `tokens` is its mean length in words.

    `repeated` counts stories whose sentence, but for case and punctuation, another story has too.
    """

    name: str
    present: int
    missing: int
    tokens: float | None
    different: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """A text and how many stories have it."""

    text: str
    stories: int


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Stories that repeat another: all their sentences, or both actions, or a path twice."""

    whole_stories: int
    both_actions: int
    same_action_twice: int


def categories(stories: Sequence[MoralStory]) -> list[Category]:
    """Return counts and mean lengths for each of the seven sentences (Table 7).

    A token is what stands between spaces: so counted, the published norms and actions have the
    paper's means to two digits.

    Examples
    --------
    >>> categories([MoralStory("1", "Be kind."), MoralStory("2")])[0]
    Category(name='norm', present=1, missing=1, tokens=2.0, different=1, repeated=0)
    """
    found = []
    for name in SENTENCES:
        texts = [text for story in stories if (text := getattr(story, name))]
        counts = Counter(plain(text) for text in texts)
        found.append(
            Category(
                name,
                len(texts),
                len(stories) - len(texts),
                fmean(len(tokens(text)) for text in texts) if texts else None,
                len(counts),
                sum(count for count in counts.values() if count > 1),
            )
        )
    return found


def frequent_norms(stories: Sequence[MoralStory], shown: int = _SHOWN) -> list[Repeated]:
    """Return the norms that most stories have, each as it is first written.

    Norms count as one when they have the same content words and the same negation: in the
    published stories no two norms are the same to the letter.

    Examples
    --------
    >>> texts = ["It's rude to lie.", "Lying is rude.", "It isn't rude to lie."]
    >>> stories = [MoralStory(str(n), text) for n, text in enumerate(texts)]
    >>> frequent_norms(stories)[0]
    Repeated(text="It's rude to lie.", stories=2)
    """
    written: dict[object, str] = {}
    counts = Counter[object]()
    for story in stories:
        if story.norm:
            negated = bool(_NEGATION.search(story.norm))
            key = (frozenset(content_lemmas(story.norm)) or plain(story.norm), negated)
            written.setdefault(key, story.norm)
            counts[key] += 1
    ranked = sorted(counts, key=lambda key: (-counts[key], written[key]))
    return [Repeated(written[key], counts[key]) for key in ranked[:shown]]


def duplicates(stories: Sequence[MoralStory]) -> Duplicates:
    """Count stories that say what another says, and stories whose two actions are the same."""
    whole = Counter(
        tuple(plain(getattr(story, name) or "") for name in SENTENCES) for story in stories
    )
    actions = Counter(
        (plain(story.moral_action), plain(story.immoral_action))
        for story in stories
        if story.moral_action and story.immoral_action
    )
    return Duplicates(
        sum(count - 1 for count in whole.values()),
        sum(count - 1 for count in actions.values()),
        sum(count for pair, count in actions.items() if pair[0] == pair[1]),
    )


def plain(text: str) -> str:
    """Return a text without case, punctuation around words and extra spaces.

    Examples
    --------
    >>> plain("Be  kind!")
    'be kind'
    """
    return " ".join(tokens(text.lower()))
