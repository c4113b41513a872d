"""Corpus runs as a person types them, on scripted models; one test starts real workers."""

import json

import pytest

from moralscope.batch import run as batch_run

from ...corpus_inline import ACTIONS, EXCHANGES, Inline, table_of, write_rows

AUDIT = ("--experts", "scripted")
SCORE = ("--encoder", "scripted")


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batch_run, "engine_for", Inline)


@pytest.fixture
def actions(tmp_path):
    return write_rows(
        tmp_path / "actions.jsonl", [{"id": n, "action": a} for n, a in enumerate(ACTIONS)]
    )


@pytest.fixture
def replies(tmp_path):
    return write_rows(tmp_path / "replies.jsonl", EXCHANGES)


def test_score_over_a_corpus(run, actions, tmp_path):
    code, out, err = run("score", "--file", actions, "--out", "out/", "--report", "r.html", *SCORE)
    assert code == 0, err
    assert "6 rows (5 distinct) in 1 parts" in out
    assert table_of(tmp_path / "out").column_names == [
        "id", "action", "score", "low", "high", "unread", "_row",
    ]  # fmt: skip
    assert "Scores of a corpus" in (tmp_path / "r.html").read_text()
    code, _, err = run("score", "--file", actions, "--out", "out", *SCORE)
    assert (code, err.count("\n")) == (2, 1)
    assert "has a run already; continue with --resume" in err
    before = (tmp_path / "out/_run/record.json").read_text()
    code, out, _ = run("score", "--file", actions, "--out", "out", "--resume", "--json", *SCORE)
    assert code == 0
    plain = json.loads(out)
    assert plain["statistics"]["corpus"]["resumed_parts"] == 1
    assert (tmp_path / "out/_run/record.json").read_text() == before  # it stays as it is


@pytest.mark.parametrize("out", ["run.json", None])
def test_one_file_and_one_record_stay_what_they_were(run, actions, out, tmp_path):
    place = () if out is None else ("--out", out)
    code, printed, _ = run("score", "--file", actions, "--json", *place, *SCORE)
    assert code == 0
    assert [row["action"] for row in json.loads(printed)["results"]] == ACTIONS
    assert out is None or len(json.loads((tmp_path / out).read_text())["results"]) == 6


def test_a_text_file_and_a_name_without_suffix_are_no_corpus(run, tmp_path):
    (tmp_path / "a.txt").write_text("kill time\nsmile\n")
    code, _, _ = run("score", "--file", "a.txt", "--out", "record", *SCORE)
    assert code == 0
    assert len(json.loads((tmp_path / "record").read_text())["results"]) == 2
    code, _, _ = run("score", "smile", "--out", "another", *SCORE)
    assert code == 0
    assert (tmp_path / "another").is_file()


