"""What the commands that serve take; nothing here is computed or heavy."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options
from moralscope.models.options import AUDITORS, DEFAULT_EXPERTS

LOOPBACK = "127.0.0.1"
ANNOTATE_PORT = 8765
GUARD_ACTIONS = ("annotate", "revise", "block")
ABSTAIN_POLICIES = ("pass", "block")
UNREAD_POLICIES = ("block", "flag", "pass")
STREAM_HOLDS = ("reply", "sentences")
_server, _guard = partial(Option, group="Server"), partial(Option, group="Guard")
Port = Annotated[int, _server("Port; 0 takes any free one.", least=0, most=65_535)]
PublicUrl = Annotated[
    str, _server("The address that people type, with a proxy in front.", metavar="URL")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateServeOptions(Options):
    """Where the pages of an annotation project are served."""

    host: Annotated[str, _server("The address; any other needs MORALSCOPE_TOKEN_SECRET.")] = (
        LOOPBACK
    )
    port: Port = ANNOTATE_PORT
    public_url: PublicUrl = ""
    lead_link: Annotated[bool, Option("Make a link for one more lead, and show it.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardOptions(Options):
    """What becomes of a flagged reply, or of one that was not judged or read; and what judges."""

    action: Annotated[
        str,
        _guard(
            "What to do with flagged replies: annotate, revise or block.",
            flag="--guard-action",
            choices=GUARD_ACTIONS,
        ),
    ] = "annotate"
    on_abstain: Annotated[
        str | None,
        _guard(
            "What to do with replies, or parts of them, that could not be judged: pass or block.",
            choices=ABSTAIN_POLICIES,
            shown="block with --guard-action block, else pass",
        ),
    ] = None
    on_unread: Annotated[
        str | None,
        _guard(
            "What to do with replies that could not be read completely: block, flag or pass.",
            choices=UNREAD_POLICIES,
            shown="block with --guard-action block, else flag",
        ),
    ] = None
    stream_hold: Annotated[
        str,
        _guard(
            "What a streamed reply waits for: its verdict (reply), or that of each sentence "
            "(sentences).",
            choices=STREAM_HOLDS,
        ),
    ] = "reply"
    experts: Annotated[
        str,
        _guard("The guard's experts: mpnet, minilm, large, cascade, scripted.", choices=AUDITORS),
    ] = DEFAULT_EXPERTS
    rulebooks: Annotated[
        tuple[str, ...],
        _guard("The guard's rules; may be repeated.", flag="--rulebook", metavar="FILE"),
    ] = ()
    evidence: Annotated[
        bool,
        _guard("Say which words of a flagged reply decide its verdict.", flag="--guard-evidence"),
    ] = False
    require_warrant: Annotated[
        bool, _guard("Refuse rules without a warrant ('rules warrant'), and use its limits.")
    ] = False
    log_days: Annotated[
        int,
        _guard(
            "Days to keep the guard's decisions, without texts; 0 keeps nothing.",
            flag="--guard-log-days",
            least=0,
            most=3650,
        ),
    ] = 30
    keep_texts: Annotated[
        bool,
        _guard(
            "Keep prompts and replies with the decisions, for as many days.",
            flag="--guard-keep-texts",
        ),
    ] = False
    generator: str = "smollm2"  # what writes revised replies

    def __post_init__(self) -> None:
        super(GuardOptions, self).__post_init__()
        if self.action == "annotate" and "block" in (self.on_abstain, self.on_unread):
            name = "--on-abstain" if self.on_abstain == "block" else "--on-unread"
            raise InputError(
                f"{name} block withholds replies and --guard-action annotate withholds none",
                "give --guard-action block or revise with it",
            )
        if self.action == "revise" and self.stream_hold == "sentences":
            raise InputError(
                "--guard-action revise needs whole replies and --stream-hold sentences sends parts",
                "give --guard-action block with it, or leave --stream-hold out",
            )
        if self.keep_texts and not self.log_days:
            raise InputError(
                "--guard-keep-texts keeps texts and --guard-log-days 0 keeps nothing",
                "leave one of them out",
            )

    @property
    def abstain_policy(self) -> str:
        """What becomes of a reply, or a part of one, that could not be judged."""
        return self.on_abstain or ("block" if self.action == "block" else "pass")

    @property
    def unread_policy(self) -> str:
        """What becomes of a reply that could not be read whole."""
        return self.on_unread or ("block" if self.action == "block" else "flag")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(Options):
    """Where the page and the HTTP API are served, and how much is done at a time."""

    host: Annotated[str, _server("The address; any other needs --token-from.")] = LOOPBACK
    port: Port = 8000
    public_url: PublicUrl = ""
    open_page: Annotated[bool, _server("Open the page in a browser.", flag="--open")] = False
    token_from: Annotated[
        str | None,
        _server(
            "Require this token from clients: in a variable, or a file's first line.",
            metavar="env:NAME|FILE",
        ),
    ] = None
    timeout: Annotated[float, Option("Seconds that a request may take.", least=1, most=3600)] = 120
    queue: Annotated[
        int,
        Option("Requests that may wait: here, and for the guarded server.", least=1, most=10_000),
    ] = 64
    keep_minutes: Annotated[
        float, Option("Minutes that an unused model stays in memory.", least=0, most=10_000)
    ] = 15
    guard: Annotated[
        str | None,
        _guard(
            "Also sit in front of an OpenAI-compatible server and audit its replies.",
            metavar="URL",
        ),
    ] = None
    guard_key_from: Annotated[
        str | None,
        _guard(
            "The key for the guarded server; else each client's own is passed on.",
            metavar="env:NAME|FILE",
        ),
    ] = None
