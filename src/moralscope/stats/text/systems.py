"""Many systems compared pair by pair, with p-values corrected for their number."""

from collections.abc import Iterable
from dataclasses import dataclass

from moralscope.stats import holm
from moralscope.stats.text.sums import Compared


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """One metric of two systems: first less second, with p as it is and corrected (Holm)."""

    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    n: int


def corrected(
    found: Iterable[tuple[str, str, str, Compared]],
) -> tuple[SystemComparison, ...]:
    """Put (metric, first, second, comparison) into rows; Holm's correction is over all of them.

    Examples
    --------
    >>> rows = corrected([("bleu", "b", "a", Compared(1.0, 0.5, 1.5, 0.01, 9))] * 2)
    >>> rows[0].p, rows[0].p_holm
    (0.01, 0.02)
    """
    listed = list(found)
    adjusted = holm([row.p for *_, row in listed])
    return tuple(
        SystemComparison(
            metric, first, second, row.difference, row.low, row.high, row.p, float(p), row.n
        )
        for (metric, first, second, row), p in zip(listed, adjusted, strict=True)
    )
