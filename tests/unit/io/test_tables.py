"""A user's table is read row by row, and what is wrong is said by line."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moralscope.core.errors import InputError
from moralscope.io.tables import TableFile

ROWS = [{"item": "1", "note": "a, “b”"}, {"item": "2", "note": "line\nbreak"}]


def written(tmp_path, kind):
    path = tmp_path / f"table.{kind}"
    if kind == "csv":
        path.write_text('\ufeffitem,note\n1,"a, “b”"\n\n2,"line\nbreak"\n', "utf-8")
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n", "utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "ndjson", "parquet"])
def test_every_format_gives_the_same_rows(tmp_path, kind):
    found = list(TableFile(written(tmp_path, kind)).rows(["item"]))
    assert [row for _, row in found] == ROWS


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_missing_column_is_named(tmp_path, kind):
    with pytest.raises(InputError, match=r"has no column 'person' \(columns: item, note\)"):
        list(TableFile(written(tmp_path, kind)).rows(["item", "person"]))


def test_bad_lines_are_told_by_number(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"item": 1}\nno json\n[1]\n{"item": "\xff"}\n')
    found = dict(TableFile(path).rows(["item"]))
    assert found == {
        1: {"item": 1},
        2: "is not JSON",
        3: "is not an object",
        4: "is not valid UTF-8 (byte 0xff at 11)",
    }
    path = tmp_path / "a.csv"
    path.write_text("item,note\n1\n2,b\n", "utf-8")
    assert list(TableFile(path).rows()) == [
        (2, "has 1 cells, the header 2"),
        (3, {"item": "2", "note": "b"}),
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"x", "not a table"),
        ("a.parquet", b"x", "is not Parquet"),
        ("a.csv", b"item,item\n", "names a column twice"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, name, content, problem):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        list(TableFile(path).rows(["item"]))
    with pytest.raises(InputError, match="cannot be read"):
        list(TableFile(tmp_path / "none.csv").rows())


def test_a_file_in_another_encoding_is_told_how_to_be_saved(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("item,note\n1,café\n".encode("cp1252"))
    table = TableFile(path)
    assert list(table.good_rows()) == []
    with pytest.raises(InputError, match=r"line 2 is not valid UTF-8 .*; save the file as UTF-8"):
        table.check()
    path.write_bytes("item,note\n1,a\n".encode("utf-16"))
    with pytest.raises(InputError, match=r"line 1 is not valid UTF-8 .*; save the file as UTF-8"):
        list(TableFile(path).rows(["item"]))


@pytest.mark.parametrize(("sign", "called"), [(";", "semicolons"), ("\t", "tabs")])
@pytest.mark.parametrize("columns", [None, {"item": "item"}])
def test_a_spreadsheet_of_another_country_is_told_apart_from_a_missing_column(
    tmp_path, sign, called, columns
):
    path = tmp_path / "a.csv"
    path.write_text(f"item{sign}note\n1{sign}a\n")
    with pytest.raises(InputError, match=f"separated by {called}: save the file with commas"):
        list(TableFile(path, columns=columns).rows(["item"]))


def test_of_many_columns_the_first_are_named_and_the_others_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{n}" for n in range(300)) + "\n")
    with pytest.raises(InputError, match=r"\(columns: c0, .*c7 and 292 more\)"):
        list(TableFile(path).rows(["item"]))
