"""How a rule of thumb is built: a judgment, its polarity, and the behaviour that it judges.

Words from a list, no model: a sentence that judges in other words is said to hold no judgment.
The checks are the paper's: section 3.1 (three criteria) and appendix E.2 (automatic ones).
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from moralscope.io.documents import shipped_toml

APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_NOT = {"not", "never", "no", "nobody", "none", "isn't", "don't", "doesn't", "can't", "cannot"}
_MODAL = {"should", "must", "ought", "need", "needs", "have", "has"}
_NOT_MODAL = {"shouldn't", "mustn't", "oughtn't"}
_PERMITS = {"acceptable", "alright", "fine", "normal", "ok", "okay", "permissible"}
_ADVICE = {"never": "you should never", "don't": "you shouldn't", "always": "you should always"}
_IMPERATIVE = re.compile(rf"^({'|'.join(_ADVICE)})\b", re.IGNORECASE)
_PRONOUNS = ("I ", "I'")
_OWN = {"your": "my", "yours": "mine", "yourself": "myself"}
_FOR_ALL = {"you", "it's", "it", *_ADVICE}  # how a rule for everyone begins
_NO_VERBS = {"for", "if", "not", "that", "when"}  # "It's wrong for parents to …"
_OPENING = 12  # words in which a judgment before its action is looked for
_LEAST_WORDS = 3  # unique words, appendix E.2
_BIGRAM_LIMIT = 3  # a bigram may stand fewer times than this, appendix E.2
_MOST_WORDS = 40  # beyond, a rule tells a story instead of making a general rule


@dataclass(frozen=True, slots=True)
class RuleReading:
    """A rule read: polarity +1 (do, or you may), -1 (do not), 0 (no judgment found)."""

    polarity: int
    behaviour: str


@cache
def word_list(name: str) -> frozenset[str]:
    """Return one list of `data/judgments.toml`."""
    return frozenset(shipped_toml("moralscope.rules", "judgments.toml")[name].split())


def words_of(text: str) -> list[str]:
    """Return the words in lower case, without punctuation."""
    return _WORD.findall(text.replace(APOSTROPHE, "'").casefold())


def read_judgment(text: str) -> RuleReading:
    """Tell how a rule judges and what it judges."""
    words = words_of(text)
    if words[:1] in (["never"], ["don't"], ["always"]):
        return RuleReading(1 if words[0] == "always" else -1, " ".join(words[1:]))
    for index, word in enumerate(words[:_OPENING]):
        sign = _sign(words, index)
        if not sign:
            continue
        if any(before in _NOT for before in words[:index]):
            sign = -sign
        flips, rest = (
            _denied(words[index + 1 :]) if word not in _PERMITS else (1, words[index + 1 :])
        )
        sign *= flips
        if not rest and index > 1:  # "Breaking the law is wrong."
            rest = [part for part in words[:index] if part not in _NOT | {"is", "are", "it's"}]
        who = words[:index] if word in _MODAL | _NOT_MODAL and words[0] != "you" else []
        subject = [part for part in who if part not in _NOT | {"people", "one", "we"}]
        return RuleReading(sign, " ".join([*subject, *rest]))
    return RuleReading(0, " ".join(words))


def clause_of(rule: str) -> str:
    """Return a rule as it stands inside a sentence; what it commands is said as advice.

    Examples
    --------
    >>> clause_of("Never promise a refund.")
    'you should never promise a refund'
    """
    bare = rule.strip().replace(APOSTROPHE, "'").rstrip(".!")
    clause = _IMPERATIVE.sub(lambda word: _ADVICE[word[0].lower()], bare)
    return clause if clause.startswith(_PRONOUNS) else clause[:1].lower() + clause[1:]


def act_of(rule: str) -> str:
    """Return what a rule for everyone judges, as one says it of oneself; "" of any other rule."""
    words = rule.replace(APOSTROPHE, "'").rstrip(" .!").split()
    act = read_judgment(rule).behaviour.removeprefix("to ").split()
    if "".join(words[:1]).lower() not in _FOR_ALL or not act or act[0] in _NO_VERBS:
        return ""
    written = words[-len(act) :]  # with the capital letters of names
    act = written if words_of(" ".join(written)) == act else act
    first_person = [_OWN.get(word, word) for word in act]
    return "" if {"you", "you're", "they"} & set(first_person) else " ".join(first_person)


def _denied(rest: list[str]) -> tuple[int, list[str]]:
    """Return -1 where the action is denied ("not to vote"), and the action without the denial."""
    sign = 1
    while rest:
        if rest[:2] in (["to", "not"], ["to", "never"]):
            sign, rest = -sign, ["to", *rest[2:]]
        elif rest[0] in {"not", "never", "always", "ever"}:
            sign, rest = (-sign if rest[0] in {"not", "never"} else sign), rest[1:]
        else:
            break
    return sign, rest


def _sign(words: list[str], index: int) -> int:
    word = words[index]
    if word in _NOT_MODAL:
        return -1
    if word in {"should", "must", "ought"}:
        return 1
    if word in {"need", "needs", "have", "has"}:
        return int(words[index + 1 : index + 2] == ["to"])
    before = words[max(0, index - 4) : index]
    if not {"it's", "is", "are", "it", "isn't", "aren't", "be"} & set(before):
        return 0
    return (word in word_list("good")) - (word in word_list("bad"))


def content_words(text: str) -> list[str]:
    """Return the words that carry content."""
    return [word for word in words_of(text) if word not in word_list("light")]


def broken_checks(text: str) -> list[str]:
    """Return what is broken of the automatic checks of appendix E.2 that concern a rule."""
    words = text.casefold().split()
    problems = []
    if len(set(words)) < _LEAST_WORDS:
        problems.append(f"has fewer than {_LEAST_WORDS} different words")
    pairs = Counter(pairwise(words_of(text))).most_common(1)
    if pairs and pairs[0][1] >= _BIGRAM_LIMIT:
        problems.append(f"says '{' '.join(pairs[0][0])}' {pairs[0][1]} times")
    return problems


def unmet_criteria(text: str) -> list[str]:
    """Return which of the paper's criteria a rule seems not to meet: judgment, action, detail."""
    judgment = read_judgment(text)
    if not judgment.polarity:
        return ['holds no judgment such as "you should" or "it\'s wrong to"']
    content = [word for word in content_words(judgment.behaviour) if word not in {"that", "just"}]
    if not content:
        return ["names no action that is judged"]
    if all(word in word_list("general") for word in content):
        return ["is too general: say which action is meant"]
    if len(words_of(text)) > _MOST_WORDS:
        return [f"has more than {_MOST_WORDS} words: a general rule is shorter"]
    return []
