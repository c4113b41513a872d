"""Rank candidate answers to a free question and return a run record."""

from collections.abc import Sequence

from moralscope.axes.choice import rank_answers
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.io.actions import check_actions
from moralscope.io.run_records import model_refs
from moralscope.models.encoders import load_encoder


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
