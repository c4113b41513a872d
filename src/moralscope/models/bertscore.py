"""BERTScore on any transformer of the store: texts compared by the rows of their tokens.

Own implementation, the same as bert-score 0.3.13 to 1e-6 when that scores one pair at a time (in
its batches, padding counts as a token of cosine 0: see docs/integrity-data.md). Figures depend on
the model: those of one model stand beside each other, not beside the papers' roberta-large. No
rescaling with a baseline.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np

from moralscope.core.protocols import Floats, Matrix
from moralscope.core.records import ModelRef
from moralscope.models.classifiers.module import load_body, padded, resolve_base, tokenise
from moralscope.models.encoders.cache import EmbeddingCache, text_key
from moralscope.models.encoders.pipeline import like_length_batches
from moralscope.models.fastcpu.linear import speed_up
from moralscope.models.store import Progress, Store
from moralscope.stats.text.overlap import References, check_references

MAX_TOKENS = 512
_BLOCK = 1024  # pairs whose token rows are in memory at once
_TOKENS_PER_CORE = 1024
_GPU_TOKENS = 1 << 15
_KIND = "bertscore/1"


@dataclass(frozen=True, slots=True)
class TokenRows:
    """A text's tokens: one row of length one each, and which stand for words."""

    rows: Matrix
    words: tuple[bool, ...]


class TokenEncoder(Protocol):
    """Texts → the rows of their tokens."""

    name: str
    checksum: str

    def tokens(self, texts: Sequence[str]) -> list[TokenRows]: ...


@dataclass(frozen=True, slots=True)
class BertScore:
    """Precision, recall and F1 in percent."""

    precision: float
    recall: float
    f1: float


def match(text: TokenRows, reference: TokenRows) -> BertScore:
    """Match every token of one text with the nearest of the other.

    R is the mean of maxⱼ xᵢ·x̂ⱼ over the tokens x of the reference, P the same over the tokens x̂ of
    the text, F1 = 2PR / (P + R); rows have length one, so a product is a cosine (Zhang et al. 2020,
    "BERTScore: Evaluating Text Generation with BERT"). Marks of beginning and end weigh nothing but
    may be matched, as in bert-score.
    """
    weights, wanted = (np.array(some.words, dtype=np.float64) for some in (text, reference))
    if not weights.sum() or not wanted.sum():
        return BertScore(0.0, 0.0, 0.0)
    cosines = text.rows.astype(np.float64) @ reference.rows.astype(np.float64).T
    precision = float(cosines.max(axis=1) @ weights / weights.sum())
    recall = float(cosines.max(axis=0) @ wanted / wanted.sum())
    both = precision + recall
    f1 = 2 * precision * recall / both if both > 0 else 0.0
    return BertScore(100 * precision, 100 * recall, 100 * f1)


class BertScorer:
    """Scores texts against their references; pairs scored before are read from a `cache` folder."""

    def __init__(self, tokens: TokenEncoder, *, cache: Path | None = None) -> None:
        self._tokens, self._cache = tokens, cache

    @property
    def signature(self) -> str:
        """Say which model gave the figure, and how."""
        return f"bertscore|{self._tokens.name}|idf:no|not rescaled"

    @property
    def ref(self) -> ModelRef:
        """Name the weights that the figure comes from."""
        return ModelRef(self._tokens.name, self._tokens.checksum)

    def scores(self, texts: Sequence[str], references: References) -> list[BertScore]:
        """Return one score an item: that of the reference with the best F1."""
        check_references(texts, references)
        pairs = [
            (text, one) for text, wanted in zip(texts, references, strict=True) for one in wanted
        ]
        unique = list(dict.fromkeys(pairs))
        scores = dict(zip(unique, self._pairs(unique), strict=True))
        return [
            max((scores[text, one] for one in wanted), key=lambda score: score.f1)
            for text, wanted in zip(texts, references, strict=True)
        ]

    def f1(self, texts: Sequence[str], references: References) -> Floats:
        """Return F1 alone, as other metrics of this package give theirs."""
        return np.array([score.f1 for score in self.scores(texts, references)])

    def _pairs(self, pairs: Sequence[tuple[str, str]]) -> Iterator[BertScore]:
        keys = {f"{text_key(text).hex()} {text_key(one).hex()}": (text, one) for text, one in pairs}

        def compute(names: Sequence[str]) -> Matrix:
            new = [keys[name] for name in names]
            texts = list(dict.fromkeys(text for pair in new for text in pair))
            tokens = dict(zip(texts, self._tokens.tokens(texts), strict=True))
            scores = [match(tokens[text], tokens[one]) for text, one in new]
            return np.array([(one.precision, one.recall, one.f1) for one in scores], np.float32)

        cache = None
        if self._cache is not None:  # of this model and these weights: all that decides a score
            name = f"{_KIND} {self._tokens.checksum} "
            digest = blake2b(name.encode(), digest_size=16).hexdigest()
            cache = EmbeddingCache(self._cache, digest, 3)
        for start in range(0, len(pairs), _BLOCK):
            names = list(keys)[start : start + _BLOCK]
            rows = cache.fill(names, compute) if cache else compute(names)
            yield from (BertScore(*row) for row in rows.tolist())
        if cache:
            cache.close()


