"""Replies judged as turns: tool calls before they leave, and with what was said before."""

import json

import pytest

from moralscope.server.guard import Guard, GuardedReply, GuardOptions
from moralscope.server.guard.completion import CompletionChoice
from moralscope.server.service import Service

from .guard_site import PROMPT, ask, chunks, guarded


def call_of(number):
    function = {
        "name": ("buy", "get_item")[number % 2],
        "arguments": json.dumps({"what": f"item {number} QZX"}),
    }
    return {"id": "t1", "type": "function", "function": function}


@pytest.fixture(scope="module")
def calls():
    """A tool call that the scripted experts pass, and one that they flag."""
    service = Service()
    guard = Guard(service, GuardOptions(action="block", experts="scripted"))
    outcomes = {}
    for number in range(200):
        call = call_of(number)
        choice = CompletionChoice(index=0, tool_calls=(call,))
        (decision,) = guard(PROMPT, [GuardedReply("", choice.unjudged, (), choice.calls)])
        outcomes.setdefault(decision.outcome, call)
        if {"passed", "blocked"} <= set(outcomes):
            break
    service.close()
    return outcomes


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call_that_reads_as_fine_goes_out(behind, calls, stream):
    behind.says_message(content=None, tool_calls=[calls["passed"]])
    with guarded(behind, "block") as client:
        answer = ask(client, stream=stream)
    shown = json.dumps(chunks(answer) if stream else answer.json())
    assert "QZX" in shown
    assert answer.headers["x-moralscope-verdict"] == "kept"
    assert "x-moralscope-unjudged" not in answer.headers


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_of_a_flagged_tool_call_leaves(behind, calls, stream):
    behind.says_message(content=None, tool_calls=[calls["blocked"]])
    with guarded(behind, "block") as client:
        answer = ask(client, stream=stream)
    assert answer.headers["x-moralscope-verdict"] == "flagged"
    assert "QZX" not in json.dumps(chunks(answer) if stream else answer.json())


def test_a_guard_that_annotates_tells_the_act_in_words(behind, calls):
    behind.says_message(content=None, tool_calls=[calls["blocked"]])
    with guarded(behind, "annotate") as client:
        (choice,) = ask(client).json()["choices"]
    assert choice["message"]["tool_calls"]
    (act,) = choice["moralscope"]["acts"]
    assert act["words"].startswith("The assistant buys: what item")


def test_history_is_read_and_odd_messages_in_it_are_left_to_the_server_behind(behind):
    messages = [
        {"role": "user", "content": "Hi!"},
        {"role": "assistant", "content": "Hello."},
        {"role": "nobody", "content": "?"},
        {"role": "user", "content": PROMPT},
    ]
    with guarded(behind, "annotate") as client:
        answer = client.post("/v1/chat/completions", json={"messages": messages})
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["moralscope"]["verdict"]["status"] == "judged"


ODD = {
    "unknown roles": [{"role": "wizard", "content": "?"}],
    "empty turns": [{"role": "assistant", "content": ""}, {"role": "user", "content": []}],
    "a result without a call": [{"role": "tool", "tool_call_id": "x", "content": "done"}],
    "a thousand turns": [
        {"role": "user", "content": "Hi!"},
        {"role": "assistant", "content": "Yo."},
    ]
    * 500,
    "a call of a megabyte": [
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "x" * 10**6}}]}
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_histories_are_passed_on_and_the_reply_is_judged(behind, name):
    messages = [*ODD[name], {"role": "user", "content": PROMPT}]
    with guarded(behind, "annotate") as client:
        answer = client.post("/v1/chat/completions", json={"messages": messages})
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["moralscope"]["verdict"]["status"] == "judged"
    assert behind.asked[-1][1]["messages"] == messages


def test_of_a_call_with_a_megabyte_of_arguments_the_unread_rest_is_counted(behind):
    function = {"name": "send_mail", "arguments": json.dumps({"body": "word " * 200_000})}
    behind.says_message(content=None, tool_calls=[{"id": "c", "function": function}])
    with guarded(behind, "block") as client:
        (choice,) = ask(client).json()["choices"]
    assert choice["moralscope"]["unread"] > 190_000
    assert choice["finish_reason"] == "content_filter"  # what nobody read does not go out


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/completions"])
def test_other_ways_to_ask_are_refused_in_openais_words(behind, path):
    with guarded(behind) as client:
        answer = client.post(path, json={"input": "Hi!"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "unknown_url")
    assert error["message"].startswith(f"Unknown request URL: POST {path}.")
    assert behind.asked == []
