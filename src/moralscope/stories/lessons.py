"""What experts are taught: the official pairs, and pairs that can only be told by reading the norm.

Contrast, for tasks with the label "does not concern": every norm also comes reversed (and the label
with it), restated (label kept) and swapped for an unrelated story's norm (label: does not concern).
A model that judges the action alone is then right half of the time at best.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from moralscope.engine.classifiers.learning import Lesson
from moralscope.stories.reversal import behaviour_of, restate_norm, reverse_norm, swap_norms
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import ClassificationTask, path_row, samples

UNRELATED = 2  # the place of "does not concern"
VARIANTS = 8
SWAPPED_DECIDES = 0.25  # told apart easily: the official and the reversed pairs shall decide


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much contrast: wordings a story and kind, and the weight of each in the loss."""

    reversed: int = 2
    restated: int = 1
    swapped: int = 1
    reversed_weight: float = 0.6
    restated_weight: float = 0.5
    swapped_weight: float = 0.5


def official_lessons(task: ClassificationTask, stories: Iterable[MoralStory]) -> list[Lesson]:
    """Return the pairs that the paper trains on.

    Examples
    --------
    >>> from moralscope.stories.tasks import classification_task
    >>> story = MoralStory("1", moral_action="Jo smiles.", immoral_action="Jo spits.")
    >>> [(row.pair, row.label) for row in official_lessons(classification_task("action"), [story])]
    [(('', 'Jo smiles.'), 1), (('', 'Jo spits.'), 0)]
    """
    return [
        Lesson(task.name, (row.grounding, row.target), row.label) for row in samples(task, stories)
    ]


def contrast_lessons(
    task: ClassificationTask, stories: Sequence[MoralStory], contrast: Contrast, seed: int
) -> list[Lesson]:
    """Return reversed, restated and swapped pairs; wordings differ from story to story."""
    rng = np.random.default_rng((seed, len(task.name)))
    lessons: list[Lesson] = []
    for _ in range(contrast.swapped):
        swapped = swap_norms(stories, int(rng.integers(1 << 31)))
        for story in stories:
            norm = swapped.get(story.id)
            lessons += _with_norm(task, story, norm, lambda _: UNRELATED, contrast.swapped_weight)
    for story in stories:
        order = [int(variant) for variant in rng.permutation(VARIANTS)]
        for variant in order[: contrast.reversed]:
            norm = _reworded(reverse_norm, story.norm, variant)
            lessons += _with_norm(
                task, story, norm, lambda label: 1 - label, contrast.reversed_weight
            )
        for variant in order[: contrast.restated]:
            norm = _reworded(restate_norm, story.norm, variant)
            lessons += _with_norm(task, story, norm, lambda label: label, contrast.restated_weight)
    return lessons


def behaviour_lessons(
    task: ClassificationTask, stories: Iterable[MoralStory], weight: float = 0.5
) -> list[Lesson]:
    """Return what norms say of bare behaviours ("pay back a friend": good) as lessons of `task`.

    Examples
    --------
    >>> from moralscope.stories.tasks import classification_task
    >>> story = MoralStory("1", "It's rude to spit.")
    >>> [(row.pair, row.label) for row in behaviour_lessons(classification_task("action"), [story])]
    [(('', 'spit'), 0)]
    """
    found: dict[str, int] = {}
    for story in stories:
        parsed = behaviour_of(story.norm or "")
        if parsed and parsed[1]:
            found[parsed[0]] = int(parsed[1] > 0)
    return [Lesson(task.name, ("", phrase), label, weight) for phrase, label in found.items()]


def dev_lessons(
    task: ClassificationTask, stories: Sequence[MoralStory], contrast: bool, seed: int
) -> list[Lesson]:
    """Return dev pairs in groups: official and reversed (two classes), and swapped (three)."""
    found = [replace(row, among=2) for row in official_lessons(task, stories)]
    if not contrast:
        return found
    swapped = swap_norms(stories, seed)
    for place, story in enumerate(stories):
        norm = _reworded(reverse_norm, story.norm, place % VARIANTS)
        for row in _with_norm(task, story, norm, lambda label: 1 - label, 1.0):
            found.append(replace(row, group=f"{task.name} reversed", among=2))
        for row in _with_norm(task, story, swapped.get(story.id), lambda _: UNRELATED, 1.0):
            group = f"{task.name} swapped"
            found.append(replace(row, group=group, decides=SWAPPED_DECIDES))
    return found


def _with_norm(
    task: ClassificationTask,
    story: MoralStory,
    norm: str | None,
    relabel: Callable[[int], int],
    weight: float,
) -> list[Lesson]:
    if not norm:
        return []
    rows = []
    for label, orientation in enumerate(ORIENTATIONS[::-1]):
        pair = task.pair({**path_row(story, orientation), "norm": norm})
        if pair:
            rows.append(Lesson(task.name, pair, relabel(label), weight))
    return rows


def _reworded(rewrite: Callable[..., str | None], norm: str | None, variant: int) -> str | None:
    return rewrite(norm, variant=variant) if norm else None
