"""`stories evaluate` and `score --axis judge` at the door, with scripted experts."""

import json

import pytest

from moralscope.cli import main

STORIES = [
    {
        "ID": f"a{number}",
        "norm": "It's good to feed dogs.",
        "moral_action": f"Jo feeds dog {number}.",
        "immoral_action": f"Jo kicks dog {number}.",
    }
    for number in range(6)
]


def run(capsys, *words):
    with pytest.raises(SystemExit) as found:
        main(list(words))
    printed = capsys.readouterr()
    return found.value.code, printed.out, printed.err


@pytest.fixture
def stories(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in STORIES))
    return str(path)


def test_evaluate_prints_a_grid_and_a_record(stories, capsys, tmp_path):
    words = ["stories", "evaluate", "--experts", "scripted", "--stories", stories, "--part", "all"]
    report = tmp_path / "r.html"
    code, out, err = run(capsys, *words, "--tasks", "action,action+norm", "--report", str(report))
    assert code == 0, err
    assert "scripted on 6 stories" in out
    assert "action + norm" in out
    assert "as written" in out
    assert report.stat().st_size > 10_000
    code, out, _ = run(capsys, *words, "--json", "--against", "scripted")
    record = json.loads(out)
    assert record["job"] == "stories evaluate"
    tasks = [cell["task"] for cell in record["results"]]
    assert tasks == ["action", "action+norm"]  # the others lack their sentences
    assert record["results"][0]["against"]["p"] == 1.0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--tasks", "action+nrom"], "did you mean 'action+norm'"),
        (["--part", "tset"], "there is no part 'tset'"),
        (["--split", "norms"], "there is no split 'norms'"),
        (["--experts", "nobody"], "there are no experts 'nobody'"),
    ],
)
def test_wrong_words_are_refused(words, line, stories, capsys):
    start = ["stories", "evaluate", "--experts", "scripted", "--stories", stories]
    code, out, err = run(capsys, *start, *words)
    assert (code, out) == (2, "")
    assert line in err


def test_judge_prints_probabilities_and_verdicts(capsys, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"action": "Sam lies.", "norm": "Be honest."}\n{"action": "lie"}\n')
    start = ["score", "--axis", "judge", "--experts", "scripted", "--file", str(rows)]
    code, out, err = run(capsys, *start, "--json")
    assert code == 0, err
    first, second = json.loads(out)["results"]
    assert first["score"] == pytest.approx(2 * first["probability"] - 1)
    assert first["verdict"] in {"keeps", "breaks", "does not concern"}
    assert (second["task"], second["verdict"]) == ("action", None)
    code, out, _ = run(capsys, *start)
    assert code == 0
    assert first["verdict"] in out
