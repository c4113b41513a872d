"""Words of a story's sentences: as they are counted, compared, grouped. Nothing is tagged."""

import re
import string

from moralscope.stats.text.words import function_words, lemma

_WORD = re.compile("[a-z]+(?:['\u2019][a-z]+)?")
_APOSTROPHE = re.compile("['\u2019]")
_NEGATED = re.compile("n['\u2019]t$")


def tokens(text: str) -> list[str]:
    """Return what stands between spaces, without punctuation around it.

    Means of these are those of Table 7, and distances over them those of Table 1.

    Examples
    --------
    >>> tokens("It's rude to shout!")
    ["It's", 'rude', 'to', 'shout']
    """
    return [word for part in text.split() if (word := part.strip(string.punctuation))]


def content_lemmas(text: str) -> list[str]:
    """Return the base forms of a text's words, without function words.

    Contracted endings go ("Jo's", "she'll"), and so do negated auxiliaries ("doesn't").

    Examples
    --------
    >>> content_lemmas("She doesn't pay her friend's bills.")
    ['pay', 'friend', 'bill']
    """
    found = (
        lemma(_APOSTROPHE.split(word)[0])
        for word in _WORD.findall(text.lower())
        if not _NEGATED.search(word)
    )
    return [word for word in found if len(word) > 1 and word not in function_words()]


def split_lemmas(text: str) -> list[str]:
    """Return the base forms that lexical bias counts: a contraction stays one word.

    So "doesn't", which stands in immoral texts most of all, can be a biased word.

    Examples
    --------
    >>> split_lemmas("She doesn't pay her friends' bills.")
    ['doesnt', 'pay', 'friend', 'bill']
    """
    words = ("".join(filter(str.isalnum, part)) for part in text.lower().split())
    return [lemma(word) for word in words if word and word not in function_words()]
