"""What the commands that serve take; nothing here is computed or heavy."""

from dataclasses import dataclass
from typing import Annotated

from moralscope.core.options import Option, Options
from moralscope.models.options import EXPERTS

LOOPBACK = "127.0.0.1"
ANNOTATE_PORT = 8765
GUARD_ACTIONS = ("annotate", "revise", "block")
Port = Annotated[int, Option("0: any free.", least=0, most=65_535)]
PublicUrl = Annotated[
    str, Option("What people type where a proxy stands before it.", metavar="URL")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateServeOptions(Options):
    """Where the pages of an annotation project are served."""

    host: Annotated[str, Option("Another address needs MORALSCOPE_TOKEN_SECRET.")] = LOOPBACK
    port: Port = ANNOTATE_PORT
    public_url: PublicUrl = ""
    lead_link: Annotated[bool, Option("Make a link for one more lead, and show it.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardOptions(Options):
    """What becomes of a flagged reply, and what judges it.

    Examples
    --------
    >>> GuardOptions().action
    'annotate'
    """

    action: Annotated[
        str,
        Option(
            "What becomes of flagged replies: annotate, revise or block.",
            flag="--guard-action",
            choices=GUARD_ACTIONS,
            group="Guard",
        ),
    ] = "annotate"
    experts: Annotated[
        str, Option("The guard's experts: mpnet, minilm, scripted.", choices=EXPERTS, group="Guard")
    ] = "mpnet"
    rulebooks: Annotated[
        tuple[str, ...],
        Option(
            "The guard's rules; again for more.", flag="--rulebook", metavar="FILE", group="Guard"
        ),
    ] = ()
    generator: str = "smollm2"  # what writes revised replies


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(Options):
    """Where the page and the HTTP API are served, and how much is done at a time."""

    host: Annotated[str, Option("Another address needs --token-from.")] = LOOPBACK
    port: Port = 8000
    public_url: PublicUrl = ""
    token_from: Annotated[
        str | None,
        Option(
            "Whoever asks must show this token: in a variable, or a file's first line.",
            metavar="env:NAME|FILE",
        ),
    ] = None
    timeout: Annotated[float, Option("Seconds of one request.", least=1, most=3600)] = 120
    queue: Annotated[int, Option("Requests that may wait.", least=0, most=10_000)] = 64
    guard: Annotated[
        str | None,
        Option(
            "Also stand in front of an OpenAI-compatible server and audit its replies.",
            metavar="URL",
            group="Guard",
        ),
    ] = None
    guard_key_from: Annotated[
        str | None,
        Option(
            "The key for the guarded server; else each client's own is passed on.",
            metavar="env:NAME|FILE",
            group="Guard",
        ),
    ] = None
