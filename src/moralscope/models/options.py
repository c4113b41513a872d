"""Options that name a model, shared by the commands of all subjects; nothing here is heavy."""

import tomllib
from pathlib import Path
from typing import Annotated

from moralscope.core.options import Option

# Read here and not through the store, which no help needs.
_CATALOGUE = tomllib.loads((Path(__file__).parent / "store" / "models.toml").read_text("utf-8"))
ENCODERS = (*(name for name, row in _CATALOGUE.items() if row["kind"] == "encoder"), "scripted")
EXPERTS = ("mpnet", "minilm", "scripted")
GENERATORS = ("smollm2", "scripted")

EncoderName = Annotated[
    str,
    Option(
        f"{', '.join(ENCODERS)}, a local folder, or a hub id (owner/name).",
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
