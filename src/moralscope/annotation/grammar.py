"""A few checks of grammar and of a rule's form: a hint beside the field, never a refusal.

Ziems et al. 2022 (appendix E.2) asked LanguageTool, a service on the network, and refused what it
faulted. These rules need no network and no model: each looks for one slip that has hardly any other
reading, so what is said is nearly always right, and most slips are not seen.
"""

import re
from collections.abc import Iterator

from moralscope.annotation.forms import shipped_data

_MOST = 3  # that are named
_TWICE_IS_FINE = (
    "that", "had", "very", "really", "so", "no", "ha", "bye", "far", "long", "do", "knock"
)  # fmt: skip
_SOUNDS_LIKE_YOU = (
    "unanim", "unicorn", "unif", "unil", "union", "uniq", "unis", "unit", "univ", "ubiq", "usab",
    "use", "using", "usu", "utens", "utili", "utop", "uran", "eu", "ewe", "one-", "once"
)  # fmt: skip
_SILENT_H = ("hour", "honest", "honor", "honour", "heir")
_EITHER_WAY = ("herb", "historic", "hotel", "horrific")
_AFTER_AND = (
    "that", "no", "not", "then", "the", "to", "they", "we", "he", "she", "my", "you"
)  # fmt: skip
_SHORT_FORMS = (
    "etc", "vs", "mr", "mrs", "ms", "dr", "st", "jr", "sr", "no", "approx", "e.g", "i.e"
)  # fmt: skip
_CLAUSE = (  # what comes before the subject of a clause; elsewhere "it" and "you" may be objects
    r"(?:^|[.!?;,]\s+|\b(?:and|but|because|that|if|when|while|since|so|then|unless|although)\s+)"
)
_CLAUSE_OF_ONE = _CLAUSE.replace("and|", "")  # "his sister and he are well"
_NOT_TOGETHER = r"(?<!\band )(?<!\bor )(?<!\bnor )(?<!\bthan )"
_ONE = {"are": "is", "have": "has", "don't": "doesn't", "aren't": "isn't", "haven't": "hasn't"}
_MANY = {"is": "are", "was": "were", "has": "have", "doesn't": "don't", "isn't": "aren't",
         "wasn't": "weren't", "hasn't": "haven't"}  # fmt: skip
_VERBS = (  # what stands before, the subject, its wrong verbs with the right ones
    (_CLAUSE, "it", _ONE),
    (_CLAUSE, "you", _MANY),
    (_CLAUSE_OF_ONE, "he|she", _ONE),
    (_NOT_TOGETHER, "they|we", _MANY),
    (_CLAUSE_OF_ONE, "I", {"is": "am", "has": "have", "doesn't": "don't", "are": "am"}),
)
_AGREEMENT = [
    (re.compile(rf"{before}(?<!\w)({subject})\s+({'|'.join(verbs)})(?![\w'])", re.I), verbs)
    for before, subject, verbs in _VERBS
]
_MIXED = [  # words that are taken for others, where the next word settles it
    (re.compile(pattern, re.IGNORECASE), better)
    for pattern, better in (
        (r"\b(should|could|would|must|might)(n't)? of\b(?! course)", r"\1\2 have"),
        (r"\b(better|worse|rather|more|less) then(?= (?:a|an|the|to|your|any|no|\w+ing)\b)",
         r"\1 than"),
        (r"\b(i)ts(?= (?:a|an|not|ok|okay|never|always)\b)", r"\1t's"),
        (r"\b(i)ts(?= (?:wrong|good|bad|rude|kind|nice|fine|important|unfair|fair) to\b)",
         r"\1t's"),
        (r"\b(y)our(?= (?:not|supposed|allowed|expected)\b)", r"\1ou're"),
        (r"(?<![\w.'-])(?-i:i)(?=$|\s|'(?:m|ve|d|ll)\b)", "I"),
    )
]  # fmt: skip
_MARKS = (  # spaces around marks
    (re.compile(r"(\w+)\s+([,.;!?])(?=\s|$)"), r"\1\2"),
    (re.compile(r"([A-Za-z]{2,})([,;])([A-Za-z]{2,})"), r"\1\2 \3"),
)
_CONTEXT = re.compile(
    r"\b(?:I|me|my|mine|(?:the|this) (?:chatbot|bot|ai|reply|answer|prompt|question|speaker))\b",
    re.IGNORECASE,
)


