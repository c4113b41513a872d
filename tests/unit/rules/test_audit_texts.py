"""Texts that are no replies: one, a file, a corpus; the same verdict everywhere, and bad input."""

import json

import pyarrow.parquet as pq
import pytest

from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.pages.audit import audit_page
from moralscope.rules.audit import AuditOptions, audit, prepare_auditor
from moralscope.rules.records import Exchange

TEXTS = ["I will kill them all.", "What a nice day it was."]


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")

    def call(*words):
        with pytest.raises(SystemExit) as caught:
            main(["audit", *words, "--experts", "scripted"])
        done = capsys.readouterr()
        return caught.value.code, done.out + done.err

    return call


def rows(path, name="text"):
    path.write_text("".join(json.dumps({name: text}) + "\n" for text in TEXTS))
    return path


def test_a_text_is_read_as_a_reply_without_a_prompt():
    record = audit(text=TEXTS[0], experts="scripted")
    alone = audit(prompt="", reply=TEXTS[0], experts="scripted")
    (text,), (reply,) = record.results, alone.results
    assert text.verdict.probability == reply.verdict.probability
    assert record.config["texts"] is True
    assert "texts" not in alone.config


@pytest.mark.slow
def test_one_text_a_file_and_a_corpus_give_one_verdict(run, tmp_path):
    path = rows(tmp_path / "texts.jsonl", "body")
    single = [audit(text=text, experts="scripted").results[0] for text in TEXTS]
    many = audit(file=path, texts=True, columns="text=body", experts="scripted").results
    assert [row.verdict for row in many] == [row.verdict for row in single]
    words = (str(path), "--texts", "--columns", "text=body", "--out", str(tmp_path / "out"))
    code, output = run(*words)
    assert code == 0, output
    parts = [pq.read_table(part) for part in sorted((tmp_path / "out").rglob("*.parquet"))]
    scores = [score for part in parts for score in part.column("score").to_pylist()]
    assert scores == [row.verdict.score for row in single]


def test_the_page_speaks_of_texts(tmp_path):
    record = audit(file=rows(tmp_path / "texts.jsonl"), texts=True, experts="scripted")
    assert audit_page(record).title == "Audit of texts"


def test_a_text_that_nobody_can_read_is_said_to_be_a_text():
    record = audit(
        [Exchange("", ""), Exchange("", "你好")], AuditOptions(experts="scripted", texts=True)
    )
    assert [row.verdict.reason for row in record.results] == [
        "the text is empty",
        "the text is not in Latin script",
    ]
    assert any("2 of 2 texts were not judged" in line for line in record.warnings)


def test_texts_have_limits_of_their_own_and_a_config_goes_before_them(tmp_path, monkeypatch):
    points = {"scripted": {"bad": 0.25}}
    monkeypatch.setattr("moralscope.rules.load_auditor.TEXT_POINTS", points)
    limit = {
        texts: prepare_auditor(AuditOptions(experts="scripted", texts=texts)).auditor.thresholds.bad
        for texts in (False, True)
    }
    assert limit == {False: 0.85, True: 0.25}
    path = tmp_path / "limits.toml"
    path.write_text("bad = 0.9\n")
    chosen = prepare_auditor(AuditOptions(experts="scripted", texts=True, config=path))
    assert chosen.auditor.thresholds.bad == 0.9


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--text", "a", "--reply", "b"], "give --text alone"),
        (["--text", "a", "texts.jsonl"], "give one of them"),
        (["--text", "a", "--revise"], "writes better replies"),
        (["texts.jsonl"], "no column 'prompt'"),
        (["texts.jsonl", "--texts", "--columns", "text=body"], "no column 'body'"),
        (["texts.jsonl", "--texts", "--columns", "prompt=text"], "prompt"),
        (["texts.jsonl", "--texts", "--against", "texts.jsonl"], "leave it out for texts"),
        (
            ["texts.jsonl", "texts.jsonl", "--text", "a", "--out", "folder"],
            "are not for a corpus",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    argv, message, run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows(tmp_path / "texts.jsonl")
    code, output = run(*argv)
    assert code == 2, output
    assert message in " ".join(output.split())
    assert "Traceback" not in output


def test_python_refuses_a_text_beside_a_reply():
    with pytest.raises(InputError, match="give --text alone"):
        audit(text="a", reply="b", experts="scripted")
