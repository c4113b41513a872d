"""What `edit` and `teach` take; nothing here is computed or heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.axes.options import AxisFile, AxisOptions, FitName, TemplateName, split_names
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.options import Option, Options, Seed
from moralscope.core.registry import did_you_mean
from moralscope.models.options import EncoderName

AXES = ("choice", "direction")  # what an edit can keep, and what is measured before and after
SOURCES = ("both", "template", "pairs")


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
    remove: Annotated[str, Option("gender, or a name of your own with --pairs.")] = "gender"
    pairs: Annotated[
        Path | None,
        Option(
            "Your pairs: CSV first,second[,kind], or a YAML list.",
            metavar="FILE",
            group="Input",
            http=False,
        ),
    ] = None
    source: Annotated[
        str, Option("Of what gender is made: template, pairs, or both.", choices=SOURCES)
    ] = "both"
    keep: Annotated[
        tuple[str, ...],
        Option("Axes that must stay: choice,direction, one, or none.", metavar="AXES"),
    ] = AXES
    strength: Annotated[float, Option("0 removes nothing, 1 all of it.", least=0, most=1)] = 1.0
    components: Annotated[int, Option("Leading components of the pairs.", least=1)] = 8
    save: Annotated[
        Path | None,
        Option("Save the edit (safetensors).", metavar="FILE", group="Output", http=False),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        keep = split_names(self.keep)
        keep = () if keep == ("none",) else keep
        for axis in keep:
            if axis not in AXES:
                raise UnknownName(f"there is no axis '{axis}' to keep", did_you_mean(axis, AXES))
        object.__setattr__(self, "keep", keep)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachOptions(Options):
    """The direction to start from, and how far a correction carries to other actions."""

    encoder: EncoderName = "minilm"
    fit: FitName = "pca"
    axis_file: AxisFile = None
    template: TemplateName = "moral"
    reach: Annotated[float, Option("How far a correction carries to other actions.")] = 1.0
    save: Annotated[
        Path | None,
        Option(
            "Save the taught direction.",
            flag="--save-axis",
            metavar="FILE",
            group="Output",
            http=False,
        ),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not 0 < self.reach < float("inf"):
            raise InputError(f"reach is {self.reach:g}", "give a number above 0; 1 is usual")

    def axis_options(self) -> AxisOptions:
        """Return how the direction to start from comes about."""
        return AxisOptions(
            axis="direction",
            template=self.template,
            fit=self.fit,
            axis_file=self.axis_file,
            seed=self.seed,
        )
