"""Bad rows for the judge: one line that names the place, exit code 2, never a traceback."""

import pytest

from moralscope.axes.score import read_rows
from moralscope.cli import main
from moralscope.core.errors import InputError

CASES = {
    "no-action.jsonl": (b'{"action": "a"}\n{"norm": "Be kind."}\n', "line 2 has no action"),
    "blank-action.csv": (b"action,norm\na,b\n ,c\n", "line 3 has no action"),
    "slip.jsonl": (b'{"action": "a", "consequnce": "b"}\n', "did you mean 'consequence'"),
    "slip.csv": (b"action,Intentoin\na,b\n", "line 1 has a column 'intentoin'"),
    "twice.csv": (b"action,norm,norm\na,b,c\n", "line 1 names a column twice"),
    "no-column.csv": (b"id,text\n1,b\n", "has no column 'action'"),
    "empty.jsonl": (b"", "holds no rows"),
    "empty.csv": (b"", "holds no rows"),
    "header.csv": (b"action,norm\n", "holds no rows"),
    "nan.jsonl": (b'{"action": "a", "norm": NaN}\n', "line 1 has no text under 'norm'"),
    "nan.csv": (b"action,norm\na,nan\n", "line 2 has no text under 'norm'"),
    "number.jsonl": (b'{"action": 5}\n', "line 1 has no text under 'action'"),
    "list.jsonl": (b'{"action": "a"}\n[1]\n', "line 2 is not an object"),
    "broken.jsonl": (b'{"action": "a"}\n{"action": "b\n', "line 2 is not JSON"),
    "broken.csv": (b'action\na\n"b\n', "line 3 isn't valid CSV: a quote is never closed"),
    "ragged.csv": (b"action,norm\na,b,c\n", "line 2 has 3 cells"),
    "latin.jsonl": (b'{"action": "caf\xe9"}\n', "line 1 is not valid UTF-8"),
    "latin.csv": (b"action\na\ncaf\xe9\n", "line 3 is not valid UTF-8"),
    "huge.jsonl": (b'{"action": "' + b"a" * 200_000 + b'"}\n', "line 1 has 200,000 characters"),
    "line.jsonl": (b'{"action": "' + b"a" * (1 << 22) + b'"}\n', "line 1 has more than"),
    "nul.jsonl": (b'{"action": "a", "norm": "b\\u0000"}\n', "line 1 holds a character"),
    "deep.jsonl": (b"[" * 100_000 + b"\n", "line 1 is not JSON"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_rows_are_refused_in_one_line(name, tmp_path, capsys):
    content, line = CASES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SystemExit) as found:
        main(["score", "--axis", "judge", "--experts", "scripted", "--file", str(path)])
    assert found.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("error: ")
    assert line in printed.err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--axis", "judge", "--experts", "scripted", "--norm", ""], "norm is empty"),
        (["--axis", "judge", "--template", "gender"], "the judge axis has no option 'template'"),
        (["--axis", "judge", "--save-axis", "x.safetensors"], "has no option 'save_axis'"),
        (["--axis", "judge", "--experts", "nobody"], "there are no experts 'nobody'"),
        (["--axis", "choice", "--norm", "Be kind."], "the choice axis has no option 'norm'"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(options, line, capsys):
    with pytest.raises(SystemExit) as found:
        main(["score", "lie", *options])
    assert found.value.code == 2
    assert line in capsys.readouterr().err


def test_more_rows_than_allowed_are_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"action": "a"}\n' * 3)
    with pytest.raises(InputError, match="more than 2 rows"):
        read_rows(path, ["action"], max_rows=2)
