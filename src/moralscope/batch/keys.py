"""Keys of rows: what tells that two rows have the same texts."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

KEY_BYTES = 16


def row_keys(columns: Sequence[Sequence[str | None]]) -> list[bytes]:
    """Return the key of every row of these columns; nothing and empty text are two things.

    Examples
    --------
    >>> first, second, third = row_keys([["a", "a", "a"], ["", None, ""]])
    >>> first == second, first == third
    (False, True)
    """
    if len(columns) == 1:
        parts: Iterable[bytes] = map(_part, columns[0])
    else:
        parts = (b"".join(map(_part, values)) for values in zip(*columns, strict=True))
    return [blake2b(part, digest_size=KEY_BYTES).digest() for part in parts]


def _part(value: str | None) -> bytes:
    if value is None:
        return b"-"
    data = value.encode()
    return b"%d:%b" % (len(data), data)
