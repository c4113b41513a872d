"""Recipes on rules of thumb: experts for the attributes of rules, and the generator of rules.

Attributes are alignment, foundations, severity and consensus, or several in one adapter. They come
from the data at hand (Moral Stories, SOCIAL-CHEM-101) or from the user's MIC.csv, as in sections
5.1 and 5.2 of Ziems et al. 2022. Dev chooses the epoch and the thresholds; test is looked at only
when asked for, once. The training itself is `models.training.trainer`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from moralscope.core.errors import InputError
from moralscope.core.options import Option, chosen_options
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.io.tables import parse_columns
from moralscope.models.store import Progress
from moralscope.models.training.cards import CardText
from moralscope.models.training.recipe import GENERATOR, TrainingRecipe, chosen_recipe
from moralscope.models.training.records import UNLABELLED, Report
from moralscope.models.training.trainer import (
    TrainedModel,
    TrainingData,
    TrainingSummary,
    train_model,
)
from moralscope.rules.annotations.reading import MIC_FILE, read_annotations, split_annotations
from moralscope.rules.options import RulesTrainOptions
from moralscope.rules.training.alignment_examples import written_exchanges
from moralscope.rules.training.attribute_examples import FOUNDATIONS_TASK, SCALES
from moralscope.rules.training.data import (
    SPLIT,
    STORY_TASKS,
    AtHand,
    add_story_tasks,
    examples_at_hand,
    examples_of_file,
    exchange_examples,
    ruled_at_hand,
)
from moralscope.rules.training.figures import baselines_of, baselines_text, trained_figures
from moralscope.rules.training.organisations import ORGANISATIONS
from moralscope.rules.training.replies import annotated_examples, ruled_examples
from moralscope.rules.training.verdict_examples import (
    DIASAFETY,
    HARMLESS,
    HATECHECK,
    MODERATION,
    XSTEST,
)
from moralscope.rules.verdict import TASK
from moralscope.rules.writing.rule_writer import MARKERS
from moralscope.stories.degree_examples import CONTRAST, DEGREE, HALVES
from moralscope.stories.train import DATA as STORIES_DATA
from moralscope.stories.train import ETHICS

ATTRIBUTES, RULE = "attributes", "rule"
_PUBLISHED = {
    XSTEST: "XSTest (Röttger et al. 2024), CC BY 4.0, github.com/paul-rottger/xstest",
    HARMLESS: "harmless-base pairs (Bai et al. 2022), MIT, github.com/anthropics/hh-rlhf",
    MODERATION: "moderation evaluation (Markov et al. 2022), MIT, "
    "github.com/openai/moderation-api-release",
    HATECHECK: "HateCheck (Röttger et al. 2021), CC BY 4.0, github.com/paul-rottger/hatecheck-data",
    CONTRAST: STORIES_DATA[CONTRAST],
}
MIC = "mic"
TASKS = (TASK, FOUNDATIONS_TASK, *SCALES)
AT_HAND = (TASK, FOUNDATIONS_TASK)
DATA = {
    "moral-stories": STORIES_DATA["moral-stories"],
    "social-chem-101": "SOCIAL-CHEM-101 (Forbes et al. 2020), CC BY-SA 4.0, "
    "github.com/mbforbes/social-chemistry-101",
    MIC: "Moral Integrity Corpus (Ziems et al. 2022), by its authors' data use agreement, "
    "github.com/SALT-NLP/mic",
    "written": "exchanges written for moralscope, Apache-2.0",
    ORGANISATIONS: "rules of organisations with minimal pairs, written for moralscope, Apache-2.0",
    DIASAFETY: "DiaSafety (Sun et al. 2022), Apache-2.0, github.com/thu-coai/DiaSafety",
    STORY_TASKS: "the classification tasks of Moral Stories (`stories train all`)",
    ETHICS: STORIES_DATA[ETHICS],
    DEGREE: STORIES_DATA[DEGREE],
    UNLABELLED: STORIES_DATA[UNLABELLED],
    **{
        name + half: f"{about}{f', the {half[1:]} half' if half else ''}"
        for name, about in _PUBLISHED.items()
        for half in HALVES
    },
}
_FIGURES = """alignment and foundations: macro-F1, of a foundation F1; scales: r and mean squared
  error; "reversed": the rule's polarity reversed, and the right answer with it; "stances": replies
  of every wording; "exchanges": exchanges written by hand"""
_LIMITS = (
    "Descriptive, never authoritative: the labels are judgments of US crowd workers about everyday "
    "life\nin English, and the replies of the alignment examples were made from templates."
)
_RULE_LIMITS = (
    "Descriptive, never authoritative: a rule is what some people, of one place and time, would "
    "say of a\nreply; several, even conflicting ones, may apply at once."
)


@dataclass(frozen=True, kw_only=True)
class RulesRecipe(TrainingRecipe):
    """A recipe on rules of thumb: from the data at hand, or from annotations (the source mic)."""

    PACKAGE: ClassVar[str] = "moralscope.rules"

    sources: Annotated[tuple[str, ...], Option("What is read.", choices=tuple(DATA))] = ()

    templates: Annotated[
        float, Option("Share of the exchanges that templates make.", least=0, most=1)
    ] = 1.0

    @property
    def from_file(self) -> bool:
        """Whether annotations are learnt: a named file, or MIC.csv below MORALSCOPE_DATA."""
        return MIC in self.sources


def train_rules(
    options: RulesTrainOptions | None = None,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> RunRecord:
    """Train experts for attributes, or the generator; write them, and say how well they do.

    `options` are `RulesTrainOptions`, or its fields as keywords; `report` is told where the run
    stands, `progress` the bytes of a download.
    """
    chosen = chosen_options(RulesTrainOptions, options, changes)
    known = [ATTRIBUTES, *TASKS, GENERATOR]
    if chosen.task is not None and chosen.task not in known:
        raise InputError(f"there is no attribute '{chosen.task}'", did_you_mean(chosen.task, known))
    annotated = chosen.data is not None or chosen.task in SCALES
    default = GENERATOR if chosen.task == GENERATOR else MIC if annotated else ATTRIBUTES
    sources = (MIC,) if annotated and chosen.task != GENERATOR else None
    recipe = chosen_recipe(RulesRecipe, chosen, default, task=chosen.task, sources=sources)
    if recipe.task not in known:
        raise InputError(f"'{recipe.name}' names no known attribute", "say what to train")
    if (recipe.task == GENERATOR) != (recipe.model == GENERATOR):
        raise InputError(
            f"recipe '{recipe.name}' is not for '{recipe.task}': it trains a {recipe.model}",
            "give another --recipe, or leave it out",
        )
    kind = RuleSource if recipe.model == GENERATOR else AttributeSource
    columns = parse_columns(chosen.columns)
    source = kind(recipe.task, chosen.data, columns, chosen.stories, chosen.exchanges)
    return train_model(
        recipe, source, chosen.to, base_is=chosen.base_is, report=report, progress=progress
    )


@dataclass(frozen=True, slots=True)
class _RulesSource:
    task: str
    annotations: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    stories: Path | None = None
    exchanges: Path | None = None
    job: str = "rules train"

    @property
    def _named(self) -> dict[str, Path | None]:
        return {"data": self.annotations, "stories": self.stories, "exchanges": self.exchanges}

    @property
    def words(self) -> list[str]:
        """The command that does the same again, less its recipe."""
        words = [f"moralscope rules train {self.task}"]
        words += [f"--{name} {path.name}" for name, path in self._named.items() if path]
        if self.columns:
            words.append(f"--columns {','.join('='.join(pair) for pair in self.columns.items())}")
        return words

    @property
    def files(self) -> dict[str, Any]:
        """The files that were named, for the run record."""
        files: dict[str, Any] = {
            name: str(path) if path else None for name, path in self._named.items()
        }
        if self.annotations is None and self.task in SCALES:
            files["data"] = MIC_FILE
        return {**files, "columns": dict(self.columns)}


class AttributeSource(_RulesSource):
    """Rules, and exchanges beside them: alignment, foundations, severity, consensus."""

    def data(self, recipe: RulesRecipe) -> TrainingData:
        """Return the examples of every part, from annotations or from the data at hand."""
        tasks: tuple[str, ...] = (self.task,)
        if self.task == ATTRIBUTES:
            tasks = TASKS if recipe.from_file else AT_HAND
        if recipe.from_file and (self.stories or self.exchanges):
            raise InputError("--stories and --exchanges do not work with --data", "leave them out")
        if self.exchanges and TASK not in tasks:
            raise InputError("--exchanges are for alignment", f"leave it out for {self.task}")
        if recipe.from_file:
            file = read_annotations(self.annotations, kind=None, columns=self.columns)
            return examples_of_file(file, tasks, recipe.limit, recipe.seed)
        turns = max(1, recipe.points[0].epochs)  # every epoch has wordings of its own
        examples = examples_at_hand(
            AtHand(
                tasks,
                recipe.sources,
                self.stories,
                recipe.limit,
                turns,
                recipe.seed,
                recipe.templates,
            )
        )
        if STORY_TASKS in recipe.sources:
            examples = add_story_tasks(examples, recipe.sources, self.stories, recipe.limit)
        if not self.exchanges:
            return examples
        dev = [*examples.parts["dev"], *exchange_examples(self.exchanges)]
        return replace(examples, parts={**examples.parts, "dev": dev})

    def summary(self, trained: TrainedModel) -> TrainingSummary:
        """Tell macro-F1 of alignment and foundations, r and MSE of scales, of each group."""
        recipe, data = trained.recipe, trained.data
        figures = trained_figures(trained)
        part = "test" if recipe.test else "dev"
        baselines = {} if recipe.epochs == 0 else baselines_of(data, part)
        learnt = {
            name: dict(Counter(row.task for row in rows)) for name, rows in data.parts.items()
        }
        limit = f", its first {recipe.limit} stories and rules" if recipe.limit else ""
        said = {"trained_on": {"split": SPLIT, "part": "train", "limit": recipe.limit}}
        thresholds = " and the thresholds" if FOUNDATIONS_TASK in data.heads else ""
        card = CardText(
            "Attributes of rules of thumb",
            ", ".join(data.heads),
            [DATA.get(name, f"annotations of {name}") for name in data.names],
            f"Trained on the *train* part only{limit}; dev chose the epoch{thresholds}",
            _FIGURES,
            _LIMITS,
            beside=baselines_text(baselines),
            facts={"baselines": baselines, **(said if "moral-stories" in data.names else {})},
        )
        statistics = {"lessons": learnt, "counts": dict(data.counts), "baselines": baselines}
        return TrainingSummary(figures, card, statistics)


class RuleSource(_RulesSource):
    """Exchanges with the rule that people wrote for them."""

    def data(self, recipe: RulesRecipe) -> TrainingData:
        """Return exchanges of train and dev, no exchange in both."""
        for name, path in (("stories", self.stories), ("exchanges", self.exchanges)):
            if path:
                raise InputError(f"--{name} is not for 'generator'", "leave it out")
        if self.annotations is not None or recipe.from_file:
            rows = read_annotations(self.annotations, kind=MIC, columns=self.columns).annotations
            split = split_annotations(rows, seed=recipe.seed)
            examples = {part: annotated_examples(split.of(rows, part)) for part in ("train", "dev")}
        else:
            at_hand = ruled_at_hand(recipe.seed)
            examples = {
                part: ruled_examples(at_hand[part], recipe.seed) for part in ("train", "dev")
            }
            if "written" in recipe.sources:  # few, and what is audited: each comes three times
                written = written_exchanges()
                for part, times in (("train", 3), ("dev", 1)):
                    taught = [row for row in written if row.split == part]
                    examples[part] = [*examples[part], *annotated_examples(taught) * times]
        for part, some in examples.items():
            if not some:
                raise InputError(
                    f"the {part} part holds no exchange with a rule", "give a file with more rows"
                )
        parts = {}
        for part, some in examples.items():  # so many rows, spread evenly
            size = min(recipe.limit or len(some), len(some))
            parts[part] = [some[number * len(some) // size] for number in range(size)]
        return TrainingData(parts, markers=MARKERS, tasks=(RULE,))

    def summary(self, trained: TrainedModel) -> TrainingSummary:
        """Tell BLEU and loss on dev."""
        limit = trained.recipe.limit
        data = [
            DATA["social-chem-101"],
            f"{DATA['moral-stories']} (split {SPLIT})",
            *([DATA["written"]] if "written" in trained.recipe.sources else []),
        ]
        card = CardText(
            "Rules of thumb: a generator",
            "an exchange (prompt, reply) in, a rule of thumb out",
            [f"annotated exchanges of {self.annotations.name}"] if self.annotations else data,
            f"Trained on the *train* part only{f', {limit} examples of it' if limit else ''}; the "
            "BLEU of rules written for dev chose the epoch",
            "BLEU of one sampled rule, and loss a token of what people wrote",
            _RULE_LIMITS,
        )
        counts = {
            name: dict(Counter(row.group for row in trained.data.parts[part]))
            for name, part in (("lessons", "train"), ("dev_lessons", "dev"))
        }
        return TrainingSummary({"dev": trained.history.best_evaluation}, card, counts)
