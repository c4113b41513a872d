"""Finding rules for an exchange: by what they say, by like exchanges, or by chance.

`TrainedRetriever` goes by vectors of experts that were trained to find rules. `Retriever` needs no
training: the embeddings of prompt and reply against the wording of each rule and its examples.
`NearestExchange` and `RandomRules` are the two retrieval baselines of the Moral Integrity Corpus
(Ziems et al. 2022, section 5.1). None judges a reply.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder, ExpertSet, Matrix
from moralscope.core.records import RunRecord, Statistics
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.rules.annotations.reading import read_annotations
from moralscope.rules.judgments import read_judgment
from moralscope.rules.options import RetrieveOptions
from moralscope.rules.records import Annotation, Exchange, ListedRule, RuleOfThumb
from moralscope.rules.rulebook import NOT_LAW, load_layers

MAX_PROMPT = 1000  # characters, the last: an encoder's window must keep room for the reply
MAX_REPLY = 4000
_BLOCK = 256  # exchanges compared at once
# Limits for vectors that were trained to find rules.
TRAINED_SEARCH = {"applies": 0.3, "near": 0.8}

Found = list[tuple[RuleOfThumb, float]]


class Finds(Protocol):
    """What finds rules for exchanges, the most applicable first, each with its similarity."""

    def find(self, exchanges: Sequence[Exchange], k: int) -> Sequence[Found]: ...


def as_query(exchange: Exchange) -> str:
    """Return the exchange as one text, prompt first, each part bounded.

    Examples
    --------
    >>> as_query(Exchange(" Do you steal?", "Never. "))
    'Do you steal? Never.'
    """
    return f"{exchange.prompt.strip()[-MAX_PROMPT:]} {exchange.reply.strip()[:MAX_REPLY]}".strip()


def unit_rows(encoder: Encoder, texts: Sequence[str]) -> Matrix:
    """Return the embeddings of texts, each of length one: their products are cosines.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> [row] = unit_rows(load_encoder("scripted"), ["Hello."])
    >>> round(float(row @ row), 3)
    1.0
    """
    rows = encoder.encode(texts)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


class Retriever:
    """The rules that are nearest to an exchange, best first.

    An exchange is the mean of two rows of length one, its prompt's and its reply's; one of them
    where the other is empty. score = w, or (w + m + e) / 3 for a rule with examples: w is the mean
    product with the rule's text and with the behaviour that it judges, m that with its examples,
    and e the product with the nearest of them, where all read as one text count as one more. Rules
    are embedded once, through the encoder's cache.
    """

    def __init__(self, rules: Sequence[RuleOfThumb], encoder: Encoder) -> None:
        if not rules:
            raise InputError("there are no rules to search", "give a rulebook with some")
        self.rules = tuple(rules)
        self._encoder = encoder
        texts = unit_rows(encoder, [rule.text for rule in rules])
        # "It's wrong to …" makes all rules alike and the bare behaviour tells them apart; the whole
        # text keeps who must and who may. So each is half of a rule's row.
        acts = [
            read_judgment(rule.text).behaviour.removeprefix("to ") or rule.text for rule in rules
        ]
        self._rows = (texts + unit_rows(encoder, acts)) / 2
        shown = [index for index, rule in enumerate(self.rules) if rule.examples]
        self._shown = np.array(shown, dtype=np.intp)
        # All examples as one text stand for what they share: one example alone may be an odd one.
        keys = [(*(rule := self.rules[index]).examples, " ".join(rule.examples)) for index in shown]
        # Rows of all examples lie in one matrix, so that one product serves every rule; `_starts`
        # says where each rule's begin, for reduceat in `find`.
        self._starts = np.cumsum([0, *map(len, keys)])[:-1]
        self._examples = unit_rows(encoder, [key for examples in keys for key in examples])
        for index, start, examples in zip(shown, self._starts, keys, strict=True):
            # w and m are linear in the exchange's row: added here, `find` multiplies once.
            mean = self._examples[start : start + len(examples) - 1].mean(axis=0)
            self._rows[index] = (self._rows[index] + mean) / 3

    def find(self, exchanges: Sequence[Exchange], k: int) -> list[Found]:
        """Return up to `k` rules for each exchange with their cosine, best first."""
        ranked: list[Found] = []
        for start in range(0, len(exchanges), _BLOCK):
            # Two rows and not one of the joined text: a long prompt would drown a short reply, and
            # the reply is what is judged. An empty text stands for the other.
            texts: list[str] = []
            for exchange in exchanges[start : start + _BLOCK]:
                prompt, reply = (
                    exchange.prompt.strip()[-MAX_PROMPT:],
                    exchange.reply.strip()[:MAX_REPLY],
                )
                texts += [prompt or reply, reply or prompt]
            both = unit_rows(self._encoder, texts)
            rows = np.asarray((both[::2] + both[1::2]) / 2, dtype=np.float32)
            scores = rows @ self._rows.T
            if len(self._shown):
                nearest = np.maximum.reduceat(rows @ self._examples.T, self._starts, axis=1)
                scores[:, self._shown] += nearest / 3
            ranked += [
                [(self.rules[index], float(row[index])) for index in _top(row, k)] for row in scores
            ]
        return ranked


class TrainedRetriever:
    """The rules whose vectors are nearest to that of an exchange, both from the same experts.

    The score of a rule is the product of the exchange's vector with that of the rule's text. Rules
    are embedded when the first is looked for, and their vectors are read from `cache` where it has
    them.
    """

    def __init__(
        self, rules: Sequence[RuleOfThumb], experts: ExpertSet, cache: EmbeddingCache | None = None
    ) -> None:
        if not rules:
            raise InputError("there are no rules to search", "give a rulebook with some")
        self.rules = tuple(rules)
        self._experts, self._cache = experts, cache
        self._rows: Matrix | None = None

    def find(self, exchanges: Sequence[Exchange], k: int) -> list[Found]:
        """Return up to `k` rules for each exchange with their cosine, best first."""
        _, vectors = self._experts.read([(row.prompt, row.reply) for row in exchanges])
        return self.nearest(vectors, k)

    def nearest(self, vectors: Matrix, k: int) -> list[Found]:
        """Return up to `k` rules for each vector of an exchange that was read already."""
        if self._rows is None:
            texts, embed = [rule.text for rule in self.rules], self._experts.embed
            self._rows = self._cache.fill(texts, embed) if self._cache else embed(texts)
        scores = np.asarray(vectors, dtype=np.float32) @ self._rows.T
        return [
            [(self.rules[index], float(row[index])) for index in _top(row, k)] for row in scores
        ]


class NearestExchange:
    """The paper's SBERT baseline: a rule that people wrote for the most similar exchange.

    Of several rules of one exchange the order is drawn, from the seed and the exchange asked about.
    A rule's score is the cosine of the two exchanges.
    """

    def __init__(self, known: Sequence[Annotation], encoder: Encoder, seed: int = 0) -> None:
        if not known:
            raise InputError("there are no annotated exchanges", "give a file with some")
        self._rules: dict[tuple[str, str], list[RuleOfThumb]] = {}
        for row in known:
            rule = RuleOfThumb(
                row.rule, row.foundations or (), **row.scales, source="retrieved", id=row.id
            )
            self._rules.setdefault(row.pair, []).append(rule)
        self._pairs = list(self._rules)
        self._encoder = encoder
        self._seed = seed
        self._rows = unit_rows(encoder, [as_query(Exchange(*pair)) for pair in self._pairs])

    def find(self, exchanges: Sequence[Exchange], k: int) -> list[Found]:
        """Return up to `k` different rules for each exchange, those of the nearest first."""
        rows = unit_rows(self._encoder, [as_query(exchange) for exchange in exchanges])
        every = []
        for exchange, row in zip(exchanges, rows, strict=True):
            scores = row @ self._rows.T  # one at a time: a row must not depend on its batch
            random = _random(self._seed, exchange)
            nearest: dict[str, tuple[RuleOfThumb, float]] = {}
            for index in np.argsort(-scores, kind="stable"):
                if len(nearest) >= k:
                    break
                rules = self._rules[self._pairs[index]]
                for drawn in random.permutation(len(rules)):
                    nearest.setdefault(rules[drawn].text, (rules[drawn], float(scores[index])))
            every.append(list(nearest.values())[:k])
        return every


class RandomRules:
    """The paper's random baseline: any rules, drawn from the seed and the exchange."""

    def __init__(self, rules: Sequence[RuleOfThumb], seed: int = 0) -> None:
        self._rules = tuple(rules)
        self._seed = seed

    def find(self, exchanges: Sequence[Exchange], k: int) -> list[Found]:
        """Return up to `k` rules for each exchange, all with the score 0."""
        size = min(k, len(self._rules))
        draws = (
            _random(self._seed, exchange).choice(len(self._rules), size, replace=False)
            for exchange in exchanges
        )
        return [[(self._rules[index], 0.0) for index in drawn] for drawn in draws]


