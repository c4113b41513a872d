"""Our YAML files as checked mappings: no tags, anchors or aliases; a wrong key is named.

Values are checked by whoever asks for them (`Keys.text`, `Keys.number`, …), each against its type.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean
from moralscope.io.documents import Document

_REMEDY = "mend the line; `moralscope annotate init` writes a good file to compare with"


class Keys:
    """A mapping of a YAML file whose keys are known; another key is refused with the nearest.

    Examples
    --------
    >>> Keys(parse_yaml("people: 3", "a.yaml"), "a.yaml", ["people"]).number("people", 3, 1, 100)
    3
    >>> Keys(parse_yaml("poeple: 3", "a.yaml"), "a.yaml", ["people"])
    Traceback (most recent call last):
    moralscope.core.errors.InputError: a.yaml has an unknown key 'poeple'; did you mean 'people'?...
    """

    def __init__(self, found: object, place: str, known: Iterable[str]) -> None:
        if not isinstance(found, Mapping):
            raise InputError(f"{place} needs keys and values", _REMEDY)
        self._found = found
        self._place = place
        names = tuple(known)
        for key in found:
            if key not in names:
                name = str(key)[:60]
                raise InputError(f"{place} has an unknown key '{name}'", did_you_mean(name, names))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; without a default it must be there."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._wrong(key, value, "a text")
        return str(value).strip()

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """Return a whole number within bounds."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._wrong(key, value, f"a whole number from {low} to {high}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, empty where there is none."""
        value = self._value(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(key, value, "a list of texts")
        return tuple(one.strip() for one in value)

    def inner(self, key: str, known: Iterable[str]) -> "Keys":
        """Return the mapping under a key, empty where there is none."""
        return Keys(self._value(key, {}), f"{self._place}, {key}", known)

    def parts(self, key: str, known: Sequence[str]) -> "list[Keys]":
        """Return the mappings of a list, empty where there is none."""
        value = self._value(key, [])
        if not isinstance(value, list):
            raise self._wrong(key, value, "a list")
        return [Keys(one, f"{self._place}, {key} {n}", known) for n, one in enumerate(value, 1)]

    def pairs(self, key: str) -> dict[str, Any]:
        """Return a mapping as it stands, whatever its keys are."""
        value = self._value(key, {})
        if not isinstance(value, Mapping):
            raise self._wrong(key, value, "keys and values")
        return {str(name): each for name, each in value.items()}

    def _value(self, key: str, default: object) -> object:
        value = self._found.get(key, default)
        if value is None and default is None:
            raise InputError(f"{self._place} has no '{key}'", _REMEDY)
        return default if value is None else value

    def _wrong(self, key: str, value: object, wanted: str) -> InputError:
        return InputError(f"{self._place} has {key} = {str(value)[:60]!r}", f"give {wanted}")


def parse_yaml(text: str, source: str) -> object:
    """Parse YAML after refusing what no file of ours has; what is wrong is named with its line."""
    return Document(text, source, _REMEDY).yaml_values()


def one_of(value: str, known: Iterable[str], what: str) -> str:
    """Return the value, or refuse it with the nearest known one."""
    names = tuple(known)
    if value not in names:
        raise InputError(f"there is no {what} '{value[:60]}'", did_you_mean(value, names))
    return value
