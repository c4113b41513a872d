"""How a corpus is run: declared once for score, audit and collect. Nothing here is heavy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import CORPUS, Option, Options, Seed
from moralscope.core.registry import require_known

ENGINES = {
    "local": "moralscope.batch.workers.local:LocalEngine",
    "ray": "moralscope.batch.workers.ray:RayEngine",
}
_corpus = partial(Option, group=CORPUS, http=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(Options):
    """How a corpus is run. What decides its rows (limit, sample, seed) must be the same on resume.

    `block_rows` and `call_rows` are set by the job: rows of a part, and of one call of it.
    """

    resume: Annotated[bool, _corpus("Resume the run in --out DIR.")] = False
    hash_inputs: Annotated[
        bool, _corpus("Identify inputs by content: --resume accepts a copy.")
    ] = False
    engine: Annotated[
        str | None, _corpus("local (one process per core) or ray (a cluster).", shown="local")
    ] = None
    workers: Annotated[
        int | None, _corpus("Processes that compute.", least=1, shown="one per core")
    ] = None
    limit: Annotated[int | None, _corpus("Only the first N rows.", least=1)] = None
    sample: Annotated[float | None, _corpus("Only a share of the rows: 0.01.", metavar="SHARE")] = (
        None
    )
    dry_run: Annotated[
        bool, _corpus("Only estimate rows, time, bytes and cost; write nothing.")
    ] = False
    ray_address: Annotated[
        str | None,
        _corpus("auto, HOST:PORT, ray://HOST:PORT; else one is started.", metavar="ADDRESS"),
    ] = None
    gpus: Annotated[float | None, _corpus("GPUs per Ray worker, e.g. 0.25.", least=0.0)] = None
    price_per_hour: Annotated[
        float | None, _corpus("With --dry-run: price per hour of all workers.", least=0.0)
    ] = None
    seed: Seed = 0
    block_rows: int = 2048
    call_rows: int = 256

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        require_known(self.engine_name, ENGINES, f"there is no engine '{self.engine_name[:60]}'")
        if self.sample is not None and not 0 < self.sample <= 1:
            raise InputError(f"sample is {self.sample:g}", "give a share above 0, up to 1")
        if self.price_per_hour is not None and not self.dry_run:
            raise InputError("--price-per-hour belongs to --dry-run", "add it, or leave it out")
        if (self.ray_address is not None or self.gpus is not None) and self.engine != "ray":
            raise InputError("--ray-address and --gpus belong to --engine ray", "add it")

    @property
    def engine_name(self) -> str:
        """The engine that is named, or the usual one."""
        return self.engine or "local"

    @property
    def given(self) -> bool:
        """Whether anything was said that only a corpus run knows."""
        return replace(self, seed=0) != BatchOptions()


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """What is read and where the parts go; without `out` only an estimate can be made."""

    inputs: tuple[str, ...]
    out: Path | None = None

    @classmethod
    def given(cls, inputs: Sequence[str], out: str | None, options: BatchOptions) -> "BatchPlace":
        """Return the place that a command line names, or refuse what is missing."""
        if not inputs or "-" in inputs:
            raise InputError("a corpus run reads files", "give CSV, JSONL, Parquet, folders, globs")
        if options.dry_run:
            return cls(tuple(inputs))
        if out is None:
            problem = "this is a corpus run (a folder, several files, a URL, Parquet or --resume)"
            raise InputError(problem, "add --out DIR, the folder for its results")
        if Path(out).is_file():
            raise InputError(f"--out {out} is a file", "a corpus run needs a folder")
        return cls(tuple(inputs), Path(out))
