"""`moralscope serve`: the local page, the HTTP API, a guard; `report`: a saved run as one page."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from moralscope.cli.declare import takes
from moralscope.cli.options import Figure
from moralscope.cli.output import fetching, note, open_in_browser
from moralscope.core.errors import InputError
from moralscope.core.extras import require_extra
from moralscope.core.options import Option, Options, output_option
from moralscope.server.options import GuardOptions, ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@takes
def serve(options: ServeOptions, policy: GuardOptions) -> None:
    """Serve the local page and the HTTP API until Ctrl-C, then finish running requests.

    Only this machine can reach it, unless --host says otherwise; nothing leaves it. With --guard,
    chat clients use it like the server behind it: only their base URL changes.

    Example: moralscope serve --port 8000 --guard http://localhost:8080/v1 --guard-action block
    """
    require_extra("serve", "the page")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's threads must not spin beside ours
    from moralscope.models.store import home_folder
    from moralscope.server.api import Bounds, Proxy, WorkQueue
    from moralscope.server.api import serve as run
    from moralscope.server.guard import Guard
    from moralscope.server.guard.log import GuardLog
    from moralscope.server.guard.upstream import Upstream
    from moralscope.server.running import ServerAddress
    from moralscope.server.security import check_address, read_token
    from moralscope.server.service import Service
    from moralscope.server.site import mount_site

    address = ServerAddress(options.host, options.port, options.public_url)
    token = read_token(options.token_from)
    check_address(address, token)
    bounds = Bounds(queue=options.queue, seconds=options.timeout)
    work = WorkQueue(Service(options.keep_minutes), bounds)
    upstream = None
    if options.guard is not None:
        key = read_token(options.guard_key_from, "--guard-key-from")
        upstream = Upstream(options.guard, key=key, seconds=options.timeout, most=options.queue)
    # Whoever sets the guard up without a server behind it means a hook of another tool.
    wanted = upstream is not None or policy != GuardOptions()
    path = home_folder() / "guard.sqlite"
    log = GuardLog(path, policy.log_days, texts=policy.keep_texts, ours=wanted)
    proxy = Proxy(Guard(work.service, policy, log if log.days else None), upstream)
    writers = ["smollm2"] if policy.action == "revise" else []
    _fetch((policy.experts, *writers) if wanted else ())
    if wanted:
        proxy.guard.prepare()

    def announce(address: str) -> None:
        if not log.days and log.path.is_file():
            note(f"--guard-log-days 0 keeps nothing: deleting {log.path}")
        log.prune()  # not before the port is ours: another server may keep texts there
        note(f"moralscope: {address} (Ctrl-C ends it)")
        if options.open_page:
            open_in_browser(address)
        if proxy.upstream is not None:
            note(f"guarding {options.guard}: give clients the base URL {address}/v1")

    run(work, address, announce, token=token, proxy=proxy, mount=mount_site)
    cut = work.metrics.started - work.metrics.answered
    note(f"answered {work.metrics.answered:,} requests" + (f", cut {cut:,} off" if cut else ""))


def _fetch(more: "Iterable[str]") -> None:
    """Fetch the usual weights and the guard's; without a network those that are here must do."""
    from moralscope.core.errors import StoreError
    from moralscope.server.service import USUAL, fetch

    try:
        with fetching() as progress:
            fetch((*more, *USUAL), progress)
    except StoreError as error:
        note(f"continuing without some models: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Options):
    """Which runs are drawn, and where to."""

    runs: Annotated[
        tuple[Path, ...],
        Option("Run records (--out); several only with --site.", metavar="RUN.json", argument=True),
    ] = ()
    out: Annotated[
        Path | None, output_option("The report; by default RUN.html next to it.", metavar="FILE")
    ] = None
    figure: Figure = None
    site: Annotated[
        Path | None,
        output_option(
            "Write a folder to publish: an index and a report of every run; without RUN.json, of "
            "all runs that the local page keeps.",
            metavar="DIR",
        ),
    ] = None
    open_report: Annotated[bool, output_option("Open it in a browser.", flag="--open")] = False

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.site is not None and (self.out or self.figure):
            raise InputError("--site writes a report of every run", "leave --out and --figure out")
        if self.site is None and len(self.runs) != 1:
            many = f"{len(self.runs)} runs were given" if self.runs else "no run was given"
            raise InputError(many, "name one RUN.json, or several with --site DIR")


@takes
def report(options: ReportOptions) -> None:
    """Write the report of a saved run: one HTML file that needs no network.

    With --figure alone, only the figure is drawn. With --site, a folder of reports with an index.

    Example: moralscope report run.json --out run.html --figure run.svg
    """
    from moralscope.io.files import read_run
    from moralscope.pages import (
        check_figure_place,
        check_report_place,
        read_record,
        write_figure,
        write_report,
    )

    if options.site is not None:
        _publish(options.runs, options.site, opened=options.open_report)
        return
    (run,), figure = options.runs, options.figure
    page = run.with_suffix(".html") if options.out is None and figure is None else options.out
    if figure is not None:
        check_figure_place(figure)
    if page is not None:
        check_report_place(page)
    record = read_record(read_run(run), str(run))
    if page is not None:
        write_report(record, page)
        note(f"report: {page}")
        if options.open_report:
            open_in_browser(page.resolve().as_uri())
    if figure is not None:
        write_figure(record, figure)
        note(f"figure: {figure}")


def _publish(runs: "Sequence[Path]", folder: Path, *, opened: bool) -> None:
    """Write a folder of reports: of these runs, or of those that the local page keeps."""
    from moralscope.io.files import read_run
    from moralscope.models.store import home_folder
    from moralscope.pages.site import write_site

    paths = runs or sorted((home_folder() / "runs").glob("*.json"), reverse=True)
    twice = len({run.stem for run in paths}) < len(paths)
    names = [f"{at}-{run.stem}" if twice else run.stem for at, run in enumerate(paths, 1)]
    records = {name: read_run(run) for name, run in zip(names, paths, strict=True)}
    written = write_site(records, folder)
    note(f"site: {written[-1]} ({len(records):,} reports)")
    if opened:
        open_in_browser(written[-1].resolve().as_uri())
