"""Frameworks for agents and guards, each with the blocks of its page as they stand."""

import json

import pytest

from .conftest import BAD, GOOD, ROOT, example

pytestmark = pytest.mark.slow
PAGE = "interop-agents.md"
ENVIRONMENT = {"PYTHONPATH": str(ROOT / "src"), "OTEL_SDK_DISABLED": "true"}


def block(title):
    text = (ROOT / "docs" / PAGE).read_text("utf-8")
    return text.split(f'```python title="{title}"\n')[1].split("\n```")[0] + "\n"


def run(tool, name, folder, code):
    (folder / "script.py").write_text(code)
    done = tool(name).run("python", "script.py", cwd=folder, **ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_the_agents_sdk_stops_a_flagged_reply(tool, tmp_path, rules):
    code = (
        block("agent.py")
        + f"""
import asyncio
from agents import Model, ModelResponse, Runner, Usage
from agents.exceptions import OutputGuardrailTripwireTriggered
from openai.types.responses import ResponseOutputMessage, ResponseOutputText


class Scripted(Model):
    def __init__(self, says):
        self.says = says

    async def get_response(self, *args, **kwargs):
        text = ResponseOutputText(annotations=[], text=self.says, type="output_text", logprobs=[])
        message = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main():
    seen = []
    for says in ({BAD!r}, {GOOD!r}):
        agent.model = Scripted(says)
        try:
            result = await Runner.run(agent, "Was the fridge repaired?")
            seen.append(result.final_output)
        except OutputGuardrailTripwireTriggered as error:
            seen.append(error.guardrail_result.output.output_info["broken"])
    return seen


import json
from agents import set_tracing_disabled
set_tracing_disabled(True)
print(json.dumps(asyncio.run(main())))
"""
    )
    assert json.loads(run(tool, "agents", tmp_path, code)) == [
        ["It is wrong to lie to customers."],
        GOOD,
    ]


def test_langchain_replaces_a_flagged_reply_and_passes_a_good_one(tool, tmp_path, rules):
    assert run(tool, "langchain", tmp_path, block("chain.py")) == "I cannot answer that."
    good = block("chain.py").replace(BAD, GOOD)
    assert run(tool, "langchain", tmp_path, good) == GOOD
    raising = block("chain.py").replace(', replacement="I cannot answer that."', "")
    (tmp_path / "script.py").write_text(raising)
    done = tool("langchain").run("python", "script.py", cwd=tmp_path, **ENVIRONMENT)
    assert "FlaggedReply: the reply was flagged" in done.stderr


def test_guardrails_ai_fails_a_flagged_reply_without_its_hub(tool, tmp_path, rules):
    said = run(tool, "guardrails", tmp_path, block("guard.py"))
    assert said.startswith("False")
    assert "It is wrong to lie to customers." in said
    good = block("guard.py").replace(BAD, GOOD).replace("[0].failure_reason", "")
    assert run(tool, "guardrails", tmp_path, good).startswith("True")


def test_nemo_refuses_a_flagged_reply(tool, tmp_path, rules):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yml").write_text(example(PAGE, "yaml"))
    (tmp_path / "config" / "rails.co").write_text(example(PAGE, "text"))
    assert run(tool, "nemo", tmp_path, block("rails.py")) == "I cannot answer that."
    assert run(tool, "nemo", tmp_path, block("rails.py").replace(BAD, GOOD)) == GOOD


def test_any_guardrail_gets_a_verdict_in_its_form(tool, tmp_path, rules):
    code = block("any.py")
    code += f"result = guardrail.validate('Was it repaired?', {GOOD!r})\n"
    code += "print(result.valid, 0 <= result.score <= 1)\n"
    (tmp_path / "script.py").write_text(code)
    done = tool("any-guardrail").run("python", "script.py", cwd=tmp_path, **ENVIRONMENT)
    assert done.stdout.split() == ["False", "True", "True"], done.stderr
