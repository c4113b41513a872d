"""Describe a set of stories and return a run record: counts, lengths, topics, duplicates.

Topics are latent Dirichlet allocation (Blei et al. 2003) as for Table 13: gensim's, k = 10, over
the lemmas of each story without function words. First names are left out as well: with them,
topics are about who is called Tom.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.extras import missing_extra
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord, Statistics
from moralscope.stats.text.words import function_words, lemma
from moralscope.stories.options import PARTS, SPLITS, StatsOptions
from moralscope.stories.paper import load_paper, paper_topics
from moralscope.stories.reading import KINDS, StoryFile
from moralscope.stories.story import SENTENCES, MoralStory

_WORD = re.compile("[a-z]+(?:['\u2019][a-z]+)?")
_APOSTROPHE = re.compile("['\u2019]")
_NEGATED = re.compile("n['\u2019]t$")


def tokens(text: str) -> list[str]:
    """Return what stands between spaces, without punctuation around it.

    Means of these are those of Table 7, and distances over them those of Table 1.
    """
    return [word for part in text.split() if (word := part.strip(string.punctuation))]


def content_lemmas(text: str) -> list[str]:
    """Return the base forms of a text's words, without function words.

    Contracted endings go ("Jo's", "she'll"), and so do negated auxiliaries ("doesn't").
    """
    lemmas = (
        lemma(_APOSTROPHE.split(word)[0])
        for word in _WORD.findall(text.lower())
        if not _NEGATED.search(word)
    )
    return [word for word in lemmas if len(word) > 1 and word not in function_words()]


def split_lemmas(text: str) -> list[str]:
    """Return the base forms that lexical bias counts: a contraction stays one word.

    So "doesn't", which stands in immoral texts most of all, can be a biased word.
    """
    words = ("".join(filter(str.isalnum, part)) for part in text.lower().split())
    return [lemma(word) for word in words if word and word not in function_words()]


TOPICS = 10
_WORDS = 5
_PASSES = 10
_RARE = 5  # words in fewer stories make no topic
_NAME_SHARE = 0.8  # a word written large this often inside sentences is a name
_CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the stories."""

    words: tuple[str, ...]  # its likeliest
    share: float  # of the stories in which it weighs most
    nearest: str  # the paper's topic that shares most of its words
    shared: int  # how many of five


def find_topics(
    stories: Sequence[MoralStory], *, count: int = TOPICS, seed: int = 0
) -> tuple[Topic, ...]:
    """Return the topics, most frequent first; the same stories and seed give the same topics."""
    try:
        from gensim.corpora import Dictionary
        from gensim.models import LdaModel
    except ModuleNotFoundError as error:
        raise missing_extra("words", "a list of topics (--topics 0 leaves it out)") from error
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
    topics = []
    for index in range(count):
        words = tuple(word for word, _ in model.show_topic(index, topn=_WORDS))
        shared = {name: len(set(words) & set(row)) for name, row in paper_topics().items()}
        nearest = max(shared, key=lambda name: shared[name])
        topics.append(Topic(words, dominant[index] / len(bags), nearest, shared[nearest]))
    return tuple(sorted(topics, key=lambda topic: (-topic.share, topic.words)))


def story_lemmas(story: MoralStory) -> list[str]:
    """Return the lemmas of every sentence that the story has, function words left out."""
    sentences = filter(None, story.sentences.values())
    return [word for text in sentences for word in content_lemmas(text)]


def _names(stories: Sequence[MoralStory]) -> frozenset[str]:
    """Return the words that are written large nearly always, as first names are."""
    large, all_ = Counter[str](), Counter[str]()
    for story in stories:
        for text in story.sentences.values():
            for word in tokens(text or ""):
                key = word.lower().removesuffix("'s")
                all_[key] += 1
                large[key] += word[0].isupper()
    return frozenset(word for word, n in large.items() if n >= _NAME_SHARE * all_[word])


