"""The judge: trained experts asked how good an action is, by itself or under a norm.

    score = 2 P(moral) - 1 = tanh(logit / 2)

P is the calibrated probability of the expert whose grounding the row fills best, for the action's
first wording. Of an action alone that is the expert `degree`, which learnt to rank: worse is lower;
a set without one has `action`, which learnt sides. What was measured of these weights beside people
(`axes.measured`) moves zero and says how many people would say yes.

The other wordings give the interval: the range of scores over them. A single expert has no prompts
to spread over, and how a model takes a phrase hangs on its form.

Picks experts and wordings; reads no files and trains nothing.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from moralscope.axes.build import AxisModels
from moralscope.axes.judge_answers import JudgeAnswers
from moralscope.axes.measured import people_measurement
from moralscope.axes.options import DEFAULT_BASE, MAX_WORDINGS, AxisOptions
from moralscope.axes.records import JudgedAction
from moralscope.axes.wordings import (
    GROUNDED_WORDINGS,
    PHRASE_WORDINGS,
    SENTENCE_WORDINGS,
    is_sentence,
    wordings,
)
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.protocols import AxisCard, AxisRun, ExpertSet, Floats, Paraphrases, Report, Row
from moralscope.core.records import ActionScore, grouped
from moralscope.io.actions import check_text
from moralscope.stories.evaluation import THIRD
from moralscope.stories.experts import ExpertFolder
from moralscope.stories.tasks import ClassificationTask, classification_task

KEEPS, BREAKS = "keeps", "breaks"
# In this order a row's best expert is looked for: the most grounding first, a norm before a
# consequence, because only the norm's expert gives a verdict.
TASKS = (
    "action+context+consequence",
    "action+context",
    "action+norm",
    "action+consequence",
    "degree",
    "action",
)
ALONE = ("degree", "action")  # read nothing but the action
FEW = 256  # so many rows are asked about in every wording; more in one, unless told otherwise
_TRAINED = (
    "the judge repeats what crowd workers wrote in Moral Stories (US English, everyday life); "
    "other people may differ"
)
_BLOCK = 256
_LIGHT = 1 / 3  # of the layers compute in 8 bits: a fifth faster, scores move by 0.003 on average
_TINY = 1e-30  # a probability that a float32 cannot hold


def build_judge(
    options: AxisOptions, models: AxisModels, *, state: None = None, many: bool = False
) -> "Judge":
    """Check the norm, then load the experts."""
    norm = options.norm
    if norm is not None:
        if not norm.strip():
            raise InputError("the norm is empty", 'write it out, e.g. "It\'s rude to be late."')
        check_text(norm, "--norm", "line", 1)
        norm = norm.strip()
    try:
        name = options.experts or options.encoder or DEFAULT_BASE
        experts = models.experts(name, eight_bits=_LIGHT)
    except UnknownName as error:
        if options.experts is not None:
            raise
        remedy = f"{error.remedy}; 'score --axis choice' asks an encoder"
        raise UnknownName(error.problem, remedy) from None
    return Judge(experts, norm=norm, wordings=options.wordings or (1 if many else None))


def best_task(row: Row, tasks: Sequence[str]) -> str:
    """Return the task with the largest grounding that the row fills, among those there are."""
    for name in TASKS:
        if name in tasks and _task(name).pair(row) is not None:
            return name
    raise InputError(f"no expert reads {' + '.join(row)} alone", f"there are: {', '.join(tasks)}")


def unused(row: Row, task: str) -> tuple[str, ...]:
    """Return the columns of a row that the task does not read."""
    read = ("action", *_task(task).grounding)
    return tuple(name for name in row if name not in read)


def _task(name: str) -> ClassificationTask:
    """Return what a task reads; `degree` reads what `action` does."""
    if name in ALONE:
        return replace(classification_task("action"), name=name)
    return classification_task(name)


class Judge:
    """Experts as an `Axis`; rows may hold a norm and context beside the action.

    Parameters
    ----------
    experts
        A set of experts, or the folder of one: then its answers are kept on disk.
    norm
        Judge rows that have no norm of their own against this one.
    wordings
        How many wordings of an action are asked about: 1 is fastest and gives no interval. None:
        all of them, of more than 256 rows one.
    """

    name = "judge"

    def __init__(
        self,
        experts: ExpertSet | ExpertFolder,
        *,
        norm: str | None = None,
        wordings: int | None = None,
    ) -> None:
        self.norm = norm
        self.wordings = wordings
        self._answers = JudgeAnswers(experts)
        self._people = people_measurement(self.name, self._answers.ref.sha256)

    @property
    def card(self) -> AxisCard:
        """What a record says of the axis."""
        people = self._people
        config: dict[str, Any] = {
            "axis": self.name,
            "experts": self._answers.ref.name,
            **({"norm": self.norm} if self.norm else {}),
            "score": "2 P(moral) - 1 of the first wording",
            **({"zero": people.zero, "sentence_zero": people.sentence_zero} if people else {}),
            **({"arithmetic": "int8 in the last third"} if self._answers.bits == 8 else {}),
        }
        if self.wordings is not None:
            config |= {"wordings": self.wordings, "interval": _interval(self.wordings)}
        return AxisCard(config=config, models=[self._answers.ref], warnings=[_TRAINED])

    @property
    def state(self) -> None:
        """Nothing was read or fitted."""

    def score(
        self, actions: Sequence[str], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> list[ActionScore]:
        """Judge bare actions in order; an action's paraphrases join its mean and its range."""
        rows = [{"action": action} for action in actions]
        return list(self._judged(rows, paraphrases, self.wordings or MAX_WORDINGS, report))

    def score_rows(
        self, rows: Sequence[Row], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> AxisRun:
        """Judge rows in order, each by the expert that fits its columns."""
        count = self.wordings or (MAX_WORDINGS if len(rows) <= FEW else 1)
        filled = [self._filled(row) for row in rows]
        judged = self._judged(filled, paraphrases, count, report)
        verdicts = Counter(result.verdict for result in judged if result.verdict)
        warnings = []
        if count == 1:
            warnings.append(
                f"each action was asked about in one wording, so there is no interval: --wordings "
                f"{MAX_WORDINGS} gives one and takes {MAX_WORDINGS} times as long"
            )
        pairs = zip(filled, judged, strict=True)
        idle = Counter(name for row, result in pairs for name in unused(row, result.task))
        warnings += [
            f"'{name}' of {times:,} row{'s' * (times > 1)} was not read: no expert takes it with "
            "the row's other columns"
            for name, times in idle.items()
        ]
        return AxisRun(
            results=judged,
            config={
                "columns": list(dict.fromkeys(name for row in filled for name in row)),
                **_wordings_config(judged, count),
                "interval": _interval(count),
            },
            statistics={
                "tasks": dict(Counter(result.task for result in judged)),
                **({"verdicts": dict(verdicts)} if verdicts else {}),
            },
            warnings=warnings,
        )

    def _judged(
        self, rows: Sequence[Row], paraphrases: Paraphrases, count: int, report: Report | None
    ) -> list[JudgedAction]:
        others = paraphrases or [()] * len(rows)
        groups = [
            [{**self._filled(row), "action": form} for form in (row["action"], *more)]
            for row, more in zip(rows, others, strict=True)
        ]
        flat = [row for group in groups for row in group]
        judged: list[JudgedAction] = []
        for start in range(0, len(flat), _BLOCK):
            judged += self._judge_block(flat[start : start + _BLOCK], count)
            if report:
                report(min(start + _BLOCK, len(flat)), len(flat))
        forms = iter(judged)
        people_yes = self._people.people_yes if self._people else None
        results = []
        for group in groups:
            row = _average([next(forms) for _ in group])
            if people_yes is not None and row.task in ALONE:
                share = people_yes.share(row.score)
                low, high = share.low, share.high
                row = replace(row, people_yes=share.value, people_yes_low=low, people_yes_high=high)
            results.append(row)
        return results

    def _filled(self, row: Row) -> dict[str, str]:
        return {**({"norm": self.norm} if self.norm else {}), **row}

    def _judge_block(self, rows: Sequence[Row], count: int) -> list[JudgedAction]:
        """Judge rows task by task; return them in their order."""
        tasks = self._answers.tasks
        by_task = grouped((best_task(row, tasks), index) for index, row in enumerate(rows))
        judged: dict[int, JudgedAction] = {}
        for name, indices in by_task.items():
            task, chosen = _task(name), [rows[index] for index in indices]
            table, unread = self._ask(task, chosen, count)
            verdicts = self._verdicts(task, chosen, table[:, 0])
            # Of the columns and not of P: near 1 a float32 has no digits left, near 0 it has all.
            logits = np.log(table[:, :, 1] + _TINY) - np.log(table[:, :, 0] + _TINY)
            if self._people and name in ALONE:  # by itself, an action is judged from its own zero
                phrase, sentence = self._people.zero, self._people.sentence_zero
                forms = [is_sentence(row["action"]) for row in chosen]
                logits += np.where(forms, sentence, phrase)[:, None]
            moral = (1 / (1 + np.exp(-logits))).tolist()
            for at, index in enumerate(indices):
                scores = tuple(2 * value - 1 for value in moral[at])
                is_range = len(scores) > 1
                judged[index] = JudgedAction(
                    action=rows[index]["action"],
                    score=scores[0],
                    low=min(scores) if is_range else math.nan,
                    high=max(scores) if is_range else math.nan,
                    prompts=scores,
                    unread=unread[at],
                    probability=moral[at][0],
                    task=name,
                    verdict=verdicts[at],
                )
        return [judged[index] for index in range(len(rows))]

    def _ask(
        self, task: ClassificationTask, rows: Sequence[Row], count: int
    ) -> tuple[Floats, list[int]]:
        """Return probabilities, rows x wordings x labels, and the unread tokens of each row."""
        asked = [
            task.pair({**row, "action": form})
            for row in rows
            for form in wordings(row["action"], count, grounded=bool(task.grounding))
        ]
        table, unread = self._answers.ask(task, [pair for pair in asked if pair is not None])
        return table.reshape(len(rows), count, -1), unread[::count]

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
            return [task.labels[index] for index in first.argmax(axis=1).tolist()]
        aside = np.zeros(len(rows), dtype=bool)
        if "action+norm" in self._answers.tasks:
            reader = classification_task("action+norm")
            table, _ = self._ask(reader, rows, 1)
            aside = table[:, 0, reader.labels.index(THIRD)] > 0.5
        kept = first[:, 1] > first[:, 0]
        return [
            THIRD if out else KEEPS if moral else BREAKS
            for out, moral in zip(aside.tolist(), kept.tolist(), strict=True)
        ]


def _wordings_config(judged: Sequence[JudgedAction], count: int) -> dict[str, list[str]]:
    """Return the wordings that were asked: a phrase beside a norm has others than one alone."""
    phrases = [row for row in judged if not is_sentence(row.action)]
    grounded = [row.task not in ALONE for row in phrases]
    forms = GROUNDED_WORDINGS if phrases and all(grounded) else PHRASE_WORDINGS
    asked = {
        "prompts": forms if phrases or not judged else SENTENCE_WORDINGS,
        **({"grounded_wordings": GROUNDED_WORDINGS} if len(set(grounded)) > 1 else {}),
        "sentence_wordings": SENTENCE_WORDINGS,
    }
    return {key: [form.format("ACTION") for form in some[:count]] for key, some in asked.items()}


def _interval(wordings: int) -> str:
    return "range over the wordings" if wordings > 1 else "none: one wording"


def _average(forms: Sequence[JudgedAction]) -> JudgedAction:
    """Average an action and its paraphrases, wording by wording; the verdict is the action's."""
    first = forms[0]
    if len(forms) == 1:
        return first
    table = np.array([form.prompts for form in forms])
    scores = tuple(table.mean(axis=0).tolist())
    return replace(
        first,
        score=scores[0],
        low=float(table.min()),
        high=float(table.max()),
        prompts=scores,
        probability=(scores[0] + 1) / 2,
    )
