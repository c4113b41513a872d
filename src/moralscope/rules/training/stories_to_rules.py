"""Cases for the alignment expert: Moral Stories and SOCIAL-CHEM-101 told in the first person.

The only place where stories (norms, their reversals, the first-person rewriter) and the room of
rules meet for training. What cannot be rewritten is left out and counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from moralscope.rules.records import Annotation
from moralscope.rules.training.alignment_examples import RuleCase
from moralscope.stories.norms.first_person import (
    OwnAct,
    gender_of,
    own_act,
    own_phrase,
    present_verbs,
)
from moralscope.stories.norms.phrases import starts_with_gerund
from moralscope.stories.norms.reversal import behaviour_of, restatements, reversals
from moralscope.stories.story import MoralStory


@dataclass(frozen=True, slots=True)
class RuleCases:
    """Cases of rules, and how many of the acts that were given could be rewritten."""

    matters: tuple[RuleCase, ...]
    acts: int
    rewritten: int


def other_wordings(rule: str) -> tuple[str, ...]:
    """Return restatements and reversals of a rule in turn: both are about the same thing.

    Examples
    --------
    >>> other_wordings("Lying is wrong.")[:2]
    ("You shouldn't lie.", 'Lying is right.')
    """
    same, opposite = restatements(rule), reversals(rule)
    return tuple(chain.from_iterable(zip(same, opposite, strict=False)))


def story_verbs(stories: Iterable[MoralStory]) -> frozenset[str]:
    """Return the verbs with which the actions of stories begin."""
    return present_verbs(
        text for story in stories for text in (story.moral_action, story.immoral_action) if text
    )


def story_cases(stories: Sequence[MoralStory], verbs: frozenset[str]) -> RuleCases:
    """Turn stories into matters: the moral action keeps the norm, the immoral one breaks it."""
    cases: list[RuleCase] = []
    acts = rewritten = 0
    for story in stories:
        if not story.norm:
            continue
        gender = gender_of((story.intention or "").split())
        rewritten_acts = [
            _acts(text, verbs, gender) for text in (story.moral_action, story.immoral_action)
        ]
        acts += sum(bool(text) for text in (story.moral_action, story.immoral_action))
        rewritten += sum(map(len, rewritten_acts))
        # what the norm itself says to do, or what not
        behaviour, side = behaviour_of(story.norm) or ("", 0)
        act = own_phrase(behaviour) if side else None
        said, banned = [(act,) if act and side * sign > 0 else () for sign in (1, -1)]
        keeps, breaks = (*rewritten_acts[0], *said), (*rewritten_acts[1], *banned)
        third = " ".join(filter(None, (story.situation, story.intention)))
        first = [
            f"I {act.present}."
            for text in (story.situation, story.intention)
            if _same_actor(story, text)
            for act in _acts(text, verbs | {"wants"}, gender)
        ]
        gains, costs = (
            _acts(text, verbs, gender) if _same_actor(story, text) else ()
            for text in (story.moral_consequence, story.immoral_consequence)
        )
        if keeps or breaks:
            cases.append(
                RuleCase(
                    story.norm,
                    restatements(story.norm),
                    reversals(story.norm),
                    keeps,
                    breaks,
                    contexts=tuple(dict.fromkeys([*filter(None, [third]), *first])),
                    forbids=not said,
                    gains=gains[0].base if gains else "",
                    costs=costs[0].base if costs else "",
                )
            )
    return RuleCases(tuple(cases), acts, rewritten)


def social_cases(rows: Sequence[Annotation]) -> RuleCases:
    """Turn rules of SOCIAL-CHEM-101 into matters: good and expected acts keep them.

    Rules that only allow (judgment 0) are marked as such.
    """
    cases: list[RuleCase] = []
    judged = [row for row in rows if row.action and row.judgment is not None]
    for row in judged:
        act = own_phrase(row.action or "") if starts_with_gerund(row.action or "") else None
        if act is None:
            continue
        keeps, breaks = ((), (act,)) if (row.judgment or 0) < 0 else ((act,), ())
        situation = row.exchange.prompt.strip().rstrip(".")
        word = situation.split(" ", maxsplit=1)[0].lower()
        if word.endswith("ing") or word == "not":  # "not sharing my salad", as one says it
            situation = f"I am thinking about {situation[:1].lower()}{situation[1:]}"
        cases.append(
            RuleCase(
                row.rule,
                restatements(row.rule),
                reversals(row.rule),
                keeps,
                breaks,
                (f"{situation}.",),
                permits=row.judgment == 0,
            )
        )
    return RuleCases(tuple(cases), len(judged), len(cases))


def _acts(text: str | None, verbs: frozenset[str], gender: str | None) -> tuple[OwnAct, ...]:
    act = own_act(text, verbs, gender) if text else None
    return (act,) if act else ()


def _same_actor(story: MoralStory, text: str | None) -> bool:
    """Tell whether a sentence begins with the name of the one who acts."""
    known = (text or "").split(" ", maxsplit=1)[0]
    return known == (story.moral_action or story.immoral_action or "").split(" ", maxsplit=1)[0]
