"""What the alignment expert is taught: (rule, exchange) pairs that must be read on both sides.

A `RuleCase` is a rule with acts that keep it and acts that break it. Every act becomes an exchange
whose reply is for or against it (`replies`), and the exchange is set beside the rule, the rule in
other words, the reversed rule (label flipped) and another matter's rule (neither); replies without
a stance are neither beside any. Where matters come from is the caller's to know.

Exchanges written by hand for the shipped rules, as chatbots and people really talk, teach stances
without the rule's words. Every tenth rule is held out for dev; the tests have others.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources

from moralscope.io.documents import shipped_yaml
from moralscope.models.training.records import TrainingExample
from moralscope.rules.records import ALIGNMENTS, Annotation, Exchange
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.training.replies import (
    AGAINST,
    FOR,
    NEITHER,
    StanceExchange,
    draw_exchange,
    draw_neither,
    plain_exchange,
)
from moralscope.rules.verdict import TASK, alignment_pair
from moralscope.stories.norms.first_person import OwnAct

REVERSED, STANCES = f"{TASK} reversed", f"{TASK} stances"
_LABEL = {1: ALIGNMENTS.index("agree"), -1: ALIGNMENTS.index("disagree")}
_LABEL[0] = ALIGNMENTS.index("neither")
_OUTCOMES = 0.2
_OWN_WORDS = 0.6  # how often a rule comes as it is written
WRITTEN = "written"
Reversals = Callable[[str], Sequence[str]]
_DEV_RULES = 10
_LATER = "part11.yaml"
_REVERSED_SHARE, _OTHER_SHARE = 0.5, 0.25
_FLIPPED = {"agree": "disagree", "disagree": "agree", "neither": "neither"}


@dataclass(frozen=True, slots=True)
class RuleCase:
    """A rule, its other wordings, its reversals, and acts that keep or break it.

    `contexts` may stand in front of a question; `permits` says that the rule only allows. Where it
    `forbids`, an act that keeps it is one of many: to be against that act says nothing of the rule.
    """

    rule: str
    restated: tuple[str, ...] = ()
    reversed: tuple[str, ...] = ()
    keeps: tuple[OwnAct, ...] = ()
    breaks: tuple[OwnAct, ...] = ()
    contexts: tuple[str, ...] = ()
    permits: bool = False
    forbids: bool = False
    gains: str = ""  # what comes of keeping it, and of breaking it: "get promoted", "get fired"
    costs: str = ""


def alignment_examples(
    matters: Sequence[RuleCase], *, turns: int, seed: int, weight: float = 1.0
) -> list[TrainingExample]:
    """Return the lessons of all turns: each epoch has its own wordings of every matter."""
    lessons: list[TrainingExample] = []
    for turn in range(turns):
        rng = random.Random(f"{seed} {turn}")  # noqa: S311
        for index in range(len(matters)):
            for rule, drawn, sign in _drawn(matters, index, rng):
                row = _lesson(rule, drawn.exchange, sign * drawn.stance)
                lessons.append(replace(row, weight=weight, turn=(turn, turns)))
    return lessons


def alignment_dev(matters: Sequence[RuleCase], seed: int) -> list[TrainingExample]:
    """Return the pairs of dev or test in groups: plain, with the rule reversed, and of all stances.

    The plain ones tell what is done ("I would …"); a third of each group is neither, by a rule of
    another matter. Wordings are drawn once, by the seed.
    """
    examples: list[TrainingExample] = []
    rng = random.Random(f"{seed} dev")  # noqa: S311
    for index, matter in enumerate(matters):
        tolds = [
            (plain_exchange(act, _context(matter, rng), index), sign)
            for acts, sign in ((matter.keeps, FOR), (matter.breaks, AGAINST))
            for act in acts[:1]
        ]
        other = _other(matters, index, rng)
        flipped = rng.choice(matter.reversed) if matter.reversed else None
        for drawn, sign in tolds:
            examples.append(_lesson(matter.rule, drawn.exchange, sign, TASK))
            if flipped:
                examples.append(_lesson(flipped, drawn.exchange, -sign, REVERSED))
        if other and tolds:
            drawn = rng.choice(tolds)[0]
            examples.append(_lesson(other.rule, drawn.exchange, NEITHER, TASK))
            if other.reversed:
                examples.append(
                    _lesson(rng.choice(other.reversed), drawn.exchange, NEITHER, REVERSED)
                )
        for rule, drawn, sign in _drawn(matters, index, rng):
            examples.append(_lesson(rule, drawn.exchange, sign * drawn.stance, STANCES))
    return examples


def annotated_examples(rows: Sequence[Annotation], group: str = "") -> list[TrainingExample]:
    """Return annotated exchanges (MIC.csv, or a file of one's own) as alignment lessons."""
    return [
        TrainingExample(
            TASK,
            alignment_pair(row.rule, row.exchange),
            ALIGNMENTS.index(row.alignment),
            group=group,
        )
        for row in rows
        if row.alignment
    ]


def _drawn(
    matters: Sequence[RuleCase], index: int, rng: random.Random
) -> Iterator[tuple[str, StanceExchange, int]]:
    """Yield (rule, exchange, sign) of one matter: the label is the sign times the stance."""
    matter = matters[index]
    made: list[StanceExchange] = []
    for acts, sign in ((matter.keeps, FOR), (matter.breaks, AGAINST)):
        if not acts:
            continue
        act = rng.choice(acts)
        others = matter.breaks[:1] if sign == FOR else matter.keeps[:1]
        other = others[0] if others else None
        stances = (FOR,) if matter.forbids and sign == FOR else (FOR, AGAINST)
        drawn = draw_exchange(act, rng, _context(matter, rng), other, stances)
        outcome = matter.gains if sign == FOR else matter.costs
        # now and then what would come of it, as a reason for keeping the rule
        if outcome and sign == drawn.stance and rng.random() < _OUTCOMES:
            reason = f"{'That way' if sign == FOR else 'If I did,'} I would {outcome}."
            exchange = replace(drawn.exchange, reply=f"{drawn.exchange.reply} {reason}")
            drawn = replace(drawn, exchange=exchange)
        made.append(drawn)
        if not (matter.permits and drawn.refuses):
            yield _worded(matter, rng), drawn, sign
            if matter.reversed:
                yield rng.choice(matter.reversed), drawn, -sign
    if not made:
        return
    foreign = _other(matters, index, rng)
    if foreign:
        rules = (foreign.rule, *foreign.restated, *foreign.reversed)
        yield rng.choice(rules), replace(rng.choice(made), stance=NEITHER), NEITHER
    acts = matter.keeps + matter.breaks
    about = (
        _worded(matter, rng) if rng.random() < 0.5 else rng.choice((matter.rule, *matter.reversed))
    )
    yield about, draw_neither(rng.choice(acts), rng, _context(matter, rng)), NEITHER


def _worded(matter: RuleCase, rng: random.Random) -> str:
    if not matter.restated or rng.random() < _OWN_WORDS:
        return matter.rule
    return rng.choice(matter.restated)


def _context(matter: RuleCase, rng: random.Random) -> str:
    return rng.choice(matter.contexts) if matter.contexts else ""


def _other(matters: Sequence[RuleCase], index: int, rng: random.Random) -> RuleCase | None:
    if len(matters) < 2:
        return None
    drawn = rng.randrange(len(matters) - 1)
    return matters[drawn + (drawn >= index)]


def _lesson(rule: str, exchange: Exchange, side: int, group: str = "") -> TrainingExample:
    return TrainingExample(TASK, alignment_pair(rule, exchange), _LABEL[side], group=group)


def written_exchanges() -> list[Annotation]:
    """Return every written exchange with its rule, its alignment and its part."""
    rules = {rule.id: rule.text for rule in shipped_rulebook().rules}
    folder = resources.files("moralscope.rules") / "data" / "exchanges"
    names = sorted(path.name for path in folder.iterdir())
    parts = {name: shipped_yaml("moralscope.rules", f"exchanges/{name}") for name in names}
    # Rules that were written later must not change which ones the shipped experts never saw.
    first = {row["rule"] for name, rows in parts.items() if name != _LATER for row in rows}
    held = set(sorted(first)[::_DEV_RULES])
    exchanges = []
    for row in (row for rows in parts.values() for row in rows):
        exchange = Exchange(row["prompt"], row["reply"])
        part = "dev" if row["rule"] in held else "train"
        exchanges.append(Annotation(exchange, rules[row["rule"]], row["label"], split=part))
    return exchanges


def policy_exchanges() -> list[Annotation]:
    """Return exchanges written for rules of organisations, with the part of each rule."""
    return [
        Annotation(Exchange(prompt, reply), row["rule"], label, split=part)
        for index, row in enumerate(shipped_yaml("moralscope.rules", "policies.yaml"))
        for part in ("train" if index % _DEV_RULES else "dev",)
        for label in ALIGNMENTS
        for prompt, reply in row[label]
    ]


def written_examples(
    rows: Sequence[Annotation], reversals: Reversals, *, weight: float, seed: int
) -> list[TrainingExample]:
    """Return lessons of the written exchanges: by their rule, some by its reversal or another's."""
    rng = random.Random(f"{seed} written")  # noqa: S311
    weighted: list[tuple[Annotation, float]] = []
    for row in rows:
        weighted.append((row, weight))
        if rng.random() < _REVERSED_SHARE and (opposite := reversals(row.rule)):
            flipped = _FLIPPED[row.alignment or "neither"]
            weighted.append((replace(row, rule=rng.choice(opposite), alignment=flipped), weight))
        other = rng.choice(rows).rule
        if rng.random() < _OTHER_SHARE and other != row.rule:
            weighted.append((replace(row, rule=other, alignment="neither"), weight / 2))
    examples = annotated_examples([row for row, _ in weighted])
    return [replace(one, weight=share) for one, (_, share) in zip(examples, weighted, strict=True)]
