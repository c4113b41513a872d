"""Texts that come from people, checked before they are kept: bounded, no NUL, no half characters.

Nothing is escaped or altered here: text is data, and whoever shows it escapes it.
"""

from typing import Any

from moralscope.annotation.records import Answer, TaskForm
from moralscope.core.errors import InputError

MAX_ANSWER = 100_000  # characters of all texts of an answer together
_REMEDY = "remove it and save again"


def plain_text(value: object, what: str, longest: int) -> str:
    """Return a text that both databases can hold.

    Examples
    --------
    >>> plain_text(" Jo ", "name", 10)
    'Jo'
    """
    if not isinstance(value, str):
        raise InputError(f"the {what} is no text", "give a text")
    if len(value) > longest:
        raise InputError(f"the {what} has {len(value):,} characters", f"at most {longest:,}")
    if not storable(value):
        raise InputError(f"the {what} holds a character that is no text", _REMEDY)
    return value.strip()


def storable(value: str) -> bool:
    """Say whether both databases can hold a text: no NUL, no half of a surrogate pair.

    Examples
    --------
    >>> storable("a<b>'; --"), storable(chr(0)), storable(chr(0xD800))
    (True, False, False)
    """
    return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def clean_answer(answer: Answer, form: TaskForm) -> dict[str, Any]:
    """Return an answer that may be kept as a draft: known fields, plain values, bounded.

    Whether the values fit is not asked here; a draft may be half an answer.
    """
    if not isinstance(answer, dict):
        raise InputError("the answer is no object", "send field names and values")
    known = {field.name for field in form.fields}
    kept: dict[str, Any] = {}
    total = 0
    for name, value in answer.items():
        if name not in known:
            raise InputError(f"the form has no field '{str(name)[:40]}'", ", ".join(sorted(known)))
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if part is not None and not isinstance(part, str | bool | int):
                raise InputError(f"'{name}' has a value of a wrong kind", "see the form")
            if isinstance(part, int) and abs(part) > 1_000_000:
                raise InputError(f"'{name}' has a number out of range", "see the form")
            if isinstance(part, str):
                total += len(plain_text(part, name, MAX_ANSWER))
        if len(parts) > 50 or total > MAX_ANSWER:
            raise InputError("the answer is too large", f"at most {MAX_ANSWER:,} characters")
        kept[name] = value
    return kept
