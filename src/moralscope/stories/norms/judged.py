"""Frames with a judging word: "It's rude to …", "Lying is wrong.", "Nothing is wrong with …"."""

import re
from dataclasses import replace

from moralscope.stories.norms.judgments import (
    CLAUSE,
    FAR,
    THING,
    JudgingPhrase,
    Norm,
    act_norm,
    judging_words,
    judgment_in,
    vote,
)
from moralscope.stories.norms.phrases import (
    gerund_phrase,
    gerund_to_base,
    is_gerund,
    lower_start,
    objective,
    plain_act,
    split_clause,
    starts_with_gerund,
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


def _guess(before: str) -> JudgingPhrase | None:
    """Read "It shows maturity to ..." by its words."""
    if not re.match(r" (?:shows?|takes?|makes?|helps?|hurts?|pays|means)\b", before, re.I):
        return None
    side = vote(before)
    return (
        JudgingPhrase("good" if side > 0 else "bad", side, "bad" if side > 0 else "good")
        if side
        else None
    )


def _judged_act(
    opening: str, judged: JudgingPhrase, act: tuple[str, bool], who: str
) -> Norm | None:
    behaviour, negated = lower_start(act[0]), act[1]
    if not behaviour:
        return None
    whom = f" for {objective(who)}" if who else ""
    same, other = ("not ", "") if negated else ("", "not ")
    return act_norm(
        "it is … to",
        judged.word,
        judged.side,
        (behaviour, negated),
        who,
        flipped=f"{opening} {judged.opposite.strip()}{whom} to {same}{behaviour}",
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
        norm = _judged_act(opening, judged, parts[1:], parts[0])
        return norm and replace(norm, pattern="it is … that")
    if link["link"] is None:
        return (
            None if _NO_VERB.match(clause) else _judged_act(opening, judged, plain_act(clause), "")
        )
    flipped = f"{opening} {judged.opposite.strip()} {link['link'].lower()} {clause}"
    return Norm("it is … when", judged.word, judged.side, clause, kind=CLAUSE, flipped=flipped)


def bare_judgment(line: str) -> Norm | None:
    """Read "Good to …", "Normal for parents to …"."""
    word = judging_words().match(line)
    return it_is(f"It is {lower_start(line)}") if word and _TO.match(line, word.end()) else None


_COPULA = re.compile(
    r" (?:(?P<verb>is|are|was|were|can be|could be|may be|might be|would be|will be|should be"
    r"|must be|seems?|feels?|looks?|comes? off as|comes? across as)(?P<no> not| never)?"
    r"|(?P<nt>isn't|aren't|wasn't|can't be|cannot be|shouldn't be|should not be|should never be))"
    r"(?= )",
    re.I,
)
_PREDICATE_ENDS = re.compile(r" because | and (?:should|is|can|makes|you) ")
_MAKES = re.compile(r"\bmakes? (?:you|someone|people|others|them)$")
_NO_THING = re.compile(
    r"(?:it|if|this|that|there|what|he|she|they|you|i|we|which|who)('\w+)?", re.I
)
_PERSON = re.compile(
    r"(?P<who>you|people|one|they|we)(?P<be>'re| are| is)(?P<judged>(?: not)?(?: [\w-]+){1,4}?) "
    r"(?:to (?P<no>not )?(?P<act>\w.*)|for (?P<not>not )?(?P<ing>\w+ing\b.*))$",
    re.I,
)


def judged(line: str) -> Norm | None:
    """Read "Stealing is wrong", "Violence isn't okay", "To lie is bad"."""
    for copula in reversed(list(_COPULA.finditer(line))):
        subject = line[: copula.start()].strip()
        if not subject or _MAKES.search(subject) or _NO_THING.fullmatch(subject):
            continue
        predicate = _PREDICATE_ENDS.split(line[copula.end() :])[0].strip()
        word = judging_words().search(predicate)
        denial = "not " if copula["nt"] else (copula["no"] or "").lstrip() + " "
        judged = judgment_in(f"{denial}{predicate}")
        if judged is not None and word is not None and word.start() < FAR:
            verb: str = copula["verb"] or copula["nt"]
            for denied, plain in (("n't", ""), ("cannot", "can"), (" not", ""), (" never", "")):
                verb = verb.replace(denied, plain)
            return _judged_subject(subject, "can be" if verb == "ca be" else verb, judged)
    return None


def _judged_subject(subject: str, verb: str, judged: JudgingPhrase) -> Norm:
    flipped = f"{subject} {verb} {judged.opposite.strip()}"
    inner, negated = plain_act(subject)
    infinitive = re.match(r"to (?=\w)", inner, re.I)
    if not infinitive and not starts_with_gerund(inner):
        thing = lower_start(subject)
        return Norm(
            "… is", judged.word, judged.side, thing, subject=thing, kind=THING, flipped=flipped
        )
    act = inner[infinitive.end() :] if infinitive else gerund_to_base(inner)
    behaviour, negated = plain_act(act, negated=negated)
    other = ("" if negated else "not ") + gerund_phrase(behaviour)
    return act_norm(
        "…ing is",
        judged.word,
        judged.side,
        (behaviour, negated),
        flipped=flipped,
        denied="" if judged.permits else f"{other} {verb} {judged.same}",
        permits=judged.permits,
    )


def judged_person(line: str) -> Norm | None:
    """Read "You are right to …", "You're a bad friend for …ing"."""
    match = _PERSON.match(line)
    judged = judgment_in(match["judged"]) if match else None
    if match is None or judged is None:
        return None
    act = match["act"] or gerund_to_base(match["ing"])
    behaviour, negated = plain_act(act, negated=bool(match["no"] or match["not"]))
    link = "to" if match["act"] else "for"
    how = "not " * negated + (behaviour if match["act"] else gerund_phrase(behaviour))
    return act_norm(
        "you are …",
        judged.word,
        judged.side,
        (behaviour, negated),
        match["who"],
        flipped=f"{match['who']}{match['be']} {judged.opposite.strip()} {link} {how}",
    )


_WRONG_WITH = re.compile(
    r"there(?:'s| is) (?P<what>nothing|something) wrong (?:with|in|about) (?P<act>.+)", re.I
)
_NEED = re.compile(
    r"there(?:'s| is) (?P<no>no|a|good|every) (?P<what>need|reason|excuse) "
    r"(?:to (?P<act>.+)|for (?P<ing>\w+ing.*))",
    re.I,
)


def nothing_wrong(line: str) -> Norm | None:
    """Read "There's nothing wrong with …"."""
    match = _WRONG_WITH.match(line)
    if match is None:
        return None
    what = match["what"].lower()
    side, opposite = (1, "something") if what == "nothing" else (-1, "nothing")
    flipped = f"There's {opposite} wrong with {match['act']}"
    phrase, negated = plain_act(match["act"])
    if not starts_with_gerund(phrase):
        return Norm("… is", "wrong", side, phrase, subject=phrase, kind=THING, flipped=flipped)
    behaviour = gerund_to_base(phrase)
    other = ("" if negated else "not ") + gerund_phrase(behaviour)
    return act_norm(
        "…ing is",
        "wrong",
        side,
        (behaviour, negated),
        flipped=flipped,
        denied="" if side > 0 else f"There's {what} wrong with {other}",
        permits=side > 0,
    )


def no_need(line: str) -> Norm | None:
    """Read "There is no need to …", "There is no excuse for …ing"."""
    match = _NEED.match(line)
    if match is None:
        return None
    behaviour, negated = plain_act(match["act"] or gerund_to_base(match["ing"]))
    side, what = (-1, "good reason") if match["no"].lower() == "no" else (1, "no reason")
    return act_norm(
        "there is no need",
        match["what"].lower(),
        side,
        (behaviour, negated),
        flipped=f"There is {what} to {'not ' * negated}{behaviour}",
    )
