"""Files of the project itself: workflows, templates, the release script, doors into CI systems."""

import os
import re
import subprocess
import sys
from datetime import date
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
if not (ROOT / ".ci").exists():
    pytest.skip("not in a checkout", allow_module_level=True)
ACTION = yaml.safe_load((ROOT / "deploy" / "github-action" / "action.yml").read_text("utf-8"))
GITLAB = yaml.safe_load((ROOT / "deploy" / "gitlab.yml").read_text("utf-8"))


@pytest.fixture(scope="module")
def release():
    loader = SourceFileLoader("release", str(ROOT / ".ci" / "release"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"],
)
def test_a_file_of_the_project_parses(path):
    assert yaml.safe_load(path.read_text("utf-8"))


def test_workflows_call_parts_that_exist():
    parts = (ROOT / "dev").read_text("utf-8")
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    matrix = flow["jobs"]["part"]["strategy"]["matrix"]
    doors = flow["jobs"]["doors"]["steps"][-1]["run"]
    assert "browser" in matrix["part"]
    for part in [*matrix["part"], *re.findall(r"\./dev (\w+)", doors)]:
        assert f"\n  {part})" in parts
    assert flow[True]["schedule"]  # YAML reads the key "on" as true
    assert os.access(ROOT / "dev", os.X_OK)


def test_pre_commit_runs_the_linters_of_ci():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    entries = {hook["entry"].split(" --fix")[0] for repo in hooks for hook in repo["hooks"]}
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    assert all(entry in run for entry in entries)


@pytest.fixture
def tree(tmp_path):
    """A tree of which 0.9.0 was released, with a section of 0.10.0."""
    for name in ("src/moralscope", "tests/unit"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "src" / "moralscope" / "version.py").write_text('__version__ = "0.9.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.10.0\n\n- `bench`.\n\n## 0.9.0\n")
    (tmp_path / "CITATION.cff").write_text((ROOT / "CITATION.cff").read_text("utf-8"))
    (tmp_path / "tests" / "unit" / "public_api.json").write_text('{"version": "0.9.0"}')
    return tmp_path


def test_a_release_is_refused_with_its_reason(release, tree):
    assert release.check(tree, "0.10.0", clean=False) == []
    assert "no section" in release.check(tree, "0.11.0", clean=False)[0]
    assert "comes before" in release.check(tree, "0.8.0", clean=False)[0]
    assert "is no version" in release.check(tree, "next", clean=False)[0]
    (tree / "tests" / "unit" / "public_api.json").write_text('{"version": "0.8.0"}')
    assert release.check(tree, "0.10.0", clean=False) == [
        "tests/unit/public_api.json holds the names of 0.8.0, but 0.9.0 came before"
    ]
    text = (tree / "CHANGELOG.md").read_text()
    assert release.changelog_section(text, "0.10.0") == "- `bench`."
    assert release.number("0.10.0") > release.number("0.9.9") > release.number("0.9.9rc1")


def test_a_version_is_set_where_it_is_read_and_cited(release, tree):
    for version in ("0.10.0", "0.11.0"):
        release.set_version(tree, version)
    text = (tree / "src" / "moralscope" / "version.py").read_text()
    assert text == '__version__ = "0.11.0"\n'
    text = (tree / "CITATION.cff").read_text()
    cited = yaml.safe_load(text)
    assert text.count("\nversion: ") == text.count("\ndate-released: ") == 1
    assert cited["version"] == "0.11.0"
    assert cited["date-released"] <= date.today()


@pytest.mark.slow
def test_a_dry_run_builds_what_would_be_released_and_changes_nothing(release, tmp_path):
    if find_spec("hatchling") is None or find_spec("cyclonedx") is None:
        pytest.skip("hatchling and cyclonedx-python-lib are not installed")
    version = release.number  # the newest section is what would be released
    sections = [line[3:] for line in (ROOT / "CHANGELOG.md").open() if line.startswith("## ")]
    newest = max((line.strip() for line in sections), key=version)
    command = [sys.executable, ROOT / ".ci" / "release", newest, "--dry-run", "--out", tmp_path]
    before = subprocess.run(["git", "status"], cwd=ROOT, capture_output=True, check=True).stdout
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(path.name for path in tmp_path.iterdir())
    assert f"moralscope-{newest}-py3-none-any.whl" in names
    assert f"moralscope-{newest}.tar.gz" in names
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    after = subprocess.run(["git", "status"], cwd=ROOT, capture_output=True, check=True).stdout
    assert after == before


def test_the_page_on_ci_names_inputs_variables_and_outputs_that_exist():
    page = (ROOT / "docs" / "interop-ci.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    flow, template = map(yaml.safe_load, blocks)
    (step,) = [row for row in flow["jobs"]["audit"]["steps"] if row.get("id") == "audit"]
    assert step["uses"].partition("/moralscope/")[2].partition("@")[0] == "deploy/github-action"
    needed = {name for name, row in ACTION["inputs"].items() if row.get("required")}
    assert needed <= set(step["with"]) <= set(ACTION["inputs"])
    assert set(re.findall(r"steps\.audit\.outputs\.(\w+)", page)) <= set(ACTION["outputs"])
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == set(ACTION["inputs"])
    assert (ROOT / template["include"][0]["file"].lstrip("/")).exists()
    assert template["audit"]["extends"] in GITLAB
    assert set(template["audit"]["variables"]) <= set(GITLAB[".moralscope"]["variables"])


def test_a_workflow_that_downloads_artifacts_may_read_them():
    page = (ROOT / "docs" / "ci-gate.md").read_text("utf-8")
    flow = yaml.safe_load(re.search(r"^```yaml\n(.*?)^```", page, re.M | re.S)[1])
    assert "gh run download" in page
    assert flow["permissions"]["actions"] == "read"


@pytest.fixture
def shell(tmp_path):
    """Run a script of a CI system in a folder with two replies, moralscope on its path."""
    replies = "prompt,reply\nHi!,Hello you.\nHi!,Reply number 2.\n"
    (tmp_path / "replies.csv").write_text(replies)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "moralscope"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m moralscope "$@"\n')
    program.chmod(0o755)

    def run(script, **environment):
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "EXPERTS": "scripted", **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("gate", "code"), [("", 0), ("score>=2", 3)])
def test_the_github_action_audits_summarises_and_holds_the_gate(shell, tmp_path, gate, code):
    script = ACTION["runs"]["steps"][-1]["run"]
    assert "${{" not in script  # inputs come as variables
    places = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    places["GITHUB_OUTPUT"] = str(tmp_path / "output")
    done = shell(script, FILE="replies.csv", RULEBOOK="", GATE=gate, **places)
    assert done.returncode == code, done.stderr
    assert "of 2 replies flagged" in (tmp_path / "summary").read_text()
    assert "sarif=" in (tmp_path / "output").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("gate", "code"), [("", 0), ("score>=2", 3)])
def test_the_gitlab_template_writes_junit_and_holds_the_gate(shell, tmp_path, gate, code):
    script = "\n".join(
        line for line in GITLAB[".moralscope"]["script"] if "pip install" not in line
    )
    done = shell(script, REPLIES="replies.csv", RULEBOOK="", GATE=gate)
    assert done.returncode == code, done.stderr
    assert "<testsuite" in (tmp_path / "audit.xml").read_text()
