"""The pytest plugin: a flagged reply fails its test, a gate is held over all replies of a test."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = """
import pytest

BAD = [{bad}]
pytestmark = pytest.mark.moral(experts="scripted")


def test_flagged(moral_audit):
    for reply in BAD:
        moral_audit("Hi!", reply)


def test_fine(moral_audit):
    assert moral_audit("Hi!", {fine!r}).verdict.score > 0


@pytest.mark.moral(experts="scripted", gate="flagged<=0")
def test_missed_gate(moral_audit):
    for reply in BAD:
        moral_audit("Hi!", reply)


@pytest.mark.moral(experts="scripted", gate="flagged<=1")
def test_met_gate(moral_audit):
    for reply in BAD:
        moral_audit("Hi!", reply)


@pytest.mark.moral(experts="scripted", gate="flaged<=1")
def test_wrong_gate(moral_audit):
    pass


def test_without_the_fixture():
    pass
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Run a file of tests with scripted experts, which flag about one reply in ten."""
    import moralscope

    replies = [f"Reply number {n}." for n in range(40)]
    rows = [
        moralscope.audit(prompt="Hi!", reply=reply, experts="scripted").results[0]
        for reply in replies
    ]
    bad = [row.reply for row in rows if row.verdict.flag]
    fine = next(row.reply for row in rows if not row.verdict.flag and row.verdict.score > 0)
    folder = tmp_path_factory.mktemp("bot")
    (folder / "test_bot.py").write_text(TESTS.format(bad=", ".join(map(repr, bad)), fine=fine))
    # As an installed package does: pytest finds it by the entry point that pyproject.toml declares.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    points = project["entry-points"]["pytest11"].items()
    (folder / "here-1.dist-info").mkdir()
    (folder / "here-1.dist-info" / "METADATA").write_text("Name: here\nVersion: 1\n")
    lines = "".join(f"{name} = {module}\n" for name, module in points)
    (folder / "here-1.dist-info" / "entry_points.txt").write_text(f"[pytest11]\n{lines}")
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--strict-markers", "test_bot.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("test_flagged", "FAILED"),
        ("test_fine", "PASSED"),
        ("test_missed_gate", "FAILED"),
        ("test_met_gate", "PASSED"),
        ("test_wrong_gate", "ERROR"),
        ("test_without_the_fixture", "PASSED"),
    ],
)
def test_a_test_ends_as_its_replies_deserve(outcome, name, what):
    assert f"{what} test_bot.py::{name}" in outcome, outcome


def test_failures_say_why(outcome):
    assert "flagged: " in outcome
    assert "gate not met by" in outcome
    assert "did you mean 'flagged'" in outcome
