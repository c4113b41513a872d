"""Training examples from Moral Stories: pairs for experts, prompts with sentences for generators.

Official pairs come with pairs that can only be told by reading the norm. Contrast, for tasks with
the label "does not concern": every norm also comes reversed (and the label with it), restated
(label kept) and swapped for an unrelated story's norm (label: does not concern). A model that
judges the action alone is then right half of the time at best.

ETHICS (Hendrycks et al. 2021, MIT) gives tasks that are trained beside the experts and then thrown
away. Virtue is left out: it asks for traits of people, not for actions. Commonsense comes from the
part at hand, which is the published test part: no figure on ETHICS is ever reported.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from moralscope.core.errors import InputError
from moralscope.io.tables import Layout, TableFile
from moralscope.models.training.records import UNLABELLED, TextExample, TrainingExample
from moralscope.stories.norms.reversal import (
    behaviour_of,
    content_words,
    restate_norm,
    reverse_norm,
    swap_norms,
)
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import (
    ClassificationTask,
    GenerationTask,
    generation_samples,
    generation_task,
    path_row,
    samples,
)
from moralscope.stories.text_runs import read_saved_run

UNRELATED = 2  # the place of "does not concern"
_SAME, _FLIPPED, _UNRELATED = (0, 1), (1, 0), (UNRELATED, UNRELATED)  # immoral, moral
VARIANTS = 8
_LIKE, _NEAR_AT_ONCE = 8, 1000  # stories near to one, of so many at once
_UNLABELLED_TURNS = 2
# As people type them, and as the judge reads them.
BEHAVIOUR_FORMS = ("{}", "I {}.", "They {}.", "Someone decides to {}.")
ETHICS_TASKS = {
    "ethics-commonsense": ("wrong", "acceptable"),
    "ethics-deontology": ("unreasonable", "reasonable"),
    "ethics-justice": ("unreasonable", "reasonable"),
    "ethics-utilitarianism": ("less pleasant", "more pleasant"),
}
_FILES = {
    "ethics-commonsense": "commonsense/cm_test.csv",
    "ethics-deontology": "deontology/deontology_train.csv",
    "ethics-justice": "justice/justice_train.csv",
    "ethics-utilitarianism": "utilitarianism/util_train.csv",
}
ETHICS_TURNS = 3  # an epoch has a third of it: it helps beside the stories, and is not the aim
LONGEST = 400  # characters: longer scenarios are posts, not actions
REFINEMENT = "consequence|context+action+draft+label"
Drafts = Mapping[tuple[str, str], Sequence[tuple[str, str]]]  # (id, target) → (text, label)
TURNS = 4  # an epoch has one reversed, one restated and one swapped norm a story, the next others
RESTATED, SWAPPED = 0.4, 0.4  # weights in the loss
SWAPPED_DECIDES = 0.25  # told apart easily: the official and the reversed pairs shall decide


def official_examples(
    task: ClassificationTask, stories: Iterable[MoralStory]
) -> list[TrainingExample]:
    """Return the pairs that the paper trains on."""
    return [
        TrainingExample(task.name, (row.grounding, row.target), row.label)
        for row in samples(task, stories)
    ]


def contrast_examples(
    task: ClassificationTask, stories: Sequence[MoralStory], seed: int
) -> list[TrainingExample]:
    """Return reversed, restated and swapped pairs; wordings differ from story to story."""
    rng = np.random.default_rng((seed, len(task.name)))
    examples: list[TrainingExample] = []
    for turn in range(TURNS):
        swapped = swap_norms(stories, int(rng.integers(1 << 31)))
        for story in stories:
            variant = int(rng.integers(VARIANTS))
            kinds = (
                (reverse_norm(story.norm or "", variant=variant), _FLIPPED, 1.0),
                (restate_norm(story.norm or "", variant=variant), _SAME, RESTATED),
                (swapped.get(story.id), _UNRELATED, SWAPPED),
            )
            for norm, labels, weight in kinds:
                rows = _with_norm(task, story, norm, labels, weight)
                examples += [replace(row, turn=(turn, TURNS)) for row in rows]
    return examples


def unlabelled_examples(
    task: ClassificationTask, stories: Sequence[MoralStory], seed: int
) -> list[TrainingExample]:
    """Return actions beside norms of like stories, as is and reversed: a teacher says what holds.

    Like norms often concern the action, or nearly do; of random ones that is known.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = random.Random(f"{seed} {UNLABELLED}")  # noqa: S311
    normed = [story for story in stories if story.norm]
    vectors = TfidfVectorizer(analyzer=content_words).fit_transform(
        [f"{story.norm} {story.moral_action} {story.immoral_action}" for story in normed]
    )
    examples: list[TrainingExample] = []
    for start in range(0, len(normed), _NEAR_AT_ONCE):
        likeness = (vectors[start : start + _NEAR_AT_ONCE] @ vectors.T).toarray()
        nearest = np.argpartition(-likeness, min(_LIKE, len(normed) - 1), axis=1)[:, : _LIKE + 1]
        for story, near in zip(normed[start:], nearest, strict=False):
            norms = [normed[index].norm for index in near if normed[index].norm != story.norm]
            if norms:
                norm, variant = rng.choice(norms), rng.randrange(VARIANTS)
                for wording in (norm, reverse_norm(norm or "", variant=variant)):
                    examples += _with_norm(task, story, wording, (-1, -1))
    turns = _UNLABELLED_TURNS
    return [
        replace(row, group=UNLABELLED, turn=(index % turns, turns))
        for index, row in enumerate(examples)
    ]


