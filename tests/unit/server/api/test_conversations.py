"""Conversations over HTTP: the record of the command line, the refusals of the reader."""

from ....api_site import site

TALK = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello you."}]


def test_a_conversation_is_audited_and_a_bad_one_refused():
    with site() as client:
        path = "/v1/audit/conversation"
        answer = client.post(path, json={"messages": TALK, "experts": "scripted"})
        (result,) = answer.json()["results"]
        assert [turn["role"] for turn in result["turns"]] == ["user", "assistant"]
        assert set(result) >= {"turns", "first", "answered", "verdict"}
        odd = [{"role": "wizard", "content": "Hi!"}]
        refused = client.post(path, json={"messages": odd, "experts": "scripted"})
    assert refused.status_code in (400, 422)
    assert "wizard" in refused.text
