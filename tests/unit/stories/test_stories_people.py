"""From saved runs to sheets and back, by job and by command."""

import csv
import json

import pytest
import typer
from typer.testing import CliRunner

from moralscope.cli import stories_evaluate, stories_texts
from moralscope.core.errors import InputError
from moralscope.stories.people import read_people, write_people

app = typer.Typer()
app.add_typer(stories_evaluate.people, name="people")
app.command("metrics")(stories_texts.metrics)
app.command("evaluate")(stories_evaluate.evaluate)


@pytest.fixture
def runs(tmp_path):
    paths = []
    for recipe in ("action-sample", "action-ranking"):
        results = [
            {
                "id": str(number),
                "target": target,
                "choice": f"Jo does [red]{recipe[7]}[/] {number} {target}.",
                "story": {
                    "norm": "Pay.",
                    "situation": "A shop.",
                    "intention": "Jo wants bread.",
                    "action": f"Jo does it {number} {target}.",
                },
            }
            for number in range(4)
            for target in ("moral", "immoral")
        ]
        config = {"recipe": recipe, "kind": "action"}
        path = tmp_path / f"{recipe}.json"
        path.write_text(json.dumps({"job": "chain", "config": config, "results": results}))
        paths.append(path)
    return paths


def rate(folder):
    for path in (folder / "sheets").glob("*.csv"):
        rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
        for row in rows:
            row.update(coherence=1, intention=int(path.stem != "rater-1"), norm=0)
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


def test_a_pack_goes_out_and_comes_back(runs, tmp_path):
    written = write_people(runs, tmp_path / "pack", raters=2, sample=6)
    assert written.statistics["items"] == 12
    assert written.statistics["strategies"] == ("action-ranking", "action-sample")
    rate(tmp_path / "pack")
    read = read_people(tmp_path / "pack")
    assert [row.strategy for row in read.results] == ["action-ranking", "action-sample"]
    assert read.results[0].criteria["intention"]["total"].value == 0.5
    assert [row.table for row in read.statistics["paper"]] == [4] * 4


def test_fewer_samples_than_asked_for_and_a_lone_rater_are_said(runs, tmp_path):
    written = write_people(runs, tmp_path / "pack", raters=1)
    assert "share 8 complete samples, 200 were asked for" in written.warnings[0]
    assert "alpha needs two" in written.warnings[1]


def test_runs_of_two_kinds_are_refused(runs, tmp_path):
    other = tmp_path / "norm.json"
    results = [{"id": "1", "target": None, "choice": "Pay.", "story": {"norm": "Pay."}}]
    other.write_text(json.dumps({"job": "chain", "config": {"kind": "norm"}, "results": results}))
    with pytest.raises(InputError, match="the runs mix actions and norms"):
        write_people([*runs, other], tmp_path / "pack")


def test_a_folder_without_sheets_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no sheets"):
        read_people(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        read_people(tmp_path / "nowhere")


def test_the_commands_print_tables_and_records(runs, tmp_path):
    run = CliRunner().invoke
    pack = str(tmp_path / "pack")
    done = run(app, ["people", "write", *map(str, runs), "--to", pack, "--sample", "4"])
    assert done.exit_code == 0, done.output
    assert "8 texts on 4 samples" in done.output
    rate(tmp_path / "pack")
    done = run(app, ["people", "read", pack])
    assert done.exit_code == 0, done.output
    assert "paper: CoE ranking" in done.output
    assert "0.67 0.67 0.67" in done.output
    record = json.loads(run(app, ["people", "read", pack, "--json"]).output)
    assert record["statistics"]["agreement"]["norm"]["units"] == 8
    done = run(app, ["metrics", *map(str, runs), "--judge", "scripted"])
    assert done.exit_code == 0, done.output
    assert "action-ranking less action-sample" in done.output
    record = json.loads(run(app, ["metrics", str(runs[0]), "--json"]).output)
    assert record["results"][0]["metrics"]["rougeL"]["total"]["n"] == 8


def test_evaluate_for_people_writes_with_runs_and_reads_without(runs, tmp_path):
    words = ["evaluate", "--for-people", str(tmp_path / "pack")]
    given = [word for path in runs for word in ("--runs", str(path))]
    done = CliRunner().invoke(app, [*words, *given])
    assert done.exit_code == 0, done.output
    assert "16 texts on 8 samples" in done.output
    rate(tmp_path / "pack")
    done = CliRunner().invoke(app, [*words, "--json"])
    record = json.loads(done.stdout)
    assert record["job"] == "stories people"
    assert record["results"][0]["criteria"]["coherence"]["total"]["value"] == 1.0
    done = CliRunner().invoke(app, ["evaluate", *given])
    assert isinstance(done.exception, InputError)
    assert "--runs goes with --for-people" in str(done.exception)
