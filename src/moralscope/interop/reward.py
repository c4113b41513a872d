"""TRL: an audit or the judge as a reward, so that learning is regularised by a moral signal.

The outlook of Jentzsch et al. 2019 and Schramowski et al. 2019 asks for it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from moralscope.core.errors import UnknownName
from moralscope.interop.chat import text_in
from moralscope.interop.replies import Pair, audit_options, reply_auditor, reply_judge
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
    >>> [-1 <= each <= 1 for each in reward(["Hi!"], ["Hello you."], experts="scripted")]
    [True]
    """
    scorer = _scorer(by, rulebook, experts)
    pairs = [
        (text_in(prompt, "user"), text_in(completion, "assistant"))
        for prompt, completion in zip(prompts, completions, strict=True)
    ]
    said = [pair for pair in pairs if pair[1].strip()]
    scores = dict(zip(said, scorer(said), strict=True)) if said else {}
    return [scores.get(pair, 0.0) for pair in pairs]


def _scorer(
    by: str, rulebook: str | Sequence[str] | None, experts: str
) -> Callable[[Sequence[Pair]], list[float]]:
    if by not in BY:
        raise UnknownName(f"there is no reward by '{by}'", f"known: {', '.join(BY)}")
    if by == "judge":
        judge = reply_judge()
        return lambda pairs: judge([("", reply) for _, reply in pairs])
    auditor = reply_auditor(audit_options(rulebook, experts=experts))
    return lambda pairs: [each.score for each in auditor(pairs)]
