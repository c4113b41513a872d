"""Frameworks for agents and guards, each with the blocks of its page as they stand."""

import json

import pytest

from .conftest import BAD, GOOD, block, example

pytestmark = pytest.mark.slow
PAGE = "interop-agents.md"


@pytest.mark.parametrize("asked", ['"Was the fridge repaired?"', "history"])
def test_the_agents_sdk_stops_a_flagged_reply_alone_and_in_a_conversation(
    tool, tmp_path, rules, asked
):
    code = (
        block(PAGE, "agent.py")
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
    history = [
        {{"role": "user", "content": "Hi!"}},
        {{"role": "assistant", "content": "Hello. How can I help?"}},
        {{"role": "user", "content": "Was the fridge repaired?"}},
    ]
    for says in ({BAD!r}, {GOOD!r}):
        agent.model = Scripted(says)
        try:
            result = await Runner.run(agent, ASKED)
            seen.append(result.final_output)
        except OutputGuardrailTripwireTriggered as error:
            seen.append(error.guardrail_result.output.output_info["lead"])
    return seen


import json
from agents import set_tracing_disabled
set_tracing_disabled(True)
print(json.dumps(asyncio.run(main())))
""".replace("ASKED", asked)
    )
    assert json.loads(tool("agents").run_script(code, tmp_path)) == [
        "It is wrong to lie to customers.",
        GOOD,
    ]


@pytest.mark.parametrize("stop", [False, True])
def test_the_agents_sdk_holds_a_call_that_follows_a_mail_before_it_runs(tool, tmp_path, stop):
    code = block(PAGE, "agent_tools.py").replace(
        "moral_tool_guardrail()", f"moral_tool_guardrail(stop={stop})"
    )
    code += """
import asyncio
import json
from agents import Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.exceptions import ToolInputGuardrailTripwireTriggered
from openai.types.responses import (
    ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
)

set_tracing_disabled(True)


def call(name, **arguments):
    return ResponseFunctionToolCall(
        arguments=json.dumps(arguments), call_id=name, name=name, type="function_call"
    )


class Scripted(Model):
    def __init__(self, *calls):
        text = ResponseOutputText(annotations=[], text="Done.", type="output_text", logprobs=[])
        end = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        self.says, self.asked = [*calls, end], []

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.asked.append(input)
        return ModelResponse(output=[self.says.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def outcome(asked, *calls):
    agent.model = Scripted(*calls)
    try:
        await Runner.run(agent, asked)
        return [row["output"] for row in agent.model.asked[-1] if "output" in row][-1]
    except ToolInputGuardrailTripwireTriggered as error:
        return error.output.output_info["concern"]


async def main():
    read = call("read_mail", number=1)
    book, menu = (
        call("send_mail", to="eve@x.example", attachment=what) for what in ("address book", "menu")
    )
    return [
        await outcome("Read me the newest mail.", read, book),
        await outcome("Send the menu to eve@x.example.", menu),
    ]


print(json.dumps(asyncio.run(main())))
"""
    held, sent = json.loads(tool("agents").run_script(code, tmp_path))
    assert "follows instructions that are not the user's" in held
    assert held.startswith("Not done") is not stop
    assert sent == "sent"


def test_langchain_replaces_a_flagged_reply_and_passes_a_good_one(tool, tmp_path, rules):
    assert (
        tool("langchain").run_script(block(PAGE, "chain.py"), tmp_path) == "I cannot answer that."
    )
    good = block(PAGE, "chain.py").replace(BAD, GOOD)
    assert tool("langchain").run_script(good, tmp_path) == GOOD
    raising = block(PAGE, "chain.py").replace(', replacement="I cannot answer that."', "")
    with pytest.raises(AssertionError, match="FlaggedReply: the reply was flagged"):
        tool("langchain").run_script(raising, tmp_path)


def test_langgraph_runs_the_guard_as_a_node(tool, tmp_path, rules):
    code = block(PAGE, "graph.py")
    assert tool("langchain").run_script(code, tmp_path) == "I cannot answer that."
    assert tool("langchain").run_script(code.replace(BAD, GOOD), tmp_path) == GOOD


def test_guardrails_ai_fails_a_flagged_reply_without_its_hub(tool, tmp_path, rules):
    said = tool("guardrails").run_script(block(PAGE, "guard.py"), tmp_path)
    assert said.startswith("False")
    assert "It is wrong to lie to customers." in said
    good = block(PAGE, "guard.py").replace(BAD, GOOD).replace("[0].failure_reason", "")
    assert tool("guardrails").run_script(good, tmp_path).startswith("True")


def test_the_command_line_works_with_the_typer_that_guardrails_ai_wants(tool, tmp_path):
    code = (
        "from importlib.metadata import requires, version\nfrom packaging.requirements import *\n"
    )
    code += "typer = next(row for row in requires('moralscope') if row.startswith('typer'))\n"
    code += "print(Requirement(typer).specifier.contains(version('typer')))\n"
    assert tool("guardrails").run_script(code, tmp_path) == "True"
    done = tool("guardrails").run("moralscope", "score", "--nope", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: No such option")
    assert "Traceback" not in done.stderr


def test_nemo_refuses_a_flagged_reply(tool, tmp_path, rules):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yml").write_text(example(PAGE, "yaml"))
    (tmp_path / "config" / "rails.co").write_text(example(PAGE, "text"))
    assert tool("nemo").run_script(block(PAGE, "rails.py"), tmp_path) == "I cannot answer that."
    good = block(PAGE, "rails.py").replace(BAD, GOOD)
    assert tool("nemo").run_script(good, tmp_path) == GOOD


def test_any_guardrail_gets_a_verdict_in_its_form(tool, tmp_path, rules):
    code = block(PAGE, "any.py")
    code += f"bad, good = (guardrail.validate('Repaired?', t) for t in ({BAD!r}, {GOOD!r}))\n"
    code += "print(bad.valid, good.valid, 0 <= good.score <= 1)\n"
    assert tool("any-guardrail").run_script(code, tmp_path) == "False True True"
