"""Sentence frames of norms, one idea a module; every reader answers a `Norm` or None."""

from moralscope.stories.norms.effects import habit, outcome
from moralscope.stories.norms.impersonal import bare_judgment, it_is
from moralscope.stories.norms.modals import imperative, strong_modal, weak_modal
from moralscope.stories.norms.norm import ACT, Norm
from moralscope.stories.norms.subjects import judged, judged_person, no_need, nothing_wrong

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
