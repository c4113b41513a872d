"""The tokenizer of Universal Sentence Encoder lite: text in, vocabulary ids out.

A unigram (SentencePiece) vocabulary, of which the most probable segmentation is found with the
Viterbi algorithm (Kudo 2018, https://arxiv.org/abs/1804.10959). It follows the tokenizer of
TF.js's universal-sentence-encoder id by id, its oddities included, because the embeddings
published for these weights were made with it. It does not collapse white space (only U+0020 is a
word boundary; a tab or a newline is an unknown character), does not truncate and does not decode.
"""

import json
import math
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from moralscope.core.errors import StoreError

UNKNOWN = 0
RESERVED = 6  # the unknown piece, sentence marks and extras: never matched in a text
BOUNDARY = "\u2581"
_MAX_BYTES = 20_000_000
_LONGEST = 1000  # characters of a piece


class UseLiteTokenizer:
    """Segments a text into the pieces of a vocabulary.

    Parameters
    ----------
    vocabulary
        One (piece, log-probability) per id; the first six ids are reserved. The published file has
        no log-probability for pieces with a colon; the reference counts those as 0, and so do we.
    """

    def __init__(self, vocabulary: Sequence[tuple[str, float | None]]) -> None:
        self._pieces: dict[str, tuple[float, int]] = {}
        self._longest: dict[str, int] = {}
        self._lengths = [1] * len(vocabulary)
        for index, (piece, score) in enumerate(vocabulary[RESERVED:], RESERVED):
            self._pieces[piece] = (score or 0.0, index)
            self._longest[piece[0]] = max(len(piece), self._longest.get(piece[0], 0))
            self._lengths[index] = len(piece)

    @classmethod
    def read(cls, path: Path) -> "UseLiteTokenizer":
        """Read ``vocab.json``; anything but a list of [piece, number or null] is refused."""
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise ValueError(f"more than {_MAX_BYTES:,} bytes")
            vocabulary = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(vocabulary, list) or len(vocabulary) <= RESERVED:
                raise ValueError(f"not a list of more than {RESERVED} pieces")
            for piece, score in vocabulary:
                if not isinstance(piece, str) or not 0 < len(piece) <= _LONGEST:
                    raise ValueError(f"{str(piece)[:40]!r} is not a piece")
                number = isinstance(score, int | float) and not isinstance(score, bool)
                if score is not None and not (number and math.isfinite(score)):
                    raise ValueError(f"{str(score)[:40]!r} is not a log-probability")
            return cls([(piece, score) for piece, score in vocabulary])
        except (OSError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise StoreError(
                f"{path} is not the vocabulary of use-lite ({' '.join(str(error).split())[:200]})",
                f"remove {path.parent} and pull the model again",
            ) from error

    def __len__(self) -> int:
        return len(self._lengths)

    def encode(self, text: str) -> list[int]:
        """Give the ids of the best segmentation; neighbouring unknown characters share one id."""
        text = unicodedata.normalize("NFKC", text)
        if not text:
            return []
        text = BOUNDARY + text.replace(" ", BOUNDARY)
        # For every prefix: the score and the last piece of its best segmentation.
        best = [0.0] * (len(text) + 1)
        last = [UNKNOWN] * (len(text) + 1)
        for start in range(len(text)):
            longest = self._longest.get(text[start], 0)
            stops = range(start + 1, min(start + longest, len(text)) + 1)
            pieces = [(stop, self._pieces.get(text[start:stop])) for stop in stops]
            matches = [(stop, *piece) for stop, piece in pieces if piece]
            for stop, score, index in matches or [(start + 1, 0.0, UNKNOWN)]:
                total = best[start] + score
                # The reference takes a best score of 0 for "not reached yet", even where pieces
                # that cost nothing have reached it: kept, or ids around colons would differ.
                if best[stop] == 0 or total >= best[stop]:
                    best[stop], last[stop] = total, index
        ids: list[int] = []
        stop = len(text)
        while stop > 0:
            if last[stop] != UNKNOWN or not ids or ids[-1] != UNKNOWN:
                ids.append(last[stop])
            stop -= self._lengths[last[stop]]
        return ids[::-1]
