"""What is installed: extras, the lock file, and an audit that says when it did not audit."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from moralscope.cli import main
from moralscope.core.errors import MissingExtra
from moralscope.core.extras import EXTRAS, require_extra
from moralscope.stories.stats import find_topics
from moralscope.words.corpora import build_corpus
from moralscope.words.spaces import TrainingSettings, train_space

ROOT = Path(__file__).parents[2]
SECURITY = ROOT / "SECURITY.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Packages that are imported by another name than they are installed by.
IMPORTED_AS = {
    "guardrails-ai": "guardrails",
    "openai-agents": "agents",
    "pyspellchecker": "spellchecker",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}
ONLY_TOOLS = ("docs", "test", "dev", "security")  # extras that src does not import


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
    corpus = build_corpus("tiny", [["give", "alms"]] * 50)
    with pytest.raises(MissingExtra, match=r'pip install "moralscope\[words\]"'):
        train_space(corpus, TrainingSettings(dimensions=4), seed=1)
    with pytest.raises(MissingExtra, match=r'--topics 0.* pip install "moralscope\[words\]"'):
        find_topics([])


def modules_of(requirements):
    """Return the modules that requirements install for us, less our own extras."""
    names = [re.split(r"[\[<>=;]", line)[0] for line in requirements]
    kept = [name for name in names if name != "moralscope"]
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in kept}


def imported_modules():
    """Return what the source imports of others, at the top, lazily or for types."""
    modules = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules.add(node.module)
    tops = {name.split(".")[0] for name in modules}
    return tops - set(sys.stdlib_module_names) - {"moralscope"}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    extras = PROJECT["optional-dependencies"]
    base = modules_of(PROJECT["dependencies"])
    assert imported_modules() <= base.union(*EXTRAS.values())
    assert base <= imported_modules()
    assert not {"openai", "accelerate"} & base.union(*EXTRAS.values())
    assert extras["all"] == ["moralscope[serve,annotate,batch,train,figures]"]
    declared = {name: modules_of(lines) for name, lines in extras.items()}
    for name in (*ONLY_TOOLS, "all"):
        del declared[name]
    assert declared == {name: set(modules) for name, modules in EXTRAS.items()}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_is_one_line_that_names_the_command(extra, monkeypatch):
    monkeypatch.setitem(sys.modules, EXTRAS[extra][0], None)
    with pytest.raises(MissingExtra, match=rf'pip install "moralscope\[{extra}\]"') as caught:
        require_extra(extra, "this")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("module", "extra", "words"),
    [
        ("uvicorn", "serve", ["serve"]),
        ("sqlalchemy", "annotate", ["annotate", "status", "there"]),
        ("pyarrow", "batch", ["score", "--file", "a.csv", "--out", "parts/"]),
        (
            "matplotlib",
            "figures",
            ["score", "kill time", "--encoder", "scripted", "--figure", "f.svg"],
        ),
    ],
)
def test_a_command_without_its_extra_names_it(module, extra, words, tmp_path, monkeypatch, capsys):
    """Whatever raises: a check of ours, or an import somewhere below."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("action\nkill time\n")
    for name in [*sys.modules]:
        if name.split(".")[0] == module or name.startswith(
            ("moralscope.annotation.", "moralscope.batch.")
        ):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit) as caught:
        main(words)
    said = capsys.readouterr().err
    assert caught.value.code == 2, said
    assert said.count("\n") == 1
    assert said.endswith(f"needs the extra '{extra}'; pip install \"moralscope[{extra}]\"\n")


