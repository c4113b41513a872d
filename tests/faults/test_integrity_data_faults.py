"""Bad annotation files: one line that names the place, exit code 2, never a traceback."""

import json

import pytest
import typer

from moralscope.cli.reproduce import integrity
from moralscope.cli.rules import stats
from moralscope.core.errors import InputError
from moralscope.papers.integrity import read_generated
from moralscope.rules.annotations.reading import read_annotations

HEAD = b"Q,A,rot,rot-agree,violation-severity,moral,A_agrees\n"
GOOD = b"q,a,r s t,4,3,care,0\n"
CASES = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "is empty"),
    "header": (HEAD, "holds no annotations"),
    "columns": (b"a,b\n1,2\n", "no column 'Q' for the prompt"),
    "twice": (b"Q,A,rot,rot\n1,2,3,4\n", "names a column twice"),
    "latin-header": (b"Q,A,rot,caf\xe9\n1,2,3,4\n", "line 1 is not valid UTF-8"),
    "latin": (
        HEAD + GOOD + b"caf\xe9,a,r,4,3,care,0\n",
        "line 3 is not valid UTF-8 (byte 0xe9",
    ),
    "utf16": ("Q,A,rot\n1,2,3\n".encode("utf-16"), "line 1 is not valid UTF-8"),
    "ragged": (HEAD + b"q,a\n", "line 2 has 2 cells, the header 7"),
    "open-quote": (
        HEAD + GOOD + b'"q,a,r,4,3,care,0\n',
        "line 3 isn't valid CSV: a quote is never closed",
    ),
    "bad-quote": (
        HEAD + b'"q"x,a,r,4,3,care,0\n',
        "line 2 isn't valid CSV: text follows a closing quote",
    ),
    "no-rule": (HEAD + b"q,a, ,4,3,care,0\n", "line 2 has no rule"),
    "no-prompt": (HEAD + b",a,r,4,3,care,0\n", "line 2 has no prompt"),
    "severity": (HEAD + b"q,a,r,4,6,care,0\n", "line 2 has the severity '6'"),
    "consensus": (HEAD + b"q,a,r,most,3,care,0\n", "line 2 has the consensus 'most'"),
    "infinite": (HEAD + b"q,a,r,4,inf,care,0\n", "line 2 has the severity 'inf'"),
    "alignment": (HEAD + b"q,a,r,4,3,care,3\n", "line 2 has the alignment '3'"),
    "foundation": (HEAD + b"q,a,r,4,3,honour,0\n", "line 2 has a foundation 'honour'"),
    "nul": (HEAD + b"q\x00,a,r,4,3,care,0\n", "line 2"),
    "cell": (HEAD + b"q," + b"a" * 20_001 + b",r,4,3,care,0\n", "20,001 characters under 'A'"),
    "line": (HEAD + b"q," + b"a" * (1 << 23) + b",r,4,3,care,0\n" + GOOD, "line 2 has more than"),
    "field": (HEAD + b"q," + b"a" * 200_000 + b",r,4,3,care,0\n", "line 2"),
    "binary": (bytes(range(256)) * 50, "line 1"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_refused_in_one_line(name, tmp_path):
    content, line = CASES[name]
    path = tmp_path / "m.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as found:
        read_annotations(path, kind="mic")
    assert line in str(found.value)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 1000
    assert found.value.exit_code == 2


@pytest.mark.parametrize("name", ["latin", "open-quote", "line"])
def test_the_good_lines_are_kept_when_asked(name, tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(CASES[name][0])
    found = read_annotations(path, malformed="skip")
    assert [row.exchange.prompt for row in found.annotations] == ["q"]
    assert len(found.problems) == 1


def test_a_stray_quote_does_not_swallow_the_file(tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(
        HEAD + b'"stray,a,r,4,3,care,0\n' + GOOD + b'q,"a, b",r s t,4,3,care,0\n' + GOOD * 5
    )
    found = read_annotations(path, malformed="skip")
    assert len(found.annotations) >= 5
    assert found.problems[0].line == 2


@pytest.mark.parametrize("path", ["nowhere.csv", "."])
def test_a_file_that_cannot_be_read_says_so(path, tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_annotations(tmp_path / path)


def test_wrong_policies_and_kinds_are_refused(tmp_path):
    with pytest.raises(InputError, match="say stop or skip"):
        read_annotations(tmp_path / "m.csv", malformed="mend")
    with pytest.raises(InputError, match="say mic or social-chem"):
        read_annotations(tmp_path / "m.csv", kind="mik")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "holds no rules"),
        (b"{", "line 1 is not JSON"),
        (b"[" * 100_000, "line 1 is not JSON"),
        (b'{"model": "m"}\n', "line 1: has no 'prompt'"),
        (b'{"model": "m", "prompt": 1, "reply": "b", "rule": "c"}\n', "line 1: prompt is '1'"),
        (b"\xff\xfe\n", "line 1 is not valid UTF-8"),
    ],
)
def test_bad_generated_rules_are_refused(content, line, tmp_path):
    path = tmp_path / "g.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as found:
        read_generated(path)
    assert line in str(found.value)


@pytest.fixture
def cli():
    app = typer.Typer()
    app.command("stats")(stats)
    app.command("integrity")(integrity)
    return lambda *args: app(list(args), standalone_mode=False)


def test_hostile_text_is_printed_as_text(cli, tmp_path, capsys):
    path = tmp_path / "m.csv"
    path.write_bytes(HEAD + b"[bold]q\x1b[31m,<script>alert(1)</script>,[red]r s t,4,3,care,0\n")
    cli("stats", str(path))
    assert "\x1b[31m" not in capsys.readouterr().out


def test_stats_prints_one_json_document(cli, tmp_path, capsys):
    path = tmp_path / "m.csv"
    path.write_bytes(HEAD + GOOD + GOOD)
    cli("stats", str(path), "--json")
    record = json.loads(capsys.readouterr().out)
    assert record["job"] == "rules stats"
    assert record["statistics"]["counts"]["annotations"] == 2


def test_reproduce_without_data_prints_the_papers_tables(cli, capsys, monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    cli("integrity")
    printed = capsys.readouterr().out
    assert "Table 4" in printed
    assert "52.62" in printed
    assert "whom to ask" in " ".join(printed.split())
