"""Items from tables."""

import json

import pytest

from moralscope.annotation.item_files import read_items
from moralscope.core.errors import InputError


def table(tmp_path, text, name="items.csv"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


def test_csv_jsonl_and_parquet_give_the_same(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {"id": "a", "prompt": "Hi?", "reply": "No, never."},
        {"id": "b", "prompt": "Q", "reply": "R"},
    ]
    table(tmp_path, 'id,prompt,reply\na,Hi?,"No, never."\nb,Q,R\n')
    table(tmp_path, "\n".join(map(json.dumps, rows)), "items.jsonl")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "items.parquet")
    found = [read_items(tmp_path / f"items.{one}", "filter") for one in ("csv", "jsonl", "parquet")]
    assert found[0] == found[1] == found[2]
    assert [item.id for item in found[0]] == ["a", "b"]
    assert found[0][0].texts == {"prompt": "Hi?", "reply": "No, never."}


def test_what_collect_writes_keeps_the_chatbot_beside_the_texts(tmp_path):
    row = {"id": "1/bot", "prompt": "P", "reply": "R", "chatbot": "bot", "sufficient": 0.9}
    path = table(tmp_path, json.dumps(row), "collected.jsonl")
    (item,) = read_items(path, "rule-of-thumb")
    assert (item.id, item.texts) == ("1/bot", {"prompt": "P", "reply": "R", "chatbot": "bot"})


def test_items_without_id_are_named_by_their_texts(tmp_path):
    path = table(tmp_path, "action\nwave\nsmile\n")
    first, second = read_items(path, "action-yes-no")
    assert first.id != second.id
    assert read_items(path, "action-yes-no")[0].id == first.id


def test_columns_of_other_names(tmp_path):
    path = table(tmp_path, "Q,A\nHi?,No.\n")
    (item,) = read_items(path, "filter", {"prompt": "Q", "reply": "A"})
    assert item.texts == {"prompt": "Hi?", "reply": "No."}
    with pytest.raises(InputError, match="did you mean 'prompt'"):
        read_items(path, "filter", {"promt": "Q"})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("prompt\nHi?\n", "no column 'reply'"),
        ("prompt,reply\nHi?,\n", "line 2 has no text under 'reply'"),
        ("prompt,reply\nHi?,No.\nHi?,No.\n", "line 3 is the item of line 2 again"),
        ("id,prompt,reply\n1,Hi?,No.\n1,Ho?,No.\n", "line 3 is the item of line 2 again"),
        ("prompt,reply\nHi?\n", "has 1 cells"),
        ("prompt,reply\n", "holds no items"),
        ("", "is empty"),
        (f"id,prompt,reply\n{'x' * 300},a,b\n", "id that is too long"),
        (f"prompt,reply\n{'x' * 60_000},a\n", "no text that can be shown"),
    ],
)
def test_bad_tables_are_refused_by_line(tmp_path, text, problem):
    with pytest.raises(InputError) as error:
        read_items(table(tmp_path, text), "filter")
    assert problem in str(error.value)


def test_a_null_character_is_refused(tmp_path):
    path = table(tmp_path, json.dumps({"action": "a\0b"}), "a.jsonl")
    with pytest.raises(InputError, match="can be shown"):
        read_items(path, "action-yes-no")


@pytest.mark.parametrize("name", ["items.txt", "items.xlsx", "missing.csv"])
def test_other_files_are_refused(tmp_path, name):
    if name != "missing.csv":
        table(tmp_path, "x", name)
    with pytest.raises(InputError):
        read_items(tmp_path / name, "filter")


def test_a_table_does_not_say_what_is_rated(tmp_path):
    with pytest.raises(InputError, match="did you mean"):
        read_items(table(tmp_path, "text\nHi.\n"), "story-ratings")


def test_a_list_of_norms_is_offered_in_threes(tmp_path):
    norms = [f"Norm number {n}." for n in range(7)]
    path = table(tmp_path, "norm\n" + "\n".join(norms))
    items = read_items(path, "story-writing")
    assert len(items) == 3
    offered = [list(item.texts.values()) for item in items]
    assert all(len(set(three)) == 3 for three in offered)
    assert {norm for three in offered for norm in three} == set(norms)
    assert items == read_items(path, "story-writing"), "the same every time"
    with pytest.raises(InputError, match="three are offered"):
        read_items(table(tmp_path, "norm\na\nb\n"), "story-writing")
