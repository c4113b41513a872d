"""Results as JUnit XML, SARIF and Markdown, weights as the hub reads them, by the command line."""

import json
from xml.etree import ElementTree

import pytest

from moralscope.cli import main
from moralscope.core.records import RunRecord, to_plain
from moralscope.interop.exports import read_results, sarif
from moralscope.rules.records import Alignment, AuditedReply, RuleFinding, Verdict
from moralscope.stats.gates import check_gate, parse_gate

from .conftest import ROOT, example

HOSTILE = "I lie @everyone <img src=x onerror=a()> `code` | ]]> \x01\n![x](http://e.vil/x.png)"


def finding(text="It is wrong to lie.", severity=5.0):
    broken = Alignment("disagree", {"disagree": 0.9, "agree": 0.05, "neither": 0.05})
    return RuleFinding(text, "rulebook", broken, severity, 5.0)


@pytest.fixture
def record(tmp_path):
    gate = check_gate(parse_gate("flagged<=0.1", ["flagged"]), {"": {"flagged": 0.5}})
    rows = [
        AuditedReply("a", "Hi!", "Hello.", (), Verdict(False, 0.6, "breaks none")),
        AuditedReply("b", "So?", HOSTILE, (finding(),), Verdict(True, -0.9, "breaks “…”")),
        AuditedReply("c", "So?", "Hm.", (finding(severity=2.0),), Verdict(True, -0.4, "breaks")),
        AuditedReply("d", "?", "😀", (), Verdict(False, 0.0, "no words", status="abstained")),
    ]
    made = RunRecord("audit", 0, {"source": "replies.jsonl"}, [], rows, {"gate": gate})
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(to_plain(made)))
    return path


def export(*words):
    with pytest.raises(SystemExit) as ended:
        main(["export", *map(str, words)])
    return ended.value.code


def test_junit_fails_flagged_replies_and_skips_abstentions(record, tmp_path):
    assert export(record, "--to", tmp_path / "a.xml") == 0
    suite = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "3", "1")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed[0].startswith("reply b: I lie @everyone <img")
    assert failed[2] == "flagged<=0.1"
    assert "breaks: It is wrong to lie." in suite[1].find("failure").text


def test_sarif_names_file_line_rule_and_level(record, tmp_path):
    assert export(record, "--to", tmp_path / "a.sarif") == 0
    run = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["It is wrong to lie."]
    assert [each["level"] for each in run["results"]] == ["error", "warning"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("replies.jsonl", 2)


def test_sarif_keeps_to_its_schema(record):
    """The parts of SARIF 2.1.0's schema that readers insist on."""
    whole = json.loads(sarif(read_results(json.loads(record.read_text()))))
    assert (whole["version"], list(whole)) == ("2.1.0", ["$schema", "version", "runs"])
    for each in whole["runs"][0]["results"]:
        assert set(each) == {"ruleId", "level", "message", "locations"}
        assert each["message"]["text"]


def test_a_summary_for_a_pull_request_holds_no_live_text(record, tmp_path):
    assert export(record, "--to", tmp_path / "a.md") == 0
    text = (tmp_path / "a.md").read_text()
    assert "**2 of 4 replies flagged**, no verdict on 1." in text
    assert "❌ gate `flagged<=0.1`: flagged is 0.5" in text
    row = next(line for line in text.splitlines() if "@everyone" in line)
    cell = row.split(" | `b`")[0].removeprefix("| ")
    assert cell[0] == cell[-1] == "`"
    assert "`" not in cell[1:-1]
    assert "|" not in cell[1:-1].replace("\\|", "")


def test_a_summary_goes_to_stdout_by_itself(record, capsys):
    assert export(record) == 0
    assert capsys.readouterr().out.startswith("## moralscope audit: `replies.jsonl`")


def test_a_gate_of_any_run_is_exported(tmp_path, capsys):
    gate = check_gate(parse_gate("r>=0.5", ["r"]), {"": {"r": 0.7}})
    made = RunRecord("compare", 0, {}, [], [], {"gate": gate})
    (tmp_path / "c.json").write_text(json.dumps(to_plain(made)))
    assert export(tmp_path / "c.json", "--format", "junit") == 0
    assert 'tests="1" failures="0"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "words", "told"),
    [
        ('{"schema": "moralscope.run/1", "job": "score", "results": [], "config": {}}', [], "gate"),
        ("rules: []", [], "is not JSON"),
        ('{"a": 1}', [], "is not a run record"),
        ("{}", ["--to", "a.txt"], "could be of any format"),
        ("{}", ["--format", "pdf"], "format is 'pdf'"),
    ],
)
def test_what_cannot_be_exported_is_told_in_a_line(content, words, told, tmp_path, capsys):
    (tmp_path / "run.json").write_text(content)
    assert export(tmp_path / "run.json", *words) == 2
    said = capsys.readouterr().err.strip()
    assert told in said
    assert "\n" not in said


