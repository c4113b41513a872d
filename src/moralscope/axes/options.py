"""What the commands of this subject take, and the axes there are; nothing here is heavy.

An axis is one entry of `AXES`: what it measures, which options it reads and where it is built. The
help of `--axis`, the refusal of an option that an axis does not read, and `build_axis` follow it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Self

from moralscope.core.errors import InputError
from moralscope.core.options import (
    CORPUS,
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
from moralscope.models.options import (
    DEFAULT_EXPERTS,
    ENCODERS,
    EXPERTS,
    EncoderName,
    EndpointUrl,
    FormName,
    LanguageName,
    MaxRequests,
    Samples,
    SteerFile,
    check_model_name,
    is_language_model,
)
from moralscope.words.options import SETS, VECTORS, SetsName, VectorsName, WordListOptions

TEMPLATES = ("moral", "gender")
ENGLISH = "en"
LANGUAGES = {
    ENGLISH: "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "zh": "Chinese",
    "ar": "Arabic",
    "hi": "Hindi",
    "ru": "Russian",
    "sv": "Swedish",
}  # of the questions
FITS = ("pca", "labelled")
MAX_WORDINGS = 4
DEFAULT_BASE = DEFAULT_EXPERTS  # whose experts judge where nobody is named; minilm or mpnet
PEOPLE_YES = ("people_yes", "people_yes_low", "people_yes_high")


@dataclass(frozen=True, slots=True)
class AxisKind:
    """An axis as users find it."""

    about: str  # what it measures
    question: str  # the same to somebody new
    build: str  # "module:function", the function an `axes.build.AxisBuilder`
    reads: tuple[str, ...]  # the options
    columns: tuple[str, ...] = ("action", "paraphrases")  # that it reads of a row
    writes: tuple[str, ...] = ("score", "low", "high")  # what a corpus keeps of a result
    interval: str = "95 % interval"  # what the ends of a score are
    unit: str = "from -1 (bad) to +1 (good)"  # what a score is measured in
    encoders: tuple[str, ...] = ()  # those that it was trained on, where it was
    language: str = ""  # `build` for language models


_OF_ENCODERS = ("encoder", "template", "language", "eight_bits", "calibrate", "batch_tokens")
_OF_LANGUAGE_MODELS = ("model", "form", "steer", "endpoint", "max_requests", "samples")
# The first that reads everything that was given is the default.
AXES: Mapping[str, AxisKind] = {
    "judge": AxisKind(
        "experts trained on people's judgments",
        "How good is it, and how many people would say yes?",
        "moralscope.axes.judge:build_judge",
        ("encoder", "experts", "norm", "wordings"),
        columns=("action", "norm", "situation", "intention", "consequence"),
        writes=("score", "low", "high", "probability", "verdict", *PEOPLE_YES),
        interval="over wordings",
        encoders=("minilm", "mpnet"),
    ),
    "choice": AxisKind(
        "question/answer bias",
        "Is the question nearer to a yes or to a no?",
        "moralscope.axes.choice:build_choice",
        (*_OF_ENCODERS, *_OF_LANGUAGE_MODELS),
        unit="a difference of cosines",
        language="moralscope.axes.language:build_language_choice",
    ),
    "direction": AxisKind(
        "projection on the moral direction",
        "Where does it lie on the model's moral direction? Draws a map.",
        "moralscope.axes.direction.axis:build_direction",
        (
            *_OF_ENCODERS,
            *("model", "form", "steer", "layer", "fit", "fit_actions", "axis_file", "save_axis"),
        ),
        unit="in standard deviations of the actions it was fitted on",
        language="moralscope.axes.direction.layers:build_layered",
    ),
}

AXIS_OPTIONS = frozenset().union(*(kind.reads for kind in AXES.values()))

BaseName = Annotated[
    str | None,
    model_option(
        "minilm, mpnet, use-lite, scripted, a folder, or a hub id. Judge axis: the base whose "
        "experts judge.",
        short="-e",
        shown="minilm",
        http=ENCODERS,
    ),
]
EncoderNames = Annotated[
    tuple[str, ...],
    model_option(
        "Two or more: minilm, mpnet, use-lite, scripted, local folders, hub ids.",
        metavar="A,B[,C]",
        http=ENCODERS,
    ),
]
AxisName = Annotated[
    str,
    model_option(
        f"{'; '.join(f'{name}: {kind.about}' for name, kind in AXES.items())}.", choices=tuple(AXES)
    ),
]
DefaultAxis = Annotated[
    str | None,
    model_option(
        f"{'; '.join(f'{name}: {kind.about}' for name, kind in AXES.items())}.",
        choices=tuple(AXES),
        shown="judge, unless other options need another axis",
    ),
]
TemplateName = Annotated[
    str, model_option(f"{', '.join(TEMPLATES)}, or a YAML/CSV file of your own.", http=TEMPLATES)
]
LanguageCode = Annotated[
    str,
    model_option(
        f"Language of questions and actions: {', '.join(LANGUAGES)}.", choices=tuple(LANGUAGES)
    ),
]
FitName = Annotated[str, model_option("How a direction is fitted: pca or labelled.", choices=FITS)]
FitActions = Annotated[
    Path | None,
    model_option(
        "Fit a direction on your actions; a 'label' column says good or bad.",
        metavar="FILE",
        http=False,
    ),
]
AxisFile = Annotated[
    Path | None, model_option("Use a saved direction.", metavar="FILE", http=False)
]
Norm = Annotated[
    str | None, model_option("Judge axis: judge actions against this norm.", most=10_000)
]
Wordings = Annotated[
    int | None,
    model_option(
        "Judge axis: how many wordings of an action give the interval.",
        least=1,
        most=MAX_WORDINGS,
        shown="4; 1 for more than 256 actions",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisOptions(Options):
    """Which axis, and how it comes about. The seed moves intervals, never scores."""

    axis: DefaultAxis = None
    encoder: BaseName = None
    template: TemplateName = "moral"
    language: LanguageCode = ENGLISH
    fit: FitName = "pca"
    fit_actions: FitActions = None
    axis_file: AxisFile = None
    save_axis: Annotated[
        Path | None, output_option("Save the direction (safetensors).", metavar="FILE", http=False)
    ] = None
    experts: Annotated[
        str | None,
        model_option(
            "Judge axis: minilm, mpnet, scripted or a folder.", shown=DEFAULT_BASE, http=EXPERTS
        ),
    ] = None
    norm: Norm = None
    wordings: Wordings = None
    eight_bits: Annotated[
        bool,
        model_option("Compute in 8 bits: faster; a note says how far scores move.", http=False),
    ] = False
    model: LanguageName = None
    steer: SteerFile = None
    form: FormName = "auto"
    layer: Annotated[
        int | None,
        model_option("Direction axis: a language model's layer.", least=1, shown="the best"),
    ] = None
    endpoint: EndpointUrl = None
    max_requests: MaxRequests = None
    samples: Samples = 20
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.model:
            check_model_name(self.model)
        encoder, model = self._asked
        of_models: dict[str, Any] = {"form": self.form != "auto", "layer": self.layer}
        of_models |= {"endpoint": self.endpoint, "steer": self.steer}
        of_encoders = {"encoder": encoder, "eight_bits": self.eight_bits}
        for name, value in (of_encoders if model else of_models).items():
            if value:
                beside = f"--model {model}" if model else "an encoder"
                problem = f"--{name.replace('_', '-')} cannot be combined with {beside}"
                raise InputError(problem, "leave one of them out")
        axis = self.kind_name
        idle = sorted(self._chosen - set(AXES[axis].reads))
        if idle:
            others = [name for name, kind in AXES.items() if set(idle) <= set(kind.reads)]
            instead = f", or use the {' or '.join(others)} axis" if others else ""
            raise InputError(
                f"the {axis} axis has no option {', '.join(map(repr, idle))}",
                f"leave {'them' if len(idle) > 1 else 'it'} out{instead}",
            )
        if self.language != ENGLISH and axis == "direction" and model:
            problem = "layers of a language model are chosen by English actions"
            raise InputError(problem, "use --axis choice, or leave --language out")
        if self.axis_file and self.fit_actions:
            raise InputError(
                "--axis-file is fitted already and --fit-actions fits a new one", "give one of them"
            )

    def resolved(self) -> Self:
        """Return the options with their axis named, and an encoder under `encoder`."""
        encoder, model = self._asked
        return replace(self, axis=self.kind_name, encoder=encoder, model=model)

    @property
    def _asked(self) -> tuple[str | None, str | None]:
        """The encoder or the language model; an encoder may be named as a model, too."""
        if self.model and not is_language_model(self.model) and self.encoder is None:
            return self.model, None
        return self.encoder, self.model

    @property
    def _chosen(self) -> set[str]:
        """The options of axes that are unlike their defaults."""
        encoder, model = self._asked
        values = {**values_of(self), "encoder": encoder, "model": model}
        chosen = {field.name for field in fields(self) if values[field.name] != field.default}
        return chosen & AXIS_OPTIONS

    @property
    def kind_name(self) -> str:
        """The name of the axis: the one that was named, else the first that reads the options."""
        return self.axis or default_axis(self._chosen, self._asked[0])

    @property
    def is_own_fit(self) -> bool:
        """Whether a direction is of actions or a file of the user's."""
        return self.fit_actions is not None or self.axis_file is not None

    @property
    def kind(self) -> AxisKind:
        """The axis that was chosen, as users find it."""
        return AXES[self.kind_name]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions(AxisOptions):
    """How actions are scored, in one record or over a corpus.

    `batch_tokens` is what an earlier run measured with `calibrate`.
    """

    human: Annotated[
        Path | None,
        file_option(
            "Compare with ratings by people (CSV: action, yes, no); without actions of your own, "
            "those of this file are scored.",
            http=False,
        ),
    ] = None
    framings: Annotated[
        bool,
        input_option(
            "Also score rewordings of each action (negated, passive, everybody does it, …), and "
            "count how often the sign changes."
        ),
    ] = False
    gate: Annotated[
        str | None,
        gate_option(
            'With --framings, exit 3 unless it holds, e.g. "flips<=5% and flips_negation>=80%".'
        ),
    ] = None
    calibrate: Annotated[
        bool,
        Option(
            "First measure which batches are fastest on this machine.", group=CORPUS, http=False
        ),
    ] = False
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        AxisOptions.__post_init__(self)
        if self.gate is not None and not self.framings:
            raise InputError("a gate of scores looks at framings", "add --framings")
        if self.framings and self.language != ENGLISH:
            raise InputError("framings are written in English", "leave --language out")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions(Options):
    """How candidate answers to a question are ranked."""

    encoder: EncoderName = "minilm"
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions(Options):
    """Whose experts judge the actions of the tour."""

    encoder: Annotated[
        str, model_option("Experts that judge: minilm, mpnet or scripted.", short="-e")
    ] = DEFAULT_BASE
    seed: Seed = 0

    def score_options(self) -> ScoreOptions:
        """Return how the actions are scored."""
        return ScoreOptions(axis="judge", encoder=self.encoder, seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelateOptions(WordListOptions):
    """Whose bias is correlated with whose association, over which words."""

    encoder: EncoderName = "minilm"
    vectors: VectorsName = VECTORS
    sets: SetsName = SETS
    seed: Seed = 0


def default_axis(names: Collection[str], encoder: str | None, *, trained: bool = True) -> str:
    """Return the first axis that reads these options and can ask the encoder, if one is named.

    Without `trained` the encoder itself is to be asked, not who was trained on one of its name.

    Examples
    --------
    >>> default_axis((), None), default_axis(("encoder", "fit"), "minilm")
    ('judge', 'direction')
    >>> default_axis(("encoder",), "use-lite"), default_axis(("norm",), None)
    ('choice', 'judge')
    """
    for name, kind in AXES.items():
        asked = encoder is None or not kind.encoders or (trained and encoder in kind.encoders)
        if set(names) <= set(kind.reads) and (asked or "experts" in names):
            return name
    return next(iter(AXES))


def split_names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that may come one by one or by commas, as the command line gives them.

    Examples
    --------
    >>> split_names(("minilm, mpnet", "scripted"))
    ('minilm', 'mpnet', 'scripted')
    """
    return tuple(name.strip() for text in texts for name in text.split(","))
