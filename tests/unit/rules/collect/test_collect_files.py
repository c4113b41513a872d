"""Prompts in, exchanges out."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moralscope.core.errors import InputError
from moralscope.rules.collect.chatbots import CollectedExchange
from moralscope.rules.collect.files import read_prompts, write_exchanges


def texts(path, **given):
    return [(prompt.id, prompt.text) for prompt in read_prompts(path, **given).prompts]


def test_lines_are_named_by_their_numbers_and_blank_ones_skipped(tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("\ufeffDo you steal?\n\n  Do you lie? \r\nDo you steal?\n", "utf-8")
    found = read_prompts(path)
    assert [(one.id, one.text) for one in found.prompts] == [
        ("1", "Do you steal?"),
        ("3", "Do you lie?"),
    ]
    assert (found.read, dict(found.left_out)) == (3, {"repeated": 1})


def test_tables_have_ids_and_other_columns(tmp_path):
    rows = [{"Q": "Do you steal?", "id": "a"}, {"Q": "Do you lie?", "id": 7}, {"Q": " ", "id": 8}]
    jsonl, parquet, table = (tmp_path / f"p.{kind}" for kind in ("jsonl", "parquet", "csv"))
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist([{**row, "id": str(row["id"])} for row in rows]), parquet)
    table.write_text("id,Q\na,Do you steal?\n7,Do you lie?\n8, \n")
    for path in (jsonl, parquet, table):
        found = read_prompts(path, {"prompt": "Q"})
        assert [(one.id, one.text) for one in found.prompts] == [
            ("a", "Do you steal?"),
            ("7", "Do you lie?"),
        ]
        assert dict(found.left_out) == {"empty": 1}


def test_a_column_named_reply_is_not_needed_and_not_read(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("prompt,reply\nDo you lie?,\n")
    assert texts(path) == [("1", "Do you lie?")]


def test_the_same_id_twice_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("id,prompt\na,One?\na,Two?\n")
    with pytest.raises(InputError, match="has the id 'a' 2 times"):
        read_prompts(path)


ROWS = [
    CollectedExchange(
        "1/b",
        'Say "hi", ok?',
        "=1+1\nline, two\r\n\x00€",
        "b",
        keywords=("a", "b*"),
        sufficient=0.75,
    ),
    CollectedExchange("2/b", "Q", "A", "b", dropped="no keyword"),
]


def test_only_what_was_kept_is_written_with_all_columns(tmp_path):
    wanted = {
        "id": "1/b",
        "prompt": 'Say "hi", ok?',
        "reply": ROWS[0].reply,
        "chatbot": "b",
        "keywords": "a|b*",
        "sufficient": 0.75,
        "moral": None,
    }
    places = {kind: tmp_path / f"x.{kind}" for kind in ("jsonl", "csv", "parquet")}
    assert [write_exchanges(ROWS, path) for path in places.values()] == [1, 1, 1]
    assert [json.loads(line) for line in places["jsonl"].read_text().splitlines()] == [wanted]
    assert pq.read_table(places["parquet"]).to_pylist() == [wanted]
    with places["csv"].open(newline="", encoding="utf-8") as stream:
        assert list(csv.DictReader(stream)) == [{**wanted, "sufficient": "0.75", "moral": ""}]


def test_nothing_kept_is_a_file_without_rows(tmp_path):
    for kind in ("jsonl", "csv", "parquet"):
        assert write_exchanges(ROWS[1:], tmp_path / f"x.{kind}") == 0
        assert (tmp_path / f"x.{kind}").exists()
