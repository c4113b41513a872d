"""`moralscope mcp`: audits, scores and rules for agents, over the Model Context Protocol."""

from moralscope.cli.declare import takes
from moralscope.interop.options import McpOptions


@takes
def mcp(options: McpOptions) -> None:
    """Serve audit, score and rules as tools for an agent (MCP over stdin and stdout).

    An MCP client starts it. Models are loaded at the first call and stay loaded.

    Example: moralscope mcp --rulebook rules.yaml
    """
    from moralscope.interop.mcp import build_server
    from moralscope.interop.replies import audit_options

    chosen = audit_options(list(options.rulebooks) or None, experts=options.experts)
    build_server(chosen).run()
