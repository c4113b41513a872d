"""The pages on gates cannot drift: every figure is in the table, every gate can be read."""

import re
from pathlib import Path

import pytest
import yaml

from moralscope.axes.compare import FIGURES as ENCODER_FIGURES
from moralscope.runs.compare import AUDIT_FIGURES, FIGURES
from moralscope.stats.gates import parse_gate

DOCS = Path(__file__).parents[2] / "docs"
RUN_FIGURES = {**FIGURES, **AUDIT_FIGURES}


def test_every_figure_of_runs_is_documented():
    section = (
        (DOCS / "compare.md").read_text("utf-8").split("## Saved runs")[1].split("## People")[0]
    )
    told = set(re.findall(r"`(\w+)`", section))
    by_foundation = {f"flagged_change{name}" for name in told if name.startswith("_")}
    assert set(RUN_FIGURES) <= told | by_foundation


@pytest.mark.parametrize("page", ["compare.md", "ci-gate.md"])
def test_every_gate_on_the_page_can_be_read(page):
    text = (DOCS / page).read_text("utf-8")
    gates = re.findall(r'--gate "([^"]+)"', text)
    assert gates
    for gate in gates:
        parse_gate(gate, {**RUN_FIGURES, **ENCODER_FIGURES})


def test_the_workflow_is_yaml_and_keeps_what_was_found():
    (block,) = re.findall(
        r"^```yaml\n(.*?)^```", (DOCS / "ci-gate.md").read_text("utf-8"), re.M | re.S
    )
    flow = yaml.safe_load(block)
    steps = flow["jobs"]["compare"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert any(
        "moralscope compare --runs" in command and "--gate" in command for command in commands
    )
    assert steps[-1]["if"] == "always()"
