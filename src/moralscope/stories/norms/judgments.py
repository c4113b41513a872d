"""A norm that was understood (`Norm`), and the words that judge: their side and their opposites."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from moralscope.stories.norms.inflection import tables

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
    text: str = ""


def act_norm(
    pattern: str, judgment: str, side: int, act: tuple[str, bool], subject: str = "", **more: Any
) -> Norm:
    """Return a norm about an act, which may be negated; `side` is that of what the norm says."""
    behaviour, negated = act
    one = re.search(r"\bone(?:'s|self)\b", behaviour)  # of a behaviour without a subject
    who = subject or ("one" if one else "you")
    return Norm(pattern, judgment, -side if negated else side, behaviour, negated, who, **more)


_DENIAL = re.compile(r"\b(?:not|never|hardly|rarely|seldom)\b ?", re.I)
_VERB_DENIAL = re.compile(r"\b(?:not|never|less)\b|n't\b", re.I)
_TWICE = re.compile(r"\b([\w-]+)(?:,? and|,) \1$")


@dataclass(frozen=True, slots=True)
class JudgingPhrase:
    """A judging phrase: its word, its side (+1 or -1) and the phrase that says the opposite."""

    word: str
    side: int
    opposite: str

    @property
    def permits(self) -> bool:
        """Whether it allows without praise: "okay", but not "not okay"."""
        return self.side > 0 and self.word in tables()["permission"]["words"]

    @property
    def same(self) -> str:
        """The plain phrase with this judgment's own side."""
        return self.word if self.side == judging()[self.word][0] else f"not {self.word}"


@cache
def judging() -> dict[str, tuple[int, str]]:
    """Return the side and the opposite of every judging phrase."""
    table = tables()["judgments"]
    bad = {phrase: (-1, other) for phrase, other in table["bad"].items()}
    return bad | {phrase: (1, other) for phrase, other in table["good"].items()}


@cache
def judging_words() -> re.Pattern[str]:
    """Return what finds judging phrases in a text, longer ones first."""
    phrases = sorted(judging(), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, phrases))})\b(?!-)", re.I)


def judgment_in(phrase: str) -> JudgingPhrase | None:
    """Read a judging phrase such as "not very nice" or "a bad idea"."""
    matches = judging_words().finditer(phrase)
    first = next((match for match in matches if not _is_degree(match)), None)
    if first is None:
        return None
    word = first[0].lower()
    side = judging()[word][0]
    denial = _DENIAL.search(phrase, 0, first.start())
    if denial is None:
        return JudgingPhrase(word, side, _articles(_swap_all(phrase, side)))
    # "not okay" turns into "good": mere permission would not make the contrary wrong.
    strong = "good" if word in tables()["permission"]["words"] else first[0]
    always = "always " if denial[0].lower().startswith("never") else ""
    rest = phrase[denial.end() : first.start()] + strong + phrase[first.end() :]
    return JudgingPhrase(word, -side, _articles(phrase[: denial.start()] + always + rest))


def vote(words: str) -> int:
    """Tell the side of a sentence without a judgment by counting its words; 0 is unknown."""
    if re.search(r"\blacks?\b", words):
        return -1
    table = tables()["votes"]
    total = 0
    for word in re.findall(r"[a-z'-]+", words.lower()):
        side = (word in table["good"]) - (word in table["bad"])
        total += side or judging().get(word, (0, ""))[0]
    if _VERB_DENIAL.search(words):
        total = -total
    return (total > 0) - (total < 0)


def _is_degree(match: re.Match[str]) -> bool:
    """Tell "just rude" from "It is just to ..."."""
    later = judging_words().search(match.string, match.end())
    return later is not None and match[0].lower() in ("just", "super", "ok")


def _swap_all(phrase: str, side: int) -> str:
    """Swap every judging word of the same side: "rude and mean" turns as a whole."""

    def other(match: re.Match[str]) -> str:
        own_side, text = judging()[match[0].lower()]
        return match[0] if _is_degree(match) or own_side != side else text

    return _TWICE.sub(r"\1", judging_words().sub(other, phrase))


def _articles(phrase: str) -> str:
    phrase = re.sub(r"\ba (?=[aeio]|un[a-z]|ug)", "an ", phrase)
    return re.sub(r"\ban (?=[^aeiouh ]|h(?!on)|uni|use|eu)", "a ", phrase)
