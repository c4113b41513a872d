"""Cases for the alignment expert: Moral Stories and SOCIAL-CHEM-101 told in the first person.

The only place where stories (norms, their reversals, the first-person rewriter) and the room of
rules meet for training. What cannot be rewritten is left out and counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from moralscope.rules.alignment_examples import RuleCase
from moralscope.rules.records import Annotation
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
    """Turn stories into matters: the moral action keeps the norm, the immoral one breaks it.

    Examples
    --------
    >>> story = MoralStory("1", "Don't lie.", moral_action="Jo talks.", immoral_action="Jo lies.")
    >>> found = story_cases([story], frozenset({"lies", "talks"}))
    >>> found.matters[0].breaks[0].base, found.acts, found.rewritten
    ('lie', 2, 2)
    """
    found: list[RuleCase] = []
    acts = rewritten = 0
    for story in stories:
        if not story.norm:
            continue
        gender = gender_of((story.intention or "").split())
        own = [_acts(text, verbs, gender) for text in (story.moral_action, story.immoral_action)]
        acts += sum(bool(text) for text in (story.moral_action, story.immoral_action))
        rewritten += sum(map(len, own))
        # what the norm itself says to do, or what not
        behaviour, side = behaviour_of(story.norm) or ("", 0)
        act = own_phrase(behaviour) if side else None
        said, banned = [(act,) if act and side * sign > 0 else () for sign in (1, -1)]
        keeps, breaks = (*own[0], *said), (*own[1], *banned)
        if keeps or breaks:
            found.append(
                RuleCase(
                    story.norm,
                    restatements(story.norm),
                    reversals(story.norm),
                    keeps,
                    breaks,
                    _contexts(story, verbs, gender),
                    forbids=not said,
                    gains=_outcome(story, story.moral_consequence, verbs, gender),
                    costs=_outcome(story, story.immoral_consequence, verbs, gender),
                )
            )
    return RuleCases(tuple(found), acts, rewritten)


def social_cases(rows: Sequence[Annotation]) -> RuleCases:
    """Turn rules of SOCIAL-CHEM-101 into matters: good and expected acts keep them.

    Rules that only allow (judgment 0) are marked as such.
    """
    found: list[RuleCase] = []
    given = [row for row in rows if row.action and row.judgment is not None]
    for row in given:
        act = own_phrase(row.action or "") if starts_with_gerund(row.action or "") else None
        if act is None:
            continue
        keeps, breaks = ((), (act,)) if (row.judgment or 0) < 0 else ((act,), ())
        situation = row.exchange.prompt.strip().rstrip(".")
        found.append(
            RuleCase(
                row.rule,
                restatements(row.rule),
                reversals(row.rule),
                keeps,
                breaks,
                (_context(situation),),
                permits=row.judgment == 0,
            )
        )
    return RuleCases(tuple(found), len(given), len(found))


def _acts(text: str | None, verbs: frozenset[str], gender: str | None) -> tuple[OwnAct, ...]:
    act = own_act(text, verbs, gender) if text else None
    return (act,) if act else ()


def _contexts(story: MoralStory, verbs: frozenset[str], gender: str | None) -> tuple[str, ...]:
    third = " ".join(text for text in (story.situation, story.intention) if text)
    own = [
        f"I {act.present}."
        for text in (story.situation, story.intention)
        if _same_actor(story, text)
        for act in _acts(text, verbs | {"wants"}, gender)
    ]
    return tuple(dict.fromkeys([*([third] if third else []), *own]))


def _outcome(story: MoralStory, text: str | None, verbs: frozenset[str], gender: str | None) -> str:
    acts = _acts(text, verbs, gender) if _same_actor(story, text) else ()
    return acts[0].base if acts else ""


def _same_actor(story: MoralStory, text: str | None) -> bool:
    """Tell whether a sentence begins with the name of the one who acts."""
    known = (text or "").split(" ", maxsplit=1)[0]
    return known == (story.moral_action or story.immoral_action or "").split(" ", maxsplit=1)[0]


def _context(situation: str) -> str:
    """Write a situation ("not sharing my salad with my mom") as one says it."""
    first = situation.split(" ", maxsplit=1)[0].lower()
    if first.endswith("ing") or first == "not":
        return f"I am thinking about {situation[:1].lower()}{situation[1:]}."
    return f"{situation}."