@dataclass(frozen=True, slots=True)
class RetrieveStatistics(Statistics):
    """How many exchanges were asked about, and how many rules searched."""

    exchanges: int
    rules: int


@dataclass(frozen=True, slots=True)
class FoundRules:
    """The rules found for one exchange, best first."""

    prompt: str
    reply: str
    rules: tuple[ListedRule, ...]
    id: str = ""


def retrieve(
    exchanges: Iterable[Exchange],
    options: RetrieveOptions | None = None,
    *,
    model: Encoder | None = None,
    **changes: Any,
) -> RunRecord:
    """Find rules for exchanges; only `random` needs no encoder.

    Parameters
    ----------
    exchanges
        Prompts and replies.
    options
        `RetrieveOptions`, or its fields as keywords.
    model
        An encoder that is loaded already; else the one that the options name.
    """
    chosen = chosen_options(RetrieveOptions, options, changes)
    asked = list(exchanges)
    book = load_layers(chosen.rulebooks)
    uses = [] if chosen.method == "random" else [model or load_encoder(chosen.encoder)]
    finder: Finds
    if not uses:
        finder = RandomRules(book.rules, chosen.seed)
    elif chosen.method == "rules":
        finder = Retriever(book.rules, uses[0])
    else:
        finder = NearestExchange(read_annotations(chosen.known).annotations, uses[0], chosen.seed)
    return RunRecord(
        "rules retrieve",
        seed=chosen.seed,
        config={
            "rulebook": str(chosen.known) if chosen.method == "sbert" else book.name,
            "method": chosen.method,
            "top": chosen.top,
            "encoder": uses[0].name if uses else None,
            "options": plain_options(chosen),
        },
        models=model_refs(uses),
        results=[
            FoundRules(
                exchange.prompt,
                exchange.reply,
                tuple(book.listed(rule, score) for rule, score in rules),
                exchange.id,
            )
            for exchange, rules in zip(asked, finder.find(asked, chosen.top), strict=True)
        ],
        statistics=RetrieveStatistics(len(asked), len(book.rules)),
        warnings=[*book.warnings[:5], NOT_LAW],
    )


def _top(scores: Matrix, k: int) -> list[int]:
    """Return the indices of the highest scores; equal ones in the order of the rules."""
    k = min(k, len(scores))
    if k < 1:
        return []
    # partition is linear in the rules where a sort is not; `>=` takes equals in, and the stable
    # sort puts the earlier rule first, so that a row never depends on its batch.
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    best = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[best], kind="stable")[:k]
    return [int(index) for index in best[order]]


def _random(seed: int, exchange: Exchange) -> np.random.Generator:
    """Return a generator for one exchange: what is drawn is the same in any batch and order."""
    text = f"{exchange.prompt}\n{exchange.reply}".encode("utf-8", "surrogatepass")
    return np.random.default_rng([seed, crc32(text)])
