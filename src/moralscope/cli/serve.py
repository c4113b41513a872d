"""`moralscope serve`: the local page and the HTTP API, and a guard in front of a chatbot."""

import os
from typing import TYPE_CHECKING

from moralscope.cli.declare import takes
from moralscope.cli.output import fetching, note
from moralscope.server.options import GuardOptions, ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moralscope.server.api import Proxy, Work


@takes
def serve(options: ServeOptions, policy: GuardOptions) -> None:
    """Serve the local page and the HTTP API until Ctrl-C; finish running requests before it stops.

    Only this machine can reach it, unless --host says otherwise; nothing leaves it. With --guard,
    chat clients use it as they would use the server behind: only their base URL changes.

    Example: moralscope serve --port 8000 --guard http://localhost:8080/v1 --guard-action block
    """
    from moralscope.server.running import Place, check_installed

    check_installed()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's threads must not spin beside ours
    from moralscope.server.api import Bounds, Work
    from moralscope.server.api import serve as run
    from moralscope.server.security import check_place, read_token
    from moralscope.server.service import Service
    from moralscope.server.site import mount_site

    place = Place(options.host, options.port, options.public_url)
    token = read_token(options.token_from)
    check_place(place, token)
    work = Work(Service(), Bounds(queue=options.queue, seconds=options.timeout))
    proxy = _proxy(work, options, policy)
    writers = ["smollm2"] if policy.action == "revise" else []
    _fetch(() if proxy is None else (policy.experts, *writers))
    if proxy is not None:
        proxy.guard.prepare()

    def announce(address: str) -> None:
        note(f"moralscope: {address} (Ctrl-C ends it)")
        if proxy is not None:
            note(f"guarding {options.guard}: give clients the base URL {address}/v1")

    run(work, place, announce, token=token, proxy=proxy, mount=mount_site)
    cut = work.metrics.cut_off()
    note(f"answered {work.metrics.answered:,} requests" + (f", cut {cut:,} off" if cut else ""))


def _proxy(work: "Work", options: ServeOptions, policy: GuardOptions) -> "Proxy | None":
    from moralscope.server.api import Proxy
    from moralscope.server.guard import Guard
    from moralscope.server.guard.upstream import Upstream
    from moralscope.server.security import read_token

    if options.guard is None:
        return None
    key = read_token(options.guard_key_from, "--guard-key-from")
    upstream = Upstream(options.guard, key=key, seconds=work.bounds.seconds)
    return Proxy(Guard(work.service, policy), upstream)


def _fetch(more: "Iterable[str]") -> None:
    """Fetch the usual weights and the guard's; without a network those that are here must do."""
    from moralscope.core.errors import StoreError
    from moralscope.server.service import USUAL, fetch

    try:
        with fetching() as progress:
            fetch((*more, *USUAL), progress)
    except StoreError as error:
        note(f"going on without some models: {error}")
