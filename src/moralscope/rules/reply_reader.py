"""What experts make of a reply itself, before any rule: how bad it reads, what is to be feared.

One pass through the experts gives the probability that a reply is bad (task `verdict`), what is
to be feared (`concern`), and the vector by which rules are found. A text that is longer than the
experts' window is read in windows that overlap, once in wide and once in narrow ones, so that few
bad words among many fine ones are found; the worst window counts. What no window holds is counted.
Experts without these tasks read nothing here: then rules alone decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from moralscope.core.protocols import ExpertSet, Matrix, Windows
from moralscope.models.windows import worst_of_windows
from moralscope.rules.records import Exchange

VERDICT, CONCERN = "verdict", "concern"
FINE, BAD = VERDICTS = ("fine", "bad")
EXPERTISE = "unauthorized expertise"
CONCERNS = (
    "offending user",
    "risk ignorance",
    EXPERTISE,
    "toxicity agreement",
    "biased opinion",
)
SPARE = 48  # tokens of a window that are left for a rule and the words around an exchange
NARROW = 84  # tokens of a narrow window: thirty bad words are a good part of it


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

    def __init__(self, experts: ExpertSet) -> None:
        self._experts = experts
        self.gives_verdicts = VERDICT in experts.tasks

    def read(self, exchanges: Sequence[Exchange]) -> list[ReplyReading]:
        """Return what is made of each reply, in order."""
        experts, cuts = self._experts, self._windows(exchanges)
        pairs = [pair for cut in cuts for pair in cut.pairs]
        values: dict[str, Matrix] = {}
        vectors: Matrix | None = None
        if pairs and (self.gives_verdicts or experts.retrieval):
            columns, rows = experts.read(pairs)
            vectors = rows if experts.retrieval else None
            values = {t: experts.told(t, columns) for t in (VERDICT, CONCERN) if t in experts.tasks}
        readings, start = [], 0
        for cut in cuts:
            part = slice(start, start + len(cut.pairs))
            start = part.stop
            reading = ReplyReading(
                tuple(Exchange(prompt, reply) for prompt, reply in cut.pairs),
                None if vectors is None else vectors[part],
                unread=cut.unread,
            )
            if VERDICT in values:
                bad = values[VERDICT][part, experts.labels(VERDICT).index(BAD)]
                fears = values[CONCERN][part] if CONCERN in values else np.empty((len(bad), 0))
                worst = worst_of_windows(np.column_stack([bad, fears]), bad, [cut])[0].tolist()
                names = experts.labels(CONCERN) if CONCERN in values else ()
                concerns = dict(zip(names, worst[1:], strict=True))
                reading = replace(reading, window_bad=bad.tolist(), bad=worst[0], concerns=concerns)
            readings.append(reading)
        return readings

    def _windows(self, exchanges: Sequence[Exchange]) -> list[Windows]:
        """Cut exchanges so that a rule fits beside each window, and read long prompts, too."""
        pairs = [(exchange.prompt, exchange.reply) for exchange in exchanges]
        cuts = list(self._experts.windows(pairs, SPARE))
        for index, (prompt, reply) in enumerate(pairs):
            wide = cuts[index]
            if len(wide.pairs) > 1:
                (narrow,) = self._experts.windows([(prompt, reply)], SPARE, NARROW)
                both = tuple(dict.fromkeys((*wide.pairs, *narrow.pairs)))
                cuts[index] = Windows(both, wide.dropped, wide.unknown)
            if not wide.dropped:
                continue
            # Beside every part of the reply stand the two ends of its prompt. So that nothing of
            # the prompt goes unread, its parts are read beside the two ends of the reply.
            (turned,) = self._experts.windows([(reply, prompt)], SPARE)
            more = [(part, ends) for ends, part in turned.pairs if ends] if prompt else []
            alone = self._experts.windows([("", prompt), ("", reply)], SPARE)
            dropped = sum(cut.dropped for cut in alone)
            cuts[index] = Windows((*cuts[index].pairs, *more), dropped, wide.unknown)
        return cuts
