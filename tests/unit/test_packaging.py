"""What is installed: extras, the lock file, and an audit that says when it did not audit."""

import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from moralscope.core.errors import MissingExtra
from moralscope.stories.stats import find_topics
from moralscope.words.corpora import build_corpus
from moralscope.words.spaces import TrainingSettings, train_space

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def script(name, monkeypatch):
    """Load a script of .ci as a module."""
    path = ROOT / ".ci" / name
    if not path.exists():
        pytest.skip("not in a checkout")
    loader = SourceFileLoader(name.replace("-", "_"), str(path))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setitem(sys.modules, loader.name, module)  # dataclasses look their module up
    loader.exec_module(module)
    return module


@pytest.fixture
def without_gensim(monkeypatch):
    for name in [each for each in sys.modules if each.split(".")[0] == "gensim"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gensim", None)


def test_gensim_comes_with_an_extra_and_is_named_where_it_is_missing(without_gensim):
    assert not any(each.startswith("gensim") for each in PROJECT["dependencies"])
    assert any(each.startswith("gensim") for each in PROJECT["optional-dependencies"]["words"])
    corpus = build_corpus("tiny", [["give", "alms"]] * 50)
    with pytest.raises(MissingExtra, match=r"pip install 'moralscope\[words\]'"):
        train_space(corpus, TrainingSettings(dimensions=4), seed=1)
    with pytest.raises(MissingExtra, match=r"pip install 'moralscope\[words\]', or .*--topics 0"):
        find_topics([])


def test_three_versions_of_python_are_declared():
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


def test_the_lock_has_all_that_running_needs_with_checksums_as_constraints_pin_it(
    monkeypatch, capsys
):
    lock = script("lock", monkeypatch)
    assert lock.main(["--check"]) == 0, capsys.readouterr().out
    assert len(lock.locked_packages(lock.LOCK.read_text("utf-8"))) > 60


def test_a_lock_that_does_not_fit_is_told(monkeypatch, tmp_path, capsys):
    lock = script("lock", monkeypatch)
    text = lock.LOCK.read_text("utf-8")
    monkeypatch.setattr(lock, "LOCK", tmp_path / "requirements.lock")
    lock.LOCK.write_text(text.replace("\nnumpy==", "\nnumpy==0."))
    assert lock.main(["--check"]) == 1
    assert "numpy is 0." in capsys.readouterr().out


def test_an_audit_that_could_ask_nobody_fails_and_says_so(monkeypatch, capsys):
    audit = script("audit-dependencies", monkeypatch)
    monkeypatch.setattr(audit, "ask", lambda service, requirements: None)
    monkeypatch.setattr(audit, "audit_licences", lambda allowed: [])
    assert audit.main([]) == audit.NOT_ASKED == 4
    assert "NOT AUDITED: neither PyPI nor OSV can be asked" in capsys.readouterr().out


def test_an_audit_of_a_part_is_no_success_and_a_known_hole_is_a_failure(monkeypatch, capsys):
    audit = script("audit-dependencies", monkeypatch)
    monkeypatch.setattr(audit, "audit_licences", lambda allowed: [])
    answers = iter(
        [audit.Answer([], 3, ["torch"])] * 2 + [audit.Answer([("a", "1", ["X"])], 3, [])]
    )
    monkeypatch.setattr(audit, "ask", lambda service, requirements: next(answers))
    assert audit.main([]) == 4
    assert "1 of 3 packages were NOT AUDITED (torch)" in capsys.readouterr().out
    assert audit.main([]) == 1


def test_nothing_of_the_package_is_ignored_by_git_since_the_wheel_would_lack_it():
    if not (ROOT / ".git").exists():
        pytest.skip("not in a checkout")
    listed = ["git", "-C", str(ROOT), "ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert subprocess.run(listed, capture_output=True, check=True, text=True).stdout == ""
