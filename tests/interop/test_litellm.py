"""A real LiteLLM proxy asks our guardrail about a scripted model; OpenAI's client sees it."""

import os
import secrets
import socket
import subprocess
from contextlib import contextmanager

import openai
import pytest

from .conftest import BAD, GOOD, PROMPT, example
from .serving import awaited, chatbot, served

pytestmark = pytest.mark.slow
KEY = f"sk-{secrets.token_hex(32)}"


@contextmanager
def proxied(tool, tmp_path, action, rules, says):
    """Put LiteLLM between OpenAI's client and a scripted chatbot, our guardrail beside it."""
    folder = tool("litellm").folder
    with (
        chatbot(says) as bot,
        served(tmp_path, "--guard-action", action, "--rulebook", rules) as guard,
    ):
        config = example("interop-litellm.md", "yaml")
        config = config.replace("http://127.0.0.1:8080/v1", bot)
        (tmp_path / "config.yaml").write_text(config.replace("http://127.0.0.1:8000", guard))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = tmp_path / "litellm.log"
        command = [folder / "bin" / "litellm", "--config", "config.yaml", "--port", str(port)]
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = {**clean, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "127.0.0.1"}
        environment["LITELLM_MASTER_KEY"] = KEY
        with log.open("w") as stream:
            process = subprocess.Popen(
                command, cwd=tmp_path, stdout=stream, stderr=stream, env=environment
            )
        try:
            awaited(process, log, r"(Uvicorn running|Application startup complete)")
            yield openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY, max_retries=0)
        finally:
            process.terminate()
            process.wait(30)


def ask(client, text=PROMPT):
    found = client.chat.completions.create(
        model="bot", messages=[{"role": "user", "content": text}]
    )
    return found.choices[0].message.content


def test_litellm_blocks_a_bad_reply_with_the_rule_and_passes_a_good_one(tool, tmp_path, rules):
    said = {PROMPT: BAD, "And honestly?": GOOD}
    with proxied(tool, tmp_path, "block", rules, said.__getitem__) as client:
        assert ask(client, "And honestly?") == GOOD  # NONE
        with pytest.raises(openai.APIStatusError, match="It is wrong to lie to customers"):
            ask(client)  # BLOCKED
        with pytest.raises(openai.APIStatusError, match="db"):  # it knows one key alone
            ask(client.with_options(api_key="sk-another"), "And honestly?")


def test_litellm_sends_the_revised_reply_in_place_of_a_bad_one(tool, tmp_path, rules):
    with proxied(tool, tmp_path, "revise", rules, lambda _: BAD) as client:
        revised = ask(client)  # GUARDRAIL_INTERVENED
    assert revised.strip()
    assert revised != BAD
