"""Options that every computing command shares, so that they read and act the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the run record as JSON, nothing else.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Save the run record (JSON).")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Encoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        "-e",
        help="minilm, mpnet, use-lite, scripted, a local folder, or a hub id (owner/name).",
    ),
]
Vectors = Annotated[
    str,
    typer.Option(
        "--vectors",
        "-v",
        help="googlenews-26k, glove-50, scripted, or a file: word2vec, fastText .vec, GloVe text, "
        "safetensors.",
    ),
]
