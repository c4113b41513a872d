"""Rank candidate answers to a free question by cosine (Jentzsch et al. 2019, Table 3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from moralscope.axes.options import RankOptions
from moralscope.core.options import chosen_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, RankedAnswer, RunRecord
from moralscope.io.actions import check_actions
from moralscope.io.run_records import model_refs
from moralscope.models.encoders import load_encoder
from moralscope.stats.summary import unit_rows


def rank(
    question: str,
    answers: Sequence[str],
    options: RankOptions | None = None,
    *,
    model: Encoder | None = None,
    **given: Any,
) -> RunRecord:
    """Rank answers by their cosine with the question and return a run record.

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


def rank_answers(encoder: Encoder, question: str, answers: Sequence[str]) -> list[RankedAnswer]:
    """Return the answers by falling cosine with the question; ties keep their order.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> ranked = rank_answers(load_encoder("scripted"), "to toast bread", ["bread", "pizza"])
    >>> ranked[0].answer
    'bread'
    """
    rows = unit_rows(encoder.encode([question, *answers]).astype(np.float64))
    cosines = rows[1:] @ rows[0]
    order = np.argsort(-cosines, kind="stable")
    return [RankedAnswer(answers[place], float(cosines[place])) for place in order]
