"""Rulebooks that are broken, hostile or too large: one line that names the place, never a crash."""

import pytest
from typer.testing import CliRunner

from moralscope.cli.rules import app
from moralscope.core.errors import InputError
from moralscope.rules.rulebook import load_rulebook, parse_rulebook

GOOD = "It's rude to stare."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"- text: {GOOD}\n- text: [a\n", "line 3 is not YAML"),
        (f"- text: {GOOD}\n  severty: 3\n", "line 2 has an unknown key 'severty'"),
        (f"- text: {GOOD}\n  text: Twice is wrong.\n", "line 2 has the key 'text' twice"),
        (f"- text: {GOOD}\n- text: {GOOD}\n", "line 2 repeats the rule of line 1"),
        (f"- id: a\n  text: {GOOD}\n- id: a\n  text: It's rude to yell.\n", "line 3 repeats"),
        (f"- text: {GOOD}\n  severity: high\n", "line 1: severity is 'high', not a number"),
        (f"- text: {GOOD}\n  severity: .nan\n", "severity is '.nan', not a number"),
        (f"- text: {GOOD}\n  consensus: 0\n", "has the consensus 0,"),
        (f"- text: {GOOD}\n  severity: [1]\n", "severity is a list, not a number"),
        (f"- text: {GOOD}\n  foundations: [purity]\n", "unknown foundation 'purity'"),
        (f"- text: {GOOD}\n  foundations: [care, care]\n", "one to three different"),
        (f"- text: {GOOD}\n  scope: {{a: b}}\n", "scope is a mapping, not a text"),
        ("- severity: 3\n", "line 1: has no 'text'"),
        ("- text: [a, b]\n", "text is a list, not a text"),
        ("- text: Be good\n", "fewer than 3 different words"),
        ("- text: Be good be good and be good\n", "says 'be good' 3 times"),
        ('- text: "It\'s rude\\nto stare."\n', "line breaks under 'text'"),
        ('- text: "It\'s rude to \\e[31mstare."\n', "control characters"),
        (f"- text: It's rude to {'a' * 400}.\n", "more than 300 characters"),
        ("- just a text\n", "needs a mapping"),
        ("rules: none\n", "has no list of rules"),
        ("rules: []\n", "holds no rules"),
        ("", "needs a mapping"),
        (f"- &a {{text: {GOOD}}}\n- *a\n", "alias or an anchor"),
        ("a: &a [x]\nb: &b [*a, *a]\n", "alias or an anchor"),
        ("- text: !!python/object/apply:os.system [ls]\n", "has a tag"),
        ("[" * 5000, "nested too deep"),
        (f"--- \n- text: {GOOD}\n---\n- text: {GOOD}\n", "is not YAML"),
        (f"- ? {{a: b}}\n  : {GOOD}\n", "unknown key"),
        ("- text: a\x00b\n", "is not YAML"),
    ],
)
def test_broken_yaml_is_named_by_line(text, told):
    with pytest.raises(InputError) as caught:
        parse_rulebook(text, "house.yaml")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "rule,severity\nIt's rude to stare.,1\n",
            "line 1 has no column 'text' (columns: rule",
        ),
        ("text,text\na,b\n", "line 1 names a column twice"),
        ("", "is empty"),
        ("text,severity\nIt's rude to stare.\n", "line 2 has 1 cells, the header 2"),
        ("text,severity\nIt's rude to stare.,1,2\n", "line 2 has 3 cells, the header 2"),
        ("text,severity\n\"It's rude to stare.,1\n", "isn't valid CSV: a quote is never closed"),
        ("text,severity\nIt's rude to stare.,1\nIt's rude to yell.,x\n", "line 3: severity is 'x'"),
        ("text\n" + "It's rude to stare.\n" * 2, "line 3 repeats"),
    ],
)
def test_broken_csv_is_named_by_line(text, told):
    with pytest.raises(InputError) as caught:
        parse_rulebook(text, "house.csv")
    assert told in str(caught.value)


def test_ten_megabytes_are_refused_unread(tmp_path):
    path = tmp_path / "large.yaml"
    with path.open("wb") as stream:
        stream.truncate(10_000_000)
    with pytest.raises(InputError, match="has 10,000,000 bytes; at most 5,000,000"):
        load_rulebook(path)


def test_too_many_rules_are_refused(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("".join(f"It's wrong to steal {n} bikes.\n" for n in range(20_001)))
    with pytest.raises(InputError, match="20,001 rules; at most 20,000"):
        load_rulebook(path)


def test_another_encoding_is_named_by_line(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("text\nIt's rude to stare.\nIt's rude to say cliché.\n".encode("latin-1"))
    with pytest.raises(InputError, match="line 3 is not valid UTF-8"):
        load_rulebook(path)


@pytest.mark.parametrize("name", ["missing.yaml", "folder.yaml", "/dev/zero", "rules.json"])
def test_what_is_no_rulebook_file_is_refused(tmp_path, name):
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InputError, match="rulebook"):
        load_rulebook(tmp_path / name)


def test_the_command_tells_one_line(tmp_path):
    path = tmp_path / "house.yaml"
    path.write_text("- text: It's rude to stare.\n  severity: 9\n")
    result = CliRunner().invoke(app, ["show", "--rulebook", str(path)])
    assert isinstance(result.exception, InputError)
    assert result.exception.exit_code == 2
