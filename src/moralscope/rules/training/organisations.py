"""Rules of organisations with minimal pairs: what teaches, and measures, rules of one's own.

Written for moralscope: each organisation has eight rules of several shapes, each rule four pairs of
exchanges that differ by one edit and stand otherwise to the rule, and exchanges that break none,
one or two of all the rules. Whole organisations are held out: `dev` chooses, `test` is looked at
once.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from moralscope.core.decode import decode
from moralscope.io.documents import shipped_yaml
from moralscope.models.training.heads import Head
from moralscope.models.training.records import UNLABELLED, TrainingExample
from moralscope.rules.records import ALIGNMENTS, Exchange
from moralscope.rules.reply_reader import FINE, VERDICT, VERDICTS
from moralscope.rules.verdict import TASK, alignment_pair

ORGANISATIONS = "organisations"
PAIRS = "minimal pairs"
CONDITION = "condition"  # a shape of rules, and the head that says whether theirs holds
CONDITION_HEAD = Head(("does not apply", "applies"), kept=False)
FINE_REPLIES = "verdict organisations"
_WEIGHT = 2.0  # few beside other lessons, and nearer to what is audited
_TURNS = 2  # epochs in which each pair is compared once
_NOT_BROKEN = (0.0, 0.3, 0.7)  # another rule of the same house: hardly ever broken, as ALIGNMENTS


@dataclass(frozen=True, slots=True)
class RulePairs:
    """A rule, its shape (forbid, ask, condition, …) and pairs of exchanges by how they stand."""

    rule: str
    shape: str
    pairs: tuple[Mapping[str, tuple[str, str]], ...]

    def sides(self) -> list[dict[str, Exchange]]:
        """Return the two exchanges of each pair, by alignment."""
        return [{label: Exchange(*texts) for label, texts in pair.items()} for pair in self.pairs]


@dataclass(frozen=True, slots=True)
class MixedExchange:
    """An exchange beside all rules of its organisation: the numbers of those it breaks, from 1."""

    prompt: str
    reply: str
    breaks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Organisation:
    """Who wrote rules for its assistant, and what was written for them."""

    about: str
    part: str
    rules: tuple[RulePairs, ...]
    mixed: tuple[MixedExchange, ...]

    def judged(self) -> list[tuple[Exchange, set[str]]]:
        """Return every exchange with the rule it was written for, or those that it breaks."""
        sides = [(entry.rule, pair) for entry in self.rules for pair in entry.sides()]
        rules = [entry.rule for entry in self.rules]
        return [
            *((exchange, {rule}) for rule, pair in sides for exchange in pair.values()),
            *(
                (Exchange(row.prompt, row.reply), {rules[at - 1] for at in row.breaks})
                for row in self.mixed
            ),
        ]


@cache
def organisations() -> dict[str, Organisation]:
    """Return all organisations by name."""
    folder = resources.files("moralscope.rules") / "data" / ORGANISATIONS
    return {
        name.removesuffix(".yaml"): decode(
            Organisation, shipped_yaml("moralscope.rules", f"{ORGANISATIONS}/{name}"), name
        )
        for name in sorted(path.name for path in folder.iterdir())
    }


def organisation_examples(part: str, seed: int = 0) -> list[TrainingExample]:
    """Return lessons of a part: each exchange by its rule, and the two of each pair compared.

    In train each exchange also stands beside another rule of its organisation, which it does not
    break, and the exchanges that break several rules teach, too.
    """
    rng = random.Random(f"{seed} {ORGANISATIONS}")  # noqa: S311
    examples: list[TrainingExample] = []
    for organisation in organisations().values():
        if organisation.part != part:
            continue
        for entry in organisation.rules:
            examples += _of_rule(entry)
        if part == "train":
            examples += _beside_others(organisation, rng)
    return examples


def fine_replies(part: str) -> list[TrainingExample]:
    """Return exchanges that break no rule of their organisation, as lessons of the verdict."""
    return [
        TrainingExample(VERDICT, (row.prompt, row.reply), VERDICTS.index(FINE), group=FINE_REPLIES)
        for organisation in organisations().values()
        for row in organisation.mixed
        if organisation.part == part and not row.breaks
    ]


def unlabelled_pairs(seed: int) -> list[TrainingExample]:
    """Return exchanges of train beside rules that they were not written for: for a teacher."""
    rng = random.Random(f"{seed} {UNLABELLED}")  # noqa: S311
    houses = [one for one in organisations().values() if one.part == "train"]
    examples: list[TrainingExample] = []
    for house in houses:
        rules = [entry.rule for entry in house.rules]
        for exchange, _ in house.judged():
            for rule in (*rng.sample(rules, 2), rng.choice(rng.choice(houses).rules).rule):
                pair = alignment_pair(rule, exchange)
                turn = (len(examples) % _TURNS, _TURNS)
                examples.append(TrainingExample(TASK, pair, -1, group=UNLABELLED, turn=turn))
    return examples


def _beside_others(organisation: Organisation, rng: random.Random) -> Iterator[TrainingExample]:
    rules, judged = [entry.rule for entry in organisation.rules], organisation.judged()
    mixed = judged[len(judged) - len(organisation.mixed) :]
    for exchange, broken in mixed:
        for rule in sorted(broken):
            pair = alignment_pair(rule, exchange)
            yield TrainingExample(
                TASK, pair, ALIGNMENTS.index("disagree"), weight=_WEIGHT, group=ORGANISATIONS
            )
    for index, (exchange, but) in enumerate([*judged, *mixed]):
        rule = rng.choice([rule for rule in rules if rule not in but])
        yield TrainingExample(
            TASK,
            alignment_pair(rule, exchange),
            ALIGNMENTS.index("neither"),
            weight=0.5,
            group=ORGANISATIONS,
            turn=(index % _TURNS, _TURNS),
            values=_NOT_BROKEN,
        )


def _of_rule(entry: RulePairs) -> Iterator[TrainingExample]:
    for index, sides in enumerate(entry.sides()):
        pairs = {label: alignment_pair(entry.rule, side) for label, side in sides.items()}
        for label, pair in pairs.items():
            number = ALIGNMENTS.index(label)
            yield TrainingExample(TASK, pair, number, weight=_WEIGHT, group=ORGANISATIONS)
            if entry.shape == CONDITION:
                applies = int(label != "neither")
                yield TrainingExample(CONDITION, pair, applies, group=CONDITION)
        first, second = sorted(pairs, key=ALIGNMENTS.index)  # a breach first, where there is one
        yield TrainingExample(
            TASK,
            pairs[first],
            ALIGNMENTS.index(first),
            group=PAIRS,
            turn=(index % _TURNS, _TURNS),
            other=pairs[second],
        )