class TransformerTokens:
    """The token rows of a transformer, from its last layer."""

    def __init__(self, folder: Path, name: str, checksum: str) -> None:
        import torch

        self._body, self._tokenizer = load_body(folder, name)
        layer = int(self._body.config.num_hidden_layers)
        self._cuda = torch.cuda.is_available()
        self._body.to("cuda" if self._cuda else "cpu").eval().requires_grad_(False)
        speed_up(self._body, getattr(self._body.config, "model_type", ""))
        self._edges = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}
        self._lock = threading.Lock()
        self.name, self.checksum = f"{name}/layer {layer}", f"{checksum}/{layer}"

    def tokens(self, texts: Sequence[str]) -> list[TokenRows]:
        """Return the rows of each text's tokens; batches hold texts of like length."""
        import torch

        room = int(getattr(self._body.config, "max_position_embeddings", MAX_TOKENS))
        pairs = [("", " ".join(text.split())) for text in texts]
        with self._lock:
            ids = tokenise(self._tokenizer, pairs, min(MAX_TOKENS, room))
            tokens: dict[int, TokenRows] = {}
            size = _GPU_TOKENS if self._cuda else _TOKENS_PER_CORE * torch.get_num_threads()
            padding, device = self._tokenizer.pad_token_id, self._body.device
            for batch in like_length_batches([len(row) for row in ids], size):
                inputs, mask = padded([ids[index] for index in batch], padding, device)
                with torch.inference_mode():
                    rows = self._body(input_ids=inputs, attention_mask=mask).last_hidden_state
                    rows = torch.nn.functional.normalize(rows.float(), dim=-1).cpu().numpy()
                for index, row in zip(batch, rows, strict=True):
                    words = tuple(token not in self._edges for token in ids[index])
                    tokens[index] = TokenRows(row[: len(words)], words)
        return [tokens[index] for index in range(len(texts))]


class ScriptedTokens:
    """Token rows without weights: a word's row hangs on the word alone. For tests and docs."""

    name, checksum = "scripted", "scripted-tokens/1"

    def tokens(self, texts: Sequence[str]) -> list[TokenRows]:
        """Return a random but fixed row for every word."""
        tokens = []
        for text in texts:
            ids = [int.from_bytes(text_key(word)[:4], "big") for word in text.lower().split()]
            rows = [np.random.default_rng(token).standard_normal(16) for token in ids]
            matrix = np.reshape(rows, (len(ids), 16))
            unit = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
            tokens.append(TokenRows(unit, (True,) * len(ids)))
        return tokens


def load_bert_scorer(name: str, *, progress: Progress | None = None) -> BertScorer:
    """Return the scorer on a transformer: minilm, mpnet, scripted, a folder or a hub id."""
    if name == ScriptedTokens.name:
        return BertScorer(ScriptedTokens())
    store = Store()
    folder, checksum = resolve_base(name, store, progress)
    tokens = TransformerTokens(folder, name, checksum)
    return BertScorer(tokens, cache=store.home / "cache" / "bertscore")
