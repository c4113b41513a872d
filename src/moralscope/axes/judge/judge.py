"""The judge: trained experts asked whether an action is moral, by itself or under a norm.

    score = 2 P(moral) - 1

P is the calibrated probability of the expert whose grounding the row fills best, for the action's
first wording. The other wordings give the interval: the range of scores over them. A single expert
has no prompts to spread over, and how a model takes a phrase hangs on its form.

Picks experts and wordings; reads no files and trains nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier
from moralscope.core.records import ActionScore
from moralscope.stories.evaluation import THIRD
from moralscope.stories.tasks import ClassificationTask, classification_task

COLUMNS = ("action", "norm", "situation", "intention", "consequence")
KEEPS, BREAKS = "keeps", "breaks"
# In this order a row's best expert is looked for: the most grounding first, a norm before a
# consequence, because only the norm's expert gives a verdict.
TASKS = (
    "action+context+consequence",
    "action+context",
    "action+norm",
    "action+consequence",
    "action",
)
# The first wording is the one that is scored; experts learnt sentences, so a phrase becomes one.
# Phrases ("kill people") are put into forms that need no inflection; sentences ("Sam kills
# people.") only get a word before them. Of a phrase alone, what somebody wants is told best; beside
# a norm, what somebody does (`bench/judge_wordings.py`).
PHRASE_WORDINGS = ("I want to {}.", "I {}.", "They {}.", "Someone decides to {}.")
GROUNDED_WORDINGS = ("I {}.", "{}", "They {}.", "Someone decides to {}.")
SENTENCE_WORDINGS = ("{}", "One day, {}", "In the end, {}", "That day, {}")
_BLOCK = 256
_PHRASE_WORDS = 3  # a capital before more words than this starts a sentence
Row = Mapping[str, str]
Floats = NDArray[np.float64]
Report = Callable[[int, int], None]


class TaskExperts(Protocol):
    """Which tasks there are experts for, and each of them."""

    @property
    def tasks(self) -> tuple[str, ...]: ...

    def expert(self, task: str) -> Classifier: ...


@dataclass(frozen=True, slots=True)
class JudgedAction(ActionScore):
    """A judged action. `prompts` has the score under each wording, the scored one first.

    `low` and `high` are their range, not a number where there is one wording only. `verdict` is
    there where a norm was given: keeps, breaks, or does not concern.

    Examples
    --------
    >>> JudgedAction("smile", 0.8, 0.7, 0.9, probability=0.9, task="action").verdict is None
    True
    """

    probability: float = float("nan")
    task: str = ""
    verdict: str | None = None


def wordings(action: str, count: int | None = None, *, grounded: bool = False) -> list[str]:
    """Return the action in several wordings of the same meaning; the first is scored.

    `grounded` says that more than the action is read.

    Examples
    --------
    >>> wordings("kill time")
    ['I want to kill time.', 'I kill time.', 'They kill time.', 'Someone decides to kill time.']
    >>> wordings("kill time", 1, grounded=True), wordings("Sam waits.", 2)
    (['I kill time.'], ['Sam waits.', 'One day, Sam waits.'])
    """
    phrase = GROUNDED_WORDINGS if grounded else PHRASE_WORDINGS
    forms = SENTENCE_WORDINGS if is_sentence(action) else phrase
    return [form.format(action) for form in forms[:count]]


def is_sentence(action: str) -> bool:
    """Tell a sentence ("Sam waits.") from a phrase ("kill time") by its end, or by its start.

    Examples
    --------
    >>> [is_sentence(text) for text in ("Sam waits.", "Sam waits for Jo", "kill time")]
    [True, True, False]
    """
    named = action[:1].isupper() and len(action.split()) > _PHRASE_WORDS
    return named or action.rstrip("\"')").endswith((".", "!", "?"))


def best_task(row: Row, tasks: Sequence[str]) -> str:
    """Return the task with the largest grounding that the row fills, among those there are.

    Examples
    --------
    >>> best_task({"action": "lie", "norm": "Be honest."}, ("action", "action+norm"))
    'action+norm'
    """
    for name in TASKS:
        if name in tasks and classification_task(name).pair(row) is not None:
            return name
    raise InputError(f"no expert reads {' + '.join(row)} alone", f"there are: {', '.join(tasks)}")


def unused(row: Row, task: str) -> tuple[str, ...]:
    """Return the columns of a row that the task does not read."""
    read = ("action", *classification_task(task).grounding)
    return tuple(name for name in row if name not in read)


class Judge:
    """Experts as a `MoralAxis`; `judge` takes rows with norms and context as well.

    Parameters
    ----------
    experts
        A set of experts.
    norm
        Judge bare actions against this norm.
    wordings
        How many wordings of an action are asked about: 1 is fastest and gives no interval.

    Examples
    --------
    >>> from moralscope.models.classifiers.scripted import ScriptedExperts
    >>> judge = Judge(ScriptedExperts({"action": ("immoral", "moral")}))
    >>> row, = judge.score(["kill time"])
    >>> row.score == 2 * row.probability - 1, row.low <= row.score <= row.high
    (True, True)
    """

    name = "judge"

    def __init__(
        self, experts: TaskExperts, *, norm: str | None = None, wordings: int | None = None
    ) -> None:
        self.experts = experts
        self.norm = norm
        self.wordings = min(wordings or len(PHRASE_WORDINGS), len(PHRASE_WORDINGS))

    def score(
        self,
        actions: Sequence[str],
        paraphrases: Sequence[Sequence[str]] | None = None,
        report: Report | None = None,
    ) -> list[ActionScore]:
        """Judge bare actions in order; an action's paraphrases join its mean and its range."""
        others = paraphrases or [()] * len(actions)
        forms = [(action, *more) for action, more in zip(actions, others, strict=True)]
        rows = [self._row(form) for group in forms for form in group]
        judged = iter(self.judge(rows, report))
        return [_joined([next(judged) for _ in group]) for group in forms]

    def judge(self, rows: Sequence[Row], report: Report | None = None) -> list[JudgedAction]:
        """Judge rows in order, each by the expert that fits its columns."""
        found: list[JudgedAction] = []
        for start in range(0, len(rows), _BLOCK):
            found += self._block(rows[start : start + _BLOCK])
            if report:
                report(min(start + _BLOCK, len(rows)), len(rows))
        return found

    def _row(self, action: str) -> Row:
        return {"action": action, **({"norm": self.norm} if self.norm else {})}

    def _block(self, rows: Sequence[Row]) -> list[JudgedAction]:
        by_task: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            by_task.setdefault(best_task(row, self.experts.tasks), []).append(place)
        found: dict[int, JudgedAction] = {}
        for name, places in by_task.items():
            chosen = [rows[place] for place in places]
            found.update(zip(places, self._judge_with(name, chosen), strict=True))
        return [found[place] for place in range(len(rows))]

    def _judge_with(self, name: str, rows: Sequence[Row]) -> list[JudgedAction]:
        task = classification_task(name)
        table = self._ask(task, rows, self.wordings)
        moral = table[:, :, 1] / table[:, :, :2].sum(axis=2)
        verdicts = self._verdicts(task, rows, table[:, 0])
        judged = []
        for row, values, verdict in zip(rows, moral.tolist(), verdicts, strict=True):
            scores = tuple(2 * value - 1 for value in values)
            spread = len(scores) > 1
            judged.append(
                JudgedAction(
                    row["action"],
                    scores[0],
                    min(scores) if spread else float("nan"),
                    max(scores) if spread else float("nan"),
                    prompts=scores,
                    probability=values[0],
                    task=name,
                    verdict=verdict,
                )
            )
        return judged

    def _ask(self, task: ClassificationTask, rows: Sequence[Row], count: int) -> Floats:
        """Return probabilities: rows x wordings x labels."""
        asked = [
            task.pair({**row, "action": form})
            for row in rows
            for form in wordings(row["action"], count, grounded=bool(task.grounding))
        ]
        pairs = [pair for pair in asked if pair is not None]
        values = self.experts.expert(task.name).probabilities(pairs).astype(np.float64)
        return values.reshape(len(rows), count, -1)

    def _verdicts(
        self, task: ClassificationTask, rows: Sequence[Row], first: Floats
    ) -> list[str | None]:
        """Say keeps, breaks or does not concern where there is a norm.

        An expert with the third label says it itself. One without has it from the action+norm
        expert, where that is surer than not that the norm does not concern the action.
        """
        if "norm" not in task.grounding:
            return [None] * len(rows)
        if THIRD in task.labels:
            return [task.labels[place] for place in first.argmax(axis=1).tolist()]
        aside = np.zeros(len(rows), dtype=bool)
        if "action+norm" in self.experts.tasks:
            reader = classification_task("action+norm")
            third = reader.labels.index(THIRD)
            aside = self._ask(reader, rows, 1)[:, 0, third] > 0.5
        kept = first[:, 1] > first[:, 0]
        return [
            THIRD if out else KEEPS if moral else BREAKS
            for out, moral in zip(aside.tolist(), kept.tolist(), strict=True)
        ]


def _joined(group: Sequence[JudgedAction]) -> JudgedAction:
    """Average an action and its paraphrases, wording by wording; the verdict is the action's."""
    first = group[0]
    if len(group) == 1:
        return first
    each = np.array([form.prompts for form in group])
    scores = tuple(each.mean(axis=0).tolist())
    return JudgedAction(
        first.action,
        scores[0],
        float(each.min()),
        float(each.max()),
        prompts=scores,
        probability=(scores[0] + 1) / 2,
        task=first.task,
        verdict=first.verdict,
    )