_SHOWN = 10
_NEGATION = re.compile(r"n['\u2019]t\b|\b(?:not|never|no|nobody|cannot)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Category:
    """One of the seven sentences over all stories."""

    name: str
    present: int
    missing: int
    tokens: float | None  # its mean length in words
    different: int
    repeated: int  # stories whose sentence, but for case and punctuation, another story has too
    paper: float  # the mean length that the paper prints


@dataclass(frozen=True, slots=True)
class NormCount:
    """A norm and how many stories have it."""

    text: str
    stories: int


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Stories that repeat another: all their sentences, or both actions, or a path twice."""

    whole_stories: int
    both_actions: int
    same_action_twice: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialParts(Statistics):
    """How many stories the data itself puts into each part of a split."""

    kind: str
    split: str
    train: int
    dev: int
    test: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoriesStatistics(Statistics):
    """What `stories stats` found in sum."""

    stories: int
    complete: int  # with all seven sentences
    malformed_lines: int
    duplicates: Duplicates
    frequent_norms: tuple[NormCount, ...]
    topics: tuple[Topic, ...]
    paper_topics: Mapping[str, tuple[str, ...]]  # Table 13: topic → five words
    official_parts: tuple[OfficialParts, ...]


def categories(stories: Sequence[MoralStory]) -> list[Category]:
    """Return counts and mean lengths for each of the seven sentences (Table 7).

    A token is what stands between spaces: so counted, the published norms and actions have the
    paper's means to two digits.
    """
    rows = []
    for name in SENTENCES:
        texts = [text for story in stories if (text := story.sentences[name])]
        counts = Counter(plain(text) for text in texts)
        rows.append(
            Category(
                name=name,
                present=len(texts),
                missing=len(stories) - len(texts),
                tokens=fmean(len(tokens(text)) for text in texts) if texts else None,
                different=len(counts),
                repeated=sum(count for count in counts.values() if count > 1),
                paper=load_paper().table7[name],
            )
        )
    return rows


def frequent_norms(stories: Sequence[MoralStory]) -> tuple[NormCount, ...]:
    """Return the norms that most stories have, each as it is first written.

    Norms count as one when they have the same content words and the same negation: in the
    published stories no two norms are the same to the letter.
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
    return tuple(NormCount(written[key], counts[key]) for key in ranked[:_SHOWN])


def duplicates(stories: Sequence[MoralStory]) -> Duplicates:
    """Count stories that say what another says, and stories whose two actions are the same."""
    whole = Counter(
        tuple(plain(text or "") for text in story.sentences.values()) for story in stories
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
    """Return a text without case, punctuation around words and extra spaces."""
    return " ".join(tokens(text.lower()))


TOKENS = "what stands between spaces (the paper's norms and actions have its means so counted)"


def stories_stats(file: StoryFile, options: StatsOptions | None = None, **fields: Any) -> RunRecord:
    """Count, measure and group the stories (Tables 7 and 13 beside the paper's).

    `options` are `StatsOptions`, or its fields as keywords.
    """
    chosen = chosen_options(StatsOptions, options, fields)
    stories, topics = file.stories, chosen.topics
    return RunRecord(
        "stories stats",
        seed=chosen.seed,
        config={
            "source": file.source,
            "topics": topics,
            "token": TOKENS,
            "options": plain_options(chosen),
        },
        results=categories(stories),
        statistics=StoriesStatistics(
            stories=len(stories),
            complete=len(file.complete),
            malformed_lines=len(file.problems),
            duplicates=duplicates(stories),
            frequent_norms=frequent_norms(stories),
            topics=find_topics(stories, count=topics, seed=chosen.seed) if topics else (),
            paper_topics=paper_topics() if topics else {},
            official_parts=_official_parts(stories),
        ),
        warnings=source_warnings(file),
    )


def source_warnings(file: StoryFile) -> list[str]:
    """Say what a reader of any figure about these stories must know of their source."""
    lines = [f"left out: {problem}" for problem in file.problems[:5]]
    if len(file.problems) > len(lines):
        lines.append(f"left out: {len(file.problems) - len(lines):,} more malformed lines")
    complete, total = len(file.complete), len(file.stories)
    if complete < total:
        lines.append(
            f"{complete:,} of {total:,} stories have all seven sentences; figures about a "
            "sentence are over the stories that have it"
        )
    return lines


def _official_parts(stories: Sequence[MoralStory]) -> tuple[OfficialParts, ...]:
    """Count the membership that the data gives."""
    rows = []
    for kind, split in product(KINDS, SPLITS):
        counts = Counter(story.official(kind, split) for story in stories)
        if set(counts) - {None}:
            parts = {part: counts[part] for part in PARTS}
            rows.append(OfficialParts(kind=kind, split=split, unknown=counts[None], **parts))
    return tuple(rows)