def grammar_hint(text: str) -> str | None:
    """Return a sentence for the person who wrote the text, or None where nothing was seen.

    Examples
    --------
    >>> grammar_hint("it are wrong, you should of asked")
    "Please look at the grammar: 'it are' (it is?); 'should of' (should have?); start with a \
capital; and 1 more."
    >>> grammar_hint("An honest man is a unit of his own; people who do it are rare.")
    """
    plain = text.strip().replace("’", "'")  # noqa: RUF001
    slips = (f"'{' '.join(seen.split())}' ({meant}?)" for seen, meant in _slips(plain))
    remarks = list(dict.fromkeys([*slips, *_ends(plain)]))
    if not remarks:
        return None
    more = f"; and {len(remarks) - _MOST} more" if len(remarks) > _MOST else ""
    return f"Please look at the grammar: {'; '.join(remarks[:_MOST])}{more}."


def _slips(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong and what was meant."""
    for pattern, verbs in _AGREEMENT:
        for match in pattern.finditer(text):
            subject, verb = match.groups()
            yield f"{subject} {verb}", f"{subject} {verbs[verb.lower()]}"
    for match in re.finditer(r"(?<![\w'-])(a|an|A|An)\s+([A-Za-z][A-Za-z'-]*)(?!\.\w)", text):
        article, word = match.groups()
        small = word.lower()
        starts = match.start() == 0 or text[: match.start()].rstrip().endswith((".", "!", "?"))
        if len(word) < 2 or word[1:] != word[1:].lower() or word[1] == "-" or small[0] == "x":
            continue  # letters and abbreviations are read out in their own way
        if article[0] == "A" and not starts:
            continue  # "plan A is"
        if small.startswith(_EITHER_WAY) or small == "us":
            continue
        vowel = small[0] in "aeiou" or small.startswith(_SILENT_H)  # as spoken
        if small.startswith(_SOUNDS_LIKE_YOU) or small in ("one", "oneself"):
            vowel = False
        if vowel != (len(article) == 2):
            better = article[0] + ("n" if vowel else "nd" if small in _AFTER_AND else "")
            yield match.group(), f"{better} {word}"
    for match in re.finditer(r"(?<![\w'-])([A-Za-z]+)\s+(\1)(?![\w'-])", text, re.IGNORECASE):
        first, second = match.groups()  # "Will will" is no slip, "The the" is
        same = first == second or first in ("The", "It", "You", "A", "An", "And", "If", "They")
        if same and first.lower() not in _TWICE_IS_FINE:
            yield match.group(), first
    for pattern, meant in (*_MIXED, *_MARKS):
        for match in pattern.finditer(text):
            yield match.group(), match.expand(meant)


def _ends(text: str) -> Iterator[str]:
    """Look at where sentences begin and the text ends."""
    for match in re.finditer(r"(?:^|(\S+)(?<!\.\.)([.!?])\s+)[\"'“(]?([a-z][\w'-]*)", text):
        before, word = (match.group(1) or "").lower().lstrip("(\"'"), match.group(3)
        is_short = before in _SHORT_FORMS or "." in before or len(before) == 1
        if not is_short and word == word.lower():  # not after "etc.", "U.S."; not "iPhone"
            yield "start with a capital"
    if text and not re.search(r"[.!?…][\"'”)\]]*$", text):
        yield "end with a full stop"


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
    context = list(dict.fromkeys(match.lower() for match in _CONTEXT.findall(text)))
    if context:
        named = " and ".join(f"'{'I' if word == 'i' else word}'" for word in context[:2])
        return f"Please write the rule for everybody, without {named}."
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower().replace("’", "'"))  # noqa: RUF001
    judging = shipped_data("judging_words.yaml")["words"].split()
    if set(words) & set(judging) or words[:1] == ["it's"] or words[:2] == ["it", "is"]:
        return None  # "It's thoughtful to …": the list cannot hold every such word
    return "Please say what is right or wrong: It's wrong to …; You should …; It's kind to …"
