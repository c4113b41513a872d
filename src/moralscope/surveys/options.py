"""What `survey` takes; nothing here is heavy."""

from dataclasses import dataclass
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options, Seed, gate_option, input_option, model_option
from moralscope.models.options import (
    DEFAULT_EXPERTS,
    EXPERTS,
    SPEAKERS,
    EndpointUrl,
    FormName,
    MaxRequests,
    Samples,
    SteerFile,
)

FORMS = ("ab", "repeat", "compare")
MAX_WORDINGS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyOptions(Options):
    """Who is asked, and in how many ways."""

    models: Annotated[
        tuple[str, ...],
        model_option(
            f"A language model: {', '.join(SPEAKERS)}, a folder, a .gguf file, a hub id, or a "
            "served one (openai:MODEL, ollama:MODEL, anthropic:MODEL); repeat, or use commas, to "
            "compare several.",
            flag="--model",
            short="-m",
            metavar="NAME",
            http=SPEAKERS,
        ),
    ] = ("smollm2",)
    steer: SteerFile = None
    form: FormName = "auto"
    forms: Annotated[
        tuple[str, ...],
        Option(
            "How a dilemma is asked: ab (A or B), repeat (the action word for word), compare (do "
            "you prefer this over that).",
            metavar="A,B[,C]",
            group="Questions",
        ),
    ] = FORMS
    wordings: Annotated[
        int, Option("Wordings of every question.", least=1, most=MAX_WORDINGS, group="Questions")
    ] = 3
    limit: Annotated[
        int | None,
        input_option(
            "Ask only N items, taken evenly from the file; of a corpus, the first N.", least=1
        ),
    ] = None
    priorities: Annotated[
        bool,
        Option(
            "Show which values the model puts first: strengths of the values in your columns, of "
            "MoralChoice's rules or of subscales, with intervals.",
            group="Questions",
        ),
    ] = False
    pressure: Annotated[
        bool,
        Option(
            "Also ask each dilemma again after objections, flattery, authority and repetition, "
            "and after neutral turns: does the model give way?",
            group="Questions",
        ),
    ] = False
    free: Annotated[
        bool,
        Option(
            "Let the model answer in words too, and audit the replies: what it says, rates and "
            "does, side by side.",
            group="Free replies",
        ),
    ] = False
    replies: Annotated[
        int, Option("Free replies per item.", least=2, most=20, group="Free replies")
    ] = 2
    rulebooks: Annotated[
        tuple[str, ...],
        Option(
            "Audit free replies by these rules (a rulebook file); may be repeated.",
            flag="--rulebook",
            metavar="FILE",
            group="Free replies",
            http=False,
        ),
    ] = ()
    experts: Annotated[
        str, Option("Experts that audit free replies.", group="Free replies", http=EXPERTS)
    ] = DEFAULT_EXPERTS
    endpoint: EndpointUrl = None
    max_requests: MaxRequests = None
    samples: Samples = 20
    input_price: Annotated[
        float | None,
        Option("Price of a million input tokens.", least=0, group="Endpoint", http=False),
    ] = None
    output_price: Annotated[
        float | None,
        Option("Price of a million output tokens.", least=0, group="Endpoint", http=False),
    ] = None
    gate: Annotated[
        str | None,
        gate_option(
            'Exit 3 unless it holds for every model, e.g. "order_bias<=0.5 and mass>=0.8". An '
            "unknown figure lists all there are."
        ),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        names = tuple(name.strip() for text in self.models for name in _split(text))
        if not names or not all(names):
            problem = f"'{','.join(self.models)}' is not a list like smollm2,tinyllama"
            raise InputError(problem, "name a model or more")
        forms = tuple(name.strip() for text in self.forms for name in text.split(","))
        unknown = [name for name in forms if name not in FORMS]
        if unknown or not forms:
            problem = f"there is no form '{', '.join(unknown)}'"
            raise InputError(problem, f"use one or more of {', '.join(FORMS)}")
        object.__setattr__(self, "models", tuple(dict.fromkeys(names)))
        object.__setattr__(self, "forms", tuple(form for form in FORMS if form in forms))
        Options.__post_init__(self)


def _split(text: str) -> list[str]:
    """Split names by commas; those inside ``scripted:order=1,mass=0.5`` belong to it.

    Examples
    --------
    >>> _split("smollm2,scripted:order=1,mass=0.5,tinyllama")
    ['smollm2', 'scripted:order=1,mass=0.5', 'tinyllama']
    """
    names: list[str] = []
    for part in text.split(","):
        if "=" in part and ":" not in part and names and names[-1].startswith("scripted:"):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names
