"""Files of exchanges: three formats, other column names, bad lines by number."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moralscope.core.errors import InputError
from moralscope.rules.records import Exchange
from moralscope.rules.texts.exchanges import one_exchange, open_exchanges, parse_columns

ROWS = [
    {"prompt": "Do you steal?", "reply": "Never,\nI swear.", "id": "a"},
    {"prompt": "", "reply": 'I say "no", friend.', "id": "b"},
]
WANTED = [Exchange(row["prompt"], row["reply"], row["id"]) for row in ROWS]


def write(path, rows, names=("prompt", "reply", "id")):
    renamed = [dict(zip(names, row.values(), strict=True)) for row in rows]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(renamed), path)
    elif path.suffix == ".csv":
        quoted = (
            '"' + str(value).replace('"', '""') + '"' for row in renamed for value in row.values()
        )
        cells = list(quoted)
        lines = [",".join(names)]
        lines += [",".join(cells[at : at + len(names)]) for at in range(0, len(cells), len(names))]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in renamed))
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "ndjson", "parquet"])
def test_every_format_gives_the_same_exchanges(kind, tmp_path):
    found = open_exchanges(write(tmp_path / f"rows.{kind}", ROWS))
    assert list(found) == WANTED == list(found)  # it can be read again
    assert len(found) == 2


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_other_column_names(kind, tmp_path):
    path = write(tmp_path / f"rows.{kind}", ROWS, ("Q", "A", "row"))
    assert list(open_exchanges(path, parse_columns("prompt=Q,reply=A,id=row"))) == WANTED
    with pytest.raises(InputError, match=r"no column 'prompt' \(columns: Q, A, row\).*--columns"):
        open_exchanges(path)


def test_rows_without_an_id_are_numbered(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('\n{"prompt": "a", "reply": "b"}\n\n{"prompt": "a", "reply": "c", "id": 7}\n')
    assert [each.id for each in open_exchanges(path)] == ["1", "7"]


def test_bad_lines_are_named_together(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b'{"prompt": "a", "reply": "b"}\n[1]\n{"prompt": "a"}\n{"prompt": 1, "reply": "b"}\n'
        b'{"prompt": "a", "reply": null}\nnot json\n{"prompt": "\xff", "reply": "b"}\n'
    )
    with pytest.raises(InputError) as caught:
        open_exchanges(path)
    assert (
        "line 2 is not an object, line 3 has no text under 'reply', line 4 has no text under "
        "'prompt', line 5 has no text under 'reply', line 6 is not JSON and 1 more"
        in str(caught.value)
    )


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.csv", b"prompt,reply\na,b\nc\n", "line 3 has 1 cells, the header 2"),
        ("a.csv", b"prompt,reply,reply\na,b,c\n", "names a column twice"),
        ("a.csv", b'prompt,reply\na,"b\n', "line 2 isn't valid CSV: a quote is never closed"),
        ("a.csv", b"prompt,reply\na,caf\xe9\n", "line 2 is not valid UTF-8"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"prompt,reply\n", "holds no rows"),
        ("a.jsonl", b"", "holds no rows"),
        ("a.jsonl", b"[" * 200_000, "line 1 is not JSON"),
        ("a.jsonl", b'{"prompt": "a", "reply": "' + b"x" * 600_000 + b'"}', "600,000 characters"),
        (
            "a.jsonl",
            b'{"prompt": "a", "reply": "' + b"x" * 5_000_000,
            "line 1 has more than",
        ),
        ("a.parquet", b"PAR1 nonsense", "is not Parquet"),
        ("a.txt", b"hello", "is not a file that audit reads"),
    ],
)
def test_bad_files_are_refused(name, content, line, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=line):
        open_exchanges(path)


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none.jsonl", tmp_path / "none.parquet"):
        with pytest.raises(InputError, match="cannot be read"):
            open_exchanges(path)
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        open_exchanges(folder)


@pytest.mark.parametrize("text", ["prompt", "prompt=", "question=Q", "prompt=A,reply=A", ""])
def test_bad_columns_are_refused(text):
    with pytest.raises(InputError, match="--columns"):
        parse_columns(text)


def test_one_exchange_has_the_bounds_of_a_file():
    with pytest.raises(InputError, match="characters"):
        one_exchange("a", "x" * 500_001)
