"""Sentence frames of norms, one idea a module; every reader answers a `Norm` or None."""

from moralscope.stories.frames.effects import habit, outcome
from moralscope.stories.frames.impersonal import bare_judgment, it_is
from moralscope.stories.frames.modals import imperative, strong_modal, weak_modal
from moralscope.stories.frames.norm import ACT, Norm
from moralscope.stories.frames.subjects import judged, judged_person, no_need, nothing_wrong

__all__ = [
    "ACT",
    "Norm",
    "bare_judgment",
    "habit",
    "imperative",
    "it_is",
    "judged",
    "judged_person",
    "no_need",
    "nothing_wrong",
    "outcome",
    "strong_modal",
    "weak_modal",
]
