"""Encoders for jobs: by name, or an edit that was saved (a .safetensors file of `edit --save`)."""

import logging
from collections.abc import Sequence
from pathlib import Path

from moralscope.core.errors import InputError, StoreError
from moralscope.core.protocols import Encoder
from moralscope.models.encoders import load_encoder
from moralscope.models.encoders.edited import load_edited
from moralscope.models.store import Progress

log = logging.getLogger(__name__)


def prepare_encoder(
    name: str,
    progress: Progress | None = None,
    *,
    eight_bits: bool = False,
    cached: bool = True,
) -> Encoder:
    """Load an encoder, reporting bytes while its weights are fetched.

    Without `cached` no row is kept on disk: over a corpus each text comes once.

    Examples
    --------
    >>> prepare_encoder("scripted").name
    'scripted'
    """
    if name.lower().endswith(".safetensors"):
        return load_edited(Path(name).expanduser(), progress=progress, cached=cached)
    return load_encoder(name, cached=cached, eight_bits=eight_bits, progress=progress)


def prepare_some(
    names: Sequence[str], progress: Progress | None, problems: list[str]
) -> list[Encoder]:
    """Load several; one that cannot be fetched is left out and told in `problems`."""
    if not names:
        raise InputError("no encoder was named", "name some, e.g. minilm,mpnet")
    models: list[Encoder] = []
    for name in names:
        try:
            models.append(prepare_encoder(name, progress))
        except StoreError as error:
            if len(names) == 1:
                raise
            problems.append(f"{name} was left out: {error}")
            log.warning(problems[-1])
    if not models:
        raise StoreError("none of the encoders could be loaded", "see the lines above")
    return models
