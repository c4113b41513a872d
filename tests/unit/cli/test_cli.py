"""The command line as a person types it: every call is a process of its own."""

import json
import os
import subprocess
import sys

import pytest


def moralscope(*words, stdin=None, env=None, timeout=120):
    return subprocess.run(
        [sys.executable, "-m", "moralscope", *map(str, words)],
        input=stdin if isinstance(stdin, bytes) or stdin is None else stdin.encode(),
        capture_output=True,
        timeout=timeout,
        env={**os.environ, "COLUMNS": "100", **(env or {})},
        check=False,
    )


def one_error_line(done, code):
    lines = done.stderr.decode().strip().splitlines()
    assert done.returncode == code, done.stderr.decode()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert "; " in lines[0]
    assert done.stdout == b""
    return lines[0]


def test_the_paragraphs_of_a_help_flow():
    done = moralscope("stories", "evaluate", "--help", env={"COLUMNS": "300"})
    assert "Intervals are bootstraps over stories. With mpnet" in done.stdout.decode()


def test_help_is_fast_and_names_the_commands():
    times = []
    for _ in range(3):
        before = os.times()
        done = moralscope("--help")
        now = os.times()  # of the CPU: others may be at work here
        times.append(sum(now[2:4]) - sum(before[2:4]))
    assert done.returncode == 0
    for command in ("demo", "score", "rank", "reproduce", "models"):
        assert command in done.stdout.decode()
    assert min(times) <= 0.5


@pytest.mark.parametrize("command", [["score"], ["rank"], ["demo"], ["models", "pull"]])
def test_every_command_has_help(command):
    done = moralscope(*command, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout.decode()


def test_version_is_printed():
    assert moralscope("--version").stdout.decode().startswith("moralscope 0.")


def test_score_prints_one_json_document_and_nothing_else(tmp_path):
    path = tmp_path / "actions.txt"
    path.write_text("kill time\nkill people\nkill time\n")
    done = moralscope(
        "score", "--axis", "choice", "--encoder", "scripted", "--file", path, "--json"
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert done.stderr == b""
    assert [row["action"] for row in document["results"]] == [
        "kill time",
        "kill people",
        "kill time",
    ]
    assert {"action", "score", "low", "high"} <= set(document["results"][0])


def test_python_and_the_command_line_give_the_same_numbers():
    import moralscope as package

    done = moralscope("score", "kill time", "eat meat", "--encoder", "scripted", "--json")
    record = package.score(["kill time", "eat meat"], encoder="scripted")
    for row, result in zip(json.loads(done.stdout)["results"], record.results, strict=True):
        assert (row["score"], row["low"], row["high"]) == (result.score, result.low, result.high)


def test_score_reads_stdin_and_saves_the_record(tmp_path):
    out = tmp_path / "run.json"
    done = moralscope("score", "-e", "scripted", "--out", out, stdin="kill time\n")
    assert done.returncode == 0
    assert "kill time" in done.stdout.decode()
    assert json.loads(out.read_text())["results"][0]["action"] == "kill time"


def test_a_long_list_shows_both_ends_and_says_how_many_are_hidden():
    actions = "".join(f"do thing {number}\n" for number in range(100))
    done = moralscope("score", "-e", "scripted", "--file", "-", stdin=actions)
    assert "60 more" in done.stdout.decode()


def test_hostile_text_is_printed_as_text():
    done = moralscope("score", "[red]x[/red] \x1b[31mred", "-e", "scripted")
    text = done.stdout.decode()
    assert "[red]x[/red]" in text
    assert "\x1b[31m" not in text


def test_rank_orders_the_answers():
    done = moralscope("rank", "to toast bread", "pizza", "bread", "-e", "scripted", "--json")
    document = json.loads(done.stdout)
    assert document["job"] == "rank"
    assert [row["answer"] for row in document["results"]] == ["bread", "pizza"]


def test_reproduce_prints_the_papers_values_beside_ours():
    done = moralscope("reproduce", "choice", "--encoders", "scripted")
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    for part in ("10.200", "0.730", "within dos", "undertaker", "my hamster"):
        assert part in text


def test_reproduce_as_json_is_one_document():
    done = moralscope("reproduce", "choice", "--encoders", "scripted", "--json")
    assert json.loads(done.stdout)["statistics"]["paper"]["t"] == 10.2


def test_models_list_and_where(tmp_path):
    env = {"MORALSCOPE_HOME": str(tmp_path / "home")}
    names = [
        row["name"] for row in json.loads(moralscope("models", "list", "--json", env=env).stdout)
    ]
    assert names[:3] == ["minilm", "mpnet", "use-lite"]
    assert "Apache-2.0" in moralscope("models", "list", env=env).stdout.decode()
    where = moralscope("models", "where", "minilm", env=env).stdout.decode().strip()
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
def test_wrong_usage_is_one_line_and_exit_code_two(words, message, tmp_path):
    done = moralscope(*words, env={"MORALSCOPE_HOME": str(tmp_path), "MORALSCOPE_OFFLINE": "1"})
    assert message in one_error_line(done, 2)


def test_debug_shows_the_traceback(tmp_path):
    done = moralscope("score", "", "--debug")
    assert b"Traceback" in done.stderr


def test_an_interrupted_chain_says_what_is_kept_and_where(tmp_path):
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
    script = (
        "import sys, moralscope.stories.chains.run as run\n"
        "from moralscope.cli import main\n"
        "before = run.Journal.append\n"
        "def append(self, block):\n"
        "    before(self, block)\n"
        "    raise KeyboardInterrupt\n"
        "run.Journal.append = append\n"
        "main(sys.argv[1:])\n"
    )
    asked = [sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(asked, capture_output=True, timeout=120, check=False)
    line = one_error_line(done, 1)
    assert "stories are kept in" in line
    assert "run.json.journal; run the same command again to continue" in line
    assert moralscope(*words).returncode == 0
    assert record.exists()
