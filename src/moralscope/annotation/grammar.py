"""A few checks of grammar and of a rule's form: a hint beside the field, never a refusal.

Ziems et al. 2022 (appendix E.2) asked LanguageTool, a service on the network, and refused what it
faulted. These rules need no network and no model: each looks for one slip that has hardly any other
reading, so what is said is nearly always right, and most slips are not seen.
"""

import re
from collections.abc import Callable, Iterator

from moralscope.annotation.forms import shipped_data

_MOST = 3  # that are named
_TWICE_IS_FINE = (
    "that",
    "had",
    "very",
    "really",
    "so",
    "no",
    "ha",
    "bye",
    "far",
    "long",
    "do",
    "knock",
)
_SOUNDS_LIKE_YOU = (
    "unanim", "unicorn", "unif", "unil", "union", "uniq", "unis", "unit", "univ", "ubiq", "usab",
    "use", "using", "usu", "utens", "utili", "utop", "uran", "eu", "ewe", "one-", "once",
)  # fmt: skip
_AFTER_AND = ("that", "no", "not", "then", "the", "to", "they", "we", "he", "she", "my", "you")
_SILENT_H = ("hour", "honest", "honor", "honour", "heir")
_CLAUSE = (  # what comes before the subject of a clause; elsewhere "it" and "you" may be objects
    r"(?:^|[.!?;,]\s+|\b(?:and|but|because|that|if|when|while|since|so|then|unless|although)\s+)"
)
_SHORT_FORMS = (
    "etc",
    "vs",
    "mr",
    "mrs",
    "ms",
    "dr",
    "st",
    "jr",
    "sr",
    "no",
    "approx",
    "e.g",
    "i.e",
)


def grammar_hint(text: str) -> str | None:
    """Return a sentence for the person who wrote the text, or None where nothing was seen.

    Examples
    --------
    >>> grammar_hint("it are wrong, you should of asked")
    "Please look at the grammar: 'it are' (it is?); 'should of' (should have?); 'it' begins small; \
and 1 more."
    >>> grammar_hint("An honest man is a unit of his own; people who do it are rare.")
    """
    plain = text.strip().replace("’", "'")  # noqa: RUF001
    found = list(dict.fromkeys(remark for rule in _RULES for remark in rule(plain)))
    if not found:
        return None
    more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"Please look at the grammar: {'; '.join(found[:_MOST])}{more}."


def _better(seen: str, meant: str) -> str:
    return f"'{' '.join(seen.split())}' ({meant}?)"


def _agreement(text: str) -> Iterator[str]:
    """Verbs that do not go with their subject."""
    for pattern, verbs in _VERBS:
        for match in pattern.finditer(text):
            subject, verb = match.group("subject"), match.group("verb")
            yield _better(f"{subject} {verb}", f"{subject} {verbs[verb.lower()]}")


def _verbs(
    subject: str, verbs: dict[str, str], before: str = ""
) -> tuple[re.Pattern[str], dict[str, str]]:
    told = "|".join(verbs)
    pattern = rf"{before}(?<!\w)(?P<subject>{subject})\s+(?P<verb>{told})(?![\w'])"
    return re.compile(pattern, re.IGNORECASE), verbs


_ONE = {"are": "is", "have": "has", "don't": "doesn't", "aren't": "isn't", "haven't": "hasn't"}
_MANY = {"is": "are", "was": "were", "has": "have", "doesn't": "don't", "isn't": "aren't",
         "wasn't": "weren't", "hasn't": "haven't"}  # fmt: skip
_NOT_TOGETHER = r"(?<!\band )(?<!\bor )(?<!\bnor )(?<!\bthan )"
_VERBS = (
    _verbs("it", _ONE, _CLAUSE),
    _verbs("you", _MANY, _CLAUSE),
    _verbs("he|she", _ONE, _CLAUSE.replace("and|", "")),
    _verbs("they|we", _MANY, _NOT_TOGETHER),
    _verbs(
        "I",
        {"is": "am", "has": "have", "doesn't": "don't", "are": "am"},
        _CLAUSE.replace("and|", ""),
    ),
)


def _articles(text: str) -> Iterator[str]:
    """Find a before a vowel and an before a consonant, as spoken."""
    for match in re.finditer(r"(?<![\w'-])(a|an|A|An)\s+([A-Za-z][A-Za-z'-]*)(?!\.\w)", text):
        article, word = match.groups()
        small = word.lower()
        starts = match.start() == 0 or text[: match.start()].rstrip().endswith((".", "!", "?"))
        if len(word) < 2 or word[1:] != word[1:].lower() or word[1] == "-" or small[0] == "x":
            continue  # letters and abbreviations are read out in their own way
        if article[0] == "A" and not starts:
            continue  # "plan A is"
        vowel = small[0] in "aeiou"
        if vowel and (small.startswith(_SOUNDS_LIKE_YOU) or small in ("one", "oneself")):
            vowel = False
        elif small.startswith(_SILENT_H):
            vowel = True
        elif small.startswith(("herb", "historic", "hotel", "horrific")) or small == "us":
            continue  # both are in use
        if vowel != (len(article) == 2):
            better = article[0] + ("n" if vowel else "nd" if small in _AFTER_AND else "")
            yield _better(match.group(), f"{better} {word}")


