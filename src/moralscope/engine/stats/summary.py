"""Mean, spread and size of a sample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Summary:
    """Size, mean and sample standard deviation (n - 1) of a sample."""

    n: int
    mean: float
    sd: float


def summarise(values: Sequence[float]) -> Summary:
    """Summarise a sample; one value has no spread, none has no mean.

    Examples
    --------
    >>> summarise([1.0, 3.0])
    Summary(n=2, mean=2.0, sd=1.4142135623730951)
    """
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean()) if array.size else float("nan")
    sd = float(array.std(ddof=1)) if array.size > 1 else float("nan")
    return Summary(int(array.size), mean, sd)
