"""Which exchanges are worth annotating: a keyword, a sufficient reply, moral content (appendix B).

A reply is sufficient when it is understandable, specific and relevant to its prompt; it has moral
content when someone could call what it says right or wrong. Trained classifiers tell both
(`rules.collect.train`); without them the two here do, from similarities alone. They are rough, as
the paper's were (Table 4), and they filter: they judge nobody.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier, Encoder, ExpertSet, Floats, Matrix, Pair
from moralscope.core.records import ModelRef
from moralscope.io.documents import shipped_yaml
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.encoders import load_encoder
from moralscope.models.store import Progress
from moralscope.rules.collect.chatbots import (
    EMPTY,
    INSUFFICIENT,
    LONG,
    MAX_REPLY,
    NEUTRAL,
    NO_KEYWORD,
    CollectedExchange,
)
from moralscope.rules.collect.lexicons import Lexicon, load_lexicon
from moralscope.rules.collect.options import ZERO_SHOT, CollectOptions
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.texts.sanitize import clean, unreadable
from moralscope.stats.summary import unit_rows
from moralscope.stats.text.words import words
from moralscope.stories.experts import prepare_experts

SUFFICIENCY, MORAL_CONTENT = "sufficiency", "moral content"
TASKS = {SUFFICIENCY: ("insufficient", "sufficient"), MORAL_CONTENT: ("neutral", "moral")}
THRESHOLD = 0.5  # of both probabilities, as in the paper
_READ = 2_000  # characters of a text that an encoder is given
_STEEP = 20.0  # how fast a probability turns around its limit
# Limits of similarities, chosen on the dev part of tests/golden/collect.yaml with minilm.
_RELEVANT, _GENERIC, _MORAL = 0.19, 0.45, 0.265
_NEAREST = 5  # rules
_WINDOW, _VARIED, _FEW = 20, 0.5, 5  # words; share of different ones; too few to tell


class ZeroShotSufficiency:
    """Sufficiency without training: a `Classifier` over (prompt, reply).

    As sufficient as the weakest of three: understandable (English words, not the same ones over
    and over), specific (unlike replies that say nothing), relevant (like the prompt).
    """

    labels = TASKS[SUFFICIENCY]

    def __init__(self, encoder: Encoder) -> None:
        self.name = f"zero-shot {SUFFICIENCY}/{encoder.name}"
        generic = shipped_yaml("moralscope.rules", "zero_shot.yaml")["says_nothing"]
        self.checksum = _checksum(encoder, [_RELEVANT, _GENERIC, _STEEP, *generic])
        self._encoder = encoder
        self._generic = _rows(encoder, generic)

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return P(insufficient) and P(sufficient), one row a pair."""
        prompts, replies = _cleaned(pairs)
        asked, answers = _rows(self._encoder, prompts), _rows(self._encoder, replies)
        relevant = _sigmoid((asked * answers).sum(axis=1) - _RELEVANT)
        specific = _sigmoid(_GENERIC - (answers @ self._generic.T).max(axis=1, initial=0.0))
        readable = [float(is_understandable(reply)) for reply in replies]
        return _two(np.minimum(np.minimum(relevant, specific), readable))


