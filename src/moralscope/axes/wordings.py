"""The sentences that a judge reads of an action: a phrase is put into one, a sentence is kept."""

# The first wording is the one that is scored; experts learnt sentences, so a phrase becomes one.
# Phrases ("kill people") are put into forms that need no inflection; sentences ("Sam kills
# people.") only get a word before them. Of a phrase alone, what somebody wants is told best; beside
# a norm, what somebody does (`bench/judge_wordings.py`).
PHRASE_WORDINGS = ("I want to {}.", "I {}.", "They {}.", "Someone decides to {}.")
GROUNDED_WORDINGS = ("I {}.", "{}", "They {}.", "Someone decides to {}.")
SENTENCE_WORDINGS = ("{}", "One day, {}", "In the end, {}", "That day, {}")
_PHRASE_WORDS = 3  # a capital before more words than this starts a sentence


def wordings(action: str, count: int | None = None, *, grounded: bool = False) -> list[str]:
    """Return the action in several wordings of the same meaning; the first is scored.

    `grounded` says that more than the action is read.
    """
    phrase = GROUNDED_WORDINGS if grounded else PHRASE_WORDINGS
    forms = SENTENCE_WORDINGS if is_sentence(action) else phrase
    return [form.format(action) for form in forms[:count]]


def is_sentence(action: str) -> bool:
    """Tell a sentence ("Sam waits.") from a phrase ("kill time") by its end, or by its start.

    Examples
    --------
    >>> [is_sentence(text) for text in ("Sam waits.", "Sam waits for Jo", "kill time")]
    [True, True, False]
    """
    named = action[:1].isupper() and len(action.split()) > _PHRASE_WORDS
    return named or action.rstrip("\"')").endswith((".", "!", "?"))
