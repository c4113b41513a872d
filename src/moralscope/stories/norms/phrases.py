"""Verb phrases and their subjects: "not to pay", "avoid paying", "people who pay". No judgment."""

import re

from moralscope.stories.norms.inflection import (
    base_of_finite,
    base_of_gerund,
    gerund_of_base,
    tables,
    third_person,
)

_NOT = re.compile(r"(?:absolutely |really |definitely |just )?(?:not|never)(?: ever)? ", re.I)
_ALWAYS = re.compile(r"always ", re.I)
_AVOID = re.compile(
    r"(?:be ashamed of|avoid|refrain from|abstain from|stay away from) (?=\w)", re.I
)
_ING = re.compile(r"[a-z-]*[a-z]{2}ing", re.I)
_JOINED_ING = re.compile(r"((?: and| or|,) (?:then |not )?)(\w+ing)\b")
_RELATIVE = re.compile(r" (?:who|that|which|in|of|with|from|at|on|for|to|without|about|under)\b")
_AUXILIARY = re.compile(
    r"^(?P<who>.{1,60}?)(?P<aux> (?:will|would|should|shall|can|must|may)(?: not| never| always)?"
    r"| won'?t| don'?t| do not| doesn'?t| does not| isn'?t| aren'?t| is not| are not| shouldn'?t"
    r"| cannot| can't|'ll(?: not| never)?| with(?= \w+ most)) (?=\w)",
    re.I,
)
_SINGULAR = ("one", "everyone", "everybody", "someone", "somebody", "anyone", "family")
_DETERMINERS = ("a", "an", "every", "each", "this", "that", *_SINGULAR[:-1])
# An auxiliary after these belongs to an inner clause: "a boss takes things that don't ...".
_INNER = re.compile(r" (?:that|which|what|when|if|because)\b|(?: \S+){7}", re.I)


def plain_act(text: str, *, negated: bool = False) -> tuple[str, bool]:
    """Strip "not", "never", "always" and "avoid" off a verb phrase; say if it was negated."""
    words = text.strip()
    while True:
        if match := _NOT.match(words):
            negated = not negated
        elif match := _ALWAYS.match(words):
            pass
        elif (match := _AVOID.match(words)) and starts_with_gerund(words[match.end() :]):
            return plain_act(gerund_to_base(words[match.end() :]), negated=not negated)
        else:
            return words, negated
        words = words[match.end() :]


def split_clause(clause: str) -> tuple[str, str, bool] | None:
    """Split "people won't help" into who, the base verb phrase, and whether it is negated."""
    names = "|".join(tables()["subjects"]["known"])
    plain = re.match(
        rf"(?P<who>(?:(?:all|most|some|other|your|their|the|our) )?(?:{names}))"
        r"(?P<are>'re(?: not)?)? (?=[a-z])",
        clause,
        re.I,
    )
    follows = clause[plain.end() :].split(" ", maxsplit=1)[0].lower() if plain else ""
    if follows in ("who", "that", "whose", "and", "or"):
        return None
    auxiliary = _AUXILIARY.match(clause)
    if auxiliary and not _INNER.search(auxiliary["who"]):
        near = not plain or follows in ("in", "of", "with", "at", "on", "from", "to")
        if near or auxiliary.start("aux") <= plain.end() + 8:  # type: ignore[union-attr]
            denied = bool(re.search(r"n'?t$|not|never", auxiliary["aux"]))
            be_form = "be " if re.match(r" (?:is|are)", auxiliary["aux"]) else ""
            return auxiliary["who"], *plain_act(be_form + clause[auxiliary.end() :], negated=denied)
    if plain is None or not follows:
        return None
    who, rest = plain["who"], clause[plain.end() :]
    if plain["are"]:
        return who, f"be {rest}", "not" in plain["are"]
    adverb, verb, tail = first_verb(rest)
    if adverb.strip() in ("never", "not"):
        return who, base_of_finite(verb) + tail, True
    agrees = who.lower().split()[-1] in _SINGULAR or verb.lower() in ("are", "is", "has")
    adverb = "" if adverb.strip() == "always" else adverb
    return who, adverb + (base_of_finite(verb) if agrees else verb) + tail, False


def starts_with_gerund(line: str) -> bool:
    """Tell whether the first word that is no adverb is a verb in -ing."""
    words = line.split()
    while len(words) > 1 and _is_adverb(words[0]):
        words = words[1:]
    return bool(words) and is_gerund(words[0])


def is_gerund(word: str) -> bool:
    """Tell "stealing" from "something"."""
    return bool(_ING.fullmatch(word)) and tables()["gerunds"].get(word.lower()) != word.lower()


def first_verb(phrase: str) -> tuple[str, str, str]:
    """Split a verb phrase into adverbs, the verb and the rest."""
    words = phrase.split(" ")
    verb = 0
    while verb < len(words) - 1 and _is_adverb(words[verb]):
        verb += 1
    head = "".join(word + " " for word in words[:verb])
    return head, words[verb], phrase[len(head) + len(words[verb]) :]


def gerund_to_base(phrase: str) -> str:
    """Turn the verbs in -ing that lead a phrase into base forms.

    Examples
    --------
    >>> gerund_to_base("Stealing and hiding cars")
    'steal and hide cars'
    """
    adverb, verb, rest = first_verb(phrase)

    def joined(match: re.Match[str]) -> str:
        return match[1] + (base_of_gerund(match[2]) if is_gerund(match[2]) else match[2])

    return adverb.lower() + base_of_gerund(verb) + _JOINED_ING.sub(joined, rest)


def gerund_phrase(phrase: str) -> str:
    """Turn the verb that leads a phrase into its -ing form.

    Examples
    --------
    >>> gerund_phrase("openly steal a car")
    'openly stealing a car'
    """
    adverb, verb, rest = first_verb(phrase)
    return adverb + gerund_of_base(verb) + rest


def finite(who: str, phrase: str, *, negated: bool = False) -> str:
    """Turn a base verb phrase into the present tense of a subject."""
    adverb, verb, rest = first_verb(phrase)
    if verb == "be":
        denial = "n't" if negated else ""
        return f"{be(who)}{denial} {adverb}{rest.strip()}".strip()
    if negated:
        return f"{'do' if is_plural(who) else 'does'}n't {phrase}"
    return phrase if is_plural(who) else adverb + third_person(verb) + rest


def is_plural(who: str) -> bool:
    """Tell whether a subject takes "are"."""
    words = who.lower().split()
    if not words or words[0] in _DETERMINERS or who.lower() == "family":
        return False
    head = _RELATIVE.split(who.lower())[0].split() or words
    if "and" in head or head[-1] in tables()["subjects"]["plural"]:
        return True
    return head[-1].endswith("s") and not head[-1].endswith(("ss", "us", "is", "'s"))


def be(who: str) -> str:
    """Return the form of "be" that agrees with a subject."""
    return "are" if is_plural(who) else "is"


def objective(who: str) -> str:
    """Return the form that a subject takes after "for"."""
    return {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}.get(who.lower(), who)


def lower_start(text: str) -> str:
    """Return the text as it stands inside a sentence; "NASA" and "I" keep their case."""
    first = text.split(" ", maxsplit=1)[0]
    return (
        text
        if first.isupper() and (len(first) > 1 or first == "I")
        else text[:1].lower() + text[1:]
    )


def _is_adverb(word: str) -> bool:
    lower = word.lower()
    table = tables()["adverbs"]
    return lower in table["words"] or (lower.endswith("ly") and lower not in table["not"])
