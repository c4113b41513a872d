"""Score actions on a moral axis and return a run record."""

from collections.abc import Sequence
from typing import Any

from moralscope.choice import ChoiceMachine, Template, load_template
from moralscope.choice.machine import Report
from moralscope.core.protocols import Encoder
from moralscope.core.records import ActionScore, RunRecord
from moralscope.core.registry import registry
from moralscope.engine.encoders import load_encoder
from moralscope.engine.stats import summarise
from moralscope.engine.store import Progress
from moralscope.jobs.actions import ActionList, check_actions
from moralscope.jobs.records import model_refs

NOT_ADVICE = "scores describe a model, they are not moral advice"
_SHIFTED = (
    "question/answer scores are shifted against zero by the model's taste for yes or no: "
    "compare actions with each other, not with zero"
)


def prepare_encoder(name: str, progress: Progress | None = None) -> Encoder:
    """Load an encoder by name, reporting bytes while its weights are fetched."""
    return load_encoder(name, progress=progress)


def score(
    actions: Sequence[str] | ActionList,
    *,
    axis: str = "choice",
    encoder: str | Encoder = "minilm",
    template: str = "moral",
    seed: int = 0,
    report: Report | None = None,
) -> RunRecord:
    """Score actions; positive is good, negative is bad.

    Parameters
    ----------
    actions
        What is to be scored, as it stands in a question: "kill people", "eat meat".
    axis
        `choice`: question/answer bias (Jentzsch et al. 2019).
    encoder
        A name, a folder, a hub id, or any object with the `Encoder` protocol.
    template
        `moral`, `gender`, or a YAML/CSV file of your own.
    seed
        Seeds the bootstrap over prompts (and paraphrases) behind every interval.
    report
        Called with (done, total) as the work goes on.

    Examples
    --------
    >>> record = score(["kill people", "kill time"], encoder="scripted")
    >>> [result.action for result in record.results]
    ['kill people', 'kill time']
    """
    listed = actions if isinstance(actions, ActionList) else check_actions(actions)
    registry.get("axis", axis)
    questions = load_template(template)
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    machine = ChoiceMachine(model, questions, seed=seed)
    results = machine.score(listed.actions, listed.paraphrases, report)
    return RunRecord(
        "score",
        seed=seed,
        config={
            "axis": axis,
            "encoder": model.name,
            "template": questions.name,
            "prompts": [prompt.question for prompt in questions.prompts],
            "interval": "95 % percentile bootstrap over prompts",
            "actions": len(results),
        },
        models=model_refs([model]),
        results=results,
        statistics=_statistics(results, questions),
        warnings=[NOT_ADVICE, _SHIFTED] if questions.name == "moral" else [NOT_ADVICE],
    )


def _statistics(results: Sequence[ActionScore], template: Template) -> dict[str, Any]:
    scores = [result.score for result in results]
    return {
        "scores": summarise(scores),
        "paper_sums": summarise([value * len(template.prompts) for value in scores]),
        "positive": sum(result.low > 0 for result in results),
        "negative": sum(result.high < 0 for result in results),
        "undecided": sum(result.low <= 0 <= result.high for result in results),
    }


registry.add("axis", "choice", ChoiceMachine)