@pytest.mark.parametrize("given", ["folder", "glob", "url", "parquet"])
def test_what_is_a_corpus_by_itself(run, actions, given, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "logs"
    folder.mkdir()
    pq.write_table(pa.table({"action": ACTIONS[:2]}), folder / "a.parquet")
    names = {
        "folder": folder,
        "glob": folder / "*.parquet",
        "url": f"file://{folder}/a.parquet",
        "parquet": folder / "a.parquet",
    }
    code, _, err = run("score", "--file", names[given], *SCORE)
    assert code == 2
    assert "this is a corpus run" in err
    assert "add --out DIR" in err
    code, _, err = run("score", "--file", names[given], "--out", "out", *SCORE)
    assert code == 0, err
    assert table_of(tmp_path / "out").num_rows == 2


def test_audit_over_several_files_with_a_gate(run, replies, tmp_path):
    more = write_rows(tmp_path / "more.jsonl", EXCHANGES[:2])
    code, out, err = run("audit", replies, more, "--out", "out", "--gate", "abstained<=0", *AUDIT)
    assert code == 3
    assert err.splitlines()[-1].startswith("error: gate not met: abstained is")
    assert "of 7 replies flagged" in out
    assert json.loads((tmp_path / "out/_run/record.json").read_text())["statistics"]["gate"]
    assert table_of(tmp_path / "out").column("flag").null_count == 0


def test_limit_and_columns(run, tmp_path):
    path = write_rows(
        tmp_path / "a.jsonl", [{"Q": "Hi?", "A": f"I stare at {n}."} for n in range(9)]
    )
    words = ("audit", path, "--columns", "prompt=Q,reply=A", "--limit", "4", "--out", "out")
    assert run(*words, *AUDIT)[0] == 0
    assert table_of(tmp_path / "out").column("A").to_pylist()[-1] == "I stare at 3."


def test_collect_over_a_corpus(run, replies, tmp_path):
    words = ("collect", replies, "--bot", "scripted", "--filters", "none", "--lexicon", "none")
    code, out, err = run(*words, "--out", "out", "--limit", "2")
    assert code == 0, err
    assert table_of(tmp_path / "out").column("dropped").null_count == 2
    assert "neither empty nor too long" in out
    assert "with moral content" not in out  # no filter ran
    code, _, err = run(*words, "--out", "out", "--limit", "2", "--no-resume")
    assert "has a run already" in err


def test_a_dry_run_prints_and_writes_nothing(run, actions, tmp_path, monkeypatch):
    monkeypatch.setattr("moralscope.batch.estimate.in_child", lambda call, *given: call(*given))
    words = ("score", "--file", actions, "--dry-run", "--price-per-hour", "2", "--out", "out")
    code, out, err = run(*words, *SCORE)
    assert code == 0, err
    assert "6" in out
    assert "cost" in out
    assert list(tmp_path.iterdir()) == [actions]
    code, out, _ = run(*words, "--json", *SCORE)
    assert json.loads(out)["statistics"]["estimate"]["distinct"] == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sample", "0"), "sample is 0"),
        (("--engine", "ray", "--price-per-hour", "2"), "belongs to --dry-run"),
        (("--gpus", "0.5"), "belong to --engine ray"),
        (("--engine", "sparc"), "there is no engine 'sparc'"),
        (("--human", "h.csv", "--limit", "1"), "--human cannot be used over a corpus"),
        (("--columns", "actoin=a", "--limit", "1"), "did you mean"),
        (("--axis", "choice", "--norm", "Be kind.", "--limit", "1"), "has no option 'norm'"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(run, actions, words, said):
    code, _, err = run("score", "--file", actions, "--out", "out", *words, *SCORE)
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "rows"),
        ('{"act": "kill"}\n', "action"),
        (None, "is not there"),
    ],
)
def test_bad_files_are_refused_in_one_line(run, tmp_path, content, said):
    path = tmp_path / "in.jsonl"
    if content is not None:
        path.write_text(content)
    code, _, err = run("score", "--file", path, "--out", "out/", *SCORE)
    assert code in (1, 2)
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").glob("part*"))


def test_packed_files_are_unpacked_for_the_run_only(run, actions, tmp_path):
    import gzip

    packed = tmp_path / "actions.jsonl.gz"
    packed.write_bytes(gzip.compress(actions.read_bytes()))
    code, _, err = run("score", "--file", packed, "--out", "out", *SCORE)
    assert code == 0, err
    assert table_of(tmp_path / "out").num_rows == 6
    assert not (tmp_path / "out/_run/unpacked").exists()


@pytest.mark.slow
def test_two_real_workers_make_the_same_bytes_as_none(run, actions, tmp_path, monkeypatch):
    assert run("score", "--file", actions, "--out", "one", *SCORE)[0] == 0
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    words = ("score", "--file", actions, "--out", "two", "--workers", "2", *SCORE)
    assert run(*words)[0] == 0
    one, two = ((tmp_path / name / "part-000000.parquet").read_bytes() for name in ("one", "two"))
    assert one == two
