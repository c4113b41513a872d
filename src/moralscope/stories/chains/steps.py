"""The four steps, each over many stories at once: one call to a model a step, never one a story.

A step takes the rows of all stories of a block and returns what it found for each. It chooses
nothing for other stories, so that the block's size and order change no result.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import isfinite
from typing import Any

from moralscope.core.protocols import ExpertSet, Generator, Pair
from moralscope.core.records import Candidate, Decoding
from moralscope.stats.text.words import non_words
from moralscope.stories.chains.flow import ChainRecipe, Step, renamed, wanted_class
from moralscope.stories.chains.records import ScoredText, StepTrace
from moralscope.stories.tasks import classification_task, generation_task


def seed_of(seed: int, parts: Sequence[str | None]) -> int:
    """Return a seed that depends on the run's seed and on what it is for, on nothing else."""
    digest = blake2b(json.dumps([seed, *parts]).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1  # 63 bits: what every generator takes


Row = dict[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan:
    """What every step works with: the recipe, the models, how to sample, the run's seed."""

    recipe: ChainRecipe
    generator: Generator
    experts: ExpertSet
    decoding: Decoding
    seed: int


@dataclass(slots=True)
class ChainState:
    """One story with one target on its way through the chain."""

    id: str
    target: str | None
    row: Row
    path: dict[str, StepTrace] = field(default_factory=dict)  # by step
    failed: str | None = None

    def source(self, step: Step) -> StepTrace:
        """Return what the step takes its texts from."""
        return self.path[str(step.source)]


def propose(step: Step, states: Sequence[ChainState], plan: ChainPlan) -> list[StepTrace]:
    """Sample candidates for every story; the choice is the first sample that is not empty."""
    return [
        _trace(step, texts, _first(texts))
        for texts in _generate(step, states, [{}] * len(states), plan)
    ]


def rank(step: Step, states: Sequence[ChainState], plan: ChainPlan) -> list[StepTrace]:
    """Order candidates by the probability of the wanted class; equals keep their order.

    What a chain ends with must not contradict what was asked for: one that is likelier to be of
    another class is not chosen there.
    """
    last = step is plan.recipe.steps[-1]
    texts = [[item.text for item in state.source(step).candidates] for state in states]
    tables = _judge(step, states, texts, plan)
    labels = classification_task(str(step.expert)).labels
    traces = []
    for state, candidates, table in zip(states, texts, tables, strict=True):
        wanted = wanted_class(step, state.target)
        scored = []
        for text in candidates:
            # What is no number is dropped: a broken expert must not put its text first.
            known = text and isfinite(table[text][wanted])
            scored.append(ScoredText(text, table[text][wanted] if known else None))
        scored.sort(key=lambda item: -1.0 if item.score is None else item.score, reverse=True)
        best = scored[0].text if scored else ""
        if last and scored and (scored[0].score or 0.0) < max(table.get(best, [0.0])):
            best = ""
        traces.append(_trace(step, scored, best or None, label=labels[wanted]))
    return traces


def condition(step: Step, states: Sequence[ChainState], plan: ChainPlan) -> list[StepTrace]:
    """Put the chosen text into the row, where later steps read it."""
    for state in states:
        state.row[str(step.field)] = state.source(step).choice
    return [_trace(step, (), state.source(step).choice, field=step.field) for state in states]


def refine(step: Step, states: Sequence[ChainState], plan: ChainPlan) -> list[StepTrace]:
    """Label every draft with the likelier class, then write it anew with draft and label."""
    drafts = [str(state.source(step).choice) for state in states]
    tables = _judge(step, states, [[draft] for draft in drafts], plan)
    labels = classification_task(str(step.expert)).labels
    best = [
        max(range(len(labels)), key=table[draft].__getitem__)
        for draft, table in zip(drafts, tables, strict=True)
    ]
    extras: list[Row] = [
        {"draft": draft, "label": labels[index]} for draft, index in zip(drafts, best, strict=True)
    ]
    made = _generate(step, states, extras, plan)
    return [
        _trace(step, texts, _first(texts), **extra, probability=table[draft][index])
        for texts, extra, draft, table, index in zip(
            made, extras, drafts, tables, best, strict=True
        )
    ]


STEPS = {"propose": propose, "rank": rank, "condition": condition, "refine": refine}


def decoding_of(step: Step, decoding: Decoding) -> Decoding:
    """Return how a step samples: as the recipe says, else as the run says; refine writes one."""
    return replace(
        decoding,
        strategy=step.strategy or decoding.strategy,
        count=step.count or (1 if step.do == "refine" else decoding.count),
        p=decoding.p if step.p is None else step.p,
        temperature=decoding.temperature if step.temperature is None else step.temperature,
    )


def _trace(
    step: Step, candidates: Sequence[ScoredText], choice: str | None, **notes: Any
) -> StepTrace:
    return StepTrace(
        step=step.name,
        do=step.do,
        task=step.task,
        expert=step.expert,
        source=step.source,
        candidates=tuple(candidates),
        choice=choice,
        **notes,
    )


def _first(texts: Sequence[ScoredText]) -> str | None:
    return next((item.text for item in texts if item.text), None)


def _generate(
    step: Step, states: Sequence[ChainState], extras: Sequence[Row], plan: ChainPlan
) -> list[tuple[ScoredText, ...]]:
    task = generation_task(str(step.task))
    rows = [
        {**_view(step, state, plan), **extra} for state, extra in zip(states, extras, strict=True)
    ]
    prompts = [str(task.prompt(row)) for row in rows]
    seeds = [seed_of(plan.seed, [state.id, state.target, step.name]) for state in states]
    decoding = decoding_of(step, plan.decoding)
    made = [
        _different(texts, prompt)
        for texts, prompt in zip(
            plan.generator.generate(prompts, decoding, seeds), prompts, strict=True
        )
    ]
    short = [index for index, texts in enumerate(made) if len(texts) < decoding.count]
    if short and decoding.strategy == "nucleus":  # once more: the paper asks for diverse texts
        again = plan.generator.generate(
            [prompts[index] for index in short], decoding, [seeds[index] + 1 for index in short]
        )
        for index, more in zip(short, again, strict=True):
            made[index] = _different(more, prompts[index], made[index])[: decoding.count]
    return made


def _different(
    candidates: Sequence[Candidate], prompt: str, known: Sequence[ScoredText] = ()
) -> tuple[ScoredText, ...]:
    """Keep each text in English words once, whatever its case; the first comes first."""
    texts = {item.text.casefold(): item for item in known}
    for candidate in candidates:
        text, logs = " ".join(candidate.text.split()), candidate.log_probabilities
        if non_words(text, prompt):
            continue
        scored = ScoredText(
            text,
            log_probability=sum(logs) if logs else None,
            tokens=len(logs) or None,
            finish=candidate.finish,
        )
        texts.setdefault(text.casefold(), scored)
    return tuple(texts.values())


def _judge(
    step: Step, states: Sequence[ChainState], texts: Sequence[Sequence[str]], plan: ChainPlan
) -> list[dict[str, list[float]]]:
    """Return every text's probabilities, story by story; a pair is asked about once."""
    task = classification_task(str(step.expert))
    pairs: dict[Pair, int] = {}
    wanted: list[dict[str, Pair]] = []
    for state, candidates in zip(states, texts, strict=True):
        row = _view(step, state, plan)
        asked = {text: task.pair({**row, task.target: text}) for text in candidates if text}
        wanted.append({text: pair for text, pair in asked.items() if pair})
        for pair in wanted[-1].values():
            pairs.setdefault(pair, len(pairs))
    if not pairs:
        return [{} for _ in states]
    table = plan.experts.expert(task.name).probabilities(list(pairs)).tolist()
    return [{text: table[pairs[pair]] for text, pair in asked.items()} for asked in wanted]


def _view(step: Step, state: ChainState, plan: ChainPlan) -> Row:
    """Return the row as this step reads it: some sentences stand in for others."""
    stand_ins = renamed(plan.recipe, step)
    return {**state.row, **{name: state.row.get(other) for name, other in stand_ins.items()}}
