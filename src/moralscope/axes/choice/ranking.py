"""Rank candidate answers to a free question by cosine (Jentzsch et al. 2019, Table 3)."""

from collections.abc import Sequence

import numpy as np

from moralscope.core.protocols import Encoder
from moralscope.core.records import RankedAnswer
from moralscope.stats.summary import unit_rows


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
