"""Names to models that write: stored and shipped ones, `scripted`, folders, hub ids, endpoints."""

import json
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.core.protocols import Generator, LanguageModel
from moralscope.core.records import ModelRef
from moralscope.models.adapters import Adapter, is_adapter, read_adapter
from moralscope.models.language.conversion import resolve_base
from moralscope.models.language.endpoint import EndpointOptions
from moralscope.models.language.endpoint_model import EndpointModel
from moralscope.models.language.scripted import ScriptedGenerator, ScriptedModel
from moralscope.models.options import ENCODERS, ENDPOINTS, SPEAKERS
from moralscope.models.store import Progress, Store, shipped_folder

STORIES, RULES = "stories", "rules"
_SHIPPED = {STORIES: "stories-smollm2", RULES: "rules-smollm2"}


def load_generator(
    name: str,
    *,
    store: Store | None = None,
    adapter: Path | None = None,
    endpoint: EndpointOptions | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Generator:
    """Return the generator that `name` means, fetching its weights if they are not there yet.

    Parameters
    ----------
    name
        `stories` or `rules` (smollm2 with a shipped adapter), a generator of the store, `scripted`,
        a folder (a model, or an adapter of ours, which names its base), a GGUF file, a hub id, or
        an endpoint: ``openai:MODEL``, ``ollama:MODEL``, ``anthropic:MODEL``.
    store
        Where weights lie; the user's own by default.
    adapter
        A folder with LoRA weights in peft's layout, merged into the model.
    endpoint
        Where it is served and how patient to be.
    batch
        Candidates that a local model writes at a time; by default as many as suit the machine.

    Examples
    --------
    >>> load_generator("scripted").name
    'scripted'
    """
    store = store or Store()
    if served := _not_local(name, adapter, endpoint, store):
        return served
    if name == ScriptedGenerator.name:
        return ScriptedGenerator()
    from moralscope.models.language.causal import CausalModel
    from moralscope.models.language.local import LocalGenerator

    path, label, checksum, chosen = _local(name, store, adapter, progress)
    try:
        encodes = json.loads((path / "config.json").read_text("utf-8")).get("is_encoder_decoder")
    except (OSError, ValueError, AttributeError):
        encodes = False  # the model's own reader says what is wrong
    kind = LocalGenerator if encodes else CausalModel
    return kind(path, label, checksum, adapter=chosen, batch=batch)


def load_language_model(
    name: str,
    *,
    store: Store | None = None,
    adapter: Path | None = None,
    endpoint: EndpointOptions | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> LanguageModel:
    """Return the language model that `name` means: it generates, scores and shows its states.

    Takes what `load_generator` takes; a local model must be causal. ``scripted:order=0.5,mass=0.6``
    is a scripted model with biases planted into it (see `ScriptedModel`).

    Examples
    --------
    >>> model = load_language_model("scripted:order=0.5")
    >>> [answers] = model.log_probabilities(["Should I kill people?"], [["Yes", "No"]])
    >>> round(sum(2.718281828 ** answer.total for answer in answers), 6)
    1.0
    """
    store = store or Store()
    if served := _not_local(name, adapter, endpoint, store):
        return served
    if name.partition(":")[0] == ScriptedModel.kind:
        return ScriptedModel.of(name)
    if name in ENCODERS:
        problem = f"'{name}' is an encoder, not a language model"
        raise InputError(problem, f"name a language model: {', '.join(SPEAKERS)}")
    from moralscope.models.language.causal import CausalModel

    path, label, checksum, chosen = _local(name, store, adapter, progress)
    return CausalModel(path, label, checksum, adapter=chosen, batch=batch)


def _not_local(
    name: str, adapter: Path | None, endpoint: EndpointOptions | None, store: Store
) -> EndpointModel | None:
    """Return the endpoint that a name means, if any; an adapter belongs to a local base."""
    is_served = name.startswith(ENDPOINTS)
    if adapter and (is_served or name.partition(":")[0] in (ScriptedModel.kind, *_SHIPPED)):
        raise InputError(f"'{name}' takes no adapter", "name a local base model")
    return EndpointModel(name, endpoint or EndpointOptions(), store=store) if is_served else None


def _local(
    name: str, store: Store, adapter: Path | None, progress: Progress | None
) -> tuple[Path, str, str, Adapter | None]:
    """Return a local model's folder, what it is called, its checksum and the adapter on it."""
    folder = shipped_folder(_SHIPPED[name]) if name in _SHIPPED else Path(name).expanduser()
    base = name
    chosen = read_adapter(adapter.expanduser()) if adapter else None
    if chosen is None and is_adapter(folder):
        chosen = read_adapter(folder)
        base = chosen.base
        if not base:
            raise InputError(f"{folder} does not say its base", "name the base and give --adapter")
    path, checksum = resolve_base(base, store=store, progress=progress)
    if chosen:
        chosen.check_base(base, checksum)
    local = Path(base).expanduser()
    label = path.resolve().name if local.is_dir() else local.stem if local.is_file() else base
    return path, label, checksum, chosen


def generator_refs(generator: Generator) -> tuple[ModelRef, ...]:
    """Return what a run record says of a generator: its base and its adapter, with checksums.

    Examples
    --------
    >>> [ref.name for ref in generator_refs(load_generator("scripted"))]
    ['scripted']
    """
    return generator.refs or (ModelRef(generator.name, generator.checksum),)