def behaviour_examples(
    task: ClassificationTask, stories: Iterable[MoralStory], weight: float = 0.5
) -> list[TrainingExample]:
    """Return what norms say of bare behaviours ("pay back a friend": good), for `task`."""
    labels: dict[str, int] = {}
    for story in stories:
        parsed = behaviour_of(story.norm or "")
        if parsed and parsed[1]:
            labels[parsed[0]] = int(parsed[1] > 0)
    return [
        TrainingExample(
            task.name, ("", form.format(phrase)), label, weight, turn=(turn, len(BEHAVIOUR_FORMS))
        )
        for phrase, label in labels.items()
        for turn, form in enumerate(BEHAVIOUR_FORMS)
    ]


def dev_examples(
    task: ClassificationTask, stories: Sequence[MoralStory], contrast: bool, seed: int
) -> list[TrainingExample]:
    """Return dev pairs in groups: official and reversed (two classes), and swapped (three)."""
    examples = [replace(row, group=task.name, among=2) for row in official_examples(task, stories)]
    if not contrast:
        return examples
    swapped = swap_norms(stories, seed)
    for index, story in enumerate(stories):
        norm = reverse_norm(story.norm or "", variant=index % VARIANTS)
        for row in _with_norm(task, story, norm, _FLIPPED):
            examples.append(replace(row, group=f"{task.name} reversed", among=2))
        for row in _with_norm(task, story, swapped.get(story.id), _UNRELATED):
            examples.append(replace(row, group=f"{task.name} swapped", decides=SWAPPED_DECIDES))
    return examples


def _with_norm(
    task: ClassificationTask,
    story: MoralStory,
    norm: str | None,
    labels: tuple[int, int],
    weight: float = 1.0,
) -> list[TrainingExample]:
    """Return both actions under another norm; `labels` are those of the immoral and the moral."""
    rows = []
    for label, orientation in zip(labels, ORIENTATIONS[::-1], strict=True):
        pair = task.pair({**path_row(story, orientation), "norm": norm})
        if pair:
            rows.append(TrainingExample(task.name, pair, label, weight))
    return rows


def text_examples(task: GenerationTask, stories: Iterable[MoralStory]) -> list[TextExample]:
    """Return the prompts of one task with the sentences people wrote."""
    return [
        TextExample(row.prompt, row.reference, task.name)
        for row in generation_samples(task, stories)
    ]


def refinement_examples(stories: Iterable[MoralStory], drafts: Drafts) -> list[TextExample]:
    """Return drafts with their labels, to be rewritten into what people wrote (section 4.4)."""
    task = generation_task(REFINEMENT)
    examples = []
    for story in stories:
        for orientation in ORIENTATIONS:
            row = path_row(story, orientation)
            for draft, label in drafts.get((story.id, orientation), ()):
                prompt = task.prompt({**row, "draft": draft, "label": label})
                if prompt and row["consequence"]:
                    examples.append(TextExample(prompt, row["consequence"].strip(), task.name))
    return examples


def ethics_examples(folder: Path, seed: int = 0, weight: float = 0.5) -> list[TrainingExample]:
    """Read the ETHICS folder into examples of the tasks in `ETHICS_TASKS`."""
    rng = random.Random(seed)  # noqa: S311
    examples: list[TrainingExample] = []
    for task, name in _FILES.items():
        for first, second, label in ethics_rows(folder / name, task, rng):
            if len(first) + len(second) <= LONGEST:
                turn = (len(examples) % ETHICS_TURNS, ETHICS_TURNS)
                examples.append(TrainingExample(task, (first, second), label, weight, turn=turn))
    return examples


def ethics_rows(path: Path, task: str, rng: random.Random) -> Iterator[tuple[str, str, int]]:
    remedy = "'moralscope data where ethics' says more"
    try:
        if task == "ethics-utilitarianism":  # no header: the first is the more pleasant one
            layout = Layout(order=("better", "worse"))
            for _, row in TableFile(path, layout=layout).strict_rows(layout.order, remedy):
                better, worse = row["better"], row["worse"]
                yield (worse, better, 1) if rng.randrange(2) else (better, worse, 0)
            return
        for _, row in TableFile(path).strict_rows(("label",), remedy):
            label = int(row["label"])
            if task == "ethics-commonsense":
                yield "", row["input"], 1 - label
            elif task == "ethics-deontology":
                yield row["scenario"], row["excuse"], label
            else:
                yield "", row["scenario"], label
    except (InputError, KeyError, ValueError) as error:
        raise InputError(f"{path} cannot be read as ETHICS ({error})", remedy) from error


def read_drafts(path: Path) -> Drafts:
    """Read drafts from a run of `consequence-ranking`: each candidate with its label."""
    run = read_saved_run(path)
    drafts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in run.results if run.config.kind == "consequence" else ():
        for draft in row.candidates:
            if draft.text and draft.score is not None:
                label = "plausible" if draft.score >= 0.5 else "implausible"
                drafts.setdefault((row.id, str(row.target)), []).append((draft.text, label))
    if not drafts:
        raise InputError(
            f"{path} is not a run of 'stories chain consequence-ranking' with scores",
            "give the file that its --out wrote",
        )
    return drafts
