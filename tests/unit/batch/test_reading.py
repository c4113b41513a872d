"""Blocks cut and read: every row once, on its own, with the line it stands on."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moralscope.batch.parquet_rows import ParquetRows
from moralscope.batch.plan import make_plan
from moralscope.batch.sources import open_corpus


def opened(path, data, needed=("text",), **options):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_corpus([str(path)], list(needed), **options)


def planned(corpus, tmp_path, **options):
    options = {"block_rows": 2} | options
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", **options)
    return plan, plan.bind(corpus)


def whole(corpus, rows):
    found = [corpus.read(block) for block in reversed(list(corpus.blocks(rows)))]
    return pa.concat_tables([each.table for each in reversed(found)]).to_pylist()


def test_rows_and_lines_are_numbered_across_files_and_blank_lines(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n\n{"text": "b"}\n{"text": "c"}\n\n')
    (tmp_path / "b.csv").write_text('text\n"d\nd"\ne\n')
    corpus = open_corpus([str(tmp_path)], ["text"])
    blocks = list(corpus.blocks(2))
    assert [(b.number, b.first, b.rows, b.line) for b in blocks] == [
        (0, 0, 2, 1),
        (1, 2, 1, 4),
        (2, 3, 2, 2),
    ]
    found = [corpus.read(block) for block in blocks]
    assert [each.rows.tolist() for each in found] == [[0, 1], [2], [3, 4]]
    assert [each.lines.tolist() for each in found] == [[1, 3], [4], [2, 4]]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_blocks_read_in_any_order_give_the_file_whatever_their_size(tmp_path, kind):
    rows = [{"text": f'line\n"{n}", x', "n": str(n)} for n in range(57)]
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        cells = [[f'"{value.replace(chr(34), chr(34) * 2)}"' for value in r.values()] for r in rows]
        path.write_text("text,n\n" + "\n".join(map(",".join, cells)))
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=10)
    corpus = open_corpus([str(path)], ["text"])
    for size in (1, 4, 10, 56, 1000):
        assert whole(corpus, size) == rows


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_limit_stops_at_its_row(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"text": list("abcdefg")}), path)
    else:
        form = "{}\n" if kind == "csv" else '{{"text": "{}"}}\n'
        path.write_text("text\n" * (kind == "csv") + "".join(map(form.format, "abcdefg")))
    corpus = open_corpus([str(path)], ["text"])
    blocks = list(corpus.blocks(2, limit=5))
    assert [block.rows for block in blocks] == [2, 2, 1]
    assert corpus.read(blocks[-1]).table.column("text").to_pylist() == ["e"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.text(st.sampled_from('a",\n\r é'), max_size=6), min_size=2, max_size=2),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_any_csv_cells_come_back(tmp_path_factory, cells, size):
    import csv

    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerows([["text", "n"], *cells])
    found = whole(open_corpus([str(path)], ["text"]), size)
    assert [list(row.values()) for row in found] == cells


def test_a_sometimes_null_or_missing_column_is_null(tmp_path):
    data = '{"text": "a", "n": null}\n{"text": "b"}\n{"text": "c", "n": 3}\n{"text": "d", "m": 1.5}'
    plan, corpus = planned(opened(tmp_path / "a.jsonl", data), tmp_path)
    assert [(f.name, str(f.type)) for f in corpus.schema] == [
        ("text", "string"),
        ("n", "int64"),
        ("m", "double"),
    ]
    assert [row["n"] for row in whole(corpus, 2)] == [None, None, 3, None]
    assert plan.failed == 0


def test_a_column_of_several_types_is_carried_as_json_text(tmp_path):
    values = [1, "one", None, [1, 2], {"a": None}, True]
    data = "\n".join(json.dumps({"text": "t", "id": value}) for value in values)
    _, corpus = planned(opened(tmp_path / "a.jsonl", data), tmp_path)
    carried = [row["id"] for row in whole(corpus, 2)]
    assert [None if one is None else json.loads(one) for one in carried] == values


def test_nested_columns_are_carried_as_they_are(tmp_path):
    rows = [
        {"text": "a", "meta": {"turn": 1, "tags": ["x", "y"]}},
        {"text": "b", "meta": {"turn": 2.5, "tags": []}},
        {"text": "c", "meta": {"turn": 2**60 + 1, "who": "me"}},
    ]
    _, corpus = planned(opened(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows))), tmp_path)
    found = whole(corpus, 2)
    assert found[0]["meta"] == {"turn": 1.0, "tags": ["x", "y"], "who": None}
    assert found[2]["meta"] == {"turn": float(2**60 + 1), "tags": None, "who": "me"}
    nested = pa.table({"text": ["a", "b"], "meta": [{"x": [1, 2]}, None]})
    pq.write_table(nested, tmp_path / "n.parquet")
    assert whole(open_corpus([str(tmp_path / "n.parquet")], ["text"]), 1) == nested.to_pylist()


def test_objects_that_no_table_holds_are_carried_as_json_text(tmp_path):
    rows = [
        {"text": "a", "empty": {}, "wide": {str(n): n for n in range(300)}, "big": 2**70},
        {"text": "b", "empty": {}, "wide": {}, "big": 1},
    ]
    _, corpus = planned(opened(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows))), tmp_path)
    first = whole(corpus, 1)[0]
    assert [json.loads(first[name]) for name in ("empty", "wide", "big")] == [
        {},
        rows[0]["wide"],
        2**70,
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(corpus.read(next(corpus.blocks(9))).table, sink)  # and Parquet takes them


def test_all_blocks_have_one_schema(tmp_path):
    data = '{"text": "a", "n": 1}\n{"text": "b"}\n{"text": "c", "n": 0.5, "late": [null]}\n'
    _, corpus = planned(opened(tmp_path / "a.jsonl", data), tmp_path)
    schemas = [corpus.read(block).table.schema for block in corpus.blocks(1)]
    assert all(schema.equals(corpus.schema, check_metadata=True) for schema in schemas)
    assert str(corpus.schema.field("late").type) == "list<item: string>"


def test_rows_without_text_under_a_needed_column_fail_by_line(tmp_path):
    data = '{"text": "a"}\n{"text": null}\n{"text": 5}\n{"n": 1}\n[1]\n{"text": "b", "norm": 3}\n'
    corpus = opened(tmp_path / "a.jsonl", data, optional=["norm"])
    found = corpus.read(next(corpus.blocks(10)))
    assert found.table.column("text").to_pylist() == ["a"]
    assert [(bad.row, bad.line, bad.reason) for bad in found.failed] == [
        (1, 2, "has nothing under 'text'"),
        (2, 3, "has no text under 'text'"),
        (3, 4, "has nothing under 'text'"),
        (4, 5, "is not an object"),
        (5, 6, "has no text under 'norm'"),
    ]
    assert found.failed[2].text == '{"n": 1}'


def test_dictionary_and_large_text_columns_of_parquet_are_text(tmp_path):
    table = pa.table(
        {
            "text": pa.array(["a", None, "a"]).dictionary_encode(),
            "norm": pa.array(["x", "y", None], pa.large_string()),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    corpus = open_corpus([str(tmp_path / "a.parquet")], ["text"], optional=["norm"])
    found = corpus.read(next(corpus.blocks(10)))
    assert found.table.to_pylist() == [{"text": "a", "norm": "x"}, {"text": "a", "norm": None}]
    assert [(bad.row, bad.line) for bad in found.failed] == [(1, 2)]


def test_a_sample_is_the_same_rows_whatever_the_blocks(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "t{n}"}}\n' for n in range(400)) + "broken\n" * 40)
    corpus = open_corpus([str(path)], ["text"])
    seen = []
    for size in (7, 100):
        plan = make_plan(
            corpus, ["text"], tmp_path / f"{size}.sqlite", block_rows=size, sample=0.25, seed=3
        )
        bound = plan.bind(corpus)
        found = [bound.read(task.block) for task in plan.tasks()]
        seen.append([row for each in found for row in each.rows.tolist()])
        failed = sum(len(each.failed) for each in found)
        assert (plan.rows, plan.failed) == (len(seen[-1]) + failed, failed)
        assert 0 < failed < 40
    assert seen[0] == seen[1]
    assert 70 < len(seen[0]) < 130


def test_blocks_asked_for_in_about_their_order_decode_a_row_group_once(tmp_path, monkeypatch):
    pq.write_table(pa.table({"n": list(range(50_000))}), tmp_path / "a.parquet")
    restarts = []
    restart = ParquetRows._restart
    monkeypatch.setattr(
        ParquetRows, "_restart", lambda self, group: (restarts.append(group), restart(self, group))
    )
    file = ParquetRows(str(tmp_path / "a.parquet"))
    for start in (0, 4000, 2000, 8000, 6000, 10_000):  # two workers, not quite in step
        table, damaged = file.read(start, start + 2000)
        assert table.column("n").to_pylist() == list(range(start, start + 2000))
        assert damaged == []
    assert restarts == [0]
