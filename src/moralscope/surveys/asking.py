"""Every way in which an item is asked: forms x orders x labels x wordings, and what came back.

A cell is one question. In A/B the labels are given to the actions both ways, so that the taste for
what comes first and the taste for "A" can be told apart. The first wording is also asked with
another layout (a blank line more): what that changes is the noise floor.
"""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.language import Asking
from moralscope.core.records import Continuation
from moralscope.surveys.items import Dilemma, Statement

AB, REPEAT, COMPARE = "ab", "repeat", "compare"
_BLOCK = 96  # questions that are asked at once, between two looks at progress
_LABELS = "ABCDEF"
_ALL_ORDERS = 3  # with more actions, each stands in every place once, forwards and backwards
_YES, _NO = ("Yes", "yes"), ("No", "no")
Floats = NDArray[np.float64]
Answers = tuple[tuple[str, ...], ...]  # of each action, the texts that choose it


@dataclass(frozen=True, slots=True)
class Cell:
    """One question: how it is put, and which answers choose which of the item's actions.

    `chosen` are the places of the actions among those of the item, as they are listed; `answers`
    belong to them. `labelled_a` is the listed place of the action with the label A, -1 for none.
    """

    item: int
    form: str
    wording: int
    chosen: tuple[int, ...]
    question: str
    answers: Answers
    labelled_a: int = -1
    edited: bool = False


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
    text = (resources.files(__package__) / "data" / "wordings.toml").read_text("utf-8")
    return tomllib.loads(text)


def dilemma_cells(place: int, dilemma: Dilemma, forms: Sequence[str], count: int) -> Iterator[Cell]:
    """Yield every question about a dilemma.

    Examples
    --------
    >>> item = Dilemma("1", "You find a purse.", ("I keep it.", "I give it back."))
    >>> len(list(dilemma_cells(0, item, ("ab", "repeat", "compare"), 1)))
    8
    >>> len(list(dilemma_cells(0, item, ("ab", "repeat", "compare"), 2)))
    24
    """
    layouts = [(wording, False) for wording in range(count)]
    if count > 1:
        layouts.append((0, True))
    for form in forms:
        for wording, edited in layouts:
            yield from _FORMS[form](place, dilemma, wording, edited)


def _orders(count: int) -> list[tuple[int, ...]]:
    if count <= _ALL_ORDERS:
        return list(permutations(range(count)))
    turned = [tuple((at + turn) % count for at in range(count)) for turn in range(count)]
    return [*turned, *(order[::-1] for order in turned)]


def _ab(place: int, dilemma: Dilemma, wording: int, edited: bool) -> Iterator[Cell]:
    count = len(dilemma.actions)
    labels = _LABELS[:count]
    for order in _orders(count):
        for turn in range(count):  # A stands in every place
            given = labels[turn:] + labels[:turn]
            lines = [
                f"{label}. {dilemma.actions[action]}"
                for label, action in zip(given, order, strict=True)
            ]
            told = f"{', '.join(labels[:-1])} or {labels[-1]}"
            text = _question(dilemma.situation, AB, wording, edited, labels=told, options=lines)
            answers = tuple((label,) for label in given)
            yield Cell(place, AB, wording, order, text, answers, given.index("A"), edited)


def _repeat(place: int, dilemma: Dilemma, wording: int, edited: bool) -> Iterator[Cell]:
    for order in _orders(len(dilemma.actions)):
        actions = [dilemma.actions[action] for action in order]
        lines = [f"- {action}" for action in actions]
        text = _question(dilemma.situation, REPEAT, wording, edited, options=lines)
        answers = tuple((action,) for action in actions)
        yield Cell(place, REPEAT, wording, order, text, answers, edited=edited)


def _compare(place: int, dilemma: Dilemma, wording: int, edited: bool) -> Iterator[Cell]:
    for pair in permutations(range(len(dilemma.actions)), 2):
        first, second = (dilemma.actions[action] for action in pair)
        text = _question(
            dilemma.situation, COMPARE, wording, edited, first=first, second=second, options=()
        )
        yield Cell(place, COMPARE, wording, pair, text, (_YES, _NO), edited=edited)


_FORMS: dict[str, Callable[[int, Dilemma, int, bool], Iterator[Cell]]] = {
    AB: _ab,
    REPEAT: _repeat,
    COMPARE: _compare,
}


def statement_cells(place: int, statement: Statement, count: int) -> Iterator[Cell]:
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
                yield Cell(place, form, wording, order, question, answers)


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
        found = asking.model.log_probabilities(
            [asking.text(cell.question) for cell in block],
            [[asking.answer(text) for some in cell.answers for text in some] for cell in block],
        )
        for cell, answers in zip(block, found, strict=True):
            yield _answer(cell, answers)
        if report:
            report(min(start + _BLOCK, len(cells)), len(cells))


def _answer(cell: Cell, found: Sequence[Continuation]) -> CellAnswer:
    rest = iter(found)
    groups = [[next(rest) for _ in some] for some in cell.answers]
    totals = np.array([np.logaddexp.reduce([each.total for each in some]) for some in groups])
    scores = totals
    if cell.form == REPEAT:  # answers are sentences: long ones would lose by their length
        scores = np.array([some[0].mean for some in groups])
    shares = [
        each.hits / each.samples if each.samples else float(np.exp(each.total)) for each in found
    ]
    return CellAnswer(cell, scores, totals, min(1.0, float(sum(shares))))
