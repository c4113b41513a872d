"""Rank candidate answers to a free question and return a run record."""

from collections.abc import Sequence
from typing import Any

from moralscope.axes.choice import rank_answers
from moralscope.axes.options import RankOptions
from moralscope.core.options import chosen_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.io.actions import check_actions
from moralscope.io.run_records import model_refs
from moralscope.models.encoders import load_encoder


def rank(
    question: str,
    answers: Sequence[str],
    options: RankOptions | None = None,
    *,
    model: Encoder | None = None,
    **given: Any,
) -> RunRecord:
    """Rank answers by their cosine with the question (Jentzsch et al. 2019, Table 3).

    Parameters
    ----------
    question, answers
        What is asked, and the candidates.
    options
        `RankOptions`, or its fields as keywords.
    model
        An encoder that is loaded already; else the one that the options name.

    Examples
    --------
    >>> record = rank("to toast bread", ["my hamster", "bread"], encoder="scripted")
    >>> record.results[0].answer
    'bread'
    """
    chosen = chosen_options(RankOptions, options, given)
    check_actions([question])
    candidates = check_actions(answers).actions
    encoder = model or load_encoder(chosen.encoder)
    return RunRecord(
        "rank",
        seed=chosen.seed,
        config={"question": question, "answers": list(candidates), "encoder": encoder.name},
        models=model_refs([encoder]),
        results=rank_answers(encoder, question, candidates),
        warnings=[NOT_ADVICE],
    )
