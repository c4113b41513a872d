"""How a corpus is run: declared once for score, audit and collect. Nothing here is heavy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.options import Option, Options, Seed
from moralscope.core.registry import did_you_mean

ENGINES = {
    "local": "moralscope.batch.workers.local:LocalEngine",
    "ray": "moralscope.batch.workers.ray:RayEngine",
}
_GROUP = "Over a corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(Options):
    """How a corpus is run. What decides its rows (limit, sample, seed) must be the same on resume.

    `block_rows` and `call_rows` are set by the job: rows of a part, and of one call of it.

    Examples
    --------
    >>> BatchOptions(workers=4).engine_name
    'local'
    """

    resume: Annotated[
        bool, Option("Go on with the run that is in --out DIR.", group=_GROUP, http=False)
    ] = False
    hash_inputs: Annotated[
        bool,
        Option(
            "Know the inputs by their content (sha256), not by size and time: --resume refuses "
            "any change and accepts a copy.",
            group=_GROUP,
            http=False,
        ),
    ] = False
    engine: Annotated[
        str | None,
        Option(
            "local: a process a core of this machine; ray: a Ray cluster, the same output.",
            shown="local",
            group=_GROUP,
            http=False,
        ),
    ] = None
    workers: Annotated[
        int | None,
        Option("Processes that compute.", least=1, shown="one a core", group=_GROUP, http=False),
    ] = None
    limit: Annotated[
        int | None, Option("Only the first N rows.", least=1, group=_GROUP, http=False)
    ] = None
    sample: Annotated[
        float | None,
        Option("Only a share of the rows: 0.01.", metavar="SHARE", group=_GROUP, http=False),
    ] = None
    dry_run: Annotated[
        bool,
        Option(
            "Only estimate rows, time, bytes and cost, from 200 rows; nothing is written.",
            group=_GROUP,
            http=False,
        ),
    ] = False
    ray_address: Annotated[
        str | None,
        Option(
            "The cluster: auto, HOST:PORT or ray://HOST:PORT; else one is started here.",
            metavar="ADDRESS",
            group=_GROUP,
            http=False,
        ),
    ] = None
    gpus: Annotated[
        float | None,
        Option("GPUs of each Ray worker, also 0.25.", least=0.0, group=_GROUP, http=False),
    ] = None
    price_per_hour: Annotated[
        float | None,
        Option(
            "With --dry-run: what an hour of all this costs.", least=0.0, group=_GROUP, http=False
        ),
    ] = None
    seed: Seed = 0
    block_rows: int = 2048
    call_rows: int = 256

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.engine_name not in ENGINES:
            problem = f"there is no engine '{self.engine_name[:60]}'"
            raise UnknownName(problem, did_you_mean(self.engine_name, ENGINES))
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
            raise InputError("a corpus run needs --out DIR", "the parts go there")
        if Path(out).is_file():
            raise InputError(f"--out {out} is a file", "a corpus run needs a folder")
        return cls(tuple(inputs), Path(out))
