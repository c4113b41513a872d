"""Conversations as a corpus: the verdicts of the one-file path, parts that survive a kill."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.pages import build_page
from moralscope.rules.audit import audit_conversations
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.conversation_batch import ConversationBatch

DISTINCT = 20
TOOLS = [{"type": "function", "function": {"name": "buy", "description": "Buys a thing."}}]


def talk(number):
    said = number % DISTINCT
    call = {"name": "buy", "arguments": json.dumps({"count": said})}
    return {
        "id": f"talk-{number}",
        "topic": number % 3,
        "messages": [
            {"role": "user", "content": f"Get me {said} bikes."},
            {"role": "assistant", "content": f"I steal {said} bikes and lie about it."},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": call}]},
        ],
        "tools": TOOLS,
    }


def written(path, count, more=()):
    rows = [json.dumps(row) for row in (*map(talk, range(count)), *more)]
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture
def command(capsys):
    """Run `audit` as a person types it; return what it prints."""

    def run(*words, code=0):
        with pytest.raises(SystemExit) as ended:
            main(["audit", "--experts", "scripted", *map(str, words)])
        shown = capsys.readouterr()
        assert (ended.value.code or 0) == code, shown.err
        return shown.out

    return run


def rows_of(folder):
    return [
        row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


def test_a_corpus_has_the_verdicts_of_one_file_beside_its_own_columns(tmp_path, command):
    bad = [{"id": "odd", "messages": [{"role": "wizard", "content": "?"}]}, {"id": "none"}]
    path = written(tmp_path / "talks.jsonl", 30, bad)
    record = json.loads(command("--conversation", path, "--out", f"{tmp_path}/out/", "--json"))
    rows = rows_of(tmp_path / "out")
    assert [row["id"] for row in rows] == [f"talk-{n}" for n in range(30)]
    assert {row["topic"] for row in rows} == {0, 1, 2}
    alone = audit_conversations([talk(n) for n in range(30)], experts="scripted")
    for row, result in zip(rows, alone.results, strict=True):
        assert (row["first"], row["answered"]) == (result.first, result.answered)
        assert row["score"] == pytest.approx(result.verdict.score)
        assert [turn["verdict"]["flag"] for turn in row["turns"]] == [
            turn.verdict.flag for turn in result.turns
        ]
    statistics = record["statistics"]
    assert statistics["corpus"]["distinct"] == DISTINCT + 1  # repeated ones are judged once
    assert statistics["failed"]["rows"] == 2
    reasons = " ".join(row["reason"] for row in statistics["failed"]["reasons"])
    assert "'wizard'" in reasons
    assert "nothing under 'messages'" in reasons
    for name in ("conversations", "turns", "acts", "flagged", "flagged_turns", "answered"):
        assert statistics[name] == to_plain(alone.statistics)[name], name
    assert "30 conversations" in " ".join(build_page(record).summary)


def test_parquet_may_hold_messages_as_lists_or_as_text_under_any_name(tmp_path, command):
    lists = [{"talk": talk(n)["messages"]} for n in range(4)]
    texts = [{"talk": json.dumps(row["talk"])} for row in lists]
    folders = []
    for name, rows in (("lists", lists), ("texts", texts)):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        folder = tmp_path / name
        command("--conversation", path, "--out", f"{folder}/", "--columns", "messages=talk")
        folders.append([(row["first"], row["score"]) for row in rows_of(folder)])
    assert folders[0] == folders[1]
    assert len(folders[0]) == 4


def test_an_estimate_reads_a_few_rows_and_writes_nothing(tmp_path, command):
    path = written(tmp_path / "talks.jsonl", 40)
    record = json.loads(command("--conversation", path, "--dry-run", "--json"))
    assert record["statistics"]["estimate"]["rows"] == 40
    assert list(tmp_path.iterdir()) == [path]


def test_a_gate_of_conversations_holds_for_a_corpus_and_columns_need_one(tmp_path, command):
    path = written(tmp_path / "talks.jsonl", DISTINCT)
    words = ("--conversation", path)
    command(*words, "--out", f"{tmp_path}/out/", "--gate", "flagged_turns<=0", code=3)
    command(*words, "--columns", "messages=talk", code=2)
    with pytest.raises(InputError, match="worst"):
        ConversationBatch(AuditOptions(experts="scripted", gate="worst<=1"))


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    path = tmp_path / "talks.jsonl"
    rows = [
        {**talk(n), "messages": [*talk(n)["messages"], {"role": "user", "content": f"No {n}."}]}
        for n in range(3_000)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    words = [sys.executable, "-m", "moralscope", "audit", "--experts", "scripted"]
    words += ["--conversation", str(path), "--out", f"{tmp_path}/out/", "--json"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 240
    while len(list((tmp_path / "out").glob("*.parquet"))) < 2 and time.monotonic() < until:
        assert running.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    done = subprocess.run([*words, "--resume"], capture_output=True, text=True, check=True)
    corpus = json.loads(done.stdout)["statistics"]["corpus"]
    assert (corpus["rows"], corpus["failed"]) == (3_000, 0)
    assert 2 <= corpus["resumed_parts"] < corpus["parts"]
    assert [row["id"] for row in rows_of(tmp_path / "out")] == [row["id"] for row in rows]
