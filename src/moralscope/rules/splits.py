"""Shares annotations out into train, dev and test, 80-10-10, with no exchange in two parts.

As in section 5 of Ziems et al. 2022. Exchanges that differ only in case and spaces are one. The
order of a file does not matter: parts follow from the texts and the seed.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from moralscope.core.errors import InputError
from moralscope.rules.records import Annotation

PARTS = ("train", "dev", "test")
UNITS = ("exchange", "prompt")
_SHARE = 10  # one unit in so many is dev, and as many are test
_FEWEST = 3
_HELD_OUT = {"test": 2, "dev": 1, "train": 0}


@dataclass(frozen=True, slots=True)
class IntegritySplit:
    """The part of every annotation, in the order of the file; None where nobody knows it.

    `official` says whether the parts are the file's own; `moved` counts units that the file had in
    two parts and that are now in the most held-out one; `shared_prompts` counts prompts that stand,
    with different replies, in more than one part.
    """

    parts: tuple[str | None, ...]
    unit: str
    official: bool
    moved: int = 0
    shared_prompts: int = 0

    def of(self, annotations: Sequence[Annotation], part: str) -> list[Annotation]:
        """Return the annotations of a part."""
        return [row for row, own in zip(annotations, self.parts, strict=True) if own == part]


def split_annotations(
    annotations: Sequence[Annotation],
    *,
    seed: int = 0,
    unit: str = "exchange",
    official: bool = True,
) -> IntegritySplit:
    """Share annotations out.

    Parameters
    ----------
    annotations
        SOCIAL-CHEM-101's have their situation as the prompt, so they are split by situation.
    seed
        Another seed gives another split; not used where the file's own parts are.
    unit
        What must not stand in two parts: an exchange, or more strictly a prompt.
    official
        Use the file's own parts where it names a dev or a test part.

    Examples
    --------
    >>> from moralscope.rules.records import Exchange
    >>> rows = [Annotation(Exchange(f"q{n // 2}", "a"), f"rule {n}") for n in range(20)]
    >>> parts = split_annotations(rows).parts
    >>> Counter(parts)["test"], parts[::2] == parts[1::2]
    (2, True)
    """
    if unit not in UNITS:
        raise InputError(f"a split has no unit '{unit}'", f"say {' or '.join(UNITS)}")
    keys = [_key(row, unit) for row in annotations]
    given = {row.split for row in annotations} if official else set()
    if given & {"dev", "test"}:
        by_key, moved = _official(annotations, keys)
    else:
        by_key, moved = _drawn(keys, seed), 0
    parts = tuple(by_key.get(key) for key in keys)
    return IntegritySplit(
        parts, unit, bool(given & {"dev", "test"}), moved, _shared(annotations, parts)
    )


def _official(
    annotations: Sequence[Annotation], keys: Sequence[Hashable]
) -> tuple[dict[Hashable, str], int]:
    """Return the file's own parts; a unit in two parts goes to the most held-out one."""
    found: dict[Hashable, str] = {}
    moved = set()
    for row, key in zip(annotations, keys, strict=True):
        if row.split not in PARTS:
            continue
        known = found.setdefault(key, row.split)
        if known != row.split:
            moved.add(key)
            found[key] = max(known, row.split, key=_HELD_OUT.__getitem__)
    return found, len(moved)


def _drawn(keys: Sequence[Hashable], seed: int) -> dict[Hashable, str]:
    unique = set(keys)
    if len(unique) < _FEWEST:
        raise InputError(
            f"{len(unique)} different exchanges cannot be shared out among three parts",
            f"give {_FEWEST} or more",
        )

    def draw(key: Hashable) -> bytes:  # not random: the order of a file must not matter
        text = f"{seed}\x00{key!r}".encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=16).digest()

    ordered = sorted(unique, key=draw)
    held = max(1, round(len(ordered) / _SHARE))
    return {
        key: "test" if place < held else "dev" if place < 2 * held else "train"
        for place, key in enumerate(ordered)
    }


def _key(row: Annotation, unit: str) -> Hashable:
    prompt = _plain(row.exchange.prompt)
    return prompt if unit == "prompt" else (prompt, _plain(row.exchange.reply))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _shared(annotations: Sequence[Annotation], parts: Sequence[str | None]) -> int:
    pairs = {
        (_plain(row.exchange.prompt), part)
        for row, part in zip(annotations, parts, strict=True)
        if part
    }
    return sum(count > 1 for count in Counter(prompt for prompt, _ in pairs).values())
