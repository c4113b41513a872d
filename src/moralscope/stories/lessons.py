"""What experts are taught: the official pairs, and pairs that can only be told by reading the norm.

Contrast, for tasks with the label "does not concern": every norm also comes reversed (and the label
with it), restated (label kept) and swapped for an unrelated story's norm (label: does not concern).
A model that judges the action alone is then right half of the time at best.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from moralscope.models.classifiers.learning import Lesson
from moralscope.stories.norms.reversal import behaviour_of, restate_norm, reverse_norm, swap_norms
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import ClassificationTask, path_row, samples

UNRELATED = 2  # the place of "does not concern"
VARIANTS = 8
BEHAVIOUR_FORMS = ("{}", "I {}.")  # as people type them, as the judge reads them
SWAPPED_DECIDES = 0.25  # told apart easily: the official and the reversed pairs shall decide


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much contrast: in how many turns wordings change, and each kind's weight in the loss.

    An epoch has one reversed, one restated and one swapped norm a story; the next epoch has others,
    until the turns are through.
    """

    turns: int = 4
    reversed_weight: float = 1.0
    restated_weight: float = 0.4
    swapped_weight: float = 0.4


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
    for turn in range(contrast.turns):
        swapped = swap_norms(stories, int(rng.integers(1 << 31)))
        for story in stories:
            variant = int(rng.integers(VARIANTS))
            kinds = (
                (_reworded(reverse_norm, story.norm, variant), _flip, contrast.reversed_weight),
                (_reworded(restate_norm, story.norm, variant), _keep, contrast.restated_weight),
                (swapped.get(story.id), _unrelated, contrast.swapped_weight),
            )
            for norm, relabel, weight in kinds:
                rows = _with_norm(task, story, norm, relabel, weight)
                lessons += [replace(row, turn=(turn, contrast.turns)) for row in rows]
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
    [(('', 'spit'), 0), (('', 'I spit.'), 0)]
    """
    found: dict[str, int] = {}
    for story in stories:
        parsed = behaviour_of(story.norm or "")
        if parsed and parsed[1]:
            found[parsed[0]] = int(parsed[1] > 0)
    return [
        Lesson(
            task.name, ("", form.format(phrase)), label, weight, turn=(turn, len(BEHAVIOUR_FORMS))
        )
        for phrase, label in found.items()
        for turn, form in enumerate(BEHAVIOUR_FORMS)
    ]


def dev_lessons(
    task: ClassificationTask, stories: Sequence[MoralStory], contrast: bool, seed: int
) -> list[Lesson]:
    """Return dev pairs in groups: official and reversed (two classes), and swapped (three)."""
    found = [replace(row, group=task.name, among=2) for row in official_lessons(task, stories)]
    if not contrast:
        return found
    swapped = swap_norms(stories, seed)
    for place, story in enumerate(stories):
        norm = _reworded(reverse_norm, story.norm, place % VARIANTS)
        for row in _with_norm(task, story, norm, _flip, 1.0):
            found.append(replace(row, group=f"{task.name} reversed", among=2))
        for row in _with_norm(task, story, swapped.get(story.id), _unrelated, 1.0):
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


def _flip(label: int) -> int:
    return 1 - label


def _keep(label: int) -> int:
    return label


def _unrelated(_: int) -> int:
    return UNRELATED
