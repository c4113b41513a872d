"""Labelled exchanges for the two filters, shared out 60-20-20, and how well filters do (Table 4).

Appendix B: two people judge a reply; it is sufficient where both say so, and has moral content
where either does. No prompt stands in two parts. Trains nothing itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.io.tables import Table, rename_columns
from moralscope.models.training.records import TrainingExample
from moralscope.rules.collect.chatbots import seed_of
from moralscope.rules.collect.filters import MORAL_CONTENT, SUFFICIENCY, TASKS
from moralscope.rules.reading import LAYOUT, LIMITS
from moralscope.rules.records import Exchange
from moralscope.rules.sanitize import clean
from moralscope.rules.splits import PARTS
from moralscope.stats.intervals import percentile_interval, resample_weights

COLUMNS = {
    "prompt": "prompt",
    "reply": "reply",
    "sufficient": "sufficient",
    "moral": "moral",
    "chatbot": "chatbot",
}
_NEEDED = ("prompt", "reply", "sufficient", "moral")
_VOTES = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_REMEDY = "write 0 or 1, or a vote a person like 1|0"
_HELD_OUT = 5  # one prompt in so many is dev, and as many are test
_RESAMPLES = 1000
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelledExchange:
    """An exchange, what people said of its reply, and which chatbot gave it."""

    exchange: Exchange
    labels: Mapping[str, bool]  # by task
    chatbot: str = ""


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """Macro precision, recall and F1 in percent; F1 with its 95 % interval."""

    precision: float
    recall: float
    f1: float
    low: float
    high: float
    n: int


def read_labelled(path: Path, columns: Mapping[str, str] | None = None) -> list[LabelledExchange]:
    r"""Read a CSV file with the columns prompt, reply, sufficient, moral and, if known, chatbot.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("prompt,reply,sufficient,moral\nDo you lie?,Often.,1|0,1|0\n")
    ...     dict(read_labelled(path)[0].labels)
    {'sufficiency': False, 'moral content': True}
    """
    table = Table(
        path,
        kind=".csv",
        columns=rename_columns(COLUMNS, columns, path),
        layout=LAYOUT,
        limits=LIMITS,
    )
    rows = []
    for line, cells in table.good_rows(_NEEDED):
        votes = {name: _votes(cells[name]) for name in ("sufficient", "moral")}
        wrong = [name for name, found in votes.items() if not found]
        if wrong:
            table.note(line, f"has no vote under '{wrong[0]}'")
            continue
        exchange = Exchange(cells["prompt"], cells["reply"], str(line))
        labels = {SUFFICIENCY: all(votes["sufficient"]), MORAL_CONTENT: any(votes["moral"])}
        chatbot = clean(cells.get("chatbot", "")).replace("|", "/")[:60]
        rows.append(LabelledExchange(exchange, labels, chatbot))
    table.check(_REMEDY)
    return rows


def share_out(rows: Sequence[LabelledExchange], seed: int = 0) -> dict[str, list[LabelledExchange]]:
    """Return train, dev and test; every part must hold both labels of both tasks.

    Examples
    --------
    >>> both = [dict.fromkeys(TASKS, vote) for vote in (True, False)]
    >>> rows = [LabelledExchange(Exchange(f"q{n}", "a"), both[n % 2]) for n in range(60)]
    >>> [len(part) for part in share_out(rows).values()]
    [36, 12, 12]
    """
    prompts = sorted({clean(row.exchange.prompt).casefold() for row in rows})
    prompts.sort(key=lambda prompt: seed_of(prompt, seed))
    held = max(1, round(len(prompts) / _HELD_OUT))
    place = {prompt: at // held for at, prompt in enumerate(prompts)}
    parts: dict[str, list[LabelledExchange]] = {part: [] for part in PARTS}
    for row in rows:
        at = place[clean(row.exchange.prompt).casefold()]
        parts["test" if at == 0 else "dev" if at == 1 else "train"].append(row)
    for part, own in parts.items():
        for task, labels in TASKS.items():
            seen = Counter(row.labels[task] for row in own)
            if len(seen) < len(labels):
                raise InputError(
                    f"the {part} part has no reply of each label of {task}",
                    "give more labelled replies, of both kinds",
                )
    return parts


def filter_examples(rows: Sequence[LabelledExchange]) -> list[TrainingExample]:
    """Return a lesson a task for each reply; on dev both labels of a task weigh the same.

    Examples
    --------
    >>> row = LabelledExchange(Exchange("Do you lie?", "Often."), dict.fromkeys(TASKS, True))
    >>> [(lesson.pair[1], lesson.label, lesson.group) for lesson in filter_examples([row])][1]
    ('Often.', 1, 'moral content: moral')
    """
    return [
        TrainingExample(
            task,
            (row.exchange.prompt, row.exchange.reply),
            int(row.labels[task]),
            group=f"{task}: {labels[row.labels[task]]}",
        )
        for row in rows
        for task, labels in TASKS.items()
    ]


def measure_filter(gold: Sequence[bool], found: Sequence[bool], seed: int = 0) -> FilterFigures:
    """Return macro precision, recall and F1 over the two labels, as in Table 4.

    Examples
    --------
    >>> measured = measure_filter([True, True, False, False], [True, False, False, False])
    >>> [round(each, 1) for each in (measured.precision, measured.recall, measured.f1)]
    [83.3, 75.0, 73.3]
    """
    true, told = np.asarray(gold, dtype=bool), np.asarray(found, dtype=bool)
    n = len(true)
    whole = _macro(true, told, np.full((1, n), 1 / n))[:, 0].tolist()
    low, high = percentile_interval(_macro(true, told, resample_weights(n, _RESAMPLES, seed))[2:])
    return FilterFigures(whole[0], whole[1], whole[2], float(low[0]), float(high[0]), n)


def _macro(gold: Bools, found: Bools, weights: Floats) -> Floats:
    """Return precision, recall and F1 in percent, a column for each row of weights."""
    each = []
    for true, told in ((gold, found), (~gold, ~found)):
        right, said, there = (weights @ flags for flags in (true & told, told, true))
        halves = (right / np.maximum(total, 1e-12) for total in (said, there, (said + there) / 2))
        each.append(list(halves))
    return np.asarray(100.0 * np.mean(each, axis=0))


def _votes(cell: str) -> list[bool]:
    """Return the votes in a cell, or nothing where one is not a vote."""
    found = [_VOTES.get(vote.strip().lower()) for vote in cell.split("|")]
    return [] if None in found else [bool(vote) for vote in found]
