"""The words that did it: the fewest of a flagged reply whose absence turns its verdict.

Each sentence is read alone; those that read worst are left out, one by one and together. Where that
cannot turn the verdict (one sentence, or all of them bad), phrases are left out of each bad
sentence. The shortest choice that brings the probability below its limit is audited again, as any
reply is: only what that audit no longer flags is evidence. Knows no models: whoever audits says how
probable a text is bad (`Level`) and audits it (`Prove`).
"""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from moralscope.rules.records import CUT, MET, EvidenceSpan, Exchange, Gauge, ProvedEdit, Verdict
from moralscope.rules.texts.sanitize import sentences
from moralscope.stats.text.words import function_words

MOST_PARTS = 12  # of a longer reply, neighbouring sentences are first read together
MOST_BAD = 2  # sentences, each flagged by itself, that phrases are looked for in
COARSE = 5  # phrases into which a sentence is cut
RUNS = 2  # of as many phrases in a row, tried where none is enough by itself
FINE = 2  # into which what turns it is cut again
LIKELY = 0.1  # of the way from where a verdict surely turns to where it may
ADDS = 0.05  # what a sentence must add to the probability to be told beside those that turn it
NOTHING_SMALLER = (
    "No part of the reply turns the verdict by itself: whatever was left out, the rest is flagged."
)
ALL_BAD = "Each sentence exceeds the limit by itself, so leaving one out changes nothing."
LEFT_OUT = (
    "The reply breaks the rule by what it leaves out: with a sentence that does what the rule asks "
    "for, it is not flagged."
)
_WORD = re.compile(r"\S+")
_CLOSING = ",;:\u2013\u2014"

Span = tuple[int, int]
Level = Callable[[Sequence[tuple[int, str]]], list[float]]
"""How probable is what decided, in other words: (index of the flagged reply, the other words)."""
Prove = Callable[[Sequence[Exchange]], list[Verdict]]
"""Audits exchanges as if they had been given."""


class Evidence(NamedTuple):
    """What was found for a flagged reply: spans and the edit, or why there are none."""

    spans: tuple[EvidenceSpan, ...] = ()
    note: str = ""
    change: ProvedEdit | None = None


class Choice(NamedTuple):
    """Spans of a reply, and how probable what decided is without them."""

    level: float
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class TextQuestion:
    """Texts that a search asks about: how probable each is, or what an audit says of it."""

    texts: Sequence[str]
    proof: bool = False


Search = Generator[TextQuestion, Sequence[Any], Evidence]


def find_evidence(
    exchanges: Sequence[Exchange], searches: Sequence[Search], level: Level, prove: Prove
) -> list[Evidence]:
    """Return what each search finds for its reply, in order; what all ask is answered at once."""
    going = dict(enumerate(searches))
    results = [Evidence()] * len(exchanges)
    answers: dict[int, Sequence[Any] | None] = dict.fromkeys(going)
    while going:
        questions: dict[int, TextQuestion] = {}
        for at, answer in answers.items():
            try:
                one = going[at]
                questions[at] = next(one) if answer is None else one.send(answer)
            except StopIteration as stop:
                results[at] = stop.value
                del going[at]
        asked = [(at, one.proof, text) for at, one in questions.items() for text in one.texts]
        levels: Iterator[Any] = iter(level([(at, text) for at, proof, text in asked if not proof]))
        texts = [Exchange(exchanges[at].prompt, text) for at, proof, text in asked if proof]
        proofs: Iterator[Any] = iter(prove(texts))
        answers = {
            at: [next(proofs if one.proof else levels) for _ in one.texts]
            for at, one in questions.items()
        }
    return results


def without(reply: str, spans: Sequence[Span]) -> str:
    """Return a reply less some spans of it.

    Examples
    --------
    >>> without("Hello. Go away. Bye.", [(7, 15)])
    'Hello.  Bye.'
    """
    pieces, at = [], 0
    for start, end in sorted(spans):
        pieces.append(reply[at:start])
        at = end
    return "".join([*pieces, reply[at:]])


def by_sentence(reply: str) -> list[Span]:
    """Return where the sentences of a reply lie."""
    spans, at = [], 0
    for sentence in sentences(reply):
        start = reply.index(sentence, at)
        at = start + len(sentence)
        spans.append((start, at))
    return spans


