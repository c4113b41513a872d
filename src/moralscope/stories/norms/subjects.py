"""Frames that judge their subject: "…ing is wrong", "You are right to …", "Nothing wrong with"."""

import re

from moralscope.stories.norms.judgments import (
    Judgment,
    judging_words,
    judgment_in,
)
from moralscope.stories.norms.norm import (
    FAR,
    THING,
    Norm,
    subject_of,
)
from moralscope.stories.norms.phrases import (
    gerund_phrase,
    gerund_to_base,
    lower_start,
    plain_act,
    starts_with_gerund,
)

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
            return _judged_subject(subject, _affirmed(copula), judged)
    return None


def _affirmed(copula: re.Match[str]) -> str:
    verb: str = copula["verb"] or copula["nt"]
    for denial, plain in (("n't", ""), ("cannot", "can"), (" not", ""), (" never", "")):
        verb = verb.replace(denial, plain)
    return "can be" if verb == "ca be" else verb


def _judged_subject(subject: str, verb: str, judged: Judgment) -> Norm:
    flipped = f"{subject} {verb} {judged.opposite.strip()}"
    inner, negated = plain_act(subject)
    infinitive = re.match(r"to (?=\w)", inner, re.I)
    if not infinitive and not starts_with_gerund(inner):
        thing = lower_start(subject)
        return Norm(
            "", "… is", judged.word, judged.side, thing, subject=thing, kind=THING, flipped=flipped
        )
    act = inner[infinitive.end() :] if infinitive else gerund_to_base(inner)
    behaviour, negated = plain_act(act, negated=negated)
    other = ("" if negated else "not ") + gerund_phrase(behaviour)
    return Norm(
        "",
        "…ing is",
        judged.word,
        -judged.side if negated else judged.side,
        behaviour,
        negated,
        subject_of(behaviour),
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
    return Norm(
        "",
        "you are …",
        judged.word,
        -judged.side if negated else judged.side,
        behaviour,
        negated,
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
        return Norm("", "… is", "wrong", side, phrase, subject=phrase, kind=THING, flipped=flipped)
    behaviour = gerund_to_base(phrase)
    other = ("" if negated else "not ") + gerund_phrase(behaviour)
    return Norm(
        "",
        "…ing is",
        "wrong",
        -side if negated else side,
        behaviour,
        negated,
        subject_of(behaviour),
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
    return Norm(
        "",
        "there is no need",
        match["what"].lower(),
        -side if negated else side,
        behaviour,
        negated,
        subject_of(behaviour),
        flipped=f"There is {what} to {'not ' * negated}{behaviour}",
    )
