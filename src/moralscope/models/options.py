"""Options that name a model, shared by the commands of all subjects; nothing here is heavy."""

from typing import Annotated

from moralscope.core.options import Option

ENCODERS = ("minilm", "mpnet", "use-lite", "scripted")
EXPERTS = ("mpnet", "minilm", "scripted")
GENERATORS = ("smollm2", "scripted")

EncoderName = Annotated[
    str,
    Option(
        "minilm, mpnet, use-lite, scripted, a local folder, or a hub id (owner/name).",
        short="-e",
        group="Model",
        http=ENCODERS,
    ),
]
ExpertsName = Annotated[
    str,
    Option(
        "mpnet, minilm, scripted, or a folder of trained experts.",
        group="Model",
        http=EXPERTS,
    ),
]
