"""README and docs cannot drift: their shell lines and Python blocks are run as they stand.

The README's lines start `moralscope` and `python` as a reader does. Those of docs/ are forked from
a process that has the heavy libraries already: importing them took most of the time.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .forking import Starter

ROOT = Path(__file__).parents[1]
README, DOCS = ROOT / "README.md", sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, *DOCS]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# .ci/run runs the two set-up lines themselves, in a fresh environment.
SET_UP = re.compile(r"^pip install -c constraints\.txt \S+ && ")


def blocks(language, page=README):
    found = enumerate(BLOCK.findall(page.read_text("utf-8")))
    return [
        pytest.param(text, id=f"{page.name}-{number}")
        for number, (kind, text) in found
        if kind == language
    ]


def options(place, *folders):
    path = os.pathsep.join(map(str, [*folders, Path(sys.executable).parent, os.environ["PATH"]]))
    environment = {**os.environ, "PATH": path}
    return {"cwd": place, "env": environment, "capture_output": True, "timeout": 300}


@pytest.fixture(scope="module")
def place(tmp_path_factory, minilm_folder):
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def starter(tmp_path_factory):
    with Starter(tmp_path_factory.mktemp("starter")) as made:
        yield made


def shell(text, place, *folders):
    lines = [SET_UP.sub("", line) for line in text.splitlines()]
    lines = [line for line in lines if line and line != "pytest"]
    command = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
    done = subprocess.run(command, check=False, **options(place, *folders))
    assert done.returncode == 0, f"{text}\n{done.stderr.decode()}"


@pytest.mark.parametrize("text", blocks("sh"))
def test_shell_lines_of_the_readme_run(text, place):
    shell(text, place)


@pytest.mark.parametrize("text", blocks("python"))
def test_python_blocks_of_the_readme_run(text, place):
    done = subprocess.run([sys.executable, "-c", text], check=False, **options(place))
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_in_their_order(page, tmp_path, minilm_folder, starter):
    for kind, text in BLOCK.findall(page.read_text("utf-8")):
        if kind == "sh":
            shell(text, tmp_path, starter.bin)
        else:
            done = starter.run(text, **options(tmp_path))
            assert done.returncode == 0, f"{text}\n{done.stderr.decode()}"


@pytest.mark.slow
def test_a_fork_fails_as_its_command_does(place, starter):
    found = starter.run("import sys; print(sys.argv); sys.exit(3)", **options(place))
    assert (found.returncode, found.stdout) == (3, b"['-c']\n")
    found = starter.run("raise ValueError('so')", **options(place))
    assert (found.returncode, found.stderr.splitlines()[-1]) == (1, b"ValueError: so")
    with pytest.raises(AssertionError, match="No such option"):
        shell("moralscope score --nonsense\ntrue", place, starter.bin)


def test_the_readme_opens_with_the_two_commands():
    text = (ROOT / "README.md").read_text("utf-8")
    assert 'pip install -c constraints.txt ".[all]" && moralscope demo\n' in text
    assert 'pip install -c constraints.txt ".[all,test]" && pytest\n' in text


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"
