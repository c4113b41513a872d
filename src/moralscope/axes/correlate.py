"""`words correlate`: a word's association against its question/answer bias.

Figure 4 of Jentzsch et al. 2019 for any encoder and any vectors: the pooled r with its interval,
and beside it the r within dos and within don'ts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.axes.choice import ChoiceMachine
from moralscope.axes.options import CorrelateOptions
from moralscope.axes.templates import load_template
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder, WordVectors
from moralscope.core.records import NOT_ADVICE, ModelRef, RunRecord, Statistics
from moralscope.models.encoders import load_encoder
from moralscope.stats.correlation import Correlation, correlate
from moralscope.stats.significance import TTest, t_test
from moralscope.stats.summary import Summary, summarise
from moralscope.words.association import WordAssociation
from moralscope.words.valence import read_lists
from moralscope.words.vectors import load_vectors
from moralscope.words.word_sets import load_word_sets

DOS, DONTS = "dos", "don'ts"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPair:
    """A word's association beside its question/answer bias."""

    word: str
    group: str
    association: float | None  # None where the vectors lack the word
    bias: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelateStatistics(Statistics):
    """What `words correlate` finds in sum."""

    correlation: Correlation  # over all words, and within dos and don'ts
    bias: Mapping[str, Summary]
    t: TTest  # of dos against don'ts
    missing: Sequence[str]


def correlate_words(
    options: CorrelateOptions | None = None,
    *,
    encoder: str | Encoder | None = None,
    vectors: str | WordVectors | None = None,
    **keywords: Any,
) -> RunRecord:
    """Correlate association and bias over dos and don'ts.

    Parameters
    ----------
    options
        `CorrelateOptions`, or its fields as keywords.
    encoder, vectors
        Where the bias and where the association come from: names, files or objects; else what the
        options name.

    Examples
    --------
    >>> record = correlate_words(encoder="scripted", vectors="scripted")
    >>> record.statistics.correlation.within.keys() == {"dos", "don'ts"}
    True
    """
    asked = chosen_options(CorrelateOptions, options, keywords)
    dos, donts = read_lists(asked)
    words = [*dos, *donts]
    groups = [DOS] * len(dos) + [DONTS] * len(donts)
    chosen = load_word_sets(asked.sets)
    vectors, encoder = vectors or asked.vectors, encoder or asked.encoder
    table = load_vectors(vectors) if isinstance(vectors, str) else vectors
    axis = WordAssociation(table, chosen.positive, chosen.negative, seed=asked.seed)
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    biases = ChoiceMachine(model, load_template("moral"), seed=asked.seed).score(words)
    values = [None if math.isnan(value) else float(value) for value in axis.scores(words)]
    pairs = [
        WordPair(
            word=word, group=group, association=value, bias=bias.score, low=bias.low, high=bias.high
        )
        for word, group, value, bias in zip(words, groups, values, biases, strict=True)
    ]
    known = [(p.association, p.bias, p.group) for p in pairs if p.association is not None]
    if not known:
        raise InputError(f"none of the words is in {table.name}", "give other words or vectors")
    first, second, labels = (list(column) for column in zip(*known, strict=True))
    sides = {side: [pair.bias for pair in pairs if pair.group == side] for side in (DOS, DONTS)}
    missing = [pair.word for pair in pairs if pair.association is None]
    left_out = f"{len(missing)} words are not in {table.name} and were left out: "
    left_out += ", ".join(missing)
    return RunRecord(
        "words correlate",
        seed=asked.seed,
        config={
            "encoder": model.name,
            "vectors": table.name,
            "sets": chosen.name,
            "options": plain_options(asked),
        },
        models=[ModelRef(item.name, item.checksum) for item in (model, table)],
        results=pairs,
        statistics=CorrelateStatistics(
            correlation=correlate(first, second, labels, seed=asked.seed),
            bias={side: summarise(values) for side, values in sides.items()},
            t=t_test(sides[DOS], sides[DONTS], equal_variance=True),
            missing=missing,
        ),
        warnings=[NOT_ADVICE, *([left_out] if missing else [])],
    )
