"""The package's front: every public name can be had, and having none costs nothing."""

import subprocess
import sys

import pytest

import moralscope


@pytest.mark.parametrize("name", moralscope.__all__)
def test_every_public_name_is_there(name):
    assert getattr(moralscope, name) is not None
    assert name in dir(moralscope)


def test_a_name_that_is_not_there_says_so():
    with pytest.raises(AttributeError, match="no attribute 'scor'"):
        _ = moralscope.scor


def test_importing_the_package_loads_nothing_heavy():
    script = "import moralscope, sys; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]"


def test_commands_are_functions_of_the_same_name_with_options_as_keywords(tmp_path):
    file = tmp_path / "replies.csv"
    file.write_text("prompt,reply\nHi!,Hello you.\nBye!,Goodbye.\n")
    one = moralscope.audit(prompt="Hi!", reply="Hello you.", experts="scripted")
    many = moralscope.audit(file=str(file), experts="scripted")
    assert [row.reply for row in one.results] == ["Hello you."]
    assert many.results[0].verdict == one.results[0].verdict
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Do you steal?\n")
    asked = moralscope.collect(str(prompts), bots=("scripted",), filters="none", lexicons=())
    assert [row.prompt for row in asked.results] == ["Do you steal?"]
    answers = tmp_path / "answers.csv"
    rows = [f"i{n},{who},ok,{n % 2}" for n in range(6) for who in "ab"]
    answers.write_text("\n".join(["item,person,field,value", *rows]) + "\n")
    assert moralscope.agreement(str(answers)).job == "agreement"
