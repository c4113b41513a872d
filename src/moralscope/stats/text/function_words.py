"""English function words: one list for whoever counts words, compares texts or tells languages.

Written for this project. It is a list of words and no tagger: "back" is one wherever it stands.
"""

from functools import cache
from importlib import resources

# What is left of a contraction when it is split at its apostrophe; some are words elsewhere.
CONTRACTED = frozenset({"d", "ll", "m", "n", "o", "re", "s", "t", "ve", "y"})


@cache
def function_words() -> frozenset[str]:
    """Words that carry no topic: articles, pronouns, auxiliaries, prepositions and their like.

    Examples
    --------
    >>> "because" in function_words(), "get" in function_words()
    (True, False)
    """
    text = resources.files("moralscope.stats.text").joinpath("function_words.txt")
    return frozenset(text.read_text("utf-8").split())
