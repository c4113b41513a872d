"""What other tools read is in the wheel: tasks, the assertion, the entry point."""

import zipfile

import pytest

from .conftest import ROOT

pytestmark = pytest.mark.slow


def test_the_wheel_holds_what_other_tools_read(tool, tmp_path):
    done = tool("notebook").run(
        *("python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"),
        *("-w", tmp_path, ROOT),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as found:
        names = set(found.namelist())
        points = next(name for name in names if name.endswith("entry_points.txt"))
        assert "moralscope = moralscope.interop.inspect_ai" in found.read(points).decode()
    tasks = ROOT / "src" / "moralscope" / "interop" / "lm_eval_tasks"
    expected = {f"moralscope/interop/lm_eval_tasks/{path.name}" for path in tasks.iterdir()}
    assert {name for name in expected if "__pycache__" not in name} <= names
    assert "moralscope/interop/promptfoo.py" in names
