"""Options that name a model, shared by the commands of all subjects; nothing here is heavy."""

import tomllib
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import UnknownName
from moralscope.core.options import Option, model_option
from moralscope.core.registry import did_you_mean

# Read here and not through the store, which no help needs.
_CATALOGUE = tomllib.loads((Path(__file__).parent / "store" / "models.toml").read_text("utf-8"))
ENCODERS = (*(name for name, row in _CATALOGUE.items() if row["kind"] == "encoder"), "scripted")
DEFAULT_EXPERTS = "mpnet"  # what judges where nobody is named
LARGE = "large"
CASCADE = "cascade"  # mpnet, and large where mpnet is not sure that all is well
EXPERTS = (DEFAULT_EXPERTS, "minilm", LARGE, "scripted")
ON_MPNET = (DEFAULT_EXPERTS, LARGE, CASCADE)  # whose vectors are mpnet's
AUDITORS = (DEFAULT_EXPERTS, "minilm", LARGE, CASCADE, "scripted")  # for rules and replies
GENERATORS = ("smollm2", "qwen", "scripted")  # what writes replies

EncoderName = Annotated[
    str,
    model_option(
        f"{', '.join(ENCODERS)}, a local folder, or a hub id (owner/name).",
        short="-e",
        http=ENCODERS,
    ),
]
ExpertsName = Annotated[
    str,
    model_option(
        "mpnet, minilm, large (slower), scripted, or a folder of trained experts.", http=EXPERTS
    ),
]
AuditorName = Annotated[
    str, model_option("mpnet, minilm, large, cascade, scripted, or a folder.", http=AUDITORS)
]
SPEAKERS = (
    *(name for name, row in _CATALOGUE.items() if row["kind"] == "generator"),
    "scripted",
)  # language models of the catalogue, which a request may name
LANGUAGE_MODELS = (*SPEAKERS, "stories", "rules")
ENDPOINTS = ("openai:", "ollama:", "anthropic:")  # what the name of a served model begins with
FORMS = ("auto", "chat", "plain")


def is_language_model(name: str) -> bool:
    """Say whether a name where any model may stand means a language model, else an encoder.

    A folder is what its files say; a hub id is one unless it is of sentence-transformers; a GGUF
    file is one.

    Examples
    --------
    >>> [is_language_model(name) for name in ("minilm", "smollm2", "scripted", "openai:gpt")]
    [False, True, True, True]
    """
    if name in LANGUAGE_MODELS or name.startswith((*ENDPOINTS, "scripted:")):
        return True
    folder = Path(name).expanduser()
    if name in ENCODERS or name.endswith(".safetensors"):
        return False
    if name.endswith(".gguf"):
        return True
    if folder.is_dir():
        return not (folder / "modules.json").is_file()
    return "/" in name and not name.startswith("sentence-transformers/")


def check_model_name(name: str) -> None:
    """Refuse a name that can mean neither an encoder nor a language model.

    Examples
    --------
    >>> check_model_name("smolm2")
    Traceback (most recent call last):
    moralscope.core.errors.UnknownName: there is no model 'smolm2'; did you mean 'smollm2'? ...
    """
    known = dict.fromkeys((*ENCODERS, *LANGUAGE_MODELS))
    if name in known or ":" in name or "/" in name or Path(name).expanduser().exists():
        return
    remedy = "or openai:MODEL, ollama:MODEL, anthropic:MODEL, a folder, a .gguf file, or a hub id"
    raise UnknownName(f"there is no model '{name}'", f"{did_you_mean(name, list(known))}, {remedy}")


LanguageName = Annotated[
    str | None,
    model_option(
        f"A language model: {', '.join(SPEAKERS)}, a folder (an adapter too), a .gguf file, a hub "
        "id, or a served one: openai:MODEL, ollama:MODEL, anthropic:MODEL. An encoder's name is "
        "taken as --encoder.",
        short="-m",
        http=SPEAKERS,
    ),
]
FormName = Annotated[
    str, model_option("How a language model is asked: chat, plain, auto.", choices=FORMS)
]
SteerFile = Annotated[
    Path | None,
    model_option(
        "Steer a local language model with this vector from 'steer make'.",
        metavar="FILE",
        http=False,
    ),
]
EndpointUrl = Annotated[
    str | None,
    Option(
        "Where openai:MODEL (or ollama:, anthropic:) is served.",
        metavar="URL",
        shown="$OPENAI_BASE_URL, $OLLAMA_HOST or $ANTHROPIC_BASE_URL, else the maker's",
        group="Endpoint",
        http=False,
    ),
]
MaxRequests = Annotated[
    int | None,
    Option(
        "Stop after this many requests; the same command resumes from there.",
        least=1,
        metavar="N",
        group="Endpoint",
        http=False,
    ),
]
Samples = Annotated[
    int,
    Option(
        "Replies per question if it gives no log-probabilities.",
        least=1,
        most=1000,
        group="Endpoint",
        http=False,
    ),
]
