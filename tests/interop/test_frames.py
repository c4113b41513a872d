"""Records as dataframes and in notebooks; a tutorial runs from top to bottom."""

import json
import runpy

import pytest

import moralscope
from moralscope.core import frames
from moralscope.core.errors import MissingExtra, UnknownName
from moralscope.core.records import RunRecord

from .conftest import ROOT

ACTIONS = ["kill people", "kill time", "<script>alert(1)</script>"]


@pytest.fixture(scope="module")
def record():
    return moralscope.score(ACTIONS, axis="choice", encoder="scripted")


def test_scores_are_a_pandas_frame_with_one_row_each(record):
    pytest.importorskip("pandas")
    frame = record.to_frame()
    assert frame["action"].to_list() == ACTIONS
    assert frame["score"].to_list() == [row.score for row in record.results]


def test_scores_are_a_polars_frame_through_arrow(record):
    pytest.importorskip("polars")
    frame = record.to_frame("polars")
    assert frame["action"].to_list() == ACTIONS


def test_an_audits_verdict_is_columns():
    pytest.importorskip("pandas")
    from moralscope.rules.audit import audit
    from moralscope.rules.records import Exchange

    frame = audit([Exchange("Hi!", "Hello you.", "a")], experts="scripted").to_frame("pandas")
    assert {"id", "reply", "verdict.flag", "verdict.score", "verdict.reason"} <= set(frame.columns)


def test_a_frame_that_is_not_installed_names_the_command(record, monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "moralscope\[dataframes\]"'):
        record.to_frame()
    with pytest.raises(UnknownName, match="no frame 'excel'"):
        record.to_frame("excel")


def test_a_notebook_shows_a_table_and_bars_and_runs_no_text(record):
    shown = record._repr_html_()
    assert shown.count("<svg") == 3
    assert shown.count("<tr>") == 4
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_long_record_is_cut_in_a_notebook():
    many = RunRecord("rank", 0, {}, [], [{"answer": str(n), "score": n / 50} for n in range(50)])
    shown = many._repr_html_()
    assert "… and 30 more" in shown
    assert shown.count("<svg") == 20


def test_a_record_without_scores_has_no_bars():
    assert "<svg" not in RunRecord("x", 0, {}, [], [{"a": 1}])._repr_html_()


RUN = """
import json, sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
print(json.dumps([[out for out in cell.get("outputs", [])] for cell in notebook.cells]))
"""


@pytest.mark.slow
def test_a_tutorial_runs_as_a_notebook(tool, tmp_path):
    pages = runpy.run_path(str(ROOT / "docs" / "site_pages.py"))
    text = (ROOT / "docs" / "tutorials" / "embedding-model.py").read_text("utf-8")
    (tmp_path / "tutorial.ipynb").write_text(json.dumps(pages["notebook"](text)))
    found = tool("notebook")
    jupyter = tmp_path / "jupyter"
    kernel = [found.folder / "bin" / "python", "-m", "ipykernel", "install", "--prefix", jupyter]
    assert found.run(*kernel, cwd=tmp_path).returncode == 0
    done = found.run(
        *(found.folder / "bin" / "python", "-c", RUN, "tutorial.ipynb"),
        cwd=tmp_path,
        JUPYTER_PATH=str(jupyter / "share" / "jupyter"),
    )
    assert done.returncode == 0, done.stderr
    outputs = [out for cell in json.loads(done.stdout.splitlines()[-1]) for out in cell]
    assert any("<svg" in out.get("data", {}).get("text/html", "") for out in outputs)
    assert any("not met: mean_change" in out.get("text", "") for out in outputs)


@pytest.mark.slow
def test_polars_gets_the_same_rows(tool, tmp_path):
    code = (
        "import moralscope\n"
        "record = moralscope.score(['kill', 'kiss'], axis='choice', encoder='scripted')\n"
        "p, q = record.to_frame('pandas'), record.to_frame('polars')\n"
        "assert p['score'].to_list() == q['score'].to_list(), (p, q)\n"
        "print(q.columns)\n"
    )
    done = tool("notebook").run("python", "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "'action', 'score'" in done.stdout
