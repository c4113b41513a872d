"""What `edit`, `teach` and `steer` take; nothing here is computed or heavy."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.axes.options import AxisFile, AxisOptions, FitName, TemplateName, split_names
from moralscope.core.errors import InputError
from moralscope.core.options import (
    Option,
    Options,
    Seed,
    file_option,
    gate_option,
    input_option,
    model_option,
    output_option,
)
from moralscope.core.records import values_of
from moralscope.core.registry import require_known
from moralscope.models.options import DEFAULT_EXPERTS, EncoderName, ExpertsName, FormName

AXES = ("choice", "direction")  # what an edit can keep, and what is measured before and after
SOURCES = ("both", "template", "pairs")
FORMATS = ("gguf", "lm-eval")
MEAN, PCA, LOGISTIC = METHODS = ("mean", "pca", "logistic")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions(Options):
    """What is removed from an encoder's embeddings, and what has to stay.

    `source`: the differences of the gender template's answers (`template`), the leading
    `components` of sentence pairs (`pairs`), or both together.

    Examples
    --------
    >>> EditOptions(keep=("none",)).keep, EditOptions(keep=("choice,direction",)).keep
    ((), ('choice', 'direction'))
    """

    encoder: EncoderName = "minilm"
    remove: Annotated[str, input_option("gender, or a name of your own with --pairs.")] = "gender"
    pairs: Annotated[
        Path | None, file_option("Your pairs: CSV first,second[,kind], or a YAML list.", http=False)
    ] = None
    source: Annotated[
        str, input_option("Make gender from: template, pairs, or both.", choices=SOURCES)
    ] = "both"
    keep: Annotated[
        tuple[str, ...],
        model_option("Axes that must stay: choice,direction, one, or none.", metavar="AXES"),
    ] = AXES
    strength: Annotated[float, model_option("0 removes nothing, 1 all of it.", least=0, most=1)] = (
        1.0
    )
    components: Annotated[int, model_option("Leading components of the pairs.", least=1)] = 8
    save: Annotated[
        Path | None, output_option("Save the edit (safetensors).", metavar="FILE", http=False)
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        keep = split_names(self.keep)
        keep = () if keep == ("none",) else keep
        for axis in keep:
            require_known(axis, AXES, f"there is no axis '{axis}' to keep")
        object.__setattr__(self, "keep", keep)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachOptions(Options):
    """The direction to start from, and how far a correction carries to other actions."""

    encoder: EncoderName = "minilm"
    fit: FitName = "pca"
    axis_file: AxisFile = None
    template: TemplateName = "moral"
    reach: Annotated[float, model_option("How far a correction carries to other actions.")] = 1.0
    save: Annotated[
        Path | None,
        output_option("Save the taught direction.", flag="--save-axis", metavar="FILE", http=False),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not 0 < self.reach < float("inf"):
            raise InputError(f"reach is {self.reach:g}", "give a number above 0; 1 is usual")

    def axis_options(self) -> AxisOptions:
        """Return how the direction to start from comes about."""
        return AxisOptions(
            axis="direction", **values_of(self, "template", "fit", "axis_file", "seed")
        )


_LAYERS = re.compile(r"\s*(\d{1,4})(?:\s*-\s*(\d{1,4}))?\s*")
_MOST_LAYERS = 1000
SteeredName = Annotated[
    str,
    model_option(
        "A local language model: smollm2, gemma3-270m, tinyllama, stories, scripted, a folder (an "
        "adapter too), or a hub id.",
        short="-m",
        metavar="NAME",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerMakeOptions(Options):
    """What a steering vector is made of, and how strong it is to be.

    Examples
    --------
    >>> SteerMakeOptions(layers="9-11,14").layer_numbers
    (9, 10, 11, 14)
    """

    model: SteeredName = "smollm2"
    form: FormName = "auto"
    pairs: Annotated[
        str,
        file_option(
            "declining (ours: declining harm, not helping with it), moral-stories (their actions), "
            "or a table with wanted, unwanted and, for replies, prompt."
        ),
    ] = "declining"
    layers: Annotated[
        str | None,
        Option("Which layers: 9-15, or 9,12.", metavar="N-M", shown="a band above the middle"),
    ] = None
    method: Annotated[
        str,
        Option(
            "mean (difference of means), pca (first component of the pairs' differences), or "
            "logistic (regression).",
            choices=METHODS,
        ),
    ] = MEAN
    kl: Annotated[
        float | None,
        Option(
            "How far next words move on neutral text, in nats.", least=0.001, most=20, shown="0.1"
        ),
    ] = None
    gate: Annotated[
        bool,
        Option(
            "Steer only prompts that are like those of the pairs. Without --kl the strength then "
            "rises until replies to these move by 0.8 nats."
        ),
    ] = False
    save: Annotated[Path, output_option("Save the vector (safetensors).", metavar="FILE")] = Path(
        "steering.safetensors"
    )
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.layers is not None:
            parse_layers(self.layers)

    @property
    def layer_numbers(self) -> tuple[int, ...]:
        """The layers that were named, none where a band is to be chosen."""
        return parse_layers(self.layers) if self.layers is not None else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerCheckOptions(Options):
    """What a vector's certificate looks at, and when it is refused."""

    vector: Annotated[
        Path, Option("A file from 'steer make' or 'steer import'.", argument=True, metavar="VECTOR")
    ]
    model: Annotated[
        str | None,
        model_option(
            "The language model that the vector was made for.",
            short="-m",
            metavar="NAME",
            shown="the one that the vector names",
        ),
    ] = None
    form: FormName = "auto"
    pairs: Annotated[
        str | None,
        file_option(
            "Pairs that show what is wanted, other than those that made the vector.",
            shown="ours: declining harm, held out",
        ),
    ] = None
    survey: Annotated[
        str | None,
        file_option(
            "Dilemmas to ask, with better and breaks1, breaks2, … (a table as for survey).",
            shown="ours",
        ),
    ] = None
    target: Annotated[
        str,
        input_option(
            "Rules (of 'breaks') and foundations that the vector is meant to change; all others "
            "should stay.",
            metavar="A[,B]",
        ),
    ] = "harm,care"
    replies: Annotated[
        int, Option("Audit N free replies; 0 skips the audit.", least=0, most=500)
    ] = 16
    experts: ExpertsName = DEFAULT_EXPERTS
    gate: Annotated[
        str | None,
        gate_option(
            'Exit 3 unless it holds, e.g. "collateral<=0.5 and perplexity<=20% and '
            'wanted>=0.3". An unknown figure lists all there are.'
        ),
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerExportOptions(Options):
    """Which vector goes where, in whose format."""

    vector: Annotated[Path, Option("A file from 'steer make'.", argument=True, metavar="VECTOR")]
    to: Annotated[
        str,
        Option(
            "gguf (a control vector for llama.cpp) or lm-eval (for its 'steered' model, .pt).",
            choices=FORMATS,
        ),
    ]
    save: Annotated[Path, output_option("The file to write.", metavar="FILE")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerImportOptions(Options):
    """Another tool's vector, and the model that it is for."""

    file: Annotated[
        Path, Option("A GGUF control vector, or lm-eval's .pt.", argument=True, metavar="FILE")
    ]
    model: SteeredName = "smollm2"
    save: Annotated[Path, output_option("Save the vector (safetensors).", metavar="FILE")] = Path(
        "steering.safetensors"
    )


def parse_layers(text: str) -> tuple[int, ...]:
    """Read layers as people write them.

    Examples
    --------
    >>> parse_layers("3, 9-11")
    (3, 9, 10, 11)
    """
    layers: set[int] = set()
    for part in text.split(","):
        match = _LAYERS.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if not 1 <= first <= last <= _MOST_LAYERS:
            raise InputError(f"'{text[:60]}' names no layers", "write 9-15, or 9,12")
        layers |= set(range(first, last + 1))
    return tuple(sorted(layers))
