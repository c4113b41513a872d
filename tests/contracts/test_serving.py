"""The server answers with the command line's records: same fields, same numbers."""

import json

import pytest

from moralscope.cli import main

from ..api_site import ACTIONS, EXCHANGES, site

REPLY = EXCHANGES[0]
SCRIPTED = ["--encoder", "scripted"]
CASES = {
    "score": (["score", *ACTIONS, *SCRIPTED], {"actions": ACTIONS, "encoder": "scripted"}),
    "score seed": (
        ["score", *ACTIONS, *SCRIPTED, "--seed", "7", "--template", "gender"],
        {"actions": ACTIONS, "encoder": "scripted", "seed": 7, "template": "gender"},
    ),
    "score direction": (
        ["score", *ACTIONS, *SCRIPTED, "--axis", "direction", "--fit", "labelled"],
        {"actions": ACTIONS, "encoder": "scripted", "axis": "direction", "fit": "labelled"},
    ),
    "score judge": (
        ["score", *ACTIONS, "--axis", "judge", "--experts", "scripted", "--norm", "Be kind."],
        {"actions": ACTIONS, "axis": "judge", "experts": "scripted", "norm": "Be kind."},
    ),
    "compare": (
        ["compare", *ACTIONS, "--encoders", "scripted,scripted", "--seed", "3"],
        {"actions": ACTIONS, "encoders": ["scripted", "scripted"], "seed": 3},
    ),
    "compare direction": (
        ["compare", *ACTIONS, "--encoders", "scripted,scripted", "--axis", "direction"],
        {"actions": ACTIONS, "encoders": ["scripted", "scripted"], "axis": "direction"},
    ),
    "compare judge": (
        ["compare", *ACTIONS, "--encoders", "scripted,scripted", "--axis", "judge"],
        {"actions": ACTIONS, "encoders": ["scripted", "scripted"], "axis": "judge"},
    ),
    "rank": (
        ["rank", "to toast bread", "a hamster", "bread", *SCRIPTED],
        {"question": "to toast bread", "answers": ["a hamster", "bread"], "encoder": "scripted"},
    ),
    "audit": (
        ["audit", "--prompt", REPLY["prompt"], "--reply", REPLY["reply"], "--experts", "scripted"],
        {"exchanges": [REPLY], "experts": "scripted"},
    ),
    "audit revise": (
        [
            *("audit", "--prompt", REPLY["prompt"], "--reply", REPLY["reply"], "--experts"),
            *("scripted", "--revise", "--generator", "scripted", "--top", "9", "--seed", "2"),
        ],
        {
            **{"exchanges": [REPLY], "experts": "scripted", "revise": True},
            **{"generator": "scripted", "top": 9, "seed": 2},
        },
    ),
    "rules lint": (["rules", "lint"], {}),
}
REAL = {
    "score": (["score", *ACTIONS, "--axis", "choice"], {"actions": ACTIONS, "axis": "choice"}),
    "score direction": (
        ["score", *ACTIONS, "--axis", "direction"],
        {"actions": ACTIONS, "axis": "direction"},
    ),
    "audit": (
        ["audit", "--prompt", REPLY["prompt"], "--reply", REPLY["reply"], "--experts", "minilm"],
        {"exchanges": [REPLY], "experts": "minilm"},
    ),
}


@pytest.fixture(scope="module")
def client():
    with site() as made:
        yield made


def typed(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*words, "--json"])
    assert caught.value.code == 0
    return json.loads(capsys.readouterr().out)


def asked(client, name, body):
    path = "rules/lint" if name == "rules lint" else name.split()[0]
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def comparable(record):
    """Drop the time, which no two runs share."""
    record["statistics"].pop("seconds", None)
    return {name: value for name, value in record.items() if name != "created"}


@pytest.mark.parametrize("name", CASES)
def test_the_server_and_the_command_line_give_the_same_record(client, capsys, name):
    words, body = CASES[name]
    assert comparable(asked(client, name, body)) == comparable(typed(words, capsys))


def close(one, other):
    """Compare deeply; numbers within the rounding of float32 rows."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, abs=2e-5)
    return one == other


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_weights_give_the_same_numbers(client, capsys, minilm_folder, name):
    words, body = REAL[name]
    assert close(comparable(asked(client, name, body)), comparable(typed(words, capsys)))
