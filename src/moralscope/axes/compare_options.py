"""What `compare` takes; nothing here is heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from moralscope.axes.options import (
    ENGLISH,
    LANGUAGES,
    AxisName,
    AxisOptions,
    EncoderNames,
    FitActions,
    FitName,
    Norm,
    TemplateName,
    Wordings,
    split_names,
)
from moralscope.core.errors import InputError
from moralscope.core.options import Options, Seed, file_option, gate_option, model_option
from moralscope.core.records import values_of
from moralscope.models.options import (
    ENCODERS,
    SPEAKERS,
    EndpointUrl,
    FormName,
    MaxRequests,
    Samples,
    check_model_name,
    is_language_model,
)

GateText = Annotated[
    str | None,
    gate_option(
        'Exit 3 unless it holds, e.g. "r>=0.7 and changed<=3" for every pair of encoders, '
        '"mean_change>=-0.02 and newly_flagged<=0.02" for runs. An unknown figure is answered '
        "with all there are."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(Options):
    """How several encoders are compared on the same actions."""

    encoders: EncoderNames = ("minilm", "mpnet")
    models: Annotated[
        tuple[str, ...],
        model_option(
            "Models of any kind instead: encoders, language models (smollm2, openai:MODEL, a "
            "folder) and 'people' (with --human).",
            metavar="A,B[,C]",
            http=tuple(dict.fromkeys((*ENCODERS, *SPEAKERS))),
        ),
    ] = ()
    human: Annotated[
        Path | None,
        file_option(
            "Ratings by people (CSV: action, yes, no): with 'people' among --models they are "
            "compared too.",
            http=False,
        ),
    ] = None
    form: FormName = "auto"
    endpoint: EndpointUrl = None
    max_requests: MaxRequests = None
    samples: Samples = 20
    axis: AxisName = "choice"
    template: TemplateName = "moral"
    language: Annotated[
        tuple[str, ...],
        model_option(
            "Language of the questions, and of your actions: "
            f"{', '.join(LANGUAGES)}. Two or more compare one model in these.",
            metavar="A[,B]",
        ),
    ] = (ENGLISH,)
    fit: FitName = "pca"
    fit_actions: FitActions = None
    norm: Norm = None
    wordings: Wordings = None
    gate: GateText = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        object.__setattr__(self, "language", split_names(self.language))
        for code in self.language:
            if code not in LANGUAGES:
                known = ", ".join(LANGUAGES)
                raise InputError(
                    f"there are no questions in '{code[:40]}'", f"name some of {known}"
                )
        if len(set(self.language)) < len(self.language):
            raise InputError("a language was named twice", "name each once")
        least = 1 if len(self.language) > 1 else 2
        for kind, listed, example in (
            ("encoders", self.encoders, "minilm,mpnet"),
            ("models", self.models, "minilm,smollm2"),
        ):
            names = split_names(listed)
            if listed and (len(names) < least or not all(names)):
                alone = f"1 {kind[:-1]} was given: " if len(names) == 1 else ""
                problem = f"{alone}'{','.join(listed)}' is not a list like {example}"
                raise InputError(problem, f"name two {kind} or more")
            object.__setattr__(self, kind, names)
        if not self.names:
            raise InputError("nothing was named to compare", "name two encoders or more")
        for name in self.models:
            if name != "people":
                check_model_name(name)
        if "people" in self.models and self.human is None:
            raise InputError(
                "people are to be compared, but there are no ratings", "add --human FILE"
            )
        self.for_encoder(None)  # an option that the axis does not read is refused here

    @property
    def names(self) -> tuple[str, ...]:
        """What is compared."""
        return self.models or self.encoders

    def for_encoder(self, name: str | None, language: str | None = None) -> AxisOptions:
        """Return how the axis of one of the models comes about; `language` is else the first."""
        speaks = bool(self.models and name and is_language_model(name))
        asked: dict[str, Any] = {"form": self.form} if speaks else {}
        if speaks and self.axis == "choice":
            asked |= {"endpoint": self.endpoint, "max_requests": self.max_requests}
            asked["samples"] = self.samples
        return AxisOptions(
            axis=self.axis,
            encoder=None if speaks else name,
            model=name if speaks else None,
            **asked,
            language=language or self.language[0],
            **values_of(self, "template", "fit", "fit_actions", "norm", "wordings", "seed"),
        )
