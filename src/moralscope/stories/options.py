"""What the `stories` commands take; nothing here is computed or heavy.

Classes that end in Input hold what only the command line says of the data and the models: which
file, which part. The functions take the data and the models themselves.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import (
    Option,
    Options,
    Seed,
    file_option,
    input_option,
    model_option,
    output_option,
)
from moralscope.core.records import Decoding
from moralscope.models.options import DEFAULT_EXPERTS, EncoderName, ExpertsName, SteerFile
from moralscope.models.training.options import TrainOptions

MAX_COUNT = 1000
ALL = "all"
SPLITS = ("norm_distance", "lexical_bias", "minimal_pairs")
PARTS = ("train", "dev", "test")
CATEGORIES = ("morality-ethics", "social-norms", "advice", "description")  # of SOCIAL-CHEM-101

StoriesFile = Annotated[
    Path | None,
    file_option("Stories, one JSON object per line; else your Moral Stories.", http=False),
]
CopiedStories = Annotated[
    Path | None, file_option("Stories; by default the records' copies.", flag="--stories")
]
Runs = Annotated[
    tuple[Path, ...],
    Option("Records of 'stories generate' or 'stories chain'.", argument=True, metavar="RUN…"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoriesInput(Options):
    """Which stories are described or split."""

    file: Annotated[
        Path | None,
        Option(
            "Stories (JSONL) or a folder of official files; else those of MORALSCOPE_DATA.",
            argument=True,
            metavar="[FILE]",
        ),
    ] = None
    malformed: Annotated[
        str, input_option("At a malformed line: stop, or skip it.", choices=("stop", "skip"))
    ] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(Options):
    """What is told of a set of stories."""

    topics: Annotated[int, Option("How many topics; 0: none.", least=0, most=100)] = 10
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitInput(StoriesInput):
    """Which stories are split, by which encoder, and where their membership goes."""

    encoder: EncoderName = "minilm"
    membership: Annotated[
        Path | None,
        output_option(
            "Save the stories (JSONL) with these splits as their membership.", metavar="FILE"
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOptions(Options):
    """How splits are audited."""

    threshold: Annotated[
        float, Option("Similarity from which two texts are near-duplicates.", flag="--near")
    ] = 0.9
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not 0.5 <= self.threshold <= 1:
            raise InputError(f"a similarity of {self.threshold} is out of bounds", "give 0.5 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReverseInput(Options):
    """Which norms are reversed."""

    norms: Annotated[
        tuple[str, ...], Option("Norms, each in quotes.", argument=True, metavar="[NORM]...")
    ] = ()
    file: Annotated[
        Path | None,
        input_option(
            "Stories (JSONL) whose norms are reversed; else those of MORALSCOPE_DATA.",
            metavar="STORIES",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReverseOptions(Options):
    """How norms are reversed."""

    variants: Annotated[int, Option("Wordings of each norm, at most.", least=1, most=50)] = 3
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NormsInput(Options):
    """Which rules norms are selected from, and where the selection goes."""

    file: Annotated[
        Path | None,
        Option(
            "SOCIAL-CHEM-101 as published (TSV or CSV); else the copy below MORALSCOPE_DATA.",
            argument=True,
            metavar="[FILE]",
        ),
    ] = None
    malformed: Annotated[
        str, Option("At a malformed line: stop, or skip it.", choices=("stop", "skip"))
    ] = "stop"
    items: Annotated[
        Path | None,
        output_option(
            "Write the norms (CSV) for 'annotate init --task story-writing --items'.",
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NormsOptions(Options):
    """Which rules make norms for stories.

    Examples
    --------
    >>> NormsOptions(categories=("advice,social-norms",)).categories
    ('advice', 'social-norms')
    """

    categories: Annotated[
        tuple[str, ...],
        Option(
            "Categories to take norms from, separated by commas.",
            metavar="A,B",
            shown="morality-ethics,social-norms",
        ),
    ] = ("morality-ethics", "social-norms")
    agree: Annotated[float, Option("Least agreement: 2 is half of people, 3 most, 4 all.")] = 3.0
    count: Annotated[int | None, Option("Draw N by the seed; by default all.", least=3)] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        names = _named(self.categories)
        unknown = sorted(set(names) - set(CATEGORIES))
        if unknown or not names:
            what = f"there is no category '{unknown[0]}'" if unknown else "no category was named"
            raise InputError(what, f"name some of {', '.join(CATEGORIES)}")
        object.__setattr__(self, "categories", names)
        if not 0 <= self.agree <= 4:
            raise InputError(f"an agreement of {self.agree:g} is out of bounds", "give 0 to 4")


@dataclass(frozen=True, slots=True)
class ChainOptions(Options):
    """How a recipe is run: for which targets, with which sampling, on how many stories.

    `decoding` may be given whole in Python; else it is made of `strategy`, `count`, `p` and
    `temperature`. `only` is the id of one story, `out` where the record will be written: the
    journal lies beside it. `block` is how many stories are worked on at once.
    """

    target: Annotated[str, input_option("moral, immoral or both.")] = "both"
    decoding: Decoding | None = None
    limit: Annotated[int | None, input_option("The first N stories that can be run.", least=1)] = (
        None
    )
    seed: Seed = 0
    block: int | None = None
    only: str | None = None
    out: Path | None = None
    resume: Annotated[
        bool,
        output_option("Resume a run that was killed, or start over.", flag="--resume/--no-resume"),
    ] = True
    count: Annotated[
        int, Option("Candidates per step.", short="-n", least=1, most=MAX_COUNT, group="Sampling")
    ] = 10
    p: Annotated[float, Option("Nucleus sampling: mass of the tokens kept.", group="Sampling")] = (
        0.9
    )
    temperature: Annotated[float, Option("Below 1: likelier tokens.", group="Sampling")] = 1.0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.target not in ("both", "moral", "immoral"):
            raise InputError(f"there is no target '{self.target}'", "moral, immoral or both")
        if not 0 < self.p <= 1:
            raise InputError(f"p is {self.p}", "give more than 0 and at most 1")
        if not 0 < self.temperature <= 10:
            raise InputError(
                f"temperature is {self.temperature}", "give more than 0 and at most 10"
            )

    @property
    def sampling(self) -> Decoding:
        """How texts are drawn."""
        return self.decoding or Decoding(count=self.count, p=self.p, temperature=self.temperature)


@dataclass(frozen=True, slots=True)
class GenerateOptions(ChainOptions):
    """How texts are generated without experts: the same, with one candidate and any strategy."""

    count: Annotated[
        int, Option("Candidates per story.", short="-n", least=1, most=MAX_COUNT, group="Sampling")
    ] = 1
    strategy: Annotated[
        str,
        Option(
            "nucleus, greedy or beam.",
            flag="--decode",
            choices=("nucleus", "greedy", "beam"),
            group="Sampling",
        ),
    ] = "nucleus"

    @property
    def sampling(self) -> Decoding:
        """How texts are drawn."""
        return self.decoding or Decoding(
            self.strategy, count=self.count, p=self.p, temperature=self.temperature
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsInput(Options):
    """Which stories texts are written for, by which generator."""

    stories: StoriesFile = None
    generator: Annotated[
        str,
        model_option(
            "stories (smollm2 with the shipped adapter), smollm2, gemma3-270m, scripted, a local "
            "folder, a hub id, or openai:MODEL (served at $OPENAI_BASE_URL).",
            short="-g",
        ),
    ] = "stories"
    steer: SteerFile = None
    split: Annotated[
        str, input_option("norm_distance, lexical_bias or minimal_pairs.", choices=SPLITS)
    ] = "norm_distance"
    part: Annotated[
        str | None, input_option("Only the split's train, dev or test stories.", choices=PARTS)
    ] = None
    beside: Annotated[
        tuple[Path, ...],
        output_option("Other runs to show next to this one in the report.", metavar="RUN.json"),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateInput(TextsInput):
    """Which task's texts are written."""

    task: Annotated[
        str,
        Option(
            "A generation row of the task table: 'action|context', 'norm|actions', …",
            argument=True,
            metavar="TASK",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainInput(TextsInput):
    """Which recipe is run, with which experts, and what is printed of it."""

    recipe: Annotated[
        str,
        Option(
            "action-ranking, action-abduction, consequence-ranking, consequence-refinement, "
            "norm-synthesis, a baseline (action-sample, …), or a .toml file of your own.",
            argument=True,
            metavar="RECIPE",
        ),
    ]
    experts: ExpertsName = DEFAULT_EXPERTS
    show: Annotated[
        str | None,
        output_option(
            "Print this story's whole path as a tree. Without --out only this story is run.",
            metavar="ID",
        ),
    ] = None
    explain: Annotated[bool, output_option("Draw the recipe and say what each step does.")] = False


@dataclass(frozen=True, slots=True)
class EvaluateOptions(Options):
    """What is measured. No `tasks`: all that the experts have; no `splits`: all.

    `part` is test, dev, or all (every story of the file, whatever its split).
    """

    tasks: Annotated[
        tuple[str, ...], input_option("Comma-separated rows of the task table; else all.")
    ] = ()
    splits: Annotated[
        tuple[str, ...],
        input_option("norm_distance, lexical_bias, minimal_pairs, or all.", flag="--split"),
    ] = ()
    part: Annotated[str, input_option("test, dev, or all: every story of the file.")] = "test"
    reversed: Annotated[
        bool, Option("Also measure reversed and swapped norms.", flag="--reversed/--no-reversed")
    ] = True
    shortcuts: Annotated[bool, Option("Also measure a bag of words on the same split.")] = False
    calibrate: Annotated[
        bool, Option("Also fit a temperature on dev.", flag="--calibrate/--no-calibrate")
    ] = True
    max_stories: Annotated[
        int | None, input_option("Measure on only N, drawn by the seed.", least=2)
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        object.__setattr__(self, "tasks", _named(self.tasks))
        chosen = _named(self.splits)
        object.__setattr__(self, "splits", () if chosen == (ALL,) else chosen)


def _named(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that may be given one by one or by commas."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateInput(Options):
    """Which experts are measured on which stories."""

    experts: ExpertsName = DEFAULT_EXPERTS
    against: Annotated[str | None, model_option("A second set, for paired tests.")] = None
    stories: StoriesFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsInput(Options):
    """Which texts are measured, and who judges them."""

    runs: Runs
    stories: CopiedStories = None
    judge: Annotated[
        str | None, model_option("Experts that did not rank: minilm, mpnet, scripted, or a folder.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsOptions(Options):
    """How texts are measured."""

    stem: Annotated[bool, Option("ROUGE on stems, as in the paper.", flag="--stem/--no-stem")] = (
        True
    )
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoriesTrainOptions(TrainOptions):
    """Which task is trained on which stories."""

    task: Annotated[
        str | None,
        Option(
            "A row of the task table (action+norm, 'action|context', …), 'all' for every "
            "classification task in one adapter, 'texts' for every generation task; by default "
            "the recipe's.",
            argument=True,
            metavar="TASK",
        ),
    ] = None
    stories: StoriesFile = None
    drafts: Annotated[
        Path | None,
        input_option(
            "Texts: a run of 'stories chain consequence-ranking' on the train part, from whose "
            "candidates refinement is learnt.",
            metavar="RUN.json",
        ),
    ] = None
