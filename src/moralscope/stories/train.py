"""Recipes on Moral Stories: experts that read the norm, and generators for the rows of Table 18.

A recipe and the stories in; the one trainer (`models.training.trainer`) does the rest. The figures
on dev choose, the figures on test are computed only when asked for, once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from moralscope.core.errors import InputError
from moralscope.core.options import Option, chosen_options
from moralscope.core.records import RunRecord
from moralscope.core.registry import require_known
from moralscope.models.store import Progress, data_file
from moralscope.models.training.cards import CardText
from moralscope.models.training.heads import Head
from moralscope.models.training.recipe import GENERATOR, TrainingRecipe, chosen_recipe
from moralscope.models.training.records import UNLABELLED, Report, TextExample, TrainingExample
from moralscope.models.training.trainer import (
    TrainedModel,
    TrainingData,
    TrainingSummary,
    train_model,
)
from moralscope.stories.degree_examples import (
    CONTRAST,
    DEGREE,
    HALVES,
    contrastive_examples,
    degree_examples,
    half_of,
)
from moralscope.stories.examples import (
    ETHICS_TASKS,
    REFINEMENT,
    UNRELATED,
    behaviour_examples,
    contrast_examples,
    dev_examples,
    ethics_examples,
    official_examples,
    read_drafts,
    refinement_examples,
    text_examples,
    unlabelled_examples,
)
from moralscope.stories.options import StoriesTrainOptions
from moralscope.stories.reading import load_stories
from moralscope.stories.splits import part_of
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import (
    ClassificationTask,
    classification_task,
    classification_tasks,
    generation_task,
    generation_tasks,
    markers,
)

ALL, TEXTS = "all", "texts"
ETHICS = "ethics"
NORM_TASK = "action+norm"
TIED = {"action+context": NORM_TASK}  # the same question with more to read
DATA = {
    "moral-stories": "Moral Stories (Emelin et al. 2021), MIT, github.com/demelin/moral_stories",
    ETHICS: "ETHICS (Hendrycks et al. 2021), MIT, github.com/hendrycks/ethics",
    **{
        CONTRAST + half: "Contrastive Moral Stories (Kiehne et al. 2024), dev part"
        f"{f', {half[1:]} stories' if half else ''}, MIT, "
        "github.com/nkiehne/contrastive_moral_stories"
        for half in HALVES
    },
    DEGREE: "actions graded for moralscope, Apache-2.0",
    UNLABELLED: "what only the teachers judged: these data's actions and replies by other rules",
}
_ACCURACY = """accuracy; "reversed": the norm reversed as by `moralscope stories reverse`, and
  the right answer with it; "swapped": an unrelated norm, right answer "does not concern\""""
_SEEN = (
    ". The contrastive norms are of dev stories: the dev figures of tasks with a norm are too kind"
)
_LOSS = "loss a token of what people wrote; lower is better"
_LIMITS = (
    "Descriptive, never authoritative: Moral Stories holds the judgments of US crowd workers of "
    "2020\nabout short, everyday stories in English."
)
_PLURAL = {ALL: "every classification task", TEXTS: "every generation task"}


@dataclass(frozen=True, kw_only=True)
class StoriesRecipe(TrainingRecipe):
    """A recipe on Moral Stories.

    `members` ("action", "consequence") takes every task's train part from that kind's split and
    looks at the tasks of that kind alone; without it, no story that either kind holds out is learnt
    from.
    """

    PACKAGE: ClassVar[str] = "moralscope.stories"

    sources: Annotated[tuple[str, ...], Option("What is read.", choices=tuple(DATA))] = (
        "moral-stories",
    )
    split: Annotated[str, Option("Whose train part to learn from.")] = "norm_distance"
    members: Annotated[
        str | None, Option("The kind whose split counts.", choices=("action", "consequence"))
    ] = None
    contrast: Annotated[bool, Option("Reverse, restate and swap norms.")] = False
    behaviours: Annotated[bool, Option("Learn bare behaviours from what norms say of them.")] = (
        False
    )

    def __post_init__(self) -> None:
        TrainingRecipe.__post_init__(self)
        experts_only = {ETHICS: ETHICS in self.sources, "members": bool(self.members)}
        for name, named in experts_only.items() if self.model == GENERATOR else ():
            if named:
                raise InputError(f"{name} is for classification", f"leave it out for {self.task}")