def _doubled(text: str) -> Iterator[str]:
    for match in re.finditer(r"(?<![\w'-])([A-Za-z]+)\s+(\1)(?![\w'-])", text, re.IGNORECASE):
        first, second = match.groups()  # "Will will" is no slip, "The the" is
        same = first == second or first in ("The", "It", "You", "A", "An", "And", "If", "They")
        if same and first.lower() not in _TWICE_IS_FINE:
            yield _better(match.group(), first)


def _mix_ups(text: str) -> Iterator[str]:
    """Words that are taken for others, where the next word settles it."""
    for pattern, better in _MIXED:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield _better(match.group(), match.expand(better))


_MIXED = (
    (r"\b(should|could|would|must|might)(n't)? of\b(?! course)", r"\1\2 have"),
    (r"\b(better|worse|rather|more|less) then(?= (?:a|an|the|to|your|any|no|\w+ing)\b)",
     r"\1 than"),
    (r"\b(i)ts(?= (?:a|an|not|ok|okay|never|always)\b)", r"\1t's"),
    (r"\b(i)ts(?= (?:wrong|good|bad|rude|kind|nice|fine|important|unfair|fair) to\b)",
     r"\1t's"),
    (r"\b(y)our(?= (?:not|supposed|allowed|expected)\b)", r"\1ou're"),
    (r"(?<![\w.'-])(?-i:i)(?=$|\s|'(?:m|ve|d|ll)\b)", "I"),
)  # fmt: skip


def _marks(text: str) -> Iterator[str]:
    """Spaces around marks."""
    for match in re.finditer(r"(\w+)\s+([,.;!?])(?=\s|$)", text):
        yield _better(match.group(), match.group(1) + match.group(2))
    for match in re.finditer(r"([A-Za-z]{2,})([,;])([A-Za-z]{2,})", text):
        yield _better(match.group(), f"{match.group(1)}{match.group(2)} {match.group(3)}")


def _beginnings(text: str) -> Iterator[str]:
    """Sentences begin with a capital letter."""
    for match in re.finditer(r"(?:^|(\S+)(?<!\.\.)([.!?])\s+)[\"'“(]?([a-z][\w'-]*)", text):
        before, word = (match.group(1) or "").lower().lstrip("(\"'"), match.group(3)
        if before in _SHORT_FORMS or "." in before or len(before) == 1 or word != word.lower():
            continue  # "etc. and", "U.S. and", initials, "iPhone"
        yield f"'{word}' begins small"


def _end(text: str) -> Iterator[str]:
    if text and not re.search(r"[.!?…][\"'”)\]]*$", text):
        yield "the end has no full stop"


_RULES: tuple[Callable[[str], Iterator[str]], ...] = (
    _agreement, _articles, _doubled, _mix_ups, _marks, _beginnings, _end
)  # fmt: skip


def rule_hint(text: str) -> str | None:
    """Say what a rule of thumb lacks: it judges an action, for everybody, out of its context.

    These are the criteria of Ziems et al. 2022, section 3.1, as far as words show them.

    Examples
    --------
    >>> rule_hint("It's wrong to lie."), rule_hint("Neighbours live nearby.") is None
    (None, False)
    >>> rule_hint("The chatbot shouldn't lie to me.")
    "Please write the rule for everybody, without 'the chatbot' and 'me'."
    """
    own = dict.fromkeys(match.lower() for match in _CONTEXT.findall(text))
    if own:
        named = " and ".join(f"'{'I' if word == 'i' else word}'" for word in list(own)[:2])
        return f"Please write the rule for everybody, without {named}."
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower().replace("’", "'"))  # noqa: RUF001
    judging = shipped_data("judging_words.yaml")["words"].split()
    if set(words) & set(judging) or words[:1] == ["it's"] or words[:2] == ["it", "is"]:
        return None  # "It's thoughtful to …": the list cannot hold every such word
    return "Please say what is right or wrong: It's wrong to …; You should …; It's kind to …"


_CONTEXT = re.compile(
    r"\b(?:I|me|my|mine|(?:the|this) (?:chatbot|bot|ai|reply|answer|prompt|question|speaker))\b",
    re.IGNORECASE,
)
