"""Long texts in windows: what a model's token budget cannot hold is read in pieces, or counted.

A model reads `max_length` tokens at once. The second text of a pair (a reply, an action) always has
room. Where both do not fit, the first (a rule, a prompt) keeps its head and its tail within a third
of the budget, and the second is cut into windows that overlap by a quarter. 100 kB of English are
read whole; of a longer text the tokens that no window holds are counted. So are words that the
vocabulary lacks, which all look alike to the model. Computes no model.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.protocols import CountsUnread, Encoder
from moralscope.core.protocols import Pair as Pair  # noqa: PLC0414 (others take it from here)
from moralscope.core.protocols import Windows as Windows  # noqa: PLC0414

MOST_TOKENS = 32_768  # of one text: 100 kB of English have about 25,000
_FIRST = 3  # the first text of a pair gets this part of the budget at most, where both do not fit
_OVERLAP = 4  # a window begins with this part of the one before
_SNAP = 8  # and so much of it at most is given up to begin and to end between words
_GAP = " … "
_SPARE = 4  # tokens: the gap, and a word cut in two that has more tokens than before
_SHARPNESS = 20.0


@dataclass(frozen=True, slots=True)
class Tokens:
    """Where a text's tokens lie (characters from, to), and the number of the word of each."""

    spans: Sequence[tuple[int, int]] = ()
    words: Sequence[int | None] = ()
    unknown: int = 0

    def text(self, whole: str, start: int, end: int) -> str:
        """Return the part of the text from one token to before another."""
        return whole[self.spans[start][0] : self.spans[end - 1][1]] if end > start else ""


def token_windows(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> list[Windows]:
    """Return the windows of each pair; one that fits is its own only window.

    `tokenizer` is a fast one of transformers, or a `FolderTokenizer`.
    """
    inner = tokenizer.backend_tokenizer
    inner.no_truncation()
    inner.no_padding()
    inner.encode_special_tokens = True
    longest = min(max_length, tokenizer.model_max_length)
    known = _Texts(inner, tokenizer.unk_token_id)
    known.count([text for pair in pairs for text in pair])
    windows = []
    for first, second in pairs:
        room = longest - inner.num_special_tokens_to_add(bool(first))
        if known.sizes[first] + known.sizes[second] <= room:
            unknown = known.unknown(first) + known.unknown(second)
            windows.append(Windows(((first, second),), unknown=unknown))
        else:
            tokens = known.tokens(first), known.tokens(second)
            windows.append(cut_pair((first, second), *tokens, room))
    return windows


def cut_pair(pair: Pair, first: Tokens, second: Tokens, room: int) -> Windows:
    """Cut a pair that does not fit into `room` tokens."""
    count = len(second.spans)
    share = min(len(first.spans), max(room // _FIRST, room - count))
    grounding, dropped = pair[0], 0
    if len(first.spans) > share:  # its two ends are kept
        half, size = max(1, (share - _SPARE) // 2), len(first.spans)
        head, tail = first.text(pair[0], 0, half), first.text(pair[0], size - half, size)
        grounding, dropped = f"{head}{_GAP}{tail}", size - 2 * half
    read = min(count, MOST_TOKENS)
    size = room - share if count <= room - share else max(1, room - share - _SPARE)
    spans = _cuts(second.words[:read], size) if read else [(0, 0)]
    return Windows(
        tuple((grounding, second.text(pair[1], start, end)) for start, end in spans),
        dropped + count - read,
        first.unknown + second.unknown,
    )


def _cuts(words: Sequence[int | None], room: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of windows; where it costs little they begin and end between words."""
    start, count = 0, len(words)
    while True:
        end = min(start + room, count)
        if end < count:
            end = _between_words(words, end, max(start + 1, end - room // _SNAP))
        yield start, end
        if end == count:
            return
        start = max(start + 1, end - room // _OVERLAP)
        start = _between_words(words, start, max(start - room // _SNAP, 0))


def _between_words(words: Sequence[int | None], index: int, least: int) -> int:
    return next((at for at in range(index, least, -1) if words[at] != words[at - 1]), index)


@dataclass(slots=True)
class _Texts:
    """Texts by how many tokens they have; where the tokens lie is looked up for few."""

    inner: Any
    unknown_id: int | None
    sizes: dict[str, int] = field(default_factory=dict)
    _strange: set[str] = field(default_factory=set)
    _tokens: dict[str, Tokens] = field(default_factory=dict)

    def count(self, texts: Sequence[str]) -> None:
        unique = list(dict.fromkeys(texts))
        encoded = self.inner.encode_batch_fast(
            [sound(text) for text in unique], add_special_tokens=False
        )
        for text, encoding in zip(unique, encoded, strict=True):
            self.sizes[text] = len(encoding.ids)
            if self.unknown_id is not None and self.unknown_id in encoding.ids:
                self._strange.add(text)

    def unknown(self, text: str) -> int:
        return self.tokens(text).unknown if text in self._strange else 0

    def tokens(self, text: str) -> Tokens:
        if text not in self._tokens:
            read = self.inner.encode(sound(text), add_special_tokens=False)
            unknown = sum(
                any(map(str.isalnum, text[start:end]))  # a smiley that is not known is no word
                for number, (start, end) in zip(read.ids, read.offsets, strict=True)
                if number == self.unknown_id
            )
            self._tokens[text] = Tokens(read.offsets, read.word_ids, unknown)
        return self._tokens[text]


def sound(text: str) -> str:
    """Half a surrogate pair is no text to a tokenizer: it is read as "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unread_tokens(encoder: Encoder, texts: Sequence[str]) -> list[int]:
    """Return how many tokens of each text an encoder does not read, as far as it can tell."""
    return encoder.unread(texts) if isinstance(encoder, CountsUnread) else [0] * len(texts)


def mean_of_windows(rows: NDArray[Any], cut: Sequence[Windows]) -> NDArray[Any]:
    """Return one row a pair: the mean of the rows of its windows.

    Examples
    --------
    >>> pair = ("", "a")
    >>> rows = np.array([[1.0], [2.0], [4.0]])
    >>> mean_of_windows(rows, [Windows((pair,)), Windows((pair, pair))]).ravel().tolist()
    [1.0, 3.0]
    """
    counts = np.array([len(windows.pairs) for windows in cut], dtype=np.intp)
    if len(rows) == len(counts):
        return rows
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.asarray(np.add.reduceat(rows, starts, axis=0) / counts[:, None].astype(rows.dtype))


def worst_of_windows(
    rows: NDArray[Any], badness: NDArray[Any], cut: Sequence[Windows]
) -> NDArray[np.float64]:
    """Return one row a pair: that of its worst window, to which the others add next to nothing.

    The mean of the windows' rows, weighted by e^(20 badness), where badness is a probability. So
    one bad window in a hundred harmless ones is as bad as alone, and still no window is without
    effect: whoever changes any of them changes the result.
    """
    worst = np.empty((len(cut), rows.shape[1]), dtype=np.float64)
    start = 0
    for index, windows in enumerate(cut):
        part = slice(start, start + len(windows.pairs))
        start = part.stop
        bad = badness[part].astype(np.float64)
        weights = np.exp(_SHARPNESS * (bad - bad.max()))
        worst[index] = weights @ rows[part].astype(np.float64) / weights.sum()
    return worst


def word_tokens(text: str, longest: int = 100) -> Tokens:
    """Return the words of a text as its tokens, for models that have no tokenizer."""
    spans = [match.span() for match in re.finditer(rf"\S{{1,{longest}}}", text)]
    return Tokens(spans, range(len(spans)))
