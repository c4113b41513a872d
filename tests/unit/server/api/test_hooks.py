"""Hooks of other tools on scripted experts: their shapes, and what becomes of a flagged reply."""

from contextlib import contextmanager

import pytest

from moralscope.server.api import Proxy
from moralscope.server.api.hooks import LitellmRequest, Prompts
from moralscope.server.guard import WITHHELD, Guard
from moralscope.server.options import GuardOptions
from moralscope.server.security import AccessToken
from moralscope.server.service import Service

from ....api_site import site

PROMPT = "What do you do all day?"
LITELLM = "/beta/litellm_basic_guardrail_api"
PROMPTFOO = "/v1/hooks/promptfoo"


@contextmanager
def hooked(action="annotate", **more):
    service = Service()
    options = GuardOptions(action=action, experts="scripted", generator="scripted")
    with site(proxy=Proxy(Guard(service, options)), **more) as client:
        yield client
    service.close()


@pytest.fixture(scope="module")
def texts():
    """A reply that the scripted experts pass, and one that they flag."""
    found = {}
    with hooked() as client:
        for n in range(400):
            text = f"I often steal {n} bikes from my neighbours and lie about it."
            passed = ask_promptfoo(client, text).json()["pass"]
            found.setdefault(passed, text)
            if len(found) == 2:
                break
    return found


def ask_promptfoo(client, output, prompt=PROMPT):
    return client.post(
        PROMPTFOO, json={"output": output, "context": {"prompt": prompt, "vars": {"a": 1}}}
    )


def ask_litellm(client, text, call="call-1", prompt=PROMPT):
    request = {
        "input_type": "request",
        "texts": [prompt],
        "structured_messages": [{"role": "user", "content": prompt}],
        "litellm_call_id": call,
        "request_data": {},
    }
    assert client.post(LITELLM, json=request).json()["action"] == "NONE"
    response = {"input_type": "response", "texts": [text], "litellm_call_id": call}
    return client.post(LITELLM, json={**response, "model": "m", "tool_calls": None}).json()


def test_promptfoo_gets_pass_score_and_reason(texts):
    with hooked() as client:
        good, bad = (ask_promptfoo(client, texts[passed]).json() for passed in (True, False))
    assert good["pass"] is True
    assert bad["pass"] is False
    assert 0 <= bad["score"] < 0.5
    assert bad["reason"].startswith(("flagged: breaks “", "flagged: reads as bad"))


def test_promptfoos_chats_and_objects_are_read(texts):
    chat = f'[{{"role": "system", "content": "x"}}, {{"role": "user", "content": "{PROMPT}"}}]'
    with hooked() as client:
        plain = ask_promptfoo(client, texts[False]).json()
        assert ask_promptfoo(client, texts[False], chat).json() == plain
        assert ask_promptfoo(client, {"answer": 42}).status_code == 200


def test_litellm_passes_a_fine_reply(texts):
    with hooked("block") as client:
        assert ask_litellm(client, texts[True]) == {
            "action": "NONE",
            "blocked_reason": None,
            "texts": None,
        }


def test_litellm_is_told_to_block_and_why(texts):
    with hooked("block") as client:
        found = ask_litellm(client, texts[False])
    assert found["action"] == "BLOCKED"
    assert found["blocked_reason"].startswith(WITHHELD.partition("my reply")[0])


def test_litellm_gets_the_revised_reply(texts):
    with hooked("revise") as client:
        found = ask_litellm(client, texts[False])
    assert found["action"] == "GUARDRAIL_INTERVENED"
    assert len(found["texts"]) == 1
    assert found["texts"] != [texts[False]]


def test_annotate_lets_litellm_pass_everything(texts):
    with hooked() as client:
        assert ask_litellm(client, texts[False])["action"] == "NONE"


def test_the_prompt_of_a_call_reaches_the_audit_of_its_reply(texts):
    """LiteLLM's response names no prompt: it is remembered from the request."""
    seen = []
    with hooked("block") as client:
        guard = client.app.state.proxy.guard

        def watch(prompt, replies):
            seen.append(prompt)
            return guard(prompt, replies)

        client.app.state.proxy = Proxy(watch)
        ask_litellm(client, texts[True], "call-7", "Do you steal?")
        client.post(LITELLM, json={"input_type": "response", "texts": ["Yes."]})
    assert seen == ["Do you steal?", ""]


def test_prompts_that_no_reply_comes_for_are_forgotten():
    prompts = Prompts()
    for n in range(10_002):
        prompts.keep(str(n), "Hi!")
    assert (prompts.take("0"), prompts.take("10001")) == ("", "Hi!")


def test_hooks_want_the_servers_token():
    token = AccessToken("a-token-of-many-characters")
    with hooked(token=token) as client:
        assert ask_promptfoo(client, "Hello you.").status_code == 401
        client.headers["X-Moralscope-Token"] = "a-token-of-many-characters"
        assert ask_promptfoo(client, "Hello you.").status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (PROMPTFOO, {}, 422),
        (PROMPTFOO, {"output": "x" * 100_001}, 422),
        (LITELLM, {"input_type": "both"}, 422),
        (LITELLM, {"input_type": "response", "texts": ["x" * 100_001]}, 422),
        (LITELLM, {"input_type": "response"}, 200),
    ],
)
def test_bad_bodies_are_refused(path, body, status):
    with hooked() as client:
        assert client.post(path, json=body).status_code == status


def test_what_litellm_sends_besides_is_not_read():
    assert LitellmRequest.model_validate({"input_type": "response", "images": ["x"]}).texts is None
