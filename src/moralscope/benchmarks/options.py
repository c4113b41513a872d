"""What `bench` takes; nothing here is computed or heavy."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from moralscope.core.options import Option, Options, Seed, model_option
from moralscope.models.options import DEFAULT_EXPERTS, EndpointUrl

LLAMA_GUARD, SAFEGUARD = FORMATS = ("llama-guard", "safeguard")
_endpoint_option = partial(Option, group="Endpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(Options):
    """Which sets are run, over what."""

    sets: Annotated[
        tuple[str, ...],
        Option("Test sets: moderation, xstest, hatecheck, …; none lists them.", argument=True),
    ] = ()
    models: Annotated[
        tuple[str, ...],
        model_option(
            "minilm, mpnet, large, a folder of experts, bert-tiny-toxicity, openai:MODEL, "
            "ollama:MODEL, or guard:URL (a running 'moralscope serve'); may be repeated.",
            flag="--model",
            short="-m",
            metavar="NAME",
        ),
    ] = (DEFAULT_EXPERTS,)
    limit: Annotated[
        int | None,
        Option("At most N cases of each set, drawn by checksum.", least=20, metavar="N"),
    ] = None
    exact: Annotated[bool, model_option("Compute in 32 bits; on a CPU the default is 8.")] = False
    format: Annotated[
        str,
        _endpoint_option(
            "How openai:MODEL answers: safe/unsafe as Llama Guard, or violation 0/1 as "
            "gpt-oss-safeguard.",
            choices=FORMATS,
        ),
    ] = LLAMA_GUARD
    endpoint: EndpointUrl = None
    policy: Annotated[
        Path | None, _endpoint_option("The policy that a safeguard model reads.", metavar="FILE")
    ] = None
    input_price: Annotated[
        float | None, _endpoint_option("Price of a million input tokens.", least=0)
    ] = None
    output_price: Annotated[
        float | None, _endpoint_option("Price of a million output tokens.", least=0)
    ] = None
    seed: Seed = 0
