"""People as an axis: their yes rates, to stand beside models in a comparison."""

from collections.abc import Sequence
from hashlib import sha256

from moralscope.axes.ratings import Ratings
from moralscope.core.errors import InputError
from moralscope.core.protocols import Axis, AxisCard, Paraphrases, Report
from moralscope.core.records import ActionScore, ModelRef
from moralscope.stats.intervals import wilson

PEOPLE = "people"


class RatedActions(Axis):
    """An `Axis` of people's answers: the share of raters who say yes, with Wilson's interval."""

    name = PEOPLE

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings

    @property
    def card(self) -> AxisCard:
        """What a record says of the axis."""
        checksum = sha256(repr(sorted(self._ratings.counts.items())).encode()).hexdigest()
        return AxisCard(
            config={"axis": self.name, "ratings": self._ratings.source},
            models=[ModelRef(PEOPLE, checksum)],
            warnings=list(self._ratings.warnings),
        )

    @property
    def state(self) -> Ratings:
        """The ratings that were read."""
        return self._ratings

    def score(
        self, actions: Sequence[str], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> list[ActionScore]:
        """Return the yes rates; an action that nobody rated is refused."""
        scores = []
        for action in actions:
            counts = self._ratings.counts.get(action.strip())
            if counts is None:
                raise InputError(
                    f"nobody rated '{action[:60]}' in {self._ratings.source}",
                    "compare the actions that people rated, or leave people out",
                )
            share = wilson(sum(yes for yes, _ in counts.values()), sum(map(sum, counts.values())))
            scores.append(ActionScore(action, share.value, share.low, share.high))
        return scores
