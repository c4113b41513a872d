"""README and docs cannot drift: their shell lines and Python blocks are run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# .ci/run runs the two set-up lines themselves, in a fresh environment.
SET_UP = re.compile(r"^pip install -c constraints\.txt \S+ && ")


def blocks(language):
    for page in PAGES:
        for number, (kind, text) in enumerate(BLOCK.findall(page.read_text("utf-8"))):
            if kind == language:  # each block loads a model: only the README's are fast enough
                marks = () if page.name == "README.md" else pytest.mark.slow
                yield pytest.param(text, id=f"{page.name}-{number}", marks=marks)


def environment():
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


@pytest.fixture(scope="module")
def place(tmp_path_factory, minilm_folder):
    return tmp_path_factory.mktemp("docs")


def run(command, place):
    done = subprocess.run(
        command, cwd=place, env=environment(), capture_output=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("text", list(blocks("sh")))
def test_shell_lines_run(text, place):
    lines = [SET_UP.sub("", line) for line in text.splitlines()]
    lines = [line for line in lines if line and line != "pytest"]
    run(["bash", "-euo", "pipefail", "-c", "\n".join(lines)], place)


@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_blocks_run(text, place):
    run([sys.executable, "-c", text], place)


def test_the_readme_opens_with_the_two_commands():
    text = (ROOT / "README.md").read_text("utf-8")
    assert "pip install -c constraints.txt . && moralscope demo\n" in text
    assert 'pip install -c constraints.txt ".[test]" && pytest\n' in text


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"