def test_the_extra_serve_is_enough_to_serve():
    code = "import sys\nfor name in ('pyarrow', 'fsspec.core', 'sqlalchemy', 'matplotlib'):\n"
    code += "    sys.modules[name] = None\n"
    code += "import moralscope.server.site, moralscope.server.api, moralscope.server.guard\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """A folder with our wheel."""
    folder = tmp_path_factory.mktemp("index")
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]
    subprocess.run(wheel, check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_uv_installs_the_lock_by_its_checksums_and_the_wheel(version, index, tmp_path):
    if (uv := shutil.which("uv")) is None:
        pytest.skip("uv is not installed")
    install = [uv, "pip", "install", "-q", "--no-deps", "--target", tmp_path / "site"]
    install += ["--python-version", version]
    (tmp_path / "cpu.lock").write_text(cuda_left_out(ROOT / "requirements.lock"))
    subprocess.run([*install, "--require-hashes", "-r", tmp_path / "cpu.lock"], check=True)
    subprocess.run([*install, "--no-index", "--find-links", index, "moralscope"], check=True)
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        words = ["-m", "moralscope", "audit", "--reply", "Hello.", "--experts", "scripted"]
        subprocess.run(
            [sys.executable, "-S", *words],  # sees no package but these
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
            cwd=tmp_path,
            check=True,
        )


@pytest.mark.slow
def test_the_base_install_from_an_index_measures_and_audits_without_extras(index, tmp_path):
    """In a fresh environment, by its name, from a folder of wheels."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = [python, "-m", "pip"]
    install = [*pip, "install", "-q", "-c", ROOT / "constraints.txt", "moralscope"]
    subprocess.run([*install, "--find-links", index], check=True, timeout=900)
    shown = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json"], capture_output=True, check=True
    )
    installed = {row["name"].lower() for row in json.loads(shown.stdout)}
    assert not installed & {"fastapi", "uvicorn", "sqlalchemy", "matplotlib", "pyarrow", "openai"}
    script = """
import moralscope
print(moralscope.audit(prompt="Hi!", reply="Hello you.", experts="scripted").results[0].reply)
print(moralscope.score(["kill time"], encoder="scripted").results[0].action)
"""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*words):
        return subprocess.run(
            [python, *words],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=300,
            check=False,
        )

    ours = run("-c", script)
    assert ours.stdout.split("\n")[:2] == ["Hello you.", "kill time"], ours.stderr
    assert run("-m", "moralscope", "--help").returncode == 0
    audited = run(
        *["-m", "moralscope", "audit", "--reply", "Hello.", "--experts", "scripted", "--json"]
    )
    assert json.loads(audited.stdout)["job"] == "audit"
    refused = run("-m", "moralscope", "serve")
    assert refused.returncode == 2
    assert refused.stderr == (
        "error: the page needs the extra 'serve'; pip install \"moralscope[serve]\"\n"
    )


def test_three_versions_of_python_are_declared():
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


def test_the_lock_has_all_that_running_needs_with_checksums_as_constraints_pin_it(
    monkeypatch, capsys
):
    lock = script("lock", monkeypatch)
    assert lock.main(["--check"]) == 0, capsys.readouterr().out
    locked = lock.locked_packages(lock.LOCK.read_text("utf-8"))
    assert {"torch", "numpy", "fastapi", "pyarrow", "sqlalchemy", "matplotlib"} <= set(locked)
    assert len(locked["numpy"][1]) > 20  # wheels of every Python on every platform


def cuda_left_out(lock):
    """Return a lock as the page on security says."""
    line = re.search(r"^(sed .*) requirements.lock > cpu.lock$", SECURITY.read_text("utf-8"), re.M)
    command = [*shlex.split(line[1]), lock]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_cuda_can_be_left_out_of_the_lock_as_the_page_on_security_says(monkeypatch):
    lock = script("lock", monkeypatch)
    rest = cuda_left_out(lock.LOCK)
    whole, rest = map(lock.locked_packages, (lock.LOCK.read_text("utf-8"), rest))
    assert {name.partition("-")[0] for name in set(whole) - set(rest)} == {
        *("cuda", "nvidia", "triton")
    }
    assert all(whole[name] == pin for name, pin in rest.items())


def test_a_lock_made_from_other_requirements_is_told(monkeypatch, tmp_path, capsys):
    lock = script("lock", monkeypatch)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (tmp_path / "pyproject.toml").write_text(project.replace('"numpy>=2.0"', '"numpy>=2.1"'))
    (tmp_path / "constraints.txt").write_text((ROOT / "constraints.txt").read_text("utf-8"))
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    assert lock.main(["--check"]) == 1
    assert "made from other requirements" in capsys.readouterr().out


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
