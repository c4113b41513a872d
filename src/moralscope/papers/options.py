"""What the commands of `reproduce` take; nothing here is heavy."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from moralscope.axes.options import split_names
from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options, Seed, file_option, input_option, model_option
from moralscope.models.options import DEFAULT_EXPERTS
from moralscope.rules.options import AnnotationColumns, Malformed
from moralscope.words.options import VECTORS

ENCODERS = ("use-lite", "minilm", "mpnet")
NONE = "none"
QUICK_STORIES = 50
_listed = partial(Option, metavar="A,B", group="Model")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodersOptions(Options):
    """Which encoders a paper's tables are computed for.

    Examples
    --------
    >>> EncodersOptions(encoders=("minilm,mpnet",)).encoders
    ('minilm', 'mpnet')
    """

    encoders: Annotated[tuple[str, ...], _listed("Encoders, separated by commas.")] = ENCODERS
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        object.__setattr__(self, "encoders", _names(self.encoders))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOptions(EncodersOptions):
    """Which encoders and word vectors the first paper's tables are computed for."""

    vectors: Annotated[
        tuple[str, ...],
        _listed("Word vectors whose dos and don'ts are extracted, by commas; WEAT by the first."),
    ] = (VECTORS, "glove-50")

    def __post_init__(self) -> None:
        EncodersOptions.__post_init__(self)
        object.__setattr__(self, "vectors", _names(self.vectors))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoriesOptions(Options):
    """With whom, and on what, the tables of Moral Stories are computed."""

    experts: Annotated[
        tuple[str, ...],
        _listed(
            "mpnet, minilm, scripted or folders of 'stories train', by commas: each split is "
            "measured with the set trained on it, else with the first."
        ),
    ] = (DEFAULT_EXPERTS,)
    tasks: Annotated[
        tuple[str, ...],
        input_option("Comma-separated rows of the task table; else all.", metavar="A,B"),
    ] = ()
    stories: Annotated[
        Path | None, file_option("Stories, one JSON object per line; else your Moral Stories.")
    ] = None
    encoder: Annotated[
        str, model_option("Encoder for the splits of Table 1; 'none' skips them.")
    ] = "minilm"
    max_stories: Annotated[
        int | None, input_option("Measure on only N, drawn by the seed.", least=2)
    ] = None
    quick: Annotated[bool, input_option("Use 50 stories per part, no Table 1; takes minutes.")] = (
        False
    )
    runs: Annotated[
        tuple[Path, ...],
        input_option(
            "A run of 'stories generate' or 'chain' on --part test, for Tables 4-6 and 15-17; may "
            "be repeated.",
            metavar="RUN.json",
        ),
    ] = ()
    judge: Annotated[
        str, model_option("Experts that judge the runs; they must not have ranked any.")
    ] = "minilm"
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        object.__setattr__(self, "experts", _names(self.experts))
        object.__setattr__(self, "tasks", _names(self.tasks))
        if not self.experts:
            raise InputError("no experts were named", "name some, like mpnet")
        if self.quick:
            object.__setattr__(self, "max_stories", self.max_stories or QUICK_STORIES)
            object.__setattr__(self, "encoder", NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrityOptions(Options):
    """What the tables of the Moral Integrity Corpus are measured on: files and names of models."""

    mic: Annotated[Path | None, file_option("MIC.csv; else MORALSCOPE_DATA/mic/MIC.csv.")] = None
    generated: Annotated[
        Path | None,
        file_option(
            "Rules of generators: JSONL with model (a row of Table 1), prompt, reply, rule."
        ),
    ] = None
    ratings: Annotated[
        Path | None,
        file_option("People's columns of Table 1: the jsonl export of a 'rule-ratings' project."),
    ] = None
    experts: Annotated[
        str | None, model_option("Attribute experts for Table 3: a name or a folder.")
    ] = None
    columns: AnnotationColumns = None
    malformed: Malformed = "stop"
    encoder: Annotated[str, model_option("Encoder for the SBERT row; 'none' skips it.")] = "minilm"
    bertscore: Annotated[
        str, model_option("minilm, mpnet, scripted, a folder, a hub id, or 'none'.")
    ] = "minilm"
    max_exchanges: Annotated[
        int | None, input_option("Measure on only N, drawn by the seed.", least=2)
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOptions(Options):
    """What all four papers are computed with; the rest is what each command takes by itself."""

    encoders: Annotated[
        tuple[str, ...], _listed("For the first two papers, e.g. minilm,mpnet.")
    ] = ("minilm",)
    experts: Annotated[
        tuple[str, ...], _listed("Experts for Moral Stories, separated by commas.")
    ] = (DEFAULT_EXPERTS,)
    quick: Annotated[
        bool, input_option("Moral Stories on 50 stories per part, without Table 1.")
    ] = False
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        object.__setattr__(self, "encoders", _names(self.encoders))
        object.__setattr__(self, "experts", _names(self.experts))


def _names(listed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in split_names(listed) if name)
