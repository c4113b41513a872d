"""Rank candidate answers to a free question and return a run record."""

from collections.abc import Sequence

from moralscope.choice import rank_answers
from moralscope.core.protocols import Encoder
from moralscope.core.records import RunRecord
from moralscope.engine.encoders import load_encoder
from moralscope.jobs.actions import check_actions
from moralscope.jobs.records import model_refs
from moralscope.jobs.score import NOT_ADVICE


def rank(
    question: str, answers: Sequence[str], *, encoder: str | Encoder = "minilm", seed: int = 0
) -> RunRecord:
    """Rank answers by their cosine with the question (Jentzsch et al. 2019, Table 3).

    Examples
    --------
    >>> record = rank("to toast bread", ["my hamster", "bread"], encoder="scripted")
    >>> record.results[0].answer
    'bread'
    """
    check_actions([question])
    candidates = check_actions(answers).actions
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    return RunRecord(
        "rank",
        seed=seed,
        config={"question": question, "answers": list(candidates), "encoder": model.name},
        models=model_refs([model]),
        results=rank_answers(model, question, candidates),
        warnings=[NOT_ADVICE],
    )
