"""What every generator checks before it starts. Generates nothing."""

from collections.abc import Sequence

from moralscope.core.errors import InputError
from moralscope.core.records import Decoding

STRATEGIES = ("greedy", "beam", "nucleus")


def check_request(prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]) -> None:
    """Raise `InputError` unless the request makes sense.

    Examples
    --------
    >>> check_request(["Jo"], Decoding(count=10), [7])
    """
    if decoding.strategy not in STRATEGIES:
        problem = f"there is no decoding strategy '{decoding.strategy}'"
        raise InputError(problem, f"use one of {', '.join(STRATEGIES)}")
    if len(seeds) != len(prompts):
        raise InputError(f"{len(prompts)} prompts came with {len(seeds)} seeds", "give one each")
    limits = {
        "count": decoding.count >= 1,
        "p": 0 < decoding.p <= 1,
        "temperature": 0 < decoding.temperature <= 100,
        "beams": decoding.beams >= 1,
        "max_tokens": decoding.max_tokens >= 1,
    }
    for name, sound in limits.items():
        if not sound:
            problem = f"{name} = {getattr(decoding, name)} is out of range"
            raise InputError(problem, "see the documentation of Decoding")
    if decoding.strategy == "greedy" and decoding.count > 1:
        raise InputError("greedy decoding has one candidate", "ask for one, or use nucleus or beam")
    if decoding.strategy == "beam" and decoding.count > decoding.beams:
        problem = f"{decoding.count} candidates need as many beams and there are {decoding.beams}"
        raise InputError(problem, "raise beams or lower count")
