"""promptfoo's own command runs our assertion and asks our webhook; a bad reply names its rule."""

import json
import subprocess
import sys

import pytest

from .conftest import BAD, GOOD, ROOT, example
from .serving import served

pytestmark = pytest.mark.slow


def evaluate(tool, place, config):
    (place / "promptfooconfig.yaml").write_text(config)
    done = tool("promptfoo").run(
        *("promptfoo", "eval", "--no-cache", "--no-progress-bar"),
        *("-o", "out.json", "-j", "1"),
        cwd=place,
        PROMPTFOO_PYTHON=sys.executable,
        PYTHONPATH=str(ROOT / "src"),
        PROMPTFOO_CONFIG_DIR=str(place / ".promptfoo"),
        PROMPTFOO_DISABLE_TELEMETRY="1",
        PROMPTFOO_DISABLE_UPDATE="1",
        WEBHOOK_TIMEOUT="60000",
    )
    assert (place / "out.json").exists(), done.stdout + done.stderr
    found = json.loads((place / "out.json").read_text())["results"]["results"]
    return done, {each["vars"]["reply"]: each for each in found}


@pytest.fixture
def path():
    command = [sys.executable, "-m", "moralscope", "interop", "promptfoo-path"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def python_config(path):
    return example("interop-promptfoo.md", "yaml").replace("PATH/TO/promptfoo.py", path)


def test_the_python_assertion_fails_a_bad_reply_with_the_rule(tool, tmp_path, rules, python_config):
    done, found = evaluate(tool, tmp_path, python_config)
    assert done.returncode == 100  # promptfoo's code for a failed test
    assert found[GOOD]["success"]
    bad = found[BAD]["gradingResult"]
    assert not bad["pass"]
    assert bad["reason"].startswith("flagged: ")
    reasons = [each["reason"] for each in bad["componentResults"]]
    assert "breaks “It is wrong to lie to customers.”" in reasons
    assert 0 <= bad["namedScores"]["moralscope"] < 0.5


def test_an_unknown_rulebook_fails_with_our_line(tool, tmp_path, python_config):
    _, found = evaluate(tool, tmp_path, python_config.replace("rules.yaml", "nowhere.yaml"))
    assert "rulebook nowhere.yaml cannot be read" in found[GOOD]["gradingResult"]["reason"]


def test_an_ill_formed_rulebook_fails_with_our_line_and_no_traceback(tool, tmp_path, python_config):
    (tmp_path / "rules.yaml").write_text("rules: [unclosed\n  - a: b: c\n")
    done, found = evaluate(tool, tmp_path, python_config)
    reason = found[GOOD]["gradingResult"]["reason"]
    assert reason.startswith("moralscope: rulebook rules.yaml line 2 is not YAML")
    assert "Traceback" not in reason + done.stdout + done.stderr


def test_the_webhook_fails_a_bad_reply_with_the_rule(tool, tmp_path, rules):
    with served(tmp_path, "--rulebook", rules) as address:
        config = example("interop-promptfoo.md", "yaml", 1)
        done, found = evaluate(tool, tmp_path, config.replace("http://127.0.0.1:8000", address))
    assert done.returncode == 100
    assert found[GOOD]["success"]
    assert "It is wrong to lie to customers." in found[BAD]["gradingResult"]["reason"]