def test_a_damaged_result_is_told_in_a_line(record, capsys):
    plain = json.loads(record.read_text())
    del plain["results"][0]["verdict"]
    record.write_text(json.dumps(plain))
    assert export(record) == 2
    assert "row 1 has no 'verdict'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rules-mpnet", "stories-minilm", "rules-smollm2"])
def test_weights_become_a_folder_that_the_hub_reads(name, tmp_path):
    from huggingface_hub import ModelCard

    assert export(name, "--to", tmp_path / "hub") == 0
    card = ModelCard.load(tmp_path / "hub" / "README.md")
    assert card.data.library_name == "peft"
    assert card.data.base_model.count("/") == 1
    assert card.data.license == "apache-2.0"
    assert card.data.eval_results
    config = json.loads((tmp_path / "hub" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == card.data.base_model
    facts = json.loads((tmp_path / "hub" / "expert.json").read_text())
    results = tmp_path / "hub" / ".eval_results" / "moral_stories.yaml"
    is_measured = name.startswith("stories") and "test" in facts["card"]["metrics"]
    assert results.exists() == is_measured


def test_test_figures_on_moral_stories_become_evaluation_results():
    import yaml
    from huggingface_hub import parse_eval_result_entries

    from moralscope.interop.hub import eval_results

    card = {"metrics": {"test": {"action+norm": 0.86, "loss": 0.3}}, "command": "stories train"}
    text = eval_results({"tasks": {"action+norm": ["bad", "good"]}, "card": card})
    (entry,) = parse_eval_result_entries(yaml.safe_load(text))
    assert (entry.dataset_id, entry.task_id, entry.value) == (
        "demelin/moral_stories",
        "action+norm",
        0.86,
    )
    assert eval_results({"tasks": {"alignment": []}, "card": card}) == ""


def test_weights_that_are_not_there_are_told_with_the_nearest(capsys, tmp_path):
    assert export("rules-mpnett", "--to", tmp_path / "hub") == 2
    assert "did you mean 'rules-mpnet'" in capsys.readouterr().err


def test_the_workflow_of_the_docs_comments(record, tmp_path):
    """Its own lines, in a shell; `gh` is written down in place of being asked."""
    import os
    import subprocess
    import sys

    import yaml

    steps = yaml.safe_load(example("interop-ci.md", "yaml"))["jobs"]["audit"]["steps"]
    named = {step["name"]: step for step in steps if "name" in step}
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in (
        ("moralscope", f'exec {sys.executable} -m moralscope "$@"'),
        ("gh", 'echo "$@" > asked; cp audit.md commented'),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "RECORD": str(record),
    }
    step = named["Comment"]
    assert step["if"] == named["Code scanning"]["if"] == "always()"
    line = step["run"].replace("${{ github.event.number }}", "7")
    subprocess.run(["bash", "-ec", line], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "asked").read_text().startswith("pr comment 7 --body-file audit.md")
    assert "2 of 4 replies flagged" in (tmp_path / "commented").read_text()
