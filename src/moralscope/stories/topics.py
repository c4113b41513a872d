"""Dominant topics of stories: latent Dirichlet allocation (Blei et al. 2003), as for Table 13.

Gensim's implementation, k = 10, over the lemmas of each story without function words. First names
are left out as well: with them, topics are about who is called Tom.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from moralscope.core.errors import InputError
from moralscope.stories.story import SENTENCES, MoralStory
from moralscope.stories.words import content_lemmas, tokens

TOPICS = 10
_WORDS = 5
_PASSES = 10
_RARE = 5  # words in fewer stories make no topic
_NAME_SHARE = 0.8  # a word written large this often inside sentences is a name
_CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic's likeliest words, and the share of stories in which it weighs most.

    `nearest` is the paper's topic that shares most of its words, `shared` how many of five.
    """

    words: tuple[str, ...]
    share: float
    nearest: str
    shared: int


def find_topics(
    stories: Sequence[MoralStory], *, count: int = TOPICS, seed: int = 0
) -> list[Topic]:
    """Return the topics, most frequent first; the same stories and seed give the same topics."""
    import numpy as np
    from gensim.corpora import Dictionary
    from gensim.models import LdaModel

    names = _names(stories)
    texts = [[word for word in story_lemmas(story) if word not in names] for story in stories]
    dictionary = Dictionary(texts)
    dictionary.filter_extremes(no_below=min(_RARE, max(1, len(texts) // 20)), no_above=1.0)
    bags = [dictionary.doc2bow(text) for text in texts]
    if not dictionary or not any(bags):
        raise InputError("the stories share no words", "topics need more stories")
    model = LdaModel(
        bags,
        num_topics=count,
        id2word=dictionary,
        passes=_PASSES,
        chunksize=_CHUNK,
        random_state=np.random.RandomState(seed),
        alpha="auto",
        eta="auto",
        eval_every=None,
    )
    weights, _ = model.inference(bags)
    dominant = Counter(np.asarray(weights).argmax(axis=1).tolist())
    found = []
    for place in range(count):
        words = tuple(word for word, _ in model.show_topic(place, topn=_WORDS))
        nearest, shared = _nearest(words)
        found.append(Topic(words, dominant[place] / len(bags), nearest, shared))
    return sorted(found, key=lambda topic: (-topic.share, topic.words))


def story_lemmas(story: MoralStory) -> list[str]:
    """Return the lemmas of every sentence that the story has, function words left out.

    Examples
    --------
    >>> story_lemmas(MoralStory("1", "Be kind.", moral_action="Al pays his friends."))
    ['kind', 'al', 'pay', 'friend']
    """
    sentences = (getattr(story, name) for name in SENTENCES)
    return [word for text in sentences if text for word in content_lemmas(text)]


@cache
def paper_topics() -> Mapping[str, Sequence[str]]:
    """Return Table 13: five words a topic.

    Examples
    --------
    >>> paper_topics()["commerce"][:2]
    ['money', 'pay']
    """
    text = resources.files("moralscope.stories").joinpath("data/topics.toml").read_text("utf-8")
    return tomllib.loads(text)


def _names(stories: Sequence[MoralStory]) -> frozenset[str]:
    """Return the words that are written large nearly always, as first names are."""
    large, all_ = Counter[str](), Counter[str]()
    for story in stories:
        for name in SENTENCES:
            for word in tokens(getattr(story, name) or ""):
                key = word.lower().removesuffix("'s")
                all_[key] += 1
                large[key] += word[0].isupper()
    return frozenset(word for word, n in large.items() if n >= _NAME_SHARE * all_[word])


def _nearest(words: Sequence[str]) -> tuple[str, int]:
    shared = {name: len(set(words) & set(row)) for name, row in paper_topics().items()}
    best = max(shared, key=lambda name: shared[name])
    return best, shared[best]
