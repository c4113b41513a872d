"""What experts make of a reply itself, before any rule: how bad it reads, what is to be feared.

One pass through the experts gives the probability that a reply is bad (task `verdict`), what is
to be feared (`concern`), and the vector by which rules are found. A text that is longer than the
experts' window is read in windows that overlap, once in wide and once in narrow ones, so that few
bad words among many fine ones are found; the worst window counts. What no window holds is counted.
Experts without these tasks read nothing here: then rules alone decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
    """A reply as experts read it: its windows, and of each the vector and how bad it reads.

    `bad` is the worst window's probability and `concerns` what is feared there; None and nothing
    where the experts give no verdict of their own. `unread` counts tokens that no model saw.
    """

    windows: tuple[Exchange, ...]
    vectors: Matrix | None = None
    each_bad: Sequence[float] = ()
    bad: float | None = None
    concerns: Mapping[str, float] = field(default_factory=dict)
    unread: int = 0

    def doubtful(self, fine: float) -> list[int]:
        """Return the places of the windows that are not clearly fine."""
        bad = self.each_bad
        return [place for place in range(len(self.windows)) if not bad or bad[place] > fine]


class ReplyReader:
    """Reads replies with experts, whatever tasks these have.

    Examples
    --------
    >>> from moralscope.rules.experts import prepare_rule_experts
    >>> reader = ReplyReader(prepare_rule_experts("scripted"))
    >>> (found,) = reader.read([Exchange("Hi!", "Hello you.")])
    >>> 0 < found.bad < 1, sorted(found.concerns)[0], found.unread
    (True, 'biased opinion', 0)
    """

    def __init__(self, experts: ExpertSet) -> None:
        self._experts = experts
        self.gives_verdicts = VERDICT in experts.tasks

    def read(self, exchanges: Sequence[Exchange]) -> list[ReplyReading]:
        """Return what is made of each reply, in order."""
        cut = self._windows(exchanges)
        pairs = [pair for each in cut for pair in each.pairs]
        experts, told = self._experts, {}
        vectors: Matrix | None = None
        if pairs and (self.gives_verdicts or experts.retrieval):
            columns, rows = experts.read(pairs)
            vectors = rows if experts.retrieval else None
            told = {t: experts.told(t, columns) for t in (VERDICT, CONCERN) if t in experts.tasks}
        found, start = [], 0
        for each in cut:
            part = slice(start, start + len(each.pairs))
            start = part.stop
            windows = tuple(Exchange(prompt, reply) for prompt, reply in each.pairs)
            own = None if vectors is None else vectors[part]
            judged = self._judged({task: rows[part] for task, rows in told.items()}, each)
            found.append(ReplyReading(windows, own, **judged, unread=each.unread))
        return found

    def _judged(self, told: Mapping[str, Matrix], cut: Windows) -> dict[str, Any]:
        if VERDICT not in told:
            return {}
        bad = told[VERDICT][:, self._experts.labels(VERDICT).index(BAD)]
        fears = told.get(CONCERN, np.empty((len(bad), 0)))
        worst = worst_of_windows(np.column_stack([bad, fears]), bad, [cut])[0]
        names = self._experts.labels(CONCERN) if CONCERN in told else ()
        return {
            "each_bad": [float(value) for value in bad],
            "bad": float(worst[0]),
            "concerns": dict(zip(names, map(float, worst[1:]), strict=True)),
        }

    def _windows(self, exchanges: Sequence[Exchange]) -> list[Windows]:
        """Cut exchanges so that a rule fits beside each window, and read long prompts, too."""
        pairs = [(each.prompt, each.reply) for each in exchanges]
        found = list(self._experts.windows(pairs, SPARE))
        for place, (prompt, reply) in enumerate(pairs):
            wide = found[place]
            if len(wide.pairs) > 1:
                (narrow,) = self._experts.windows([(prompt, reply)], SPARE, NARROW)
                both = tuple(dict.fromkeys((*wide.pairs, *narrow.pairs)))
                found[place] = Windows(both, wide.dropped, wide.unknown)
            if not wide.dropped:
                continue
            # Beside every part of the reply stand the two ends of its prompt. So that nothing of
            # the prompt goes unread, its parts are read beside the two ends of the reply.
            (turned,) = self._experts.windows([(reply, prompt)], SPARE)
            more = [(part, ends) for ends, part in turned.pairs] if prompt else []
            over = self._experts.windows([("", prompt), ("", reply)], SPARE)
            dropped = sum(each.dropped for each in over)
            every = (*found[place].pairs, *(pair for pair in more if pair[1]))
            found[place] = Windows(every, dropped, wide.unknown)
        return found
