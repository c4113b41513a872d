"""English verb forms by rule: base form, -ing form, third person. It knows no meaning.

The rules cover regular spelling; `data/reversal.toml` lists the verbs that leave them. A word that
is no verb is inflected all the same: the caller knows where a verb stands.
"""

import re
from functools import cache
from typing import Any

from moralscope.io.documents import shipped_toml

_NO_E = re.compile(
    # stems of two or more syllables that end as bases do: listen, offer, visit, favor, cancel
    r"[aeiouy].*(en|on|er|it|el|et|ip|op|or|al|ow|om|id)$|(w|x|y|h|o|ee|i)$"
)
_TAKES_E = re.compile(
    r"([^s]s|z|v|u|c|dg|[aeiou]g|rg|lg|[bdfgkptz]l|[^aeiouy]sl|ns|rs|ps|ls|lv|rv|nc|rc)$"
)
_TWO_VOWELS = re.compile(r"[aeiou]{2}[bdfklmnprt]$")
_IRREGULAR = {"is": "be", "are": "be", "am": "be", "has": "have", "dies": "die", "ties": "tie"}
_ONE_SYLLABLE = re.compile(r"(?:[^aeiouy]*|[^aeiou]*qu)[aeiouy][^aeiouywxh]")
_CONSONANTS = re.compile(r"[^aeiou]{2}$")


@cache
def tables() -> dict[str, Any]:
    """Return the rewriter's tables (`data/reversal.toml`)."""
    return shipped_toml("moralscope.stories", "reversal.toml")


def base_of_gerund(word: str) -> str:
    """Return the base form of an -ing form."""
    lower = word.lower()
    known: dict[str, str] = tables()["gerunds"]
    if lower in known:
        return known[lower]
    head, dash, last = lower.rpartition("-")
    if dash:
        return f"{head}-{base_of_gerund(last)}"
    stem = lower.removesuffix("ing")
    if len(stem) < len("do") or stem in _verbs("no_e"):
        return stem if stem in _verbs("no_e") else lower
    if stem[-1] == stem[-2] and stem[-1] not in "aeiouszf":
        return stem if stem[-1] == "l" and stem[:-1] not in _verbs("doubling") else stem[:-1]
    if f"{stem}e" in _verbs("silent_e") or _TAKES_E.search(stem):
        return stem + "e"
    keeps = _NO_E.search(stem) or _CONSONANTS.search(stem) or _TWO_VOWELS.search(stem)
    return stem if keeps else stem + "e"


def gerund_of_base(word: str) -> str:
    """Return the -ing form of a base form."""
    lower = word.lower()
    head, dash, last = lower.rpartition("-")
    if dash and last:
        return f"{head}-{gerund_of_base(last)}"
    if lower in ("be", "singe", "dye", "eye"):
        return lower + "ing"
    if lower.endswith("ie"):
        return lower[:-2] + "ying"
    if lower.endswith("ic"):
        return lower + "king"
    if lower.endswith("e") and not lower.endswith(("ee", "oe", "ye")):
        return lower[:-1] + "ing"
    doubles = lower in _verbs("doubling") or _ONE_SYLLABLE.fullmatch(lower)
    return lower + lower[-1] + "ing" if doubles else lower + "ing"


def base_of_finite(word: str) -> str:
    """Return the base form of a verb in the present tense."""
    lower = word.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if lower.endswith("ies") and len(lower) > 4:
        return lower[:-3] + "y"
    if lower.endswith("es") and lower[:-2] in _verbs("no_e"):
        return lower[:-2]
    if re.search(r"(ss|sh|ch|x|zz|o)es$", lower) and not lower.endswith("aches"):
        return lower[:-2]
    return lower[:-1] if lower.endswith("s") and not lower.endswith("ss") else lower


def third_person(word: str) -> str:
    """Return the form that follows "she"."""
    known = {"be": "is", "have": "has"}
    if word in known:
        return known[word]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(?:s|x|z|ch|sh|o)$", word) else "s")


@cache
def _verbs(kind: str) -> frozenset[str]:
    return frozenset(tables()["verbs"][kind])
