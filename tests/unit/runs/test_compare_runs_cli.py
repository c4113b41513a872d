"""`moralscope compare --runs` as a pipeline calls it: table, record, report, gate and refusals."""

import json
from functools import partial

import pytest

from moralscope.cli import main

from .saved_runs import audit_record, reply, saved, score_record


@pytest.fixture
def run(run):
    return partial(run, "compare")


@pytest.fixture
def one_line(run):
    def call(*words, code=2):
        found, out, err = run(*words)
        assert found == code, err
        assert out == ""
        assert len(err.strip().splitlines()) == 1
        assert err.startswith("error: ")
        return err

    return call


@pytest.fixture
def runs(tmp_path):
    before = [("kill people", -0.5), ("help people", 0.5), ("smile", 0.3), ("lie", -0.2)]
    after = [("kill people", -0.5), ("help people", 0.4), ("smile", 0.3), ("lie", 0.1)]
    return [
        saved(tmp_path, f"{name}.json", score_record(rows))
        for name, rows in (("before", before), ("after", after))
    ]


@pytest.fixture
def audits(tmp_path):
    before = [reply("1", "Hi?", "Hello.", 0.2), reply("2", "[red]Steal?[/]", "No.", 0.5)]
    after = [reply("1", "Hi?", "Hello.", 0.2), reply("2", "[red]Steal?[/]", "\x1b[31mYes.", -0.9)]
    return [
        saved(tmp_path, f"audit-{name}.json", audit_record(rows))
        for name, rows in (("before", before), ("after", after))
    ]


def test_the_table_shows_what_changed(run, runs):
    code, out, err = run("--runs", *runs)
    assert (code, err) == (0, "")
    for text in ("4 in both", "mean change", "Spearman's rho", "largest drops", "help people"):
        assert text in out
    assert "25.00%" in out  # one of four changed its sign


def test_one_json_document_and_the_same_in_the_file(run, runs, tmp_path):
    path = tmp_path / "compared.json"
    code, out, _ = run("--runs", *runs, "--json", "--out", path)
    record = json.loads(out)
    assert code == 0
    assert record == json.loads(path.read_text())
    assert record["job"] == "compare runs"
    assert record["config"]["runs"] == [str(path) for path in runs]
    assert record["statistics"]["max_rise"] == pytest.approx(0.3)


def test_a_gate_that_is_met_exits_0(run, runs):
    code, out, err = run("--runs", *runs, "--gate", "mean_change>=-0.02 and max_drop<=0.3")
    assert (code, err) == (0, "")
    assert "gate mean_change>=-0.02 and max_drop<=0.3: met" in out


def test_a_gate_not_met_exits_3_after_everything_was_written(run, runs, tmp_path):
    path, page = tmp_path / "compared.json", tmp_path / "compared.html"
    code, out, err = run(
        *("--runs", *runs, "--gate", "flips<=0.01", "--json", "--out", path, "--report", page)
    )
    assert code == 3
    assert json.loads(out)["statistics"]["gate"]["met"] is False
    assert json.loads(path.read_text())["statistics"]["gate"]["values"] == {"flips": 0.25}
    assert "help people" in page.read_text("utf-8")
    (line,) = err.strip().splitlines()
    assert line.startswith("error: gate not met: flips is 0.25, wanted <= 0.01")


def test_audits_are_hostile_text_and_shown_as_text(run, audits):
    code, out, err = run("--runs", *audits, "--gate", "newly_flagged<=0.02")
    assert code == 3
    assert "newly_flagged is 0.5, wanted <= 0.02" in err
    assert "[red]Steal?[/]" in out
    assert "newly flagged" in out
    assert "\x1b" not in out


def test_a_saved_comparison_can_be_drawn_again(run, audits, tmp_path):
    path = tmp_path / "compared.json"
    run("--runs", *audits, "--out", path)
    page = tmp_path / "again.html"
    with pytest.raises(SystemExit) as caught:
        main(["report", str(path), "--out", str(page)])
    assert caught.value.code == 0
    assert "Newly flagged" in page.read_text("utf-8")


def test_wrong_words_are_refused_in_one_line(one_line, runs):
    two = ("--runs", *runs)
    assert "requires 2 arguments" in one_line("--runs", runs[0])
    assert "did you mean 'spearman'" in one_line(*two, "--gate", "speerman>=0.9")
    assert "is not a condition" in one_line(*two, "--gate", "__import__('os')")
    assert "which only audits have" in one_line(*two, "--gate", "flagged_change<=0.01")
    assert "actions cannot be combined with --runs" in one_line(*two, "kill")
    assert "--encoders cannot be combined with" in one_line(*two, "--encoders", "minilm,mpnet")
    assert "--axis cannot be combined with" in one_line(*two, "--axis", "choice")
    assert "--figure cannot be combined with" in one_line(*two, "--figure", "f.svg")
    assert "runs of score have no prompt" in one_line(*two, "--by", "prompt")
    assert "cannot be written" in one_line(*two, "--out", "/no/such/folder/run.json")
    assert "--strict cannot be combined with --encoders" in one_line(
        "--encoders", "scripted,scripted", "kill", "help", "smile", "--strict"
    )


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "is empty"),
        ("{", "ends in the middle"),
        ("[1, 2]", "is not a run record"),
        ("not json", "is not JSON"),
        ('{"schema": "moralscope.run/7"}', "upgrade moralscope"),
        ('{"schema": "moralscope.run/1", "job": "rank", "config": {}, "results": []}', "of 'rank'"),
        ("\udce9", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_broken_records_are_refused_in_one_line(one_line, runs, tmp_path, content, line):
    path = tmp_path / "broken.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert line in one_line("--runs", runs[0], path)
    assert line in one_line("--runs", path, runs[0])


def test_files_that_are_not_there_are_refused(one_line, runs, tmp_path):
    assert "cannot be read" in one_line("--runs", runs[0], tmp_path / "no.json")
    assert "holds no run" in one_line("--runs", tmp_path, tmp_path)


def test_no_item_in_common(one_line, runs, tmp_path):
    other = saved(tmp_path, "other.json", score_record([("dance", 0.1)]))
    assert "have no action in common" in one_line("--runs", runs[0], other)