def by_phrase(reply: str, sentence: Span, most: int) -> list[Span]:
    """Return a sentence in phrases: each a word that says something with the small ones before it.

    Where there are more than `most`, the shortest neighbours are read as one.

    Examples
    --------
    >>> reply = "Be kind, and put a laxative in it."
    >>> [reply[start:end] for start, end in by_phrase(reply, (0, len(reply)), 4)]
    ['Be kind,', 'and put', 'a laxative in it.']
    """
    phrases: list[list[Span]] = [[]]
    for match in _WORD.finditer(reply, *sentence):
        phrases[-1].append(match.span())
        if not _is_small(match[0]) or match[0][-1] in _CLOSING:
            phrases.append([])
    small = phrases.pop()
    phrases = [*phrases[:-1], phrases[-1] + small] if phrases else [small]
    while len(phrases) > most:
        sizes = [len(one) + len(other) for one, other in pairwise(phrases)]
        at = sizes.index(min(sizes))
        phrases[at : at + 2] = [phrases[at] + phrases[at + 1]]
    return [(words[0][0], words[-1][1]) for words in phrases if words]


def _is_small(word: str) -> bool:
    plain = "".join(char for char in word.lower() if char.isalnum() or char == "'")
    return plain in function_words()


def passage(reply: str, spans: Sequence[EvidenceSpan]) -> tuple[str, str, str] | None:
    """Return the first sentence that turns a verdict, and the text before and after it.

    Other sentences that turn it are left out; None where there is none, or nothing else is left.

    Examples
    --------
    >>> reply = "Hello. Go away. Bye."
    >>> passage(reply, [EvidenceSpan(7, 15, "Go away.", 0.9, 0.1, turns=True)])
    ('Hello. ', 'Go away.', ' Bye.')
    """
    at = [span.start for span in spans if span.turns]
    bad = [(low, high) for low, high in by_sentence(reply) if any(low <= i < high for i in at)]
    if not bad:
        return None
    start, end = bad[0]
    rest = without(reply, [(0, end), *bad[1:]])
    return (reply[:start], reply[start:end], rest) if (reply[:start] + rest).strip() else None


def search(reply: str, verdict: Verdict, safe: float, meets: Sequence[str] = ()) -> Search:
    """Look for the smallest edit of one reply; what it needs to know it yields as questions.

    Below `safe` a probability turns the verdict even if every rule stays broken. `meets` are
    sentences that do what a broken rule asks for: added where leaving words out is not enough.
    """
    evidence = yield from _fewest_words(reply, verdict, safe)
    if evidence.spans or verdict.gauge is None or not meets:
        return evidence
    texts = [f"{reply.rstrip()} {sentence}" for sentence in meets]
    levels = yield TextQuestion(texts)
    level, text = min(zip(levels, texts, strict=True))
    if level < verdict.gauge.limit:
        (proof,) = yield TextQuestion([text], proof=True)
        if proof.is_judged and not proof.flag:
            return Evidence(note=LEFT_OUT, change=ProvedEdit(MET, text, level))
    return evidence


