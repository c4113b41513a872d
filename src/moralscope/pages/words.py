"""How pages write what is in a record: any value, correlations, shares, changes."""

from collections.abc import Mapping
from typing import Any

from moralscope.pages.page import MINUS, PRINTED, Column
from moralscope.stats.correlation import Correlation
from moralscope.stats.gates import GateResult

NOTHING = PRINTED.nothing


def text(value: Any) -> str:
    """Write any plain value as one line of text.

    Examples
    --------
    >>> text([True, 0.25, {"a": 1}])
    'yes, 0.25, a 1'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: NOTHING}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(text(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text(item)}" for key, item in value.items())
    return str(value)


def correlation_text(correlation: Correlation | None) -> str:
    """Write a correlation: r, stars, interval, n."""
    if correlation is None or correlation.r != correlation.r:
        return NOTHING
    interval = Column("", "interval", 2).write((correlation.r, correlation.low, correlation.high))
    value, _, span = interval.partition(" ")
    return (
        f"{value}{correlation.stars} {span}".strip().replace("-", MINUS) + f", n = {correlation.n}"
    )


def gate_line(gate: GateResult | None) -> list[str]:
    """Say whether a gate was met, where there is one."""
    if gate is None:
        return []
    figures = ", ".join(f"{check.name} is {check.value:.4g}" for check in gate.checks)
    return [f"gate {gate.expression}: {'met' if gate.met else 'not met'} ({figures})"]


def cut(value: str, most: int = 160) -> str:
    """Shorten a text to the characters that a cell shows."""
    return value if len(value) <= most else f"{value[:most]}…"


def more_note(count: int) -> str:
    """Say how many rows are in the run record only."""
    return f"{count:,} more in the run record." if count > 0 else ""


def plural(count: int, noun: str) -> str:
    """Return "1 action", "20 actions"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
