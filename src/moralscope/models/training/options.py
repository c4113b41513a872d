"""What every training command takes (a subject adds its files), and what every model shares."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from moralscope.core.errors import InputError
from moralscope.core.options import (
    Option,
    Options,
    Seed,
    input_option,
    model_option,
    option_fields,
    output_option,
)


@dataclass(frozen=True, kw_only=True)
class Schedule(Options):
    """How long and how fast to learn. A new knob of the loop is a field here, read in `loop`.

    Recipes inherit these fields, so each is a key of a recipe and of `--set`, with its range.
    """

    epochs: Annotated[int, Option("Passes over the train part, at most.", least=0, most=10_000)] = 4
    learning_rate: Annotated[float, Option("Rate at its peak.", most=10.0)] = 4e-4
    batch_size: Annotated[int, Option("Examples per batch.", least=1, most=65_536)] = 64
    batch_tokens: Annotated[
        int, Option("Tokens at once; longer batches go in pieces. 0: no limit.", least=0)
    ] = 0
    accumulate: Annotated[int, Option("Batches per step.", least=1, most=4096)] = 1
    warmup: Annotated[float, Option("Share of steps in which the rate rises.", least=0, most=1)] = (
        0.06
    )
    weight_decay: Annotated[float, Option("Decay of matrices.", least=0, most=1)] = 0.01
    clip: Annotated[float, Option("Longest gradient.", least=1e-6, most=1e6)] = 1.0
    adam_epsilon: Annotated[float, Option("Adam's epsilon.", least=0, most=1)] = 1e-8
    patience: Annotated[int, Option("Evaluations without improvement.", least=1, most=10_000)] = 2
    seed: Seed = 0
    head_rate: Annotated[
        float, Option("Rate of the last layer; 0: the same as the rest.", least=0, most=10.0)
    ] = 0.0
    skip: Annotated[
        float,
        Option(
            "Share of steps that may be skipped because loss or gradient is not a number.",
            least=0,
            most=1,
        ),
    ] = 0.0
    max_minutes: Annotated[
        float,
        Option("End within this time, where the rate is 0; 0: after all steps.", least=0, most=1e6),
    ] = 0.0
    average: Annotated[
        float,
        Option("Decay of a running mean of the weights, which is kept; 0: none.", least=0, most=1),
    ] = 0.0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not self.learning_rate > 0:
            raise InputError("a learning rate is more than 0", "4e-4 is usual for an adapter")

    @property
    def plain_schedule(self) -> dict[str, Any]:
        """These fields alone, also of a recipe: what names a run beside its data and weights."""
        known = {field.name for field in option_fields(Schedule)}
        return {name: value for name, value in asdict(self).items() if name in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions(Options):
    """Which recipe, changed how, and where the model goes."""

    to: Annotated[Path, output_option("Folder for the model.", metavar="DIR")]
    recipe: Annotated[
        str | None,
        Option(
            "A recipe by name, or a .toml file: what is read, which heads and losses, how long.",
            metavar="NAME",
            shown="depends on the task",
            group="Recipe",
        ),
    ] = None
    settings: Annotated[
        tuple[str, ...],
        Option(
            "Change one setting of the recipe: epochs=2, rank=8, weights=all, …",
            flag="--set",
            metavar="KEY=VALUE",
            group="Recipe",
        ),
    ] = ()
    base: Annotated[
        str | None,
        model_option("A model of the store, a folder, or a hub id.", shown="the recipe's"),
    ] = None
    base_is: Annotated[
        str | None, model_option("The base folder is a copy of this model of the store.")
    ] = None
    start: Annotated[
        tuple[Path, ...],
        model_option("Continue from an adapter; if repeated, from their mean.", metavar="DIR"),
    ] = ()
    limit: Annotated[int | None, input_option("Only the first N rows of each part.", least=1)] = (
        None
    )
    test: Annotated[bool, output_option("Also report the test part, once, at the end.")] = False
    seed: Annotated[
        int | None,
        Option("Seed of everything random.", least=0, most=2**32 - 1, shown="the recipe's"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ModelTraining(Schedule):
    """Settings that classifiers and generators share."""

    weights: Annotated[
        str, Option("An adapter (LoRA), or all weights.", choices=("adapter", "all"))
    ] = "adapter"
    rank: Annotated[int, Option("Rank of the adapter.", least=1, most=256)] = 16
    eight_bits: Annotated[bool, Option("Write the adapter in 8 bits, not in 16.")] = False
    max_length: Annotated[int, Option("Tokens that are read.", least=8, most=512)] = 128
    start: Annotated[
        tuple[Path, ...],
        Option("Folders of adapters to continue from; of several classifiers: from their mean."),
    ] = ()
