"""Every way in which an item is asked: forms x orders x labels x wordings, and what came back.

A cell is one question. In A/B the labels are given to the actions both ways, so that the taste for
what comes first and the taste for "A" can be told apart. The first wording is also asked with
another layout (a blank line more): what that changes is the noise floor.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np

from moralscope.axes.language import Asking
from moralscope.core.protocols import Floats
from moralscope.io.documents import shipped_toml
from moralscope.surveys.items import Dilemma, Statement

AB, REPEAT, COMPARE = "ab", "repeat", "compare"
_BLOCK = 96  # questions that are asked at once, between two looks at progress
_LABELS = "ABCDEF"
_ALL_ORDERS = 3  # with more actions, each stands in every place once, forwards and backwards
_YES, _NO = ("Yes", "yes"), ("No", "no")
Answers = tuple[tuple[str, ...], ...]  # of each action, the texts that choose it


@dataclass(frozen=True, slots=True)
class Cell:
    """One question: how it is put, and which answers choose which of the item's actions."""

    item: int
    form: str
    wording: int
    chosen: tuple[int, ...]  # indices of the item's actions, as the question lists them
    question: str
    answers: Answers  # of each listed action
    labelled_a: int = -1  # which listed action has the label A
    edited: bool = False  # asked with another layout
    before: tuple[str, ...] = ()  # turns of a person and of the model that it follows


@dataclass(frozen=True, slots=True, eq=False)
class CellAnswer:
    """What a model says to a cell: for each listed action its log-likelihood, and all their mass.

    `scores` are length-normalised where answers are whole actions; `totals` are not.
    """

    cell: Cell
    scores: Floats
    totals: Floats
    mass: float


@cache
def wordings() -> dict[str, Any]:
    """Return how questions are worded."""
    return shipped_toml("moralscope.surveys", "wordings.toml")


def dilemma_cells(index: int, dilemma: Dilemma, forms: Sequence[str], count: int) -> Iterator[Cell]:
    """Yield every question about a dilemma."""
    layouts = [(wording, False) for wording in range(count)]
    if count > 1:
        layouts.append((0, True))
    actions, situation = dilemma.actions, dilemma.situation
    labels = _LABELS[: len(actions)]
    names = f"{', '.join(labels[:-1])} or {labels[-1]}"
    for form, (wording, edited) in product(forms, layouts):
        if form == COMPARE:
            for pair in permutations(range(len(actions)), 2):
                first, second = (actions[action] for action in pair)
                text = _question(
                    situation, form, wording, edited, first=first, second=second, options=()
                )
                yield Cell(index, form, wording, pair, text, (_YES, _NO), edited=edited)
            continue
        for order in _orders(len(actions)):
            listed = [actions[action] for action in order]
            if form == REPEAT:
                lines = [f"- {action}" for action in listed]
                text = _question(situation, form, wording, edited, options=lines)
                answers = tuple((action,) for action in listed)
                yield Cell(index, form, wording, order, text, answers, edited=edited)
                continue
            for turn in range(len(actions)):  # A stands in every place
                turned = labels[turn:] + labels[:turn]
                lines = [f"{label}. {a}" for label, a in zip(turned, listed, strict=True)]
                text = _question(situation, form, wording, edited, labels=names, options=lines)
                answers = tuple((label,) for label in turned)
                first_a = turned.index("A")
                yield Cell(index, form, wording, order, text, answers, first_a, edited)


def _orders(count: int) -> list[tuple[int, ...]]:
    if count <= _ALL_ORDERS:
        return list(permutations(range(count)))
    turned = [tuple((at + turn) % count for at in range(count)) for turn in range(count)]
    return [*turned, *(order[::-1] for order in turned)]


def statement_cells(index: int, statement: Statement, count: int) -> Iterator[Cell]:
    """Yield every question about a statement: it and its negation, the scale both ways.

    The form says which: forward or negated; `chosen` are the points of the scale as they are
    numbered, 0 the least agreement.
    """
    points = len(statement.scale)
    for form, text in (("forward", statement.text), ("negated", statement.negated)):
        for wording in range(count):
            for order in (tuple(range(points)), tuple(range(points))[::-1]):
                lines = [f"{at + 1} = {statement.scale[point]}" for at, point in enumerate(order)]
                question = _question(text, "statement", wording, False, options=lines)
                answers = tuple((str(at + 1),) for at in range(points))
                yield Cell(index, form, wording, order, question, answers)


def _question(
    situation: str, form: str, wording: int, edited: bool, *, options: Sequence[str], **more: str
) -> str:
    parts = wordings()[form]
    ask: str = parts["asks"][wording]
    rest: str = parts["rest"]
    text = f"{situation}\n{ask}{rest}".replace("{options}", "\n".join(options))
    for name, value in more.items():
        text = text.replace("{" + name + "}", value)
    return text.replace("\n", "\n\n", 1) if edited else text


def ask_cells(
    asking: Asking, cells: Sequence[Cell], report: Callable[[int, int], None] | None = None
) -> Iterator[CellAnswer]:
    """Put questions to a model, block by block, and yield what it says, in order."""
    for start in range(0, len(cells), _BLOCK):
        block = cells[start : start + _BLOCK]
        continuations = asking.model.log_probabilities(
            [asking.text(*cell.before, cell.question) for cell in block],
            [[asking.answer(text) for some in cell.answers for text in some] for cell in block],
        )
        for cell, answers in zip(block, continuations, strict=True):
            rest = iter(answers)
            groups = [[next(rest) for _ in texts] for texts in cell.answers]
            totals = np.array([np.logaddexp.reduce([a.total for a in some]) for some in groups])
            scores = totals
            if cell.form == REPEAT:  # answers are sentences: long ones would lose by their length
                scores = np.array([some[0].mean for some in groups])
            shares = [a.hits / a.samples if a.samples else float(np.exp(a.total)) for a in answers]
            yield CellAnswer(cell, scores, totals, min(1.0, float(sum(shares))))
        if report:
            report(min(start + _BLOCK, len(cells)), len(cells))
