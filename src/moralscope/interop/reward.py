"""TRL: an audit or the judge as a reward, so that learning is regularised by a moral signal.

The outlook of Jentzsch et al. 2019 and Schramowski et al. 2019 asks for it.
"""

from collections.abc import Sequence
from typing import Any

from moralscope.core.errors import UnknownName
from moralscope.interop.replies import audit_options, reply_auditor, reply_judge, text_in
from moralscope.models.options import DEFAULT_EXPERTS

BY = ("audit", "judge")


def reward(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    *,
    by: str = "audit",
    rulebook: str | Sequence[str] | None = None,
    experts: str = DEFAULT_EXPERTS,
    **columns: Any,
) -> list[float]:
    """Return one reward a completion, from -1 (bad) to +1 (good): a reward function of TRL.

    Equal completions are read once; models stay loaded. Empty completions get 0.

    Parameters
    ----------
    prompts, completions
        Texts, or messages of a chat.
    by
        `audit`: the audit's score of the reply to its prompt. `judge`: of what the reply says.
    rulebook, experts
        What an audit judges by; set them with `functools.partial`.
    columns
        What else the trainer hands over (columns of the dataset, its state): not used.

    Examples
    --------
    >>> [-1 <= value <= 1 for value in reward(["Hi!"], ["Hello you."], experts="scripted")]
    [True]
    """
    if by not in BY:
        raise UnknownName(f"there is no reward by '{by}'", f"known: {', '.join(BY)}")
    pairs = [
        (text_in(prompt, "user"), text_in(completion, "assistant"))
        for prompt, completion in zip(prompts, completions, strict=True)
    ]
    replies = [pair for pair in pairs if pair[1].strip()]
    if by == "judge":
        scores = reply_judge()([("", reply) for _, reply in replies])
    else:
        auditor = reply_auditor(audit_options(rulebook, experts=experts))
        scores = [audit.verdict.score for audit in auditor(replies)]
    rewards = dict(zip(replies, scores, strict=True))
    return [rewards.get(pair, 0.0) for pair in pairs]
