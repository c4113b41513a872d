"""A few checks of grammar and of a rule's form: a hint beside the field, never a refusal.

Ziems et al. 2022 (appendix E.2) asked LanguageTool, a service on the network, and refused what it
faulted. These rules need no network and no model: each looks for one slip that has hardly any other
reading, so what is said is nearly always right, and most slips are not seen. Words and patterns are
in `data/grammar.yaml`.
"""

import re
from collections.abc import Iterator
from functools import cache

from moralscope.annotation.forms import shipped_data

_MOST = 3  # that are named
_CONTEXT = re.compile(
    r"\b(?:I|me|my|mine|(?:the|this) (?:chatbot|bot|ai|reply|answer|prompt|question|speaker))\b",
    re.IGNORECASE,
)


def grammar_hint(text: str) -> str | None:
    """Return a sentence for the person who wrote the text, or None where nothing was seen."""
    plain = text.strip().replace("’", "'")  # noqa: RUF001
    slips = (f"'{' '.join(seen.split())}' ({meant}?)" for seen, meant in _slips(plain))
    remarks = list(dict.fromkeys([*slips, *_ends(plain)]))
    if not remarks:
        return None
    more = f"; and {len(remarks) - _MOST} more" if len(remarks) > _MOST else ""
    return f"Please look at the grammar: {'; '.join(remarks[:_MOST])}{more}."


def _slips(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong and what was meant."""
    data, words = shipped_data("grammar.yaml"), _words()
    for rule in data["verbs"]:
        verbs = "|".join(rule["wrong"])
        pattern = (
            rf"{data['before'][rule['before']]}(?<!\w)({rule['subject']})\s+({verbs})(?![\w'])"
        )
        for match in re.finditer(pattern, text, re.IGNORECASE):
            subject, verb = match.groups()
            yield f"{subject} {verb}", f"{subject} {rule['wrong'][verb.lower()]}"
    for match in re.finditer(r"(?<![\w'-])(a|an|A|An)\s+([A-Za-z][A-Za-z'-]*)(?!\.\w)", text):
        article, word = match.groups()
        small = word.lower()
        starts = match.start() == 0 or text[: match.start()].rstrip().endswith((".", "!", "?"))
        if len(word) < 2 or word[1:] != word[1:].lower() or word[1] == "-" or small[0] == "x":
            continue  # letters and abbreviations are read out in their own way
        if article[0] == "A" and not starts:
            continue  # "plan A is"
        if small.startswith(words["either_way"]) or small == "us":
            continue
        vowel = small[0] in "aeiou" or small.startswith(words["silent_h"])  # as spoken
        if small.startswith(words["sounds_like_you"]) or small in ("one", "oneself"):
            vowel = False
        if vowel != (len(article) == 2):
            better = article[0] + ("n" if vowel else "nd" if small in words["after_and"] else "")
            yield match.group(), f"{better} {word}"
    for match in re.finditer(r"(?<![\w'-])([A-Za-z]+)\s+(\1)(?![\w'-])", text, re.IGNORECASE):
        first, second = match.groups()  # "Will will" is no slip, "The the" is
        same = first == second or first in ("The", "It", "You", "A", "An", "And", "If", "They")
        if same and first.lower() not in words["twice_is_fine"]:
            yield match.group(), first
    for rule in data["mixed"]:
        for match in re.finditer(rule["wrong"], text, re.IGNORECASE):
            yield match.group(), match.expand(rule["right"])


@cache
def _words() -> dict[str, tuple[str, ...]]:
    lists = shipped_data("grammar.yaml")["words"]
    return {name: tuple(words.split()) for name, words in lists.items()}


def _ends(text: str) -> Iterator[str]:
    """Look at where sentences begin and the text ends."""
    for match in re.finditer(r"(?:^|(\S+)(?<!\.\.)([.!?])\s+)[\"'“(]?([a-z][\w'-]*)", text):
        before, word = (match.group(1) or "").lower().lstrip("(\"'"), match.group(3)
        is_short = before in _words()["short_forms"] or "." in before or len(before) == 1
        if not is_short and word == word.lower():  # not after "etc.", "U.S."; not "iPhone"
            yield "start with a capital"
    if text and not re.search(r"[.!?…][\"'”)\]]*$", text):
        yield "end with a full stop"


def rule_hint(text: str) -> str | None:
    """Say what a rule of thumb lacks: it judges an action, for everybody, out of its context.

    These are the criteria of Ziems et al. 2022, section 3.1, as far as words show them.
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
