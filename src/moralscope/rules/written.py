"""Exchanges written by hand for the shipped rules, as chatbots and people really talk.

They teach alignment what templates cannot: stances without the rule's words. Every tenth rule is
held out for dev. They were written for training, apart from the exchanges of the tests.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources

from moralscope.io.documents import Document
from moralscope.models.training.records import TrainingExample
from moralscope.rules.alignment_examples import annotated_examples
from moralscope.rules.records import Annotation, Exchange
from moralscope.rules.rulebook import shipped_rulebook

WRITTEN = "written"
Reversals = Callable[[str], Sequence[str]]
_DEV_RULES = 10
_REVERSED_SHARE, _OTHER_SHARE = 0.5, 0.25
_FLIPPED = {"agree": "disagree", "disagree": "agree", "neither": "neither"}


def written_exchanges() -> list[Annotation]:
    """Return every written exchange with its rule, its alignment and its part.

    Examples
    --------
    >>> {row.split for row in written_exchanges()} == {"train", "dev"}
    True
    """
    rules = {rule.id: rule.text for rule in shipped_rulebook().rules}
    held = set(sorted(rules)[::_DEV_RULES])
    found = []
    folder = resources.files("moralscope.rules") / "data" / "exchanges"
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        for row in Document(path.read_text("utf-8"), path.name, "mend it").yaml_values():
            exchange = Exchange(row["prompt"], row["reply"])
            part = "dev" if row["rule"] in held else "train"
            found.append(Annotation(exchange, rules[row["rule"]], row["label"], split=part))
    return found


def written_examples(
    rows: Sequence[Annotation], reversals: Reversals, *, weight: float, seed: int
) -> list[TrainingExample]:
    """Return lessons of the written exchanges: by their rule, some by its reversal or another's.

    Examples
    --------
    >>> row = Annotation(Exchange("Do you lie?", "Never."), "Don't lie.", "agree")
    >>> told = written_examples([row] * 9, lambda rule: ["Do lie."], weight=1.0, seed=0)
    >>> sorted({(lesson.pair[0], lesson.label) for lesson in told})
    [('Do lie.', 0), ("Don't lie.", 1)]
    """
    rng = random.Random(f"{seed} written")  # noqa: S311
    told: list[tuple[Annotation, float]] = []
    for row in rows:
        told.append((row, weight))
        if rng.random() < _REVERSED_SHARE and (opposite := reversals(row.rule)):
            flipped = _FLIPPED[row.alignment or "neither"]
            told.append((replace(row, rule=rng.choice(opposite), alignment=flipped), weight))
        other = rng.choice(rows).rule
        if rng.random() < _OTHER_SHARE and other != row.rule:
            told.append((replace(row, rule=other, alignment="neither"), weight / 2))
    each = annotated_examples([row for row, _ in told])
    return [replace(one, weight=own) for one, (_, own) in zip(each, told, strict=True)]


def written_dev(rows: Sequence[Annotation]) -> list[TrainingExample]:
    """Return the held-out exchanges as dev lessons of one group."""
    return annotated_examples(rows, WRITTEN)
