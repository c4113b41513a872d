"""`words correlate`: a word's association against its question/answer bias.

Figure 4 of Jentzsch et al. 2019 for any encoder and any vectors: the pooled r with its interval,
and beside it the r within dos and within don'ts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from moralscope.axes.choice import ChoiceMachine, load_paper, load_template
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder, WordVectors
from moralscope.core.records import NOT_ADVICE, ModelRef, RunRecord
from moralscope.io.actions import read_actions
from moralscope.models.encoders import load_encoder
from moralscope.stats import correlate, summarise, t_test
from moralscope.words.association import WordAssociation
from moralscope.words.vectors import load_vectors
from moralscope.words.word_sets import DEFAULT, load_word_sets

VECTORS = "googlenews-26k"
DOS, DONTS = "dos", "don'ts"


@dataclass(frozen=True, slots=True)
class WordPair:
    """A word's association (None when out of vocabulary) beside its bias with interval."""

    word: str
    group: str
    association: float | None
    bias: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WordLists:
    """Two files with one word a line; the papers' dos and don'ts where none is given."""

    dos: Path | None = None
    donts: Path | None = None

    def read(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return both lists; one without the other is refused."""
        if self.dos is None and self.donts is None:
            return load_paper().dos, load_paper().donts
        if self.dos is None or self.donts is None:
            raise InputError("one of --dos and --donts is missing", "give both, or none")
        return read_actions(self.dos).actions, read_actions(self.donts).actions


def correlate_words(
    lists: WordLists | None = None,
    *,
    encoder: str | Encoder = "minilm",
    vectors: str | WordVectors = VECTORS,
    sets: str = DEFAULT,
    seed: int = 0,
) -> RunRecord:
    """Correlate association and bias over dos and don'ts.

    Parameters
    ----------
    lists
        The words; by default the papers' dos and don'ts.
    encoder, vectors
        Where the bias and where the association come from: names, files or objects.
    sets
        The association sets; by default the papers' A and B.
    seed
        Seeds every interval.

    Examples
    --------
    >>> record = correlate_words(encoder="scripted", vectors="scripted")
    >>> record.statistics["correlation"].within.keys() == {"dos", "don'ts"}
    True
    """
    dos, donts = (lists or WordLists()).read()
    words = [*dos, *donts]
    groups = [DOS] * len(dos) + [DONTS] * len(donts)
    chosen = load_word_sets(sets)
    table = load_vectors(vectors) if isinstance(vectors, str) else vectors
    axis = WordAssociation(table, chosen.positive, chosen.negative, seed=seed)
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    biases = ChoiceMachine(model, load_template("moral"), seed=seed).score(words)
    values = [None if math.isnan(value) else float(value) for value in axis.scores(words)]
    pairs = [
        WordPair(word, group, value, bias.score, bias.low, bias.high)
        for word, group, value, bias in zip(words, groups, values, biases, strict=True)
    ]
    known = [(p.association, p.bias, p.group) for p in pairs if p.association is not None]
    if not known:
        raise InputError(f"none of the words is in {table.name}", "give other words or vectors")
    first, second, labels = (list(column) for column in zip(*known, strict=True))
    sides = {side: [pair.bias for pair in pairs if pair.group == side] for side in (DOS, DONTS)}
    missing = [pair.word for pair in pairs if pair.association is None]
    return RunRecord(
        "words correlate",
        seed=seed,
        config={"encoder": model.name, "vectors": table.name, "sets": chosen.name},
        models=[ModelRef(item.name, item.checksum) for item in (model, table)],
        results=pairs,
        statistics={
            "correlation": correlate(first, second, labels, seed=seed),
            "bias": {side: summarise(values) for side, values in sides.items()},
            "t": t_test(sides[DOS], sides[DONTS], equal_variance=True),
            "missing": missing,
        },
        warnings=[NOT_ADVICE, *_notes(missing, table.name)],
    )


def _notes(missing: Sequence[str], vectors: str) -> list[str]:
    if not missing:
        return []
    return [f"{len(missing)} words are not in {vectors} and were left out: {', '.join(missing)}"]
