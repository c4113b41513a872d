"""What every training command takes (a subject adds its files), and what every model shares."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.options import Option, Options
from moralscope.models.training.loop import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions(Options):
    """Which recipe, changed how, and where the model goes."""

    to: Annotated[Path, Option("Where the model goes.", metavar="DIR", group="Output")]
    recipe: Annotated[
        str | None,
        Option(
            "A recipe by name, or a .toml file: what is read, which heads and losses, how long.",
            metavar="NAME",
            shown="by what is trained",
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
        Option("A model of the store, a folder, or a hub id.", shown="the recipe's", group="Model"),
    ] = None
    base_is: Annotated[
        str | None, Option("The base folder is a copy of this model of the store.", group="Model")
    ] = None
    start: Annotated[
        tuple[Path, ...],
        Option(
            "Go on from an adapter; several times: from their mean.", metavar="DIR", group="Model"
        ),
    ] = ()
    limit: Annotated[
        int | None, Option("Only the first N rows of each part.", least=1, group="Input")
    ] = None
    test: Annotated[bool, Option("Report the test part too. Once, at the end.", group="Output")] = (
        False
    )
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
    max_length: Annotated[int, Option("Tokens that are read.", least=8, most=512)] = 128
    start: Annotated[
        tuple[Path, ...],
        Option("Folders of adapters to go on from; of several classifiers: from their mean."),
    ] = ()
