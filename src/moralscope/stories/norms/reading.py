"""Reading a norm: which behaviour it speaks of, and on which side it stands.

A norm is a sentence such as "It's rude to steal.", "You shouldn't steal." or "Stealing is wrong.".
The reader knows sentence frames, and the words and modals of `data/reversal.toml`; it understands
no other English and answers None rather than guess.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from moralscope.stories.norms.judged import (
    bare_judgment,
    it_is,
    judged,
    judged_person,
    no_need,
    nothing_wrong,
)
from moralscope.stories.norms.judgments import ACT, Norm
from moralscope.stories.norms.modals import habit, imperative, outcome, strong_modal, weak_modal
from moralscope.stories.norms.phrases import starts_with_gerund

LONGEST = 600  # characters; no norm is longer, and hostile input must not cost time


def parse_norm(text: str) -> Norm | None:
    """Read a norm, or return None when it is in no frame that is known."""
    line = tidy(text)
    if not line or len(line) > LONGEST:
        return None
    norm = (_with_lead(line) if _LEAD.match(line) else None) or _read(line)
    return None if norm is None else replace(norm, text=text)


def tidy(text: str) -> str:
    """Return the sentence without double quotes, its last stop and its reasons."""
    if len(text) > 4 * LONGEST:
        return ""
    line = text.translate(_PLAIN)
    line = _AGAIN.sub(r"\1", " ".join(line.split()))
    return _REASON.sub("", line.strip().rstrip(".!?;,/ ")).strip()


_PLAIN = str.maketrans({"\u2018": "'", "\u2019": "'", '"': ""})
_AGAIN = re.compile(r"\b(to|you should|should) \1\b", re.I)
# A reason speaks for the old judgment: "..., because that's rude", "... or you might hurt them".
_REASON = re.compile(
    r",? because (?:that|it|this)\b.*$"
    r"|,? or (?:else|(?:you|they|someone|people) (?:might|may|will|could|can))\b.*$",
    re.I,
)
_LEAD = re.compile(
    r"(?:even )?(?:if|when|whenever|while|before|after|unless|in|at|as|during|sometimes|on|for|once"
    r"|with|generally|typically|usually|most of the time|no matter|regardless|although|because"
    r"|since)\b",
    re.I,
)
_LEAD_ENDS = re.compile(
    r"(?:, ?| )(?=(?:then )?(?:it'?s|it is|it isn'?t|one should|people should|they should|you're"
    r"|you (?:should|shouldn'?t|must|are|need|have|ought|can'?t))\b)|, ",
    re.I,
)


def _with_lead(line: str) -> Norm | None:
    """Read "If someone is hurt, you should …"; the condition is kept as it is."""
    # A comma ends a condition more surely than a word does: "In a game you should play, you should
    # be fair" is cut at its comma, though "you should" comes first.
    for cut in sorted(_LEAD_ENDS.finditer(line), key=lambda cut: "," not in cut[0]):
        norm = _read(line[cut.end() :].removeprefix("then "))
        if norm is not None and norm.kind == ACT:
            return replace(norm, lead=line[: cut.start()])
    return None


def _read(line: str) -> Norm | None:
    # The first frame that fits wins, so the surer ones stand first: a frame that names its judgment
    # ("It's rude to …") before one that has only a modal, effects ("People will …") last. A line
    # that starts with a gerund is tried as "…ing is …" before all: a modal further on in it ("Lying
    # is what you should not do") is not about its subject.
    gerund = starts_with_gerund(line)
    readers: tuple[Callable[[str], Norm | None], ...] = (
        *((judged,) if gerund else ()),
        nothing_wrong,
        no_need,
        it_is,
        bare_judgment,
        imperative,
        strong_modal,
        judged_person,
        judged,
        *(() if gerund else (weak_modal,)),
        outcome,
        habit,
    )
    return next((norm for reader in readers if (norm := reader(line)) is not None), None)