def train_task(
    options: StoriesTrainOptions | None = None,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
    **fields: Any,
) -> RunRecord:
    """Train what the task's name means: classification experts, or a generator.

    `options` are `StoriesTrainOptions`, or its fields as keywords; `report` is told where the run
    stands, `progress` the bytes of a download.
    """
    chosen = chosen_options(StoriesTrainOptions, options, fields)
    known = [ALL, TEXTS, *classification_tasks(), *generation_tasks()]
    if chosen.task is not None:
        require_known(chosen.task, known, f"there is no task '{chosen.task}'")
    default = TEXTS if _is_text(chosen.task or "") else "experts"
    recipe = chosen_recipe(StoriesRecipe, chosen, default, task=chosen.task)
    if recipe.task not in known:
        raise InputError(f"'{recipe.name}' names no known task", "give TASK")
    if _is_text(recipe.task) != (recipe.model == GENERATOR):
        raise InputError(
            f"recipe '{recipe.name}' trains a {recipe.model}, which '{recipe.task}' is not",
            "give another --recipe, or leave it out",
        )
    kind = TextSource if recipe.model == GENERATOR else ExpertSource
    source = kind(recipe.task, chosen.stories, chosen.drafts)
    return train_model(
        recipe, source, chosen.to, base_is=chosen.base_is, report=report, progress=progress
    )


def _is_text(task: str) -> bool:
    return task == TEXTS or task in generation_tasks()


@dataclass(frozen=True, slots=True)
class _StoriesSource:
    task: str
    stories: Path | None = None
    drafts: Path | None = None
    job: str = "train"

    @property
    def words(self) -> list[str]:
        """The command that does the same again, less its recipe."""
        task = f"'{self.task}'" if "|" in self.task else self.task
        words = [f"moralscope stories train {task}"]
        words += [f"--stories {self.stories.name}"] if self.stories else []
        return words + ([f"--drafts {self.drafts.name}"] if self.drafts else [])

    @property
    def files(self) -> dict[str, str | None]:
        """The files that were named, for the run record."""
        named = {"stories": self.stories, "drafts": self.drafts}
        return {name: str(path) if path else None for name, path in named.items()}

    def card(self, trained: TrainedModel, kind: str, figures: str) -> CardText:
        """Say on what the model was trained, and what it is not."""
        recipe: Any = trained.recipe
        data = [
            DATA[name] for name in recipe.sources if name != "moral-stories" or not self.stories
        ]
        limit = f", its first {recipe.limit} stories" if recipe.limit else ""
        return CardText(
            f"Moral Stories {kind}",
            _PLURAL.get(self.task, self.task),
            [*([f"stories of {self.stories.name}"] if self.stories else []), *data],
            f"Trained on the *train* part of the `{recipe.split}` split only{limit}; "
            f"dev chose the epoch{_SEEN if CONTRAST in recipe.sources else ''}",
            figures,
            _LIMITS,
            facts={"trained_on": {"split": recipe.split, "part": "train", "limit": recipe.limit}},
        )


class ExpertSource(_StoriesSource):
    """Pairs of the classification tasks, each task a head."""

    def data(self, recipe: StoriesRecipe) -> TrainingData:
        """Return the pairs of every part; no story that is held out is learnt from."""
        if self.drafts:
            raise InputError("--drafts is for texts", f"leave it out for {self.task}")
        tasks = (
            list(classification_tasks().values())
            if self.task == ALL
            else [classification_task(self.task)]
        )
        looked_at = [task for task in tasks if recipe.members in (None, task.split)]
        if not looked_at:
            raise InputError(
                f"'{self.task}' is not a task of members = {recipe.members}",
                "give action or consequence, the kind that the task's split is for",
            )
        parts = _stories_by_part(tasks, load_stories(self.stories).stories, recipe)
        for half, kept in HALVES.items():
            if half and CONTRAST + half in recipe.sources:  # look at dev stories that teach nothing
                for by_part in parts.values():
                    by_part["dev"] = [s for s in by_part["dev"] if half_of(s.id) not in kept]
        names = {task.name for task in tasks}
        heads = {
            task.name: Head(
                task.labels,
                tied=TIED[task.name] if names >= {task.name, TIED.get(task.name)} else "",
                kept=task in looked_at,
            )
            for task in tasks
        }
        train: list[TrainingExample] = []
        for task in tasks:
            stories = parts[task.name]["train"]
            train += official_examples(task, stories)
            if recipe.contrast and len(task.labels) > UNRELATED:
                train += contrast_examples(task, stories, recipe.seed)
            if recipe.behaviours and not task.grounding:
                train += behaviour_examples(task, stories)
        if UNLABELLED in recipe.sources and NORM_TASK in heads:
            norm_task = classification_task(NORM_TASK)
            train += unlabelled_examples(norm_task, parts[NORM_TASK]["train"], recipe.seed)
        if ETHICS in recipe.sources:
            train += ethics_examples(_ethics_folder(), recipe.seed)[: recipe.limit]
            heads |= {name: Head(labels, kept=False) for name, labels in ETHICS_TASKS.items()}
        held_out: dict[str, list[TrainingExample]] = {}
        for part in ("dev", "test") if recipe.test else ("dev",):
            held_out[part] = []
            for task in looked_at:
                contrast = recipe.contrast and len(task.labels) > UNRELATED
                held_out[part] += dev_examples(task, parts[task.name][part], contrast, recipe.seed)
        for half, kept in HALVES.items() if NORM_TASK in heads else ():
            if CONTRAST + half in recipe.sources:
                train += contrastive_examples(NORM_TASK, (0, 1), 1, kept)[: recipe.limit]
                left = tuple({0, 1} - set(kept))
                held_out["dev"] += contrastive_examples(NORM_TASK, (0, 1), 1, left)[: recipe.limit]
        if DEGREE in recipe.sources:
            heads[DEGREE] = Head((DEGREE,), "graded")
            by_part = parts["action"] if "action" in parts else next(iter(parts.values()))
            train += degree_examples(by_part["train"], _ethics_folder())[: recipe.limit]
            held_out["dev"] += degree_examples(by_part["dev"], _ethics_folder(), "dev")
        return TrainingData({"train": train, **held_out}, heads)

    def summary(self, trained: TrainedModel) -> TrainingSummary:
        """Tell the accuracy of every group, on dev and, where asked, on test."""
        figures: dict[str, Mapping[str, float]] = {"dev": trained.history.best_evaluation}
        parts = trained.data.parts
        if trained.recipe.test:
            figures["test"] = trained.learner.on(parts["test"]).dev()
        counts = dict(Counter(row.task for row in parts["train"]))
        return TrainingSummary(
            figures, self.card(trained, "experts", _ACCURACY), {"lessons": counts}
        )


