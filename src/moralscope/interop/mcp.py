"""MCP: audits, scores and rules as tools of an agent (`moralscope mcp`).

{"mcpServers": {"moralscope": {"command": "moralscope", "args": ["mcp"]}}}
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from moralscope.core.extras import require_extra
from moralscope.core.records import to_plain
from moralscope.interop.replies import audited, reply_judge
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.options import RetrieveOptions
from moralscope.version import __version__

if TYPE_CHECKING:
    from moralscope.core.protocols import Encoder

_MOST = 64  # actions of one call
_INSTRUCTIONS = (
    "Audit a chatbot's reply before it is sent, score actions, or find the rules of thumb that a "
    "reply concerns. Scores go from -1 (bad) to +1. They describe models and rules; they are not "
    "moral advice. Everything runs on this machine."
)


def build_server(options: AuditOptions) -> Any:
    """Return the server; `options` say which experts and rules audits use."""
    require_extra("mcp", "an MCP server")
    from mcp.server import MCPServer

    server = MCPServer("moralscope", instructions=_INSTRUCTIONS, version=__version__)

    @server.tool()
    def audit(reply: str, prompt: str = "") -> dict[str, Any]:
        """Say whether a reply reads as bad or breaks a rule: flag, score, reason, rules."""
        row = audited(prompt, reply, options)
        plain: dict[str, Any] = to_plain(row)
        return {"verdict": plain["verdict"], "rules": plain["rules"], "unread": plain["unread"]}

    @server.tool()
    def score(actions: list[str]) -> list[dict[str, Any]]:
        """Score actions such as "help old people": positive is good, negative is bad."""
        scores = reply_judge(options.experts)([("", action) for action in actions[:_MOST]])
        return [
            {"action": action, "score": to_plain(value)}
            for action, value in zip(actions, scores, strict=False)
        ]

    @server.tool()
    def rules(reply: str, prompt: str = "", top: int = 5) -> list[dict[str, Any]]:
        """Find the rules of thumb nearest to an exchange."""
        from moralscope.rules.records import Exchange
        from moralscope.rules.retrieval import retrieve

        asked = RetrieveOptions(
            rulebooks=options.rulebooks, encoder=options.encoder_name, top=max(1, min(top, 20))
        )
        record = retrieve([Exchange(prompt, reply)], asked, model=_encoder(asked.encoder))
        return [to_plain(rule) for rule in record.results[0].rules]

    return server


@cache
def _encoder(name: str) -> "Encoder":
    from moralscope.models.encoders import load_encoder

    return load_encoder(name)
