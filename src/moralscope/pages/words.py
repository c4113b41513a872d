"""How pages write what is in a record: any value, correlations, shares, changes."""

import math

from moralscope.io.run_records import NOTHING, text
from moralscope.pages.page import MINUS, Column
from moralscope.stats.correlation import Correlation
from moralscope.stats.gates import GateResult

__all__ = [
    "NOTHING",
    "correlation_text",
    "cut",
    "gate_line",
    "more_note",
    "plural",
    "text",
    "texts",
]


def correlation_text(correlation: Correlation | None) -> str:
    """Write a correlation: r, stars, interval, n."""
    if correlation is None or math.isnan(correlation.r):
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


def texts(value: object) -> list[str]:
    """Return the texts of a list that a config holds; nothing where it is no list."""
    return [text(item) for item in value] if isinstance(value, list | tuple) else []
