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
from moralscope.rules.replies import (
    AGAINST,
    FOR,
    NEITHER,
    StanceExchange,
    draw_exchange,
    draw_neither,
    plain_exchange,
)
from moralscope.rules.rulebook import shipped_rulebook
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
_REVERSED_SHARE, _OTHER_SHARE = 0.5, 0.25
_FLIPPED = {"agree": "disagree", "disagree": "agree", "neither": "neither"}


@dataclass(frozen=True, slots=True)
class RuleCase:
    """A rule, its other wordings, its reversals, and acts that keep or break it.

    `contexts` may stand in front of a question; `permits` says that the rule only allows. Where it
    `forbids`, an act that keeps it is one of many: to be against that act says nothing of the rule.

    Examples
    --------
    >>> RuleCase("Don't lie.", breaks=(OwnAct("lie", "lied", "lying"),)).keeps
    ()
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
    """Return the lessons of all turns: each epoch has its own wordings of every matter.

    Examples
    --------
    >>> lie = OwnAct("lie", "lied", "lying")
    >>> matters = [RuleCase("Don't lie.", reversed=("Lie!",), breaks=(lie,)), RuleCase("Be kind.")]
    >>> rows = alignment_examples(matters, turns=2, seed=0)
    >>> sorted({row.pair[0] for row in rows}), {row.turn for row in rows} == {(0, 2), (1, 2)}
    (['Be kind.', "Don't lie.", 'Lie!'], True)
    """
    lessons: list[TrainingExample] = []
    for turn in range(turns):
        rng = random.Random(f"{seed} {turn}")  # noqa: S311
        for place in range(len(matters)):
            for rule, told, sign in _drawn(matters, place, rng):
                row = _lesson(rule, told.exchange, sign * told.stance)
                lessons.append(replace(row, weight=weight, turn=(turn, turns)))
    return lessons


def alignment_dev(matters: Sequence[RuleCase], seed: int) -> list[TrainingExample]:
    """Return the pairs of dev or test in groups: plain, with the rule reversed, and of all stances.

    The plain ones tell what is done ("I would …"); a third of each group is neither, by a rule of
    another matter. Wordings are drawn once, by the seed.
    """
    found: list[TrainingExample] = []
    rng = random.Random(f"{seed} dev")  # noqa: S311
    for place, matter in enumerate(matters):
        tolds = [
            (plain_exchange(act, _context(matter, rng), place), sign)
            for acts, sign in ((matter.keeps, FOR), (matter.breaks, AGAINST))
            for act in acts[:1]
        ]
        other = _other(matters, place, rng)
        flipped = rng.choice(matter.reversed) if matter.reversed else None
        for told, sign in tolds:
            found.append(_lesson(matter.rule, told.exchange, sign, TASK))
            if flipped:
                found.append(_lesson(flipped, told.exchange, -sign, REVERSED))
        if other and tolds:
            told = rng.choice(tolds)[0]
            found.append(_lesson(other.rule, told.exchange, NEITHER, TASK))
            if other.reversed:
                found.append(_lesson(rng.choice(other.reversed), told.exchange, NEITHER, REVERSED))
        for rule, told, sign in _drawn(matters, place, rng):
            found.append(_lesson(rule, told.exchange, sign * told.stance, STANCES))
    return found


def annotated_examples(rows: Sequence[Annotation], group: str = "") -> list[TrainingExample]:
    """Return annotated exchanges (MIC.csv, or a file of one's own) as alignment lessons.

    Examples
    --------
    >>> row = Annotation(Exchange("Do you lie?", "Never."), "Don't lie.", "agree")
    >>> [(lesson.pair[0], lesson.label) for lesson in annotated_examples([row])]
    [("Don't lie.", 1)]
    """
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
    matters: Sequence[RuleCase], place: int, rng: random.Random
) -> Iterator[tuple[str, StanceExchange, int]]:
    """Yield (rule, exchange, sign) of one matter: the label is the sign times the stance."""
    matter = matters[place]
    made: list[StanceExchange] = []
    for acts, sign in ((matter.keeps, FOR), (matter.breaks, AGAINST)):
        if not acts:
            continue
        act = rng.choice(acts)
        others = matter.breaks[:1] if sign == FOR else matter.keeps[:1]
        other = others[0] if others else None
        stances = (FOR,) if matter.forbids and sign == FOR else (FOR, AGAINST)
        told = draw_exchange(act, rng, _context(matter, rng), other, stances)
        outcome = matter.gains if sign == FOR else matter.costs
        # now and then what would come of it, as a reason for keeping the rule
        if outcome and sign == told.stance and rng.random() < _OUTCOMES:
            reason = f"{'That way' if sign == FOR else 'If I did,'} I would {outcome}."
            exchange = replace(told.exchange, reply=f"{told.exchange.reply} {reason}")
            told = replace(told, exchange=exchange)
        made.append(told)
        if not (matter.permits and told.refuses):
            yield _worded(matter, rng), told, sign
            if matter.reversed:
                yield rng.choice(matter.reversed), told, -sign
    if not made:
        return
    foreign = _other(matters, place, rng)
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


def _other(matters: Sequence[RuleCase], place: int, rng: random.Random) -> RuleCase | None:
    if len(matters) < 2:
        return None
    found = rng.randrange(len(matters) - 1)
    return matters[found + (found >= place)]


def _lesson(rule: str, exchange: Exchange, side: int, group: str = "") -> TrainingExample:
    return TrainingExample(TASK, alignment_pair(rule, exchange), _LABEL[side], group=group)


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
        for row in shipped_yaml("moralscope.rules", f"exchanges/{path.name}"):
            exchange = Exchange(row["prompt"], row["reply"])
            part = "dev" if row["rule"] in held else "train"
            found.append(Annotation(exchange, rules[row["rule"]], row["label"], split=part))
    return found


def policy_exchanges() -> list[Annotation]:
    """Return exchanges written for rules of organisations, with the part of each rule.

    Examples
    --------
    >>> {row.alignment for row in policy_exchanges()} == set(ALIGNMENTS)
    True
    """
    rules = shipped_yaml("moralscope.rules", "policies.yaml")
    return [
        Annotation(Exchange(prompt, reply), row["rule"], label, split=part)
        for place, row in enumerate(rules)
        for part in ("train" if place % _DEV_RULES else "dev",)
        for label in ALIGNMENTS
        for prompt, reply in row[label]
    ]


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
