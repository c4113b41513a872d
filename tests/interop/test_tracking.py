"""MLflow, W&B, Label Studio and Argilla themselves read what we write."""

import json
import subprocess
import sys

import pytest

from .conftest import BAD, GOOD, block

pytestmark = pytest.mark.slow
PAGE = "interop-tracking.md"


@pytest.fixture
def replies(tmp_path):
    (tmp_path / "replies.csv").write_text(f'prompt,reply\nHi!,"{GOOD}"\nHi!,"{BAD}"\n')
    return tmp_path


def test_mlflow_has_metrics_options_and_the_report(tool, replies):
    code = block(PAGE, "track_mlflow.py")
    code += """
import json
run = mlflow.search_runs(output_format="list")[0]
files = [row.path for row in mlflow.MlflowClient().list_artifacts(run.info.run_id, "moralscope")]
print(json.dumps([run.data.metrics["moralscope.replies"], sorted(files)]))
"""
    code = code.replace('file="replies.csv"', 'file="replies.csv", experts="minilm"')
    replies_logged, files = json.loads(tool("mlflow").run_script(code, replies))
    assert replies_logged == 2
    assert files == ["moralscope/report.html", "moralscope/run.json"]


def test_wandb_has_metrics_and_the_record(tool, replies):
    code = block(PAGE, "track_wandb.py").replace(
        'file="replies.csv"', 'file="replies.csv", experts="minilm"'
    )
    code += "    print(run.summary['moralscope/replies'])\n"  # a run that has ended forgets it
    assert tool("wandb").run_script(code, replies, WANDB_SILENT="true") == "2"
    assert list(replies.glob("wandb/offline-run-*/*.wandb"))


@pytest.fixture
def audit(replies):
    def call(*words):
        command = [sys.executable, "-m", "moralscope", *words]
        done = subprocess.run(command, cwd=replies, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    call("audit", "replies.csv", "--experts", "minilm", "--out", "audit.json")
    return call


def test_label_studio_accepts_config_tasks_and_predictions(tool, replies, audit):
    audit("export", "audit.json", "--format", "label-studio", "--to", "tasks.json")
    (replies / "config.xml").write_text(audit("interop", "label-studio-config"))
    code = """
import json
from label_studio_sdk.label_interface import LabelInterface

interface = LabelInterface(open("config.xml").read())
interface.validate()
tasks = json.load(open("tasks.json"))
print([interface.validate_prediction(row) for task in tasks for row in task["predictions"]])
"""
    assert tool("label-studio").run_script(code, replies) == "[True, True]"
    tasks = json.loads((replies / "tasks.json").read_text())
    for task in tasks:  # as people export them
        result = task["predictions"][0]["result"]
        task["annotations"] = [{"completed_by": n, "result": result} for n in (1, 2)]
    (replies / "export.json").write_text(json.dumps(tasks))
    answers = audit("interop", "answers", "export.json")
    assert answers.splitlines()[0] == "item,person,field,value"
    assert len(answers.splitlines()) == 5
    (replies / "answers.csv").write_text(answers)
    assert "verdict" in audit("agreement", "answers.csv")


def test_argilla_reads_records_and_gives_answers_back(tool, replies, audit):
    audit("export", "audit.json", "--format", "argilla", "--to", "records.json")
    code = """
import json
import uuid
import argilla as rg

records = [rg.Record.from_dict(row) for row in json.load(open("records.json"))]
for record in records:
    for user in (1, 2):
        person = uuid.UUID(int=user)
        record.responses.add(rg.Response("verdict", "fine", user_id=person, status="submitted"))
json.dump([record.to_dict() for record in records], open("export.json", "w"), default=str)
print([record.suggestions["verdict"].agent is not None for record in records])
"""
    assert tool("argilla").run_script(code, replies) == "[True, True]"
    rows = audit("interop", "answers", "export.json").splitlines()
    assert len(rows) == 5
    assert rows[1].endswith(",verdict,fine")
