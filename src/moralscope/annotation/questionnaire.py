"""What people may tell about themselves: political leaning and a short foundations questionnaire.

Everything is optional and is kept apart from answers. The statements are ours; they ask for the
constructs of the Moral Foundations Questionnaire (Graham et al. 2008) as Ziems et al. 2022 used it
in section 4.2, on a scale of 1 to 5.
"""

from collections.abc import Mapping
from functools import cache
from statistics import fmean
from typing import Any

from moralscope.annotation.forms import CHOICE, FOUNDATIONS, data_keys, read_choice
from moralscope.annotation.records import Questionnaire, Statement
from moralscope.annotation.yaml_files import one_of
from moralscope.core.errors import InputError

LOW, HIGH = 1, 5


@cache
def load_questionnaire() -> Questionnaire:
    """Return the leanings, the statements and the scale.

    Examples
    --------
    >>> asked = load_questionnaire()
    >>> [choice.value for choice in asked.leanings][2], len(asked.scale)
    ('moderate', 5)
    """
    keys = data_keys("questionnaire.yaml", ("leanings", "scale", "statements"))
    statements = []
    for part in keys.parts("statements", ("id", "foundation", "text")):
        foundation = one_of(part.text("foundation"), FOUNDATIONS, "foundation")
        statements.append(Statement(part.text("id"), part.text("text"), foundation))
    return Questionnaire(
        tuple(map(read_choice, keys.parts("leanings", CHOICE))),
        tuple(statements),
        tuple(map(read_choice, keys.parts("scale", CHOICE))),
    )


def checked(leaning: str | None, statements: Mapping[str, Any]) -> dict[str, int]:
    """Return the statements answered; what was never asked is refused."""
    asked = load_questionnaire()
    if leaning is not None:
        one_of(leaning, (choice.value for choice in asked.leanings), "leaning")
    known = {one.id for one in asked.statements}
    for name, value in statements.items():
        one_of(str(name), known, "statement")
        if isinstance(value, bool) or not isinstance(value, int) or not LOW <= value <= HIGH:
            raise InputError(f"'{name}' has an answer off the scale", f"give {LOW} to {HIGH}")
    return dict(statements)


def weights(statements: Mapping[str, int]) -> dict[str, float]:
    """Return the mean answer for each foundation that was answered at all.

    Examples
    --------
    >>> weights({"care-1": 5, "care-2": 4})
    {'care': 4.5}
    """
    given: dict[str, list[int]] = {}
    for one in load_questionnaire().statements:
        if one.id in statements:
            given.setdefault(one.foundation, []).append(statements[one.id])
    return {name: fmean(values) for name, values in given.items()}
