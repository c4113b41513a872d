"""The `Norm` record: a norm that was understood. It reads nothing."""

import re
from dataclasses import dataclass

ACT, THING, CLAUSE = "act", "thing", "clause"
FAR = 60  # characters; a judgment that comes later is not the sentence's own


@dataclass(frozen=True, slots=True)
class Norm:
    """A norm that was understood.

    `polarity` is its stand towards the plain behaviour: "It's rude to not pay" judges with a bad
    word (`judgment`), but a negated behaviour (`negated`), so paying is good: +1. `kind` says
    whether the behaviour is a verb phrase (act), a noun (thing) or a whole clause. `flipped` and
    `denied` are its own frame with the opposite judgment, and with the behaviour denied. `permits`
    marks norms that only allow ("It's okay to …", "You don't have to …").
    """

    text: str
    pattern: str
    judgment: str
    polarity: int
    behaviour: str
    negated: bool = False
    subject: str = "you"
    kind: str = ACT
    lead: str = ""
    flipped: str = ""
    denied: str = ""
    permits: bool = False


def subject_of(behaviour: str) -> str:
    """Return who a behaviour without a subject is said of: you, or one."""
    return "one" if re.search(r"\bone(?:'s|self)\b", behaviour) else "you"