class ZeroShotMoralContent:
    """Moral content without training: nearer to the nearest few rules than to everyday talk."""

    labels = TASKS[MORAL_CONTENT]

    def __init__(self, encoder: Encoder, rules: Sequence[str]) -> None:
        self.name = f"zero-shot {MORAL_CONTENT}/{encoder.name}"
        everyday = shipped_yaml("moralscope.rules", "zero_shot.yaml")["everyday"]
        self.checksum = _checksum(encoder, [_MORAL, _STEEP, *everyday, *rules])
        self._encoder = encoder
        self._rules = _rows(encoder, rules)
        self._everyday = _rows(encoder, everyday)

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return P(neutral) and P(moral), one row a pair."""
        prompts, replies = _cleaned(pairs)
        both = [f"{prompt} {reply}".strip() for prompt, reply in zip(prompts, replies, strict=True)]
        read = unit_rows(_rows(self._encoder, replies) + _rows(self._encoder, both))
        nearest = np.sort(read @ self._rules.T, axis=1)[:, -_NEAREST:].mean(axis=1)
        usual = (read @ self._everyday.T).mean(axis=1)
        return _two(_sigmoid(nearest - usual - _MORAL))


@dataclass(frozen=True, slots=True)
class Sieve:
    """What an exchange must pass; a part that is empty or None lets everything through."""

    lexicons: tuple[Lexicon, ...] = ()
    """a reply must hold a word of each"""
    sufficiency: Classifier | None = None
    """over (prompt, reply), as `moral_content`; the last label is the one to keep"""
    moral_content: Classifier | None = None
    threshold: float = THRESHOLD
    """a probability must be higher"""

    def sift(self, rows: Sequence[CollectedExchange]) -> list[CollectedExchange]:
        """Return the rows with what was found, those that do not pass marked as dropped."""
        sifted = [self._words(row) for row in rows]
        indices = [index for index, row in enumerate(sifted) if row.dropped is None]
        pairs = [(sifted[index].prompt, sifted[index].reply) for index in indices]
        sufficient = self._ask(self.sufficiency, pairs)
        moral = self._ask(self.moral_content, pairs)
        for index, one, other in zip(indices, sufficient, moral, strict=True):
            dropped = INSUFFICIENT if self._low(one) else NEUTRAL if self._low(other) else None
            row = sifted[index]
            sifted[index] = replace(row, sufficient=one, moral=other, dropped=dropped)
        return sifted

    def _words(self, row: CollectedExchange) -> CollectedExchange:
        if not row.reply:
            return replace(row, dropped=EMPTY)
        if len(row.reply) > MAX_REPLY:
            return replace(row, reply=row.reply[:MAX_REPLY], dropped=LONG)
        met = [lexicon.find(row.reply) for lexicon in self.lexicons]
        terms = [term for some in met for term in some]
        return replace(
            row,
            keywords=tuple(dict.fromkeys(map(str, terms))),
            categories=tuple(dict.fromkeys(name for term in terms for name in term.categories)),
            dropped=None if all(met) else NO_KEYWORD,
        )

    def _ask(self, classifier: Classifier | None, pairs: Sequence[Pair]) -> list[float | None]:
        if classifier is None or not pairs:
            return [None] * len(pairs)
        return [float(row[-1]) for row in classifier.probabilities(pairs)]

    def _low(self, probability: float | None) -> bool:
        return probability is not None and not probability > self.threshold


@dataclass(frozen=True, slots=True)
class Filters:
    """A ready sieve, the lexicons that prompts must meet, and the weights in them."""

    sieve: Sieve
    prompt_lexicons: tuple[Lexicon, ...] = ()
    refs: tuple[ModelRef, ...] = ()


def load_filters(
    options: CollectOptions, progress: Progress | None = None, *, cached: bool = True
) -> Filters:
    """Load the lexicons and classifiers that options name.

    Without `cached` the filters keep no row on disk.

    Examples
    --------
    >>> load_filters(CollectOptions(bots=("scripted",), filters="none")).refs
    ()
    """
    sieve = Sieve(tuple(map(load_lexicon, options.lexicons)), threshold=options.threshold)
    prompt_lexicons = tuple(map(load_lexicon, options.prompt_lexicons))
    if options.filters == "none":
        return Filters(sieve, prompt_lexicons)
    if options.filters == ZERO_SHOT:
        encoder = load_encoder(options.encoder, progress, cached=cached)
        rules = [rule.text for rule in shipped_rulebook().rules]
        sufficiency = ZeroShotSufficiency(encoder)
        moral_content = ZeroShotMoralContent(encoder, rules)
        sieve = replace(sieve, sufficiency=sufficiency, moral_content=moral_content)
        used = (encoder, sufficiency, moral_content)
        refs = tuple(ModelRef(model.name, model.checksum) for model in used)
        return Filters(sieve, prompt_lexicons, refs)
    experts: ExpertSet
    if options.filters == "scripted":
        experts = ScriptedExperts(TASKS)
    else:
        experts = prepare_experts(options.filters, progress=progress)
    for task, labels in TASKS.items():
        if task not in experts.tasks:
            raise InputError(
                f"'{experts.ref.name}' has no expert for {task}",
                "give zero-shot, none, or a folder that 'moralscope collect-train' wrote",
            )
        if experts.expert(task).labels != labels:
            problem = f"the expert for {task} has {', '.join(experts.expert(task).labels)}"
            raise InputError(problem, f"it needs {', '.join(labels)}")
    sieve = replace(
        sieve, sufficiency=experts.expert(SUFFICIENCY), moral_content=experts.expert(MORAL_CONTENT)
    )
    return Filters(sieve, prompt_lexicons, (experts.ref,))


def is_understandable(reply: str) -> bool:
    """Tell whether a reply has English words and not the same ones over and over."""
    if unreadable(reply):
        return False
    spoken = words(reply)
    parts = [spoken[at : at + _WINDOW] for at in range(0, len(spoken), _WINDOW)]
    shares = [len(set(part)) / len(part) for part in parts if len(part) >= _FEW]
    return not shares or sum(shares) / len(shares) >= _VARIED


def _cleaned(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return prompts and replies on one line each, within bounds."""
    prompts = [clean(prompt[-_READ:]) for prompt, _ in pairs]
    return prompts, [clean(reply[:_READ]) for _, reply in pairs]


def _rows(encoder: Encoder, texts: Sequence[str]) -> Floats:
    if not texts:
        return np.zeros((0, encoder.dimension))
    return unit_rows(encoder.encode(list(texts)).astype(np.float64))


def _sigmoid(over: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-_STEEP * over)))


def _two(positive: Floats) -> Matrix:
    return np.stack([1 - positive, positive], axis=1).astype(np.float32)


def _checksum(encoder: Encoder, parts: Sequence[object]) -> str:
    return sha256(json.dumps([encoder.checksum, *parts]).encode()).hexdigest()
