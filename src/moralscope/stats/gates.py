"""Release gates: limits on the figures of a run, such as "r>=0.7 and changed<=3".

A gate is a list of conditions NAME OPERATOR NUMBER joined by `and` or commas; all must hold. A
number may be a percentage ("flips<=5%"). It is read by a fixed pattern and never evaluated as code.
Which names there are is the command's matter: any that can say its figures by name can have a gate.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from moralscope.core.errors import GateNotMet, InputError
from moralscope.core.registry import require_known

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(
    r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(>=|<=|==|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*",
    re.ASCII,
)
_JOINT = re.compile(r",|\band\b", re.IGNORECASE)
_EXAMPLE = 'write it like "r>=0.7 and changed<=3"'
_LONGEST = 1000
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Condition:
    """One limit: a figure's name, an operator and a number."""

    name: str
    operator: str
    limit: float

    def holds(self, value: float) -> bool:
        """Say whether a value keeps the limit; what is not a number never does."""
        return not math.isnan(value) and _OPERATORS[self.operator](value, self.limit)

    def margin(self, value: float) -> float:
        """Return how far a value is on the right side of the limit: the smaller, the worse."""
        if math.isnan(value):
            return -math.inf
        if self.operator == "==":
            return -abs(value - self.limit)
        return value - self.limit if self.operator in (">", ">=") else self.limit - value


@dataclass(frozen=True, slots=True)
class Gate:
    """Conditions that must all hold."""

    expression: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class GateCheck:
    """A condition beside the worst value that was found for it, and where."""

    name: str
    operator: str
    limit: float
    value: float
    where: str
    met: bool

    def __str__(self) -> str:
        value = "not defined" if math.isnan(self.value) else f"{self.value:.4g}"
        where = f" for {self.where}" if self.where else ""
        return f"{self.name} is {value}{where}, wanted {self.operator} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class GateResult:
    """Whether a gate was met; `values` holds the worst value of each name in it."""

    expression: str
    met: bool
    values: Figures
    checks: Sequence[GateCheck]

    def require(self) -> None:
        """Raise `GateNotMet` with the values that missed, if any did."""
        missed = [check for check in self.checks if not check.met]
        if missed:
            raise GateNotMet(
                f"gate not met: {' and '.join(map(str, missed))}",
                "see the run record for what differs, or set another --gate",
            )


def parse_gate(expression: str, names: Iterable[str]) -> Gate:
    """Read a gate; `names` are the figures it may ask for."""
    known = set(names)
    if len(expression) > _LONGEST:
        raise InputError(f"--gate has {len(expression):,} characters", _EXAMPLE)
    conditions = []
    for part in _JOINT.split(expression):
        match = _CONDITION.fullmatch(part)
        if match is None:
            what = f"'{part.strip()[:60]}' is not a condition" if part.strip() else "has a gap"
            raise InputError(f"--gate {what}", _EXAMPLE)
        name, sign, limit = match[1].lower(), match[2], float(match[3])
        limit = limit / 100 if match[4] else limit
        require_known(name, known, f"--gate knows no figure '{name[:60]}'")
        if not math.isfinite(limit):
            raise InputError(f"--gate holds {match[3]}, which is too large", _EXAMPLE)
        conditions.append(Condition(name, sign, limit))
    return Gate(expression.strip(), tuple(conditions))


def check_gate(gate: Gate, figures: Mapping[str, Figures]) -> GateResult:
    """Hold figures against a gate; it must be met by all of them.

    `figures` has, for each pair or file, its figures by name; a single one may be called "".
    """
    checks = []
    for condition in gate.conditions:
        values = {where: float(row[condition.name]) for where, row in figures.items()}
        where, value = min(values.items(), key=lambda item: condition.margin(item[1]))
        met = condition.holds(value)
        checks.append(
            GateCheck(condition.name, condition.operator, condition.limit, value, where, met)
        )
    # A name may be asked for twice; the value that missed is the one to show.
    worst = {check.name: check.value for check in sorted(checks, key=lambda check: -check.met)}
    return GateResult(gate.expression, all(check.met for check in checks), worst, checks)
