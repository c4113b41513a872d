"""The official SDK's client starts `moralscope mcp` from the page's config and calls its tools."""

import json

import pytest

from .conftest import BAD, PROMPT, ROOT, example

pytestmark = pytest.mark.slow
CLIENT = """
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters, stdio_client

config = json.loads(open("mcp.json").read())["mcpServers"]["moralscope"]


async def main():
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "moralscope", *config["args"]], env=dict(os.environ)
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        found = {"tools": sorted(tool.name for tool in (await session.list_tools()).tools)}
        asked = json.loads(sys.argv[1])
        for name, arguments in asked.items():
            result = await session.call_tool(name, arguments)
            found[name] = result.structured_content or [part.text for part in result.content]
        print(json.dumps(found))


asyncio.run(main())
"""


def test_a_client_audits_scores_and_finds_rules(tool, tmp_path, rules):
    (tmp_path / "mcp.json").write_text(example("interop-mcp.md", "json"))
    (tmp_path / "client.py").write_text(CLIENT)
    asked = {
        "audit": {"prompt": PROMPT, "reply": BAD},
        "score": {"actions": ["help old people", "murder my neighbour"]},
        "rules": {"reply": BAD, "top": 1},
    }
    done = tool("mcp").run(
        *("python", "client.py", json.dumps(asked)), cwd=tmp_path, PYTHONPATH=str(ROOT / "src")
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["tools"] == ["audit", "rules", "score"]
    verdict = found["audit"]["verdict"]
    assert (verdict["flag"], verdict["broken"]) == (True, ["It is wrong to lie to customers."])
    good, bad = (row["score"] for row in found["score"]["result"])
    assert good > 0 > bad
    assert found["rules"]["result"][0]["text"] == "It is wrong to lie to customers."