def _fewest_words(reply: str, verdict: Verdict, safe: float) -> Search:
    gauge, spans = verdict.gauge, by_sentence(reply)
    if gauge is None or not spans:
        return Evidence(note=NOTHING_SMALLER)
    likely = safe + LIKELY * (gauge.limit - safe)
    while len(spans) > MOST_PARTS:  # of a long reply, go on with the neighbours that read worst
        size = -(-len(spans) // MOST_PARTS)
        groups = [spans[at : at + size] for at in range(0, len(spans), size)]
        levels = yield TextQuestion([reply[some[0][0] : some[-1][1]] for some in groups])
        least = min(max(levels), max(gauge.limit, sorted(levels)[-(MOST_PARTS // 2)]))
        worst = [some for some, level in zip(groups, levels, strict=True) if level >= least]
        spans = [span for some in worst for span in some]
    aside = [span for span in by_sentence(reply) if span not in spans]
    doubtful: list[Span] = spans
    adds: list[Choice] = []
    note = NOTHING_SMALLER
    if len(spans) > 1:
        alone = yield TextQuestion([reply[slice(*span)] for span in spans])
        ranked = sorted(zip(alone, spans, strict=True), reverse=True)
        order = [span for _, span in ranked]
        bad = [span for level, span in ranked if level >= gauge.limit]
        doubtful = [span for level, span in ranked if level >= likely]
        if len(bad) == len(spans):
            note = ALL_BAD
        else:  # all that is bad by itself must go
            wanted = [bad, doubtful, order[: len(bad) + 1]]
            if len(bad) < 2:
                wanted += [[span] for span in order[:3]]
            wanted = [some for some in wanted if 0 < len(some) < len(spans)]
            choices = yield from _measured(reply, wanted, aside)
            adds = [one for one in choices if len(one.spans) == 1 and one.spans[0] in doubtful]
            best = _best(choices, gauge.limit, likely)
            evidence = yield from _prove(reply, gauge, best, adds)
            if evidence is not None:
                return evidence
    if not 0 < len(doubtful) <= MOST_BAD:
        return Evidence(note=note)
    least, surest = [], Choice(1.0, ())  # phrases of each sentence, or of one without the others
    for sentence in doubtful:
        best = yield from _phrases(reply, sentence, gauge.limit, likely)
        least.append(best[0] if best else Choice(0.0, (sentence,)))
        if best:
            others = [span for span in doubtful if span != sentence]
            surest = min(surest, Choice(best[-1].level, (*others, *best[-1].spans)))
    spans_of_all = tuple(span for choice in least for span in choice.spans)
    together = [Choice(max(choice.level for choice in least), spans_of_all), surest]
    together = [
        choice
        for choice in dict.fromkeys(together)
        if choice.spans and set(choice.spans) != set(spans)
    ]
    evidence = yield from _prove(reply, gauge, together, adds)
    return evidence or Evidence(note=note)


def _measured(
    reply: str, wanted: Sequence[Sequence[Span]], aside: Sequence[Span]
) -> Generator[TextQuestion, Sequence[Any], list[Choice]]:
    """Return how probable it is without each choice of spans; those `aside` are never read."""
    choices = list(dict.fromkeys(tuple(sorted(spans)) for spans in wanted))
    levels = yield TextQuestion([without(reply, [*spans, *aside]) for spans in choices])
    return [Choice(level, spans) for level, spans in zip(levels, choices, strict=True)]


def _best(choices: Sequence[Choice], limit: float, likely: float) -> list[Choice]:
    """Return the least text that may well turn a verdict, then what most surely does, if any."""
    low = sorted(choice for choice in choices if choice.level < limit)
    least = [choice for choice in low if choice.level < likely]
    least.sort(key=lambda choice: sum(end - start for start, end in choice.spans))
    return list(dict.fromkeys([*least[:1], *low[:1]]))


def _phrases(
    reply: str, sentence: Span, limit: float, likely: float
) -> Generator[TextQuestion, Sequence[Any], list[Choice]]:
    """Return words of a sentence that is bad by itself, without which it is not, best first."""
    aside = [(0, sentence[0]), (sentence[1], len(reply))]
    phrases = by_phrase(reply, sentence, COARSE)
    choices = yield from _measured(reply, [[phrase] for phrase in phrases], aside)
    if all(choice.level >= likely for choice in choices):  # in a row: what took most away
        levels, runs = [choice.level for choice in choices], []
        for size in range(2, len(phrases)):
            ends = range(size, len(phrases) + 1)
            lowest = sorted(ends, key=lambda end: sum(levels[end - size : end]))[:RUNS]
            runs += [[(phrases[end - size][0], phrases[end - 1][1])] for end in lowest]
        choices += yield from _measured(reply, runs, aside)
    best = _best(choices, limit, likely)
    fine = by_phrase(reply, best[0].spans[0], FINE) if best else []
    if len(fine) > 1:
        choices += yield from _measured(reply, [[phrase] for phrase in fine], aside)
        best = _best(choices, limit, likely)
    return best


def _prove(
    reply: str, gauge: Gauge, choices: Sequence[Choice], adds: Sequence[Choice]
) -> Generator[TextQuestion, Sequence[Any], Evidence | None]:
    """Audit a reply without each choice; return the first that is no longer flagged."""
    for choice in choices:
        text = " ".join(without(reply, choice.spans).split())
        (proof,) = yield TextQuestion([text], proof=True)
        if not proof.is_judged or proof.flag:
            continue
        same = proof.gauge is not None and proof.gauge.rule == gauge.rule
        value = proof.gauge.value if same else choice.level
        turning = [
            EvidenceSpan(*span, reply[slice(*span)], gauge.value, value, turns=True)
            for span in sorted(choice.spans)
        ]
        more = [
            EvidenceSpan(*span, reply[slice(*span)], gauge.value, level)
            for level, (span,) in sorted(adds)
            if gauge.value - level >= ADDS
            and all(end <= span[0] or span[1] <= start for start, end in choice.spans)
        ]
        return Evidence((*turning, *more), change=ProvedEdit(CUT, text, value))
    return None
