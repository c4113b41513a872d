"""Options of commands that can run over a corpus, and when they do."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moralscope.axes.corpus import CorpusOptions

_PANEL = "Over a corpus"

OutPlace = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FILE|DIR",
        help="Save the run record (JSON). A folder makes it a corpus run: Parquet parts go there.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", rich_help_panel=_PANEL, help="Go on with the run that is in --out DIR."
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        rich_help_panel=_PANEL,
        show_default="local",
        help="local: a process a core of this machine; ray: a Ray cluster, the same output.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        rich_help_panel=_PANEL,
        show_default="one a core",
        help="Processes that compute.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, rich_help_panel=_PANEL, help="Only the first N rows."),
]
Sample = Annotated[
    float | None,
    typer.Option(
        "--sample", metavar="SHARE", rich_help_panel=_PANEL, help="Only a share of the rows: 0.01."
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        rich_help_panel=_PANEL,
        help="Only estimate rows, time, bytes and cost, from 200 rows; nothing is written.",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        rich_help_panel=_PANEL,
        help="The cluster: auto, HOST:PORT or ray://HOST:PORT; else one is started here.",
    ),
]
Gpus = Annotated[
    float | None,
    typer.Option(
        "--gpus", min=0.0, rich_help_panel=_PANEL, help="GPUs of each Ray worker, also 0.25."
    ),
]
Price = Annotated[
    float | None,
    typer.Option(
        "--price-per-hour",
        min=0.0,
        rich_help_panel=_PANEL,
        help="With --dry-run: what an hour of all this costs.",
    ),
]
Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        rich_help_panel=_PANEL,
        help="Measure for two seconds which batches are fastest here; kept for --resume.",
    ),
]


@dataclass(frozen=True, slots=True)
class CorpusGiven:
    """What was said of a corpus run on the command line."""

    engine: str | None = None
    workers: int | None = None
    limit: int | None = None
    sample: float | None = None
    dry_run: bool = False
    ray_address: str | None = None
    gpus: float | None = None
    price: float | None = None
    resume: bool = False

    @property
    def any(self) -> bool:
        """Tell whether anything was said that only a corpus run knows."""
        return self != CorpusGiven()

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.sample is not None and not 0 < self.sample <= 1:
            raise typer.BadParameter(f"--sample is {self.sample:g}: give a share above 0, up to 1")
        if self.price is not None and not self.dry_run:
            raise typer.BadParameter("--price-per-hour belongs to --dry-run")
        on_ray = self.engine == "ray"
        if (self.ray_address is not None or self.gpus is not None) and not on_ray:
            raise typer.BadParameter("--ray-address and --gpus belong to --engine ray")


def wants_corpus(
    inputs: "Sequence[str]", out: str | None, given: CorpusGiven, *, parquet: bool = True
) -> bool:
    """Tell a corpus run from one that keeps its results in one record.

    `parquet` says whether the command reads a Parquet file without being told of a corpus.
    """
    if not inputs:  # before anything of corpora is imported: a quick start
        return given.any or (out is not None and is_folder(out))
    from moralscope.axes.corpus import is_corpus, is_table

    if given.any or len(inputs) > 1 or any(is_corpus(each) for each in inputs):
        return True
    if not parquet and any(each.lower().endswith(".parquet") for each in inputs):
        return True
    if out is None:
        return False
    return is_folder(out) or (not Path(out).suffix and all(is_table(each) for each in inputs))


def is_folder(out: str) -> bool:
    """Tell a folder: one that is there, or a name that ends in a slash."""
    return out.endswith(("/", "\\")) or Path(out).is_dir()


def record_place(out: str | None) -> Path | None:
    """Return where the one run record goes, or refuse the place before any work is done."""
    if out is None:
        return None
    from moralscope.io.run_records import check_writable

    check_writable(Path(out))
    return Path(out)


def corpus_options(
    inputs: "Sequence[str]",
    out: str | None,
    given: CorpusGiven,
    columns: "Mapping[str, str]",
    seed: int,
) -> "CorpusOptions":
    """Return what a corpus run is told, or refuse what is missing."""
    from moralscope.axes.corpus import CorpusOptions, RunOptions

    given.check()
    if not inputs or "-" in inputs:
        raise typer.BadParameter("a corpus run reads files: CSV, JSONL, Parquet, folders, globs")
    if out is None and not given.dry_run:
        raise typer.BadParameter("a corpus run needs --out DIR: the parts go there")
    if out is not None and Path(out).is_file():
        raise typer.BadParameter(f"--out {out} is a file, and a corpus run needs a folder")
    run = RunOptions(
        engine=given.engine or "local",
        workers=given.workers,
        address=given.ray_address,
        gpus=given.gpus or 0.0,
        resume=given.resume,
        limit=given.limit,
        sample=given.sample,
        seed=seed,
    )
    folder = Path(out) if out is not None and not given.dry_run else None
    return CorpusOptions(tuple(inputs), folder, dict(columns), run)
