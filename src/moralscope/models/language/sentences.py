"""Where the first sentence of a growing text ends. Knows English punctuation, no grammar."""

import re

_END = re.compile(r"(?:[.!?…]+[\"'”\u2019)\]]*)(?=\s|$)|\n")
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "mt", "fr", "cf"})
_SHORT = frozenset({"a.m", "p.m", "etc", "jr", "sr", "inc", "ltd", "co", "no", "u.s", "u.k"})


def sentence_end(text: str) -> int | None:
    """Return the place just after the first sentence of `text`, or None while it may go on.

    A full stop after a title, an initial or inside an open quotation ends nothing; one after a
    number, an abbreviation or an ellipsis ends the sentence only if a capital follows. A line
    break ends it.

    Examples
    --------
    >>> sentence_end("Jo pays Mr. Li back. Jo is")
    20
    >>> sentence_end("Jo owes 3.") is None
    True
    """
    start = len(text) - len(text.lstrip())
    for found in _END.finditer(text, start):
        before = text[start : found.start()]
        if found[0] == "\n":
            return start + len(before.rstrip())
        if _is_final(before, found[0], text[found.end() :]):
            return found.end()
    return None


def first_sentence(text: str) -> str:
    """Return the first sentence of `text`, or all of it when none is complete.

    Examples
    --------
    >>> first_sentence(" Jo waits... then leaves. Li stays.")
    'Jo waits... then leaves.'
    """
    end = sentence_end(text)
    return (text if end is None else text[:end]).strip()


def _is_final(before: str, mark: str, after: str) -> bool:
    if (before + mark).count('"') % 2 or before.count("“") > (before + mark).count("”"):
        return False
    if mark[-1] not in ".!?…" and after.lstrip()[:1].islower():  # "Go!" he says.
        return False
    word = before.rsplit(None, 1)[-1].lstrip("\"'“\u2018([") if before.strip() else ""
    if mark[0] == "." and (word.lower() in _TITLES or (len(word) == 1 and word.isupper())):
        return word == "I"
    unsure = word.lower() in _SHORT or word[-1:].isdigit() or mark[0] == "…" or mark[:2] == ".."
    if mark[0] in ".…" and unsure:
        return after.lstrip()[:1].isupper()
    return bool(word)
