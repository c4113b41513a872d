"""`moralscope serve`: the local page and the HTTP API, and a guard in front of a chatbot."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moralscope.server.api import Proxy, Work


def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free.")] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="Another address needs --token-from.")
    ] = "127.0.0.1",
    token_from: Annotated[
        str | None,
        typer.Option(
            "--token-from",
            metavar="env:NAME|FILE",
            help="Whoever asks must show this token: in a variable, or a file's first line.",
        ),
    ] = None,
    public_url: Annotated[
        str, typer.Option("--public-url", help="What people type where a proxy stands before it.")
    ] = "",
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, max=3600, help="Seconds of one request.")
    ] = 120,
    queue: Annotated[
        int, typer.Option("--queue", min=0, max=10_000, help="Requests that may wait.")
    ] = 64,
    guard: Annotated[
        str | None,
        typer.Option(
            "--guard",
            metavar="URL",
            help="Also stand in front of an OpenAI-compatible server and audit its replies.",
        ),
    ] = None,
    guard_action: Annotated[
        str,
        typer.Option(
            "--guard-action",
            help="What becomes of flagged replies: annotate, revise or block.",
        ),
    ] = "annotate",
    guard_key_from: Annotated[
        str | None,
        typer.Option(
            "--guard-key-from",
            metavar="env:NAME|FILE",
            help="The key for the guarded server; else each client's own is passed on.",
        ),
    ] = None,
    rulebook: Annotated[
        list[str] | None,
        typer.Option("--rulebook", metavar="FILE", help="The guard's rules; again for more."),
    ] = None,
    experts: Annotated[
        str, typer.Option("--experts", help="The guard's experts: mpnet, minilm, scripted.")
    ] = "mpnet",
) -> None:
    """Serve the local page and the HTTP API until Ctrl-C; what was accepted is finished first.

    Only this machine can reach it, unless --host says otherwise; nothing leaves it. With --guard,
    chat clients use it as they would use the server behind: only their base URL changes.

    Example: moralscope serve --port 8000 --guard http://localhost:8080/v1 --guard-action block
    """
    from moralscope.cli.output import note
    from moralscope.server.running import Place, check_installed

    check_installed()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's threads must not spin beside ours
    from moralscope.server.api import Bounds, Work
    from moralscope.server.api import serve as run
    from moralscope.server.api.access import check_place, read_token
    from moralscope.server.service import Service
    from moralscope.server.site import mount_site

    place, token = Place(host, port, public_url), read_token(token_from)
    check_place(place, token)
    work = Work(Service(), Bounds(queue=queue, seconds=timeout))
    names = (guard_action, experts, tuple(rulebook or ()))
    proxy = _proxy(work, guard, guard_key_from, names) if guard is not None else None
    _fetch(() if guard is None else (experts, *(["smollm2"] if guard_action == "revise" else [])))
    if proxy is not None:
        proxy.guard.prepare()

    def announce(address: str) -> None:
        note(f"moralscope: {address} (Ctrl-C ends it)")
        if guard is not None:
            note(f"guarding {guard}: give clients the base URL {address}/v1")

    run(work, place, announce, token=token, proxy=proxy, mount=mount_site)
    cut = work.metrics.cut_off()
    note(f"answered {work.metrics.answered():,} requests" + (f", cut {cut:,} off" if cut else ""))


def _proxy(
    work: "Work", url: str, key_from: str | None, names: tuple[str, str, tuple[str, ...]]
) -> "Proxy":
    from moralscope.server.api import Proxy
    from moralscope.server.api.access import read_token
    from moralscope.server.guard.policy import Guard, GuardOptions
    from moralscope.server.guard.upstream import Upstream

    action, experts, rulebooks = names
    key = read_token(key_from, "--guard-key-from")
    upstream = Upstream(url, key=key, seconds=work.bounds.seconds)
    guard = Guard(work.service, GuardOptions(action, experts, rulebooks=rulebooks))
    return Proxy(guard, upstream)


def _fetch(more: "Iterable[str]") -> None:
    """Fetch the usual weights and the guard's; without a network those that are here must do."""
    from moralscope.cli.output import fetching, note
    from moralscope.core.errors import StoreError
    from moralscope.server.service import USUAL, fetch

    try:
        with fetching() as progress:
            fetch((*more, *USUAL), progress)
    except StoreError as error:
        note(f"going on without some models: {error}")
