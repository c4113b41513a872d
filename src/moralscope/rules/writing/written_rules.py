"""Which rules that a generator wrote are worth keeping: checks of words, and experts' judgment."""

from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.core.protocols import ExpertSet
from moralscope.rules.judgments import (
    broken_checks,
    content_words,
    read_judgment,
    unmet_criteria,
    words_of,
)
from moralscope.rules.records import Exchange
from moralscope.rules.reply_reader import ReplyReader
from moralscope.rules.texts.sanitize import unreadable
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import TASK, Aligner

_COPIED = 6  # words in a row that make a rule a copy
_PERSONAL = frozenset({"them", "him", "they", "he", "she", "her"})
_PRONOUNS = (_PERSONAL - {"her"}) | {"it"}
_POINTERS = frozenset({"this", "that", "these", "those", "her", "so"})
_SOMEBODY = frozenset(
    {"someone", "somebody", "anyone", "anybody", "everyone", "everybody"}
    | {"others", "people", "person", "friend"}
)


@dataclass(frozen=True, slots=True)
class RuleJudgment:
    """How a reply stands to a rule, how surely, whether it reads as bad, and how near they are."""

    label: str
    certainty: float
    bad: bool
    near: float | None = None


class WrittenRuleJudge:
    """Says whether a written rule fits its exchange: experts with a verdict and an alignment.

    Examples
    --------
    >>> from moralscope.rules.experts import prepare_rule_experts
    >>> judge = WrittenRuleJudge(prepare_rule_experts("scripted"), Thresholds())
    >>> (found,) = judge.judge([(Exchange("Any plans?", "I steal."), "It's wrong to steal.")])
    >>> found.label in ("disagree", "agree", "neither"), 0 <= found.certainty <= 1
    (True, True)
    """

    def __init__(self, experts: ExpertSet, limits: Thresholds) -> None:
        self._experts, self._limits = experts, limits
        self._reader = ReplyReader(experts)
        self._aligner = Aligner(experts.expert(TASK))

    def judge(self, pairs: Sequence[tuple[Exchange, str]]) -> list[RuleJudgment]:
        """Return how each reply stands to a rule, and how near the two are."""
        if not pairs:
            return []
        asked = list(dict.fromkeys(exchange for exchange, _ in pairs))
        readings = dict(zip(asked, self._reader.read(asked), strict=True))
        first = [(rule, readings[exchange].windows[0]) for exchange, rule in pairs]
        alignments = self._aligner.align(first)
        rows = self._experts.embed([rule for _, rule in pairs])
        judgments = []
        for (exchange, _), alignment, row in zip(pairs, alignments, rows, strict=True):
            reading = readings[exchange]
            near = None if reading.vectors is None else float((reading.vectors @ row).max())
            bad = reading.bad is not None and reading.bad >= self._limits.bad
            certainty = 1.0 - alignment.probabilities["neither"]
            judgments.append(RuleJudgment(alignment.label, certainty, bad, near))
        return judgments


def why_unusable(text: str, exchange: Exchange) -> str:
    """Say why a text is no rule for this exchange."""
    problem = unreadable(text) or next(iter([*broken_checks(text), *unmet_criteria(text)]), "")
    if problem:
        return problem
    if points_nowhere(text):
        return "does not say what 'it' is"
    texts = [words_of(part) for part in (exchange.prompt, exchange.reply)]
    return "copies the exchange" if any(_copies(words_of(text), one) for one in texts) else ""


def points_nowhere(rule: str) -> bool:
    """Tell whether a rule speaks of "it" or "that" and names nothing that this could be.

    Examples
    --------
    >>> points_nowhere("It's wrong to keep it."), points_nowhere("It's good to do that.")
    (True, True)
    >>> points_nowhere("It's rude to borrow a book and not return it.")
    False
    >>> points_nowhere("It's wrong to tell someone they are fat.")
    False
    """
    act = words_of(read_judgment(rule).behaviour)
    before: list[str] = []
    for index, word in enumerate(act):
        # "that" before a noun or a clause points at what follows.
        alone = word in _PRONOUNS or (word in _POINTERS and index == len(act) - 1)
        who = word in _PERSONAL and not _SOMEBODY.isdisjoint(act[:index])
        if alone and not who and len(before) < 2:  # a verb alone: nothing was named
            return True
        before += [word] if word in content_words(word) else []
    return False


def _copies(words: Sequence[str], text: Sequence[str]) -> bool:
    """Tell whether so many words in a row stand in another text, or all of them."""
    size = min(_COPIED, len(words))
    runs = {tuple(text[at : at + size]) for at in range(len(text) - size + 1)}
    return any(tuple(words[at : at + size]) in runs for at in range(len(words) - size + 1))
