"""Threads are filtered by their top answer too, and only filters that ran are counted."""

import json

from typer.testing import CliRunner

from moralscope.cli.root import app
from moralscope.io.tables import parse_columns
from moralscope.rules.collect.collect import collect
from moralscope.rules.collect.files import PROMPT_COLUMNS, read_prompts

DICTIONARY = "%\n1\thonesty\n%\nlie*\t1\ntruth*\t1\n"
THREADS = [
    {"title": "Is a lie ever right?", "top": "The truth hurts."},
    {"title": "Why do people lie?", "top": "Cats."},
    {"title": "Best soup?", "top": "Never lie about soup."},
    {"title": "Would you lie?", "top": ""},
]


def files(tmp_path):
    threads, words = tmp_path / "threads.jsonl", tmp_path / "ours.dic"
    threads.write_text("".join(json.dumps(row) + "\n" for row in THREADS), "utf-8")
    words.write_text(DICTIONARY, "utf-8")
    return threads, words


def test_prompt_and_top_answer_must_both_hold_a_keyword(tmp_path):
    threads, words = files(tmp_path)
    found = read_prompts(threads, parse_columns("prompt=title,answer=top", PROMPT_COLUMNS))
    options = {"bots": ("scripted",), "filters": "none", "lexicons": ()}
    record = collect(found, prompt_lexicons=(str(words),), **options)
    assert [row.prompt for row in record.results] == ["Is a lie ever right?"]
    assert record.statistics["prompts"]["without a keyword"] == 3
    without = read_prompts(threads, parse_columns("prompt=title", PROMPT_COLUMNS))
    asked = collect(without, prompt_lexicons=(str(words),), **options)
    assert len(asked.results) == 3


def test_steps_that_did_not_run_are_not_counted(tmp_path):
    threads, _ = files(tmp_path)
    found = read_prompts(threads, {"prompt": "title"})
    none = collect(found, bots=("scripted",), filters="none", lexicons=())
    steps = [step["step"] for step in none.statistics["steps"]]
    assert steps == ["replies", "neither empty nor too long"]
    some = collect(found, bots=("scripted",), filters="scripted", lexicons=())
    steps = [step["step"] for step in some.statistics["steps"]]
    assert steps[2:] == ["sufficient", "with moral content"]


def test_the_command_takes_the_answers_column_and_refuses_another(tmp_path):
    threads, words = files(tmp_path)
    command = ["collect", str(threads), "--bot", "scripted", "--lexicon", "none"]
    command += ["--filters", "none", "--prompt-lexicon", str(words), "--json", "--columns"]
    ran = CliRunner().invoke(app, [*command, "prompt=title,answer=top"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["statistics"]["prompts"]["asked"] == 1
    wrong = CliRunner().invoke(app, [*command, "prompt=title,anwser=top"])
    assert "did you mean 'answer'" in str(wrong.exception)
