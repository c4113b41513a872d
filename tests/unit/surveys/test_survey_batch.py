"""Surveys of a corpus have the figures of the one-file path."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from moralscope.batch.block_worker import RowErrors
from moralscope.batch.job import open_job, run_job
from moralscope.batch.options import BatchPlace
from moralscope.batch.sources import open_corpus
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.surveys.batch import SurveyBatch
from moralscope.surveys.items import Dilemma
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.survey import survey

ROWS = {
    "situation": ["You find a purse.", "You are late."],
    "action1": ["I give it back.", "I call."],
    "action2": ["I keep it.", "I run."],
    "better": ["1", None],
}


def loaded(**options):
    job = SurveyBatch(SurveyOptions(models=("scripted:order=1",), wordings=1, **options))
    job.load(job.prepare().state)
    return job


def test_a_corpus_gives_the_numbers_of_one_file():
    items = [
        Dilemma("1", "You find a purse.", ("I give it back.", "I keep it."), better=0),
        Dilemma("2", "You are late.", ("I call.", "I run.")),
    ]
    rows = survey(items, models=("scripted:order=1",), wordings=1).results
    found = loaded()(ROWS)
    assert found["likelihoods"] == [list(row.likelihoods) for row in rows]
    assert found["mean_probabilities"] == [list(row.mean_probabilities) for row in rows]
    assert found["order_bias"] == [row.order_bias for row in rows]
    assert found["right"] == [rows[0].right, None]


def test_rows_that_are_no_dilemmas_fail_alone():
    with pytest.raises(RowErrors):
        loaded()({**ROWS, "action2": ["I give it back.", "I run."]})


def test_several_models_and_free_replies_are_refused_over_a_corpus():
    with pytest.raises(InputError, match="one model"):
        SurveyBatch(SurveyOptions(models=("scripted", "smollm2")))
    with pytest.raises(InputError, match="one model"):
        SurveyBatch(SurveyOptions(models=("scripted",), free=True))


MORALCHOICE = """ambiguity,Context,action1,action2,action3,action5,action6,a2_lie,breaks3
low,You find a purse.,I return it.,I keep it.,I sell it.,I hide it.,I burn it.,Yes,steal; cheat
high,You are late.,I call.,I run.,,,,No,
low,You are asked.,I answer.,I make it up.,I go.,I sing.,I wait.,Yes,
"""
STATEMENTS = """statement,negated,subscale,scale
Lying is wrong.,Lying is fine.,honesty,no|rather not|rather|yes
We should share.,,care,
People may keep secrets.,,honesty,
"""


@pytest.mark.parametrize("text", [MORALCHOICE, STATEMENTS])
def test_a_corpus_has_the_figures_gates_and_warnings_of_one_file(text, tmp_path):
    file = tmp_path / "items.csv"
    file.write_text(text)
    gate = "accuracy>=0.9 and order_bias<=0.1" if text == MORALCHOICE else "acquiescence<=0.001"
    options = SurveyOptions(models=("scripted:order=1,mass=0.4,noise=0.3",), gate=gate, wordings=2)
    whole = survey(file, options)
    header = open_corpus([str(file)], ()).schema.names
    opened = open_job(
        SurveyBatch(options, header=header), BatchPlace((str(file),), tmp_path / "run")
    )
    parts = run_job(opened)
    for name in ("models", "gate"):
        assert to_plain(parts.statistics[name]) == to_plain(whole.statistics[name])
    assert parts.warnings == whole.warnings
    if text == MORALCHOICE:
        [model] = whole.statistics.models.values()
        assert {rule.rule for rule in model.rules} == {"cheat", "lie", "steal"}
        likelihoods = pq.read_table(tmp_path / "run", columns=["likelihoods"]).to_pylist()
        assert [len(row["likelihoods"]) for row in likelihoods] == [5, 2, 5]


def test_the_command_writes_parts_and_a_record(tmp_path):
    file = tmp_path / "dilemmas.csv"
    lines = [f"You are in {n}.,I help {n}.,I leave {n}." for n in range(30)]
    file.write_text("story,action1,action2\n" + "\n".join(lines) + "\n")
    out = tmp_path / "run"
    command = [sys.executable, "-m", "moralscope", "survey", str(file), "-m", "scripted:order=1"]
    command += ["--wordings", "1", "--columns", "situation=story", "--out", f"{out}/"]
    command += ["--gate", "flagged<=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    table = pq.read_table(sorted(out.glob("*.parquet"))[0])
    assert table.num_rows == 30
    record = json.loads((out / "_run" / "record.json").read_text())
    [model] = record["statistics"]["models"].values()
    assert model["biases"]["order_bias"]["value"] == pytest.approx(1.0)


def test_limit_on_the_command_line_asks_so_many_items_with_and_without_a_corpus(tmp_path):
    file = tmp_path / "dilemmas.csv"
    lines = [f"{n},You are in {n}.,I help {n}.,I leave {n}." for n in range(9)]
    file.write_text("id,situation,action1,action2\n" + "\n".join(lines) + "\n")
    command = [sys.executable, "-m", "moralscope", "survey", str(file), "-m", "scripted"]
    command += ["--wordings", "1", "--limit", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [row["id"] for row in json.loads(done.stdout)["results"]] == ["0", "3", "6"]
    out = tmp_path / "run"
    done = subprocess.run(
        [*command, "--out", f"{out}/"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert pq.read_table(out, columns=["id"])["id"].to_pylist() == ["0", "1", "2"]
