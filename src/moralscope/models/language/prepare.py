"""Generators for jobs: by name, with an adapter or an endpoint where asked."""

from pathlib import Path

from moralscope.core.protocols import Generator
from moralscope.core.records import ModelRef
from moralscope.models.language import EndpointOptions, load_generator
from moralscope.models.store import Progress


def prepare_generator(
    name: str,
    *,
    adapter: Path | None = None,
    endpoint: EndpointOptions | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Generator:
    """Load a generator, reporting bytes while its weights are fetched.

    Examples
    --------
    >>> prepare_generator("scripted").name
    'scripted'
    """
    return load_generator(name, adapter=adapter, endpoint=endpoint, batch=batch, progress=progress)


def generator_refs(generator: Generator) -> tuple[ModelRef, ...]:
    """Return what a run record says of a generator: its base and its adapter, with checksums.

    Examples
    --------
    >>> [ref.name for ref in generator_refs(prepare_generator("scripted"))]
    ['scripted']
    """
    refs: tuple[ModelRef, ...] = getattr(generator, "refs", ())
    return refs or (ModelRef(generator.name, generator.checksum),)
