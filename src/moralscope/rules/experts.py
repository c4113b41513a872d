"""Experts for rules and replies: the shipped ones by their base, a user's folder, or scripted."""

from moralscope.core.protocols import ExpertSet
from moralscope.models.classifiers.cascade import Cascade
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.options import CASCADE, DEFAULT_EXPERTS, LARGE
from moralscope.models.store import Progress
from moralscope.rules.records import ALIGNMENTS, FOUNDATIONS, SCALES
from moralscope.rules.reply_reader import CONCERN, CONCERNS, VERDICT, VERDICTS
from moralscope.rules.verdict import TASK
from moralscope.stories.experts import RULES, prepare_experts

FOUNDATIONS_TASK = "foundations"
# The probability from which mpnet's experts need no second opinion, by bench/own_rules.py --cascade.
SURE = {LARGE: 1.0, CASCADE: 0.9}


def prepare_rule_experts(
    name: str, *, eight_bits: bool = False, progress: Progress | None = None
) -> ExpertSet:
    """Load the experts that `name` means: a shipped set by its name, `scripted`, or a folder.

    `large` and `cascade` are those on mpnet with a larger set beside them, which decides always, or
    where the first is not sure.
    """
    if name == "scripted":
        return ScriptedExperts(
            {
                VERDICT: VERDICTS,
                CONCERN: CONCERNS,
                TASK: ALIGNMENTS,
                FOUNDATIONS_TASK: FOUNDATIONS,
                **{scale: (scale,) for scale in SCALES},
            },
            retrieval=True,
            operating_points={VERDICT: (0.5, 0.85), TASK: (0.6, 0.5, 0.5)},  # one in ten is bad
        )
    if name in SURE:
        small, large = (
            prepare_experts(base, family=RULES, eight_bits=eight_bits, progress=progress)
            for base in (DEFAULT_EXPERTS, LARGE)
        )
        return Cascade(small, large, (VERDICT, TASK), SURE[name], f"{RULES}-{name}")
    return prepare_experts(name, family=RULES, eight_bits=eight_bits, progress=progress)
