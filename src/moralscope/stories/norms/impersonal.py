"""Frames that begin with "It is": "It's rude to …", "It's annoying when people …"."""

import re
from dataclasses import replace

from moralscope.stories.norms.judgments import (
    Judgment,
    judging_words,
    judgment_in,
    vote,
)
from moralscope.stories.norms.norm import (
    CLAUSE,
    FAR,
    Norm,
    subject_of,
)
from moralscope.stories.norms.phrases import (
    gerund_to_base,
    is_gerund,
    lower_start,
    objective,
    plain_act,
    split_clause,
)

_IT = re.compile(
    r"(?:(?:it|this|that) (?:can|could|may|might|would|will|must|should) be|it'?(?:ll|d) be"
    r"|it (?:seems?|feels?|looks?)|it(?:'s|s)? is(?: is)?|(?:this|that) is|it was|is it|is is"
    r"|it''?s|it'|its'?|i's|if is|(?:that|this)'s|it|is)(?= )",
    re.I,
)
_IT_NOT = re.compile(r"it (?:isn'?t|is not|wasn'?t|can'?t be|cannot be|shouldn'?t be)(?= )", re.I)
_TO = re.compile(r" (?:(?:of|for) (?P<who>[^,]{1,60}?) )?(?P<no>not |never )?to (?=\w)", re.I)
_TOWARDS = re.compile(
    r"(?:your|one's|others?|people|someone|somebody|the|them|us|you|everyone|an?)\b.* to ", re.I
)
_LINK = re.compile(r" (?:of |from )?(?P<link>that|when(?:ever)?|if)? ?(?=\w)", re.I)
_NO_VERB = re.compile(
    r"(?:in|on|at|of|by|with|for|to|and|or|as|way|thing|things|idea|the|an?|my|his|her|their)\b",
    re.I,
)
_MORE_JUDGING = re.compile(r"(?: and|,) (?=\w)")


def it_is(line: str) -> Norm | None:
    """Read "It's rude to …" and, without a "to", its clauses."""
    denied = _IT_NOT.match(line)
    head = denied or _IT.match(line)
    if head is None:
        return None
    opening = "It's" if denied else _opening(head[0])
    rest = (" not" if denied else "") + line[head.end() :]
    for link in _TO.finditer(rest):
        before, act = rest[: link.start()], rest[link.end() :]
        if link.start() > FAR or re.search(r" (?:when|that|if|you|people) ", before + " "):
            break
        if _TOWARDS.match(act) or not _only_judges(before):  # "rude to your family to ..."
            continue
        judged = judgment_in(before) or _guess(before)
        if judged is not None:
            behaviour = plain_act(act, negated=bool(link["no"]))
            return _judged_act(opening, judged, behaviour, link["who"] or "")
    return _it_clause(opening, rest)


def _opening(head: str) -> str:
    lower = head.lower()
    if lower in ("its", "its'", "it'", "it''s", "i's"):
        return "It's"
    if lower in ("it", "is") or ("is" in lower.split() and not lower.startswith("th")):
        return "It is"
    return head[0].upper() + head[1:]


def _only_judges(before: str) -> bool:
    """Tell "frowned upon in society" from "good show kindness", where the "to" was forgotten."""
    words = list(judging_words().finditer(before))
    after = before[words[-1].end() :].split() if words else []
    return len(after) <= 1 or after[0].lower() in ("in", "of", "to", "for", "by", "and", "on")


def _guess(before: str) -> Judgment | None:
    """Read "It shows maturity to ..." by its words."""
    if not re.match(r" (?:shows?|takes?|makes?|helps?|hurts?|pays|means)\b", before, re.I):
        return None
    side = vote(before)
    return (
        Judgment("good" if side > 0 else "bad", side, "bad" if side > 0 else "good")
        if side
        else None
    )


def _judged_act(opening: str, judged: Judgment, act: tuple[str, bool], who: str) -> Norm | None:
    behaviour, negated = lower_start(act[0]), act[1]
    if not behaviour:
        return None
    whom = f" for {objective(who)}" if who else ""
    own, other = ("not ", "") if negated else ("", "not ")
    return Norm(
        "",
        "it is … to",
        judged.word,
        -judged.side if negated else judged.side,
        behaviour,
        negated,
        who or subject_of(behaviour),
        flipped=f"{opening} {judged.opposite.strip()}{whom} to {own}{behaviour}",
        denied="" if judged.permits else f"{opening} {judged.same}{whom} to {other}{behaviour}",
        permits=judged.permits,
    )


def _it_clause(opening: str, rest: str) -> Norm | None:
    """Read "It's expected that you …", "It's annoying when people …", "It's wrong steal …"."""
    word = judging_words().search(rest)
    if word is None or word.start() > FAR:
        return None
    end = word.end()
    while (more := _MORE_JUDGING.match(rest, end)) and (
        word := judging_words().match(rest, more.end())
    ):
        end = word.end()
    judged, link = judgment_in(rest[:end]), _LINK.match(rest, end)
    if judged is None or link is None:
        return None
    clause = rest[link.end() :]
    if link["link"] is None:
        phrase, negated = plain_act(clause)
        if is_gerund(phrase.split()[0]):
            return _judged_act(opening, judged, (gerund_to_base(phrase), negated), "")
    parts = split_clause(clause)
    if parts is not None:
        found = _judged_act(opening, judged, parts[1:], parts[0])
        return found and replace(found, pattern="it is … that")
    if link["link"] is None:
        return (
            None if _NO_VERB.match(clause) else _judged_act(opening, judged, plain_act(clause), "")
        )
    flipped = f"{opening} {judged.opposite.strip()} {link['link'].lower()} {clause}"
    return Norm("", "it is … when", judged.word, judged.side, clause, kind=CLAUSE, flipped=flipped)


def bare_judgment(line: str) -> Norm | None:
    """Read "Good to …", "Normal for parents to …"."""
    word = judging_words().match(line)
    return it_is(f"It is {lower_start(line)}") if word and _TO.match(line, word.end()) else None
