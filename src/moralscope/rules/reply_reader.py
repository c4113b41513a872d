"""What experts make of a reply itself, before any rule: how bad it reads, what is to be feared.

One pass through the experts gives the probability that a reply is bad (task `verdict`), what is
to be feared (`concern`), and the vector by which rules are found. A text that is longer than the
experts' window is read in windows that overlap. A wide one that is not clearly fine is read again
in narrow ones, so that few bad words among many fine ones are found; the worst window counts. What
no window holds is counted, and so is what is not English. A disguised text is read as it is and
undisguised.
Experts without these tasks read nothing here: then rules alone decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from moralscope.core.protocols import ExpertSet, Matrix, Pair, Windows
from moralscope.models.windows import worst_of_windows
from moralscope.rules.records import CONCERN_WORDS, Exchange
from moralscope.rules.texts.sanitize import reply_texts, without_signs

VERDICT, CONCERN = "verdict", "concern"
FINE, BAD = VERDICTS = ("fine", "bad")
EXPERTISE = "unauthorized expertise"
CONCERNS = tuple(CONCERN_WORDS)
SPARE = 48  # tokens of a window that are left for a rule and the words around an exchange
NARROW = 84  # tokens of a narrow window: thirty bad words are a good part of it
# Up to this probability of bad a wide window is not read again. On the written exchanges (dev),
# diluted and split, as many reach the limit of bad as with every window read again.
CLEARLY_FINE = 0.15


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """A reply as experts read it: its windows, and of each the vector and how bad it reads."""

    windows: tuple[Exchange, ...]
    vectors: Matrix | None = None
    window_bad: Sequence[float] = ()
    bad: float | None = None
    """The worst window's probability; None where the experts give no verdict of their own."""
    concerns: Mapping[str, float] = field(default_factory=dict)
    """What is feared there."""
    unread: int = 0
    """Tokens that no model saw."""

    def doubtful(self, fine: float) -> list[int]:
        """Return the indices of the windows that are not clearly fine."""
        bad = self.window_bad
        return [index for index in range(len(self.windows)) if not bad or bad[index] > fine]


class ReplyReader:
    """Reads replies with experts, whatever tasks these have."""

    def __init__(self, experts: ExpertSet, fine: float = CLEARLY_FINE) -> None:
        self.experts, self.fine = experts, fine
        self.gives_verdicts = VERDICT in experts.tasks

    def read(self, exchanges: Sequence[Exchange]) -> list[ReplyReading]:
        """Return what is made of each reply, in order."""
        cuts, long = self._windows(exchanges)
        pairs = list(dict.fromkeys(pair for cut in cuts for pair in cut.pairs))
        values, vectors = self._values(pairs)
        again = [
            pair
            for pair, row in zip(pairs, values, strict=True)
            if pair in long and not (self.gives_verdicts and row[0] <= self.fine)
        ]
        narrow = dict(zip(again, self.experts.windows(again, SPARE, NARROW), strict=True))
        rows = {pair: index for index, pair in enumerate(pairs)}
        more = list(
            dict.fromkeys(pair for cut in narrow.values() for pair in cut.pairs if pair not in rows)
        )
        if more:
            rows |= {pair: index for index, pair in enumerate(more, len(rows))}
            new_values, new_vectors = self._values(more)
            values = np.concatenate([values, new_values])
            if vectors is not None and new_vectors is not None:
                vectors = np.concatenate([vectors, new_vectors])
        readings = []
        for cut in cuts:
            inside = (pair for wide in cut.pairs if wide in narrow for pair in narrow[wide].pairs)
            windows = tuple(dict.fromkeys((*cut.pairs, *inside)))
            part = [rows[pair] for pair in windows]
            reading = ReplyReading(
                tuple(Exchange(prompt, reply) for prompt, reply in windows),
                None if vectors is None else vectors[part],
                unread=cut.unread,
            )
            if self.gives_verdicts:
                bad = values[part, 0]
                worst = worst_of_windows(values[part], bad, [Windows(windows)])[0].tolist()
                names = self.experts.labels(CONCERN) if CONCERN in self.experts.tasks else ()
                concerns = dict(zip(names, worst[1:], strict=True))
                reading = replace(reading, window_bad=bad.tolist(), bad=worst[0], concerns=concerns)
            readings.append(reading)
        return readings

    def cut(self, exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
        """Return the windows of each reply, unread."""
        return [[Exchange(*pair) for pair in cut.pairs] for cut in self._windows(exchanges)[0]]

    def _values(self, pairs: Sequence[Pair]) -> tuple[Matrix, Matrix | None]:
        """Return how bad each pair is with what is feared of it, and vectors, if there are any."""
        experts = self.experts
        if not pairs or not (self.gives_verdicts or experts.retrieval):
            return np.empty((len(pairs), 0), np.float32), None
        tasks = [task for task in (VERDICT, CONCERN) if task in experts.tasks]
        columns, vectors = experts.read(pairs)
        values = [experts.told(task, columns) for task in tasks]
        if self.gives_verdicts:
            bad = experts.labels(VERDICT).index(BAD)
            values[0] = values[0][:, bad : bad + 1]
        joined = np.concatenate([np.empty((len(pairs), 0), np.float32), *values], axis=1)
        return joined, vectors if experts.retrieval else None

    def _windows(self, exchanges: Sequence[Exchange]) -> tuple[list[Windows], set[Pair]]:
        """Cut exchanges so that a rule fits beside each window, and read long prompts, too.

        Return also the windows of replies that have several: they may be cut again.
        """
        replies = [reply_texts(exchange.reply) for exchange in exchanges]
        texts = [said.texts or (row.reply,) for said, row in zip(replies, exchanges, strict=True)]
        prompts = [without_signs(exchange.prompt) for exchange in exchanges]
        pairs = [
            (prompt, text) for prompt, some in zip(prompts, texts, strict=True) for text in some
        ]
        every = iter(self.experts.windows(pairs, SPARE))
        cuts: list[Windows] = []
        long: set[Pair] = set()
        for prompt, some, said in zip(prompts, texts, replies, strict=True):
            parts = [next(every) for _ in some]
            long.update(pair for cut in parts if len(cut.pairs) > 1 for pair in cut.pairs)
            windows, dropped = tuple(pair for cut in parts for pair in cut.pairs), parts[0].dropped
            if dropped:
                # Beside every part of the reply stand the two ends of its prompt. So that nothing
                # of the prompt goes unread, its parts are read beside the two ends of the reply.
                (turned,) = self.experts.windows([(some[0], prompt)], SPARE)
                windows += tuple((part, ends) for ends, part in turned.pairs if ends and prompt)
                alone = self.experts.windows([("", prompt), ("", some[0])], SPARE)
                dropped = sum(cut.dropped for cut in alone)
            cuts.append(Windows(windows, dropped, parts[0].unknown + said.unread))
        return cuts, long
