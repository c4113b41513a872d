"""The command line as a person types it.

Most calls are made in this process: starting another takes half a second each. What only a process
of its own can show (what is imported, pipes, tracebacks, exit codes) has one: `started`.
"""

import json
import os
import subprocess
import sys

import pytest

from moralscope.io.journal import Journal


def started(*words):
    done = subprocess.run(
        [sys.executable, "-m", "moralscope", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def one_error_line(done, code):
    ended, out, err = done
    lines = err.strip().splitlines()
    assert ended == code, err
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert "; " in lines[0]
    assert out == ""
    return lines[0]


def test_the_paragraphs_of_a_help_flow(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    _, out, _ = run("stories", "evaluate", "--help")
    assert "Intervals are bootstraps over stories. With mpnet" in out


def test_help_is_fast_and_names_the_commands():
    for _ in range(3):
        before = os.times()
        code, out, _ = started("--help")
        now = os.times()  # of the CPU: others may be at work here
        seconds = sum(now[2:4]) - sum(before[2:4])
        if seconds <= 0.5:
            break
    assert code == 0
    for command in ("demo", "score", "rank", "reproduce", "models"):
        assert command in out
    assert seconds <= 0.5


@pytest.mark.parametrize("command", [["score"], ["rank"], ["demo"], ["models", "pull"]])
def test_every_command_has_help(run, command):
    code, out, _ = run(*command, "--help")
    assert code == 0
    assert "Usage" in out


def test_version_is_printed(run):
    assert run("--version")[1].startswith("moralscope 0.")


def test_score_prints_one_json_document_and_nothing_else(tmp_path):
    path = tmp_path / "actions.txt"
    path.write_text("kill time\nkill people\nkill time\n")
    code, out, err = started(
        "score", "--axis", "choice", "--encoder", "scripted", "--file", path, "--json"
    )
    document = json.loads(out)
    assert code == 0
    assert err == ""
    assert [row["action"] for row in document["results"]] == [
        "kill time",
        "kill people",
        "kill time",
    ]
    assert {"action", "score", "low", "high"} <= set(document["results"][0])


def test_python_and_the_command_line_give_the_same_numbers(run):
    import moralscope as package

    _, out, _ = run("score", "kill time", "eat meat", "--encoder", "scripted", "--json")
    record = package.score(["kill time", "eat meat"], encoder="scripted")
    for row, result in zip(json.loads(out)["results"], record.results, strict=True):
        assert (row["score"], row["low"], row["high"]) == (result.score, result.low, result.high)


def test_score_reads_stdin_and_saves_the_record(run, tmp_path):
    path = tmp_path / "run.json"
    code, out, _ = run("score", "-e", "scripted", "--out", path, stdin="kill time\n")
    assert code == 0
    assert "kill time" in out
    assert json.loads(path.read_text())["results"][0]["action"] == "kill time"


def test_a_long_list_shows_both_ends_and_says_how_many_are_hidden(run):
    actions = "".join(f"do thing {number}\n" for number in range(100))
    _, out, _ = run("score", "-e", "scripted", "--file", "-", stdin=actions)
    assert "60 more" in out


def test_hostile_text_is_printed_as_text(run):
    _, out, _ = run("score", "[red]x[/red] \x1b[31mred", "-e", "scripted")
    assert "[red]x[/red]" in out
    assert "\x1b[31m" not in out


def test_rank_orders_the_answers(run):
    _, out, _ = run("rank", "to toast bread", "pizza", "bread", "-e", "scripted", "--json")
    document = json.loads(out)
    assert document["job"] == "rank"
    assert [row["answer"] for row in document["results"]] == ["bread", "pizza"]


def test_reproduce_prints_the_papers_values_beside_ours(run):
    code, out, err = run("reproduce", "choice", "--encoders", "scripted")
    assert code == 0, err
    for part in ("10.200", "0.730", "within dos", "undertaker", "my hamster"):
        assert part in out


def test_reproduce_as_json_is_one_document(run):
    _, out, _ = run("reproduce", "choice", "--encoders", "scripted", "--json")
    assert json.loads(out)["statistics"]["paper"]["t"] == 10.2


def test_models_list_and_where(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "home"))
    names = [row["name"] for row in json.loads(run("models", "list", "--json")[1])]
    assert names[:3] == ["minilm", "mpnet", "use-lite"]
    assert "Apache-2.0" in run("models", "list")[1]
    where = run("models", "where", "minilm")[1].strip()
    assert where == str(tmp_path / "home" / "models" / "minilm")


def test_a_reader_that_goes_away_is_no_traceback():
    command = (
        f"{sys.executable} -m moralscope score -e scripted --json --file /dev/stdin | head -c 10"
    )
    actions = "".join(f"do {number}\n" for number in range(5000))
    done = subprocess.run(
        ["bash", "-c", command], input=actions.encode(), capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", ""], "actions number 1 is an empty action"),
        (["score", "kill time", "-e", "minilmm"], "did you mean 'minilm'?"),
        (["score", "kill time", "-e", "scripted", "--axis", "choise"], "did you mean 'choice'?"),
        (["score", "kill", "-e", "scripted", "--template", "moralz"], "did you mean 'moral'?"),
        (["score", "kill", "--file", "x.txt", "-e", "scripted"], "not both"),
        (["score", "kill", "--seed", "-1"], "seed is -1"),
        (["score", "kill", "--seed", "many"], "--seed"),
        (["score", "kill", "-e", "scripted", "--out", "/none/run.json"], "cannot be written"),
        (["score", "--file", "/none/actions.txt", "-e", "scripted"], "cannot be read"),
        (["scor", "kill"], "No such command 'scor'"),
        (["score", "kill", "--encodr", "minilm"], "--encodr"),
        (["rank", "What?"], "Missing argument"),
        (["models", "pull"], "no model was named"),
        (["models", "pull", "minilmm"], "did you mean 'minilm'?"),
        (["models", "pull", "gemma3-270m"], "--accept-licence"),
        (["reproduce", "choice", "--encoders", ","], "no encoder was named"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_two(run, words, message, empty_home):
    assert message in one_error_line(run(*words), 2)


def test_a_process_ends_with_the_code_and_the_line_of_its_error():
    line = one_error_line(started("score", "kill", "-e", "scripted", "--axis", "choise"), 2)
    assert "did you mean 'choice'?" in line


def test_debug_shows_the_traceback():
    assert "Traceback" in started("score", "", "--debug")[2]


def test_an_interrupted_chain_says_what_is_kept_and_where(run, tmp_path, monkeypatch):
    stories = [
        {
            "ID": f"{n:02d}0", "norm": "It's rude to lie.", "situation": f"Jo meets {n} friends.",
            "intention": "Jo wants to talk.", "moral_action": "Jo tells the truth.",
            "moral_consequence": "They trust Jo.", "immoral_action": "Jo lies to them.",
            "immoral_consequence": "They leave.",
        }
        for n in range(40)
    ]  # fmt: skip
    path, record = tmp_path / "stories.jsonl", tmp_path / "run.json"
    path.write_text("\n".join(map(json.dumps, stories)) + "\n")
    words = ["stories", "chain", "action-sample", "--stories", path, "--generator", "scripted"]
    words += ["--experts", "scripted", "--out", record]
    append = Journal.append

    def append_and_stop(self, block):
        append(self, block)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", append_and_stop)
        line = one_error_line(run(*words), 1)
    assert "stories are kept in" in line
    assert "run.json.journal; run the same command again to continue" in line
    assert run(*words)[0] == 0
    assert record.exists()
