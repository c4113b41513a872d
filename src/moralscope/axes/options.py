"""What the commands of this subject take; nothing here is computed or heavy."""

from dataclasses import dataclass
from typing import Annotated

from moralscope.core.options import Option, Options, Seed

ENCODERS = ("minilm", "mpnet", "use-lite", "scripted")
EncoderName = Annotated[
    str,
    Option(
        "minilm, mpnet, use-lite, scripted, a local folder, or a hub id (owner/name).",
        short="-e",
        group="Model",
        http=ENCODERS,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions(Options):
    """How candidate answers to a question are ranked."""

    encoder: EncoderName = "minilm"
    seed: Seed = 0
