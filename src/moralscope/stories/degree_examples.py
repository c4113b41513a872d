"""Training examples of degrees, and of norms that others reversed.

Degrees are taught by rankings (ETHICS' utilitarianism, both actions of a story, choices written for
moralscope), by sides, and by actions and scenes that were graded for moralscope. Exceptions are
sets of scenes that differ in one detail: graded, and ranked where their grades lie apart.
"""

import math
import random
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.documents import shipped_yaml
from moralscope.io.tables import TableFile
from moralscope.models.store import data_file
from moralscope.models.training.records import TrainingExample
from moralscope.stories.examples import BEHAVIOUR_FORMS, LONGEST, behaviour_examples, ethics_rows
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import classification_task

EXCEPTIONS = "degree exceptions"
DEGREE, DEGREE_FORMS = "degree", (*BEHAVIOUR_FORMS, "I want to {}.")
SIDES = (0.12, 0.88)  # where a known side pulls the degree, bad and good
GRADE_STEP = 0.8  # log-odds between two grades of what was graded for moralscope
_GRADED_WEIGHT = 2.0  # few beside the sides, and the only ones that tell how good or bad
_APART = 1.5  # grades of a set's scenes between which a ranking is taught
_DEV = 5  # every fifth of what was written for moralscope is held out
CONTRAST, CONTRAST_FILES = "contrastive", ("anti_ms", "anti_ms_llama")
HALVES = {"": (0, 1), "-even": (0,), "-odd": (1,)}  # of stories or prompts: to cross-validate


def contrastive_examples(
    task: str, labels: tuple[int, int], turns: int, halves: Sequence[int] = (0, 1)
) -> list[TrainingExample]:
    """Return pairs of Contrastive Moral Stories (Kiehne et al. 2024); `labels` are (breaks, keeps).

    Norms reversed by rules and by a model, of the dev part of norm distance; `halves` takes every
    second story.
    """
    examples = []
    for name in CONTRAST_FILES:
        path = data_file(f"contrastive_moral_stories/{name}-dev.jsonl")
        if path is None:
            raise InputError(
                f"the source '{CONTRAST}' needs contrastive_moral_stories below MORALSCOPE_DATA",
                f"'moralscope data where {CONTRAST}' says where it comes from",
            )
        rows = TableFile(path).strict_rows(("ID", "norm", "label"), "take the published file")
        for index, (_, row) in enumerate(rows):
            pair = (row["norm"], row["moral_action"] or row["immoral_action"])
            if half_of(row["ID"][:-1]) in halves:
                turn = (index // 2 % turns, turns)
                label = labels[int(row["label"])]
                examples.append(TrainingExample(task, pair, label, group=name, among=2, turn=turn))
    return examples


def half_of(story: str) -> int:
    """Return the half that a story belongs to, by its id."""
    return zlib.crc32(story.encode()) % 2


def degree_examples(
    stories: Sequence[MoralStory], ethics: Path, part: str = "train"
) -> list[TrainingExample]:
    """Return what teaches degrees: pairs to be ranked, sides of behaviours, and graded actions.

    A side pulls no further than `SIDES`: how good or bad an action is, is told by rankings and by
    the actions that were graded for moralscope (every fifth is held out for dev).
    """
    examples = []
    for index, story in enumerate(stories):
        better, worse = story.moral_action, story.immoral_action
        if better and worse:
            examples.append(_ranked(better, worse, "degree stories", (index % 2, 2)))
            for text, side in ((better, 1), (worse, 0)):
                examples.append(replace(_graded(text, SIDES[side], 0.5), turn=(index % 4, 4)))
    name = "util_train.csv" if part == "train" else "util_test.csv"
    rng = random.Random(0)  # noqa: S311
    pairs = ethics_rows(ethics / "utilitarianism" / name, "ethics-utilitarianism", rng)
    for first, second, label in pairs:
        better, worse = (second, first) if label else (first, second)
        if len(first) + len(second) <= LONGEST:
            examples.append(_ranked(better, worse, "degree utilitarianism"))
    if part == "train":
        for row in behaviour_examples(classification_task("action"), stories, 0.5):
            examples.append(replace(row, task=DEGREE, label=0, values=(SIDES[row.label],)))
    return [*examples, *_written_degrees(part)]


def _written_degrees(part: str) -> list[TrainingExample]:
    """Return what was written for moralscope: graded actions and scenes, ranked choices."""

    def of_part(rows: Sequence[Any]) -> list[Any]:
        return [row for index, row in enumerate(rows) if (index % _DEV == 0) == (part != "train")]

    forms = DEGREE_FORMS if part == "train" else DEGREE_FORMS[-1:]
    texts = [
        (form.format(action), grade, group)
        for name, group in (("degrees", "degree written"), ("short_actions", "degree short"))
        for action, grade in of_part(graded(name))
        for form in forms
    ]
    texts += [(scene, grade, "degree scenes") for scene, grade in of_part(graded("scenes"))]
    sets = [rows for _, rows in of_part(exception_sets())]
    texts += [(scene, grade, EXCEPTIONS) for rows in sets for scene, grade in rows]
    examples = []
    for text, grade, group in texts:
        value = 1 / (1 + math.exp(-GRADE_STEP * grade))
        examples.append(replace(_graded(text, value, _GRADED_WEIGHT), group=group))
    choices = of_part(shipped_yaml("moralscope.stories", "choices.yaml"))
    examples += [_ranked(better, worse, "degree choices") for better, worse in choices]
    pairs = [pair for rows in sets for pair in ranked_pairs(rows)]
    return examples + [_ranked(better, worse, f"{EXCEPTIONS} ranked") for better, worse in pairs]


def exception_sets() -> list[tuple[str, list[tuple[str, float]]]]:
    """Return sets of scenes that differ in one detail: their kind, each scene with its grade."""
    sets = shipped_yaml("moralscope.stories", "exceptions.yaml")
    return [(row["kind"], [(text, float(grade)) for text, grade in row["scenes"]]) for row in sets]


def ranked_pairs(rows: Sequence[tuple[str, float]]) -> list[tuple[str, str]]:
    """Return the (better, worse) scenes of a set whose grades lie clearly apart."""
    pairs = permutations(rows, 2)
    return [(better, worse) for (better, high), (worse, low) in pairs if high - low >= _APART]


def graded(name: str) -> list[tuple[str, float]]:
    """Return the actions ("degrees", "short_actions") or scenes graded for moralscope, -5 to 5."""
    grades = shipped_yaml("moralscope.stories", f"{name}.yaml")
    return [(text, float(grade)) for grade, texts in grades.items() for text in texts]


def _ranked(better: str, worse: str, group: str, turn: tuple[int, int] = (0, 1)) -> TrainingExample:
    return TrainingExample(
        DEGREE, ("", better), 0, 0.5, group, turn=turn, values=(0.0,), other=("", worse)
    )


def _graded(text: str, value: float, weight: float) -> TrainingExample:
    return TrainingExample(DEGREE, ("", text), 0, weight, values=(value,))
