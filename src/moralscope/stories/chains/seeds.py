"""Seeds: one number for each story, target and step, whatever the batch and the order."""

import json
from collections.abc import Sequence
from hashlib import blake2b


def seed_of(seed: int, parts: Sequence[str | None]) -> int:
    """Return a seed that depends on the run's seed and on what it is for, on nothing else.

    Examples
    --------
    >>> seed_of(0, ["story 1", "moral", "actions"]) == seed_of(0, ["story 1", "moral", "actions"])
    True
    >>> seed_of(0, ["story 1", "moral", "actions"]) == seed_of(0, ["story 1", None, "actions"])
    False
    """
    digest = blake2b(json.dumps([seed, *parts]).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1  # 63 bits: what every generator takes
