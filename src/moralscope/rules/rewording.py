"""Better replies without a generator: the reply without what offends, or a broken rule said kindly.

They are candidates and nothing more: whether one is kept is decided as for a generator's.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources

from moralscope.rules.judgments import read_judgment
from moralscope.rules.sanitize import sentences

MAX_EDITS = 8  # candidates that leave sentences out
MAX_RULES = 3  # broken rules that templates speak of
_PRONOUNS = ("I ", "I'")
_OWN = {"your": "my", "yours": "mine", "yourself": "myself"}
_NO_VERBS = {"for", "if", "not", "that", "when"}  # "It's wrong for parents to …"


def shortened(reply: str) -> list[str]:
    """Return the reply without one of its sentences, then its sentences alone; none of a short one.

    Examples
    --------
    >>> shortened("I like him. Hit him! Then talk.")[:2]
    ['Hit him! Then talk.', 'I like him. Then talk.']
    >>> shortened("Hit him!")
    []
    """
    parts = sentences(reply)
    if len(parts) < 2:
        return []
    without = [" ".join([*parts[:place], *parts[place + 1 :]]) for place in range(len(parts))]
    return list(dict.fromkeys([*without, *parts]))[:MAX_EDITS]


def reworded(rules: Sequence[str], reply: str) -> list[str]:
    """Return replies that keep to broken rules, the worst first, by our own templates.

    What is left of the reply without its first or its last sentence may go before.

    Examples
    --------
    >>> reworded(["It's wrong to steal from a shop."], "Take it!")[0]
    "I would not do that: it's wrong to steal from a shop."
    >>> reworded(["You should return a lost wallet to its owner."], "Keep it!")[0]
    'I think that you should return a lost wallet to its owner.'
    """
    told = [form for rule in rules[:MAX_RULES] for form in _forms(rule)]
    parts = sentences(reply)
    rests = [" ".join(rest) for rest in (parts[:-1], parts[1:]) if rest]
    mixed = [f"{rest} {form}" for rest in rests for form in told[:2]]
    return [*told, *mixed, *_templates()["gentle"]]


def act_of(rule: str) -> str:
    """Return what a rule for everyone judges, as one says it of oneself; "" of any other rule.

    Examples
    --------
    >>> act_of("You shouldn't hide large debts from your spouse.")
    'hide large debts from my spouse'
    >>> act_of("A chatbot should not claim to be a real human being.")
    ''
    """
    words = rule.lower().split()
    act = read_judgment(rule).behaviour.removeprefix("to ").split()
    if words[:1] not in (["you"], ["it's"], ["it"]) or not act or act[0] in _NO_VERBS:
        return ""
    own = [_OWN.get(word, word) for word in act]
    return "" if {"you", "you're", "they"} & set(own) else " ".join(own)


def _forms(rule: str) -> list[str]:
    sentence = rule.strip()
    bare = sentence.rstrip(".!")
    clause = bare if bare.startswith(_PRONOUNS) else bare[:1].lower() + bare[1:]
    kind = "demands" if read_judgment(rule).polarity > 0 else "forbids"
    act = act_of(rule)
    forms = (form for form in _templates()[kind] if act or "{act}" not in form)
    return [form.format(rule=sentence, clause=clause, act=act) for form in forms]


@cache
def _templates() -> dict[str, list[str]]:
    place = resources.files("moralscope.rules").joinpath("data/revisions.toml")
    found: dict[str, list[str]] = tomllib.loads(place.read_text("utf-8"))
    return found