class TextSource(_StoriesSource):
    """Prompts of the generation tasks with the sentences that people wrote."""

    def data(self, recipe: StoriesRecipe) -> TrainingData:
        """Return the prompts of train and dev."""
        drafts = read_drafts(self.drafts) if self.drafts else {}
        stories = load_stories(self.stories).stories
        member = part_of(stories, recipe.split, "action")
        parts: dict[str, list[TextExample]] = {}
        for part in ("train", "dev"):
            examples = parts.setdefault(part, [])
            listed = [story for story in stories if member.get(story.id) == part][: recipe.limit]
            for name in self._tasks:
                if name == REFINEMENT:
                    examples += refinement_examples(listed, drafts)
                else:
                    examples += text_examples(generation_task(name), listed)
            if not examples:
                raise InputError(
                    f"no story of the {part} part has every sentence that '{self.task}' needs",
                    "give stories that have them, and --drafts of both parts for refinement",
                )
        return TrainingData(parts, markers=tuple(markers()), tasks=self._tasks)

    def summary(self, trained: TrainedModel) -> TrainingSummary:
        """Tell the loss of every task on dev, and how its texts overlap with people's."""
        counts = dict(Counter(row.group for row in trained.data.parts["train"]))
        figures = {"dev": trained.history.best_evaluation}
        return TrainingSummary(figures, self.card(trained, "generator", _LOSS), {"lessons": counts})

    @property
    def _tasks(self) -> tuple[str, ...]:
        if self.task != TEXTS:
            return (self.task,)
        return tuple(name for name in generation_tasks() if name != REFINEMENT or self.drafts)


def _stories_by_part(
    tasks: Sequence[ClassificationTask], stories: Sequence[MoralStory], recipe: StoriesRecipe
) -> dict[str, dict[str, list[MoralStory]]]:
    """Return the stories of every part, by task: consequences have a split of their own."""
    kinds = {recipe.members or task.split for task in tasks}
    members = {kind: part_of(stories, recipe.split, kind) for kind in kinds}
    # Actions and consequences are split apart: a test story of one kind may train no other.
    held_out = {id for some in members.values() for id, part in some.items() if part != "train"}
    by_task: dict[str, dict[str, list[MoralStory]]] = {}
    for task in tasks:
        member = members[recipe.members or task.split]
        parts: dict[str, list[MoralStory]] = {"train": [], "dev": [], "test": []}
        for story in stories:
            part = member.get(story.id)
            if part in parts and (part != "train" or story.id not in held_out):
                parts[part].append(story)
        parts = {part: rows[: recipe.limit] for part, rows in parts.items()}
        for part in ("train", "dev", *(("test",) if recipe.test else ())):
            if not official_examples(task, parts[part]):
                raise InputError(
                    f"no story of the {part} part has every sentence that '{task.name}' needs "
                    f"({', '.join((*task.grounding, task.target))})",
                    "give stories that have them, or take another task",
                )
        by_task[task.name] = parts
    return by_task


def _ethics_folder() -> Path:
    folder = data_file("ethics/README.txt")
    if folder is None:
        raise InputError(
            "the ETHICS data is not below MORALSCOPE_DATA",
            "'moralscope data where ethics' says where it comes from",
        )
    return folder.parent
