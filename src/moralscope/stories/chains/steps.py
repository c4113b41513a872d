"""The four steps, each over many stories at once: one call to a model a step, never one a story.

A step takes the rows of all stories of a block and returns what it found for each. It chooses
nothing for other stories, so that the block's size and order change no result.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import isfinite
from typing import Any, Protocol

from moralscope.core.protocols import Classifier, Generator
from moralscope.core.records import Candidate, Decoding
from moralscope.stories.chains.flow import Recipe, Step, renamed, wanted_class
from moralscope.stories.tasks import classification_task, generation_task


def seed_of(seed: int, parts: Sequence[str | None]) -> int:
    """Return a seed that depends on the run's seed and on what it is for, on nothing else.

    Examples
    --------
    >>> seed_of(0, ["story 1", "moral", "actions"]) == seed_of(0, ["story 1", "moral", "actions"])
    True
    >>> seed_of(0, ["story 1", "moral", "actions"]) == seed_of(0, ["story 1", None, "actions"])
    False
    """
    digest = blake2b(json.dumps([seed, *parts]).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1  # 63 bits: what every generator takes


Row = dict[str, str | None]
Pair = tuple[str, str]


class ExpertShelf(Protocol):
    """Experts by task."""

    def expert(self, task: str) -> Classifier: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What every step works with: the recipe, the models, how to sample, the run's seed."""

    recipe: Recipe
    generator: Generator
    experts: ExpertShelf
    decoding: Decoding
    seed: int


@dataclass(slots=True)
class State:
    """One story with one target on its way through the chain."""

    id: str
    target: str | None
    row: Row
    found: dict[str, "Found"] = field(default_factory=dict)
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A candidate: its score where an expert gave one, and how the generator came to it."""

    text: str
    score: float | None = None
    log_probability: float | None = None
    tokens: int | None = None
    finish: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a step found for one story: candidates, best first where they are ranked; the choice."""

    candidates: tuple[Text, ...]
    choice: str | None
    notes: Mapping[str, Any] = field(default_factory=dict)


def propose(step: Step, states: Sequence[State], plan: Plan) -> list[Found]:
    """Sample candidates for every story; the choice is the first sample that is not empty."""
    return _generate(step, states, [{}] * len(states), plan)


def rank(step: Step, states: Sequence[State], plan: Plan) -> list[Found]:
    """Order candidates by the probability of the wanted class; equals keep their order."""
    texts = [[item.text for item in state.found[str(step.source)].candidates] for state in states]
    tables = _judge(step, states, texts, plan)
    labels = classification_task(str(step.expert)).labels
    found = []
    for state, own, table in zip(states, texts, tables, strict=True):
        wanted = wanted_class(step, state.target)
        scored = [Text(text, _known(table[text][wanted]) if text else None) for text in own]
        scored.sort(key=lambda item: -1.0 if item.score is None else item.score, reverse=True)
        best = scored[0].text if scored else ""
        found.append(Found(tuple(scored), best or None, {"label": labels[wanted]}))
    return found


def condition(step: Step, states: Sequence[State], plan: Plan) -> list[Found]:
    """Put the chosen text into the row, where later steps read it."""
    found = []
    for state in states:
        choice = state.found[str(step.source)].choice
        state.row[str(step.field)] = choice
        found.append(Found((), choice, {"field": step.field}))
    return found


def refine(step: Step, states: Sequence[State], plan: Plan) -> list[Found]:
    """Label every draft with the likelier class, then write it anew with draft and label."""
    drafts = [str(state.found[str(step.source)].choice) for state in states]
    tables = _judge(step, states, [[draft] for draft in drafts], plan)
    labels = classification_task(str(step.expert)).labels
    extras: list[Row] = []
    notes: list[dict[str, Any]] = []
    for draft, table in zip(drafts, tables, strict=True):
        place = max(range(len(labels)), key=table[draft].__getitem__)
        extras.append({"draft": draft, "label": labels[place]})
        notes.append({"draft": draft, "label": labels[place], "probability": table[draft][place]})
    made = _generate(step, states, extras, plan)
    return [
        Found(item.candidates, item.choice, note) for item, note in zip(made, notes, strict=True)
    ]


STEPS = {"propose": propose, "rank": rank, "condition": condition, "refine": refine}


def decoding_of(step: Step, given: Decoding) -> Decoding:
    """Return how a step samples: as the recipe says, else as the run says; refine writes one."""
    return Decoding(
        strategy=step.strategy or given.strategy,
        count=step.count or (1 if step.do == "refine" else given.count),
        p=given.p if step.p is None else step.p,
        temperature=given.temperature if step.temperature is None else step.temperature,
        beams=given.beams,
        max_tokens=given.max_tokens,
        sentence=given.sentence,
    )


def _generate(
    step: Step, states: Sequence[State], extras: Sequence[Row], plan: Plan
) -> list[Found]:
    task = generation_task(str(step.task))
    rows = [
        {**_view(step, state, plan), **extra} for state, extra in zip(states, extras, strict=True)
    ]
    prompts = [str(task.prompt(row)) for row in rows]
    seeds = [seed_of(plan.seed, [state.id, state.target, step.name]) for state in states]
    decoding = decoding_of(step, plan.decoding)
    found = [_different(each) for each in plan.generator.generate(prompts, decoding, seeds)]
    short = [place for place, texts in enumerate(found) if len(texts) < decoding.count]
    if short and decoding.strategy == "nucleus":  # once more: the paper asks for diverse texts
        again = plan.generator.generate(
            [prompts[place] for place in short], decoding, [seeds[place] + 1 for place in short]
        )
        for place, more in zip(short, again, strict=True):
            found[place] = _different(more, found[place])[: decoding.count]
    return [Found(texts, next((item.text for item in texts if item.text), None)) for texts in found]


def _different(made: Sequence[Candidate], known: Sequence[Text] = ()) -> tuple[Text, ...]:
    """Keep each text once, whatever its case; the first comes first."""
    texts = {text.text.casefold(): text for text in known}
    for text in map(_text, made):
        texts.setdefault(text.text.casefold(), text)
    return tuple(texts.values())


def _text(candidate: Candidate) -> Text:
    known = candidate.log_probabilities
    return Text(
        " ".join(candidate.text.split()),
        log_probability=sum(known) if known else None,
        tokens=len(known) or None,
        finish=candidate.finish,
    )


def _known(probability: float) -> float | None:
    """Drop what is no number: a broken expert must not put its text first."""
    return probability if isfinite(probability) else None


def _judge(
    step: Step, states: Sequence[State], texts: Sequence[Sequence[str]], plan: Plan
) -> list[dict[str, list[float]]]:
    """Return every text's probabilities, story by story; a pair is asked about once."""
    task = classification_task(str(step.expert))
    pairs: dict[Pair, int] = {}
    wanted: list[dict[str, Pair]] = []
    for state, own in zip(states, texts, strict=True):
        row = _view(step, state, plan)
        each = {text: task.pair({**row, task.target: text}) for text in own if text}
        wanted.append({text: pair for text, pair in each.items() if pair})
        for pair in wanted[-1].values():
            pairs.setdefault(pair, len(pairs))
    if not pairs:
        return [{} for _ in states]
    table = plan.experts.expert(task.name).probabilities(list(pairs)).tolist()
    return [{text: table[pairs[pair]] for text, pair in each.items()} for each in wanted]


def _view(step: Step, state: State, plan: Plan) -> Row:
    """Return the row as this step reads it: some sentences stand in for others."""
    stand_ins = renamed(plan.recipe, step)
    return {**state.row, **{name: state.row.get(other) for name, other in stand_ins.items()}}
