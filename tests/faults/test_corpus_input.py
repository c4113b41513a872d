"""Bad input of the corpus runner: one clear line, or a failed row and the run goes on."""

import errno
import gzip
import json
import os
import shutil
from collections import namedtuple

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from moralscope.batch import columns, parquet_rows, reading
from moralscope.batch.parquet_rows import open_parquet
from moralscope.batch.plan import make_plan
from moralscope.batch.sources import open_corpus
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.io import formats

Usage = namedtuple("Usage", "total used free")


def opened(path, data, needed=("text",)):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_corpus([str(path)], list(needed))


def refused(match, *paths, **options):
    with pytest.raises(InputError, match=match) as caught:
        open_corpus([str(path) for path in paths], ["text"], **options)
    assert "\n" not in str(caught.value)
    return caught.value


def everything(corpus, rows=4):
    found = [corpus.read(block) for block in corpus.blocks(rows)]
    good = [text for each in found for text in each.table.column("text").to_pylist()]
    return good, [bad for each in found for bad in each.failed]


# disks


def test_a_50_gb_file_on_a_small_disk_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    packed = gzip.compress(b'{"text": "kill time"}\n' * 400_000, mtime=0)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed)
    with path.open("r+b") as stream:
        stream.truncate(300_000_000)  # sparse; its start says how much larger it gets
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(9e10, 8e10, 10_000_000_000))
    error = refused(r"unpacking 1 file needs about \d+\.\d GB and .* has 10\.0 GB", path)
    assert "free space" in error.remedy


def test_a_disk_that_fills_while_unpacking_leaves_no_half_file(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"kill time\n" * 1000, mtime=0))
    left = iter([10**12, 1000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, next(left)))
    refused("is full while unpacking", path, scratch=tmp_path / "s")
    assert list((tmp_path / "s").iterdir()) == []


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_a_packed_file_cut_short_is_refused(tmp_path, packing):
    data = b"text\n" + os.urandom(5000).hex().encode()
    whole = (
        gzip.compress(data, mtime=0) if packing == "gz" else pa.compress(data, "zstd", asbytes=True)
    )
    (tmp_path / f"a.csv.{packing}").write_bytes(whole[:-40])
    refused("is not a complete (gzip|zstd) file", tmp_path, scratch=tmp_path / "_s")
    assert list((tmp_path / "_s").iterdir()) == []


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_disk_that_fills_while_planning_leaves_no_half_plan(tmp_path, monkeypatch, call):
    corpus = opened(tmp_path / "a.csv", "text\na\nb\n")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(MoralscopeError, match=r"could not be written \(No space left"):
        make_plan(corpus, ["text"], tmp_path / "p.sqlite", block_rows=1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


# names and folders


def test_nothing_to_read_is_said(tmp_path):
    refused("has no file that can be read", tmp_path)
    refused("is not there; check the path", tmp_path / "no.csv")
    refused("the pattern .* has no file", tmp_path / "*.csv")
    (tmp_path / "a.txt").write_text("text")
    refused("is not a table that can be read", tmp_path / "a.txt")
    (tmp_path / "a.parquet.gz").write_bytes(b"x")
    refused("is not a table that can be read", tmp_path / "a.parquet.gz")


def test_empty_files_are_refused_when_named_and_passed_over_in_a_folder(tmp_path):
    (tmp_path / "empty.csv").touch()
    refused("is empty", tmp_path / "empty.csv")
    refused("is empty, as are all files", tmp_path)
    (tmp_path / "full.csv").write_text("text\na\n")
    assert everything(open_corpus([str(tmp_path)], ["text"]))[0] == ["a"]


def test_a_header_without_rows_is_said_when_planned(tmp_path):
    corpus = opened(tmp_path / "a.csv", "text\n")
    with pytest.raises(InputError, match="the inputs have no rows"):
        make_plan(corpus, ["text"], tmp_path / "p.sqlite", block_rows=4)


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.parquet", b"text\nkill time\n", "something else"),
        ("a.parquet", b'{"text": "a"}\n', "JSON lines"),
        ("a.csv", b"PAR1\x15\x04", "Parquet"),
        ("a.csv", b'{"text": "a"}\n', "JSON lines"),
        ("a.jsonl", gzip.compress(b"{}", mtime=0), "gzip"),
        ("a.jsonl", b'[{"text": "a"}]', "one JSON array"),
        ("a.csv", "text\n".encode("utf-16"), "UTF-16 text"),
        ("a.csv", b"PK\x03\x04", "a zip file or a spreadsheet"),
        ("a.csv", b"te\0xt\nab", "no text"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, name, data, what):
    (tmp_path / name).write_bytes(data)
    refused(f"is named {os.path.splitext(name)[1]} and holds {what}", tmp_path / name)


def test_files_that_no_row_can_be_read_from_are_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text("text\nkill time\n")
    refused("line 1 is not JSON, nor is any line after it", tmp_path / "a.jsonl")
    (tmp_path / "a.csv").write_bytes(b"te\xe4xt\na\n")
    refused("has no CSV header .line 1 is not UTF-8", tmp_path / "a.csv")
    pq.write_table(pa.table({"text": ["a"] * 99}), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:-9])
    refused("is not a complete Parquet file", tmp_path / "a.parquet")


# columns


def test_mixed_schemas_name_both_files_and_the_column(tmp_path):
    (tmp_path / "1.csv").write_text("text,n\na,1\n")
    (tmp_path / "2.csv").write_text("n,text\n2,b\n")  # another order is no other schema
    assert everything(open_corpus([str(tmp_path)], ["text"]))[0] == ["a", "b"]
    (tmp_path / "3.csv").write_text("text,m\nc,3\n")
    refused("3.csv has no column 'n' and .*1.csv has", tmp_path)
    (tmp_path / "3.csv").write_text("text,n,m\nc,3,4\n")
    refused("1.csv has no column 'm' and .*3.csv has", tmp_path)


def test_mixed_types_name_both_files_and_the_column(tmp_path):
    pq.write_table(pa.table({"text": ["a"], "n": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"text": ["b"], "n": pa.nulls(1)}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"text": ["c"], "n": [0.5]}), tmp_path / "3.parquet")
    corpus = open_corpus([str(tmp_path)], ["text"])
    assert everything(corpus)[0] == ["a", "b", "c"]
    assert str(corpus.schema.field("n").type) == "double"
    pq.write_table(pa.table({"text": ["c"], "n": ["x"]}), tmp_path / "4.parquet")
    refused("column 'n' is double in .*1.parquet and string in .*4.parquet", tmp_path)


def test_missing_double_and_untyped_columns_are_refused(tmp_path):
    for name, data in (("a.csv", "txt,n\n"), ("a.jsonl", '{"txt": 1, "n": 2}\n')):
        (tmp_path / name).write_text(data)
        refused(r"has no column 'text' \(columns: txt, n\)", tmp_path / name)
    (tmp_path / "a.csv").write_text("text,text\na,b\n")
    refused("names the column 'text' twice", tmp_path / "a.csv")
    pq.write_table(pa.table({"text": [[1]]}), tmp_path / "a.parquet")
    refused("holds list<.*> under 'text', not text", tmp_path / "a.parquet")


# rows


def test_lines_that_are_not_utf8_fail_alone(tmp_path):
    corpus = opened(tmp_path / "a.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n{"text": "b"}\n')
    good, bad = everything(corpus, rows=1)
    assert good == ["a", "b"]
    assert [(each.row, each.line, each.reason) for each in bad] == [(1, 2, "is not UTF-8")]
    assert "\ufffd" in bad[0].text
    corpus = opened(tmp_path / "a.csv", b'text,n\n"a\xff\n",1\n"b\nb",2\n')
    good, bad = everything(corpus)
    assert good == ["b\nb"]
    assert [(each.row, each.line, each.reason) for each in bad] == [(0, 2, "is not UTF-8")]


def test_half_characters_and_endless_nesting_fail_alone(tmp_path):
    deep = '{"text": ' + "[" * 100_000 + "}"
    corpus = opened(
        tmp_path / "a.jsonl", f'{{"text": "\\ud83d"}}\n{deep}\n{{"text": "\\ud83d\\ude00"}}'
    )
    good, bad = everything(corpus)
    assert good == ["\U0001f600"]
    assert [each.reason for each in bad] == [
        "holds half a character (a lone surrogate)",
        "is not JSON",
    ]
    assert len(bad[1].text) == 2000


def test_text_of_parquet_that_is_not_utf8_fails_alone(tmp_path):
    broken = pa.StringArray.from_buffers(
        3, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xffb")
    )
    pq.write_table(pa.table({"text": broken}), tmp_path / "a.parquet")
    good, bad = everything(open_corpus([str(tmp_path / "a.parquet")], ["text"]))
    assert good == ["a", "b"]
    assert [(each.row, each.reason) for each in bad] == [(1, "is not UTF-8 under 'text'")]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_huge_line_fails_alone_and_is_never_held(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(formats, "MAX_LINE", 1000)
    monkeypatch.setattr(reading, "MAX_BLOCK_BYTES", 2000)
    form = "{}\n" if kind == "csv" else '{{"text": "{}"}}\n'
    rows = "".join(form.format(text) for text in ["a", "x" * 50_000, "b"])
    corpus = opened(tmp_path / f"a.{kind}", "text\n" * (kind == "csv") + rows)
    blocks = list(corpus.blocks(10))
    assert [block.rows for block in blocks] == [2, 1]  # a block ends when it has bytes enough
    good, bad = everything(corpus, rows=10)
    assert good == ["a", "b"]
    assert [(each.row, each.reason[:14]) for each in bad] == [(1, "has more than ")]
    assert len(bad[0].text) <= 2000


def test_a_text_that_is_too_long_fails_alone(tmp_path):
    long = "x" * 500_001
    rows = [{"text": "a"}, {"text": long}, {"text": "x" * 500_000}]
    corpus = opened(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    good, bad = everything(corpus)
    assert [len(text) for text in good] == [1, 500_000]
    assert bad[0].reason == "has 500,001 characters under 'text', at most 500,000"
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert everything(open_corpus([str(tmp_path / "a.parquet")], ["text"]))[1][0].row == 1
    corpus = opened(tmp_path / "a.csv", f"text\na\n{long}\nb\n")
    good, bad = everything(corpus, rows=1)
    assert (good, bad[0].line) == (["a", "b"], 3)


def test_wrong_cell_counts_and_stray_quotes_fail_alone(tmp_path):
    data = 'text,n\na,1\nb\nc,2,3\n"d"x,4\ne 5" pipe,5\n\nf,6\n"open,7\ng,8\n'
    corpus = opened(tmp_path / "a.csv", data)
    for size in (1, 3, 100):
        good, bad = everything(corpus, rows=size)
        assert good == ["a", 'e 5" pipe', "f"]
        assert [(each.line, each.reason.split(" (")[0]) for each in bad] == [
            (3, "has 1 cells, the header 2"),
            (4, "has 3 cells, the header 2"),
            (5, "isn't valid CSV: text follows a closing quote"),
            (9, "isn't valid CSV: a quote is never closed"),
        ]


def test_quoted_line_breaks_never_are_a_boundary(tmp_path):
    cells = [f'line {n}\n"said",\r\nend' for n in range(9)]
    quoted = "".join('"{}",{}\n'.format(c.replace('"', '""'), n) for n, c in enumerate(cells))
    corpus = opened(tmp_path / "a.csv", f"text,n\n{quoted}")
    for size in range(1, 10):
        assert everything(corpus, rows=size) == (cells, [])


@pytest.mark.parametrize("block_rows", [10, 3000])
def test_names_without_end_are_refused(tmp_path, block_rows, monkeypatch):
    monkeypatch.setattr(columns, "_MAX_COLUMNS", 30)
    rows = "".join(f'{{"text": "a", "id{n}": 1}}\n' for n in range(300))
    corpus = opened(tmp_path / "a.jsonl", '{"text": "a"}\n' * 9999 + rows)
    with pytest.raises(InputError, match="more than 30 names"):
        make_plan(corpus, ["text"], tmp_path / "p.sqlite", block_rows=block_rows)


# damage and loss


def damaged(path, groups=3, rows=3000):
    """Write a Parquet file whose middle row group is torn."""
    texts = [f"{n} {os.urandom(8).hex()}" for n in range(groups * rows)]
    pq.write_table(
        pa.table({"text": texts, "n": list(range(len(texts)))}),
        path, row_group_size=rows, use_dictionary=False, data_page_size=4096,
    )  # fmt: skip
    column = pq.read_metadata(path).row_group(1).column(0)
    data = bytearray(path.read_bytes())
    at = column.data_page_offset + column.total_compressed_size * 9 // 10
    data[at : at + 300] = os.urandom(300)
    path.write_bytes(data)
    return texts


def test_a_torn_row_group_fails_and_the_rest_is_read(tmp_path):
    texts = damaged(tmp_path / "a.parquet")
    corpus = open_corpus([str(tmp_path / "a.parquet")], ["text"])
    good, bad = everything(corpus, rows=500)
    assert 3000 > len(bad) > 0
    rows = {each.row for each in bad}
    assert rows <= set(range(3000, 6000))
    assert good == [text for n, text in enumerate(texts) if n not in rows]
    assert "the row group is damaged" in bad[0].reason
    open_parquet.cache_clear()
    for block in list(corpus.blocks(500))[::-1]:  # the same rows, in whatever order they are asked
        found = corpus.read(block)
        wanted = set(range(block.first, block.first + block.rows))
        assert {each.row for each in found.failed} == rows & wanted
    plan = make_plan(corpus, ["text"], tmp_path / "p.sqlite", block_rows=700)
    assert (plan.rows, plan.failed, plan.distinct) == (9000, len(bad), 9000 - len(bad))


def test_a_damaged_piece_in_the_middle_of_text_fails_and_the_rest_is_read(tmp_path):
    rows = [f'{{"text": "row {n}"}}\n'.encode() for n in range(300)]
    rows[100:110] = [os.urandom(20).replace(b"\n", b"\xff") + b"\n" for _ in range(10)]
    good, bad = everything(opened(tmp_path / "a.jsonl", b"".join(rows)), rows=16)
    assert len(good) == 290
    assert [each.row for each in bad] == list(range(100, 110))


def test_a_file_that_vanishes_or_changes_says_how_to_go_on(tmp_path):
    path = tmp_path / "a.jsonl"
    corpus = opened(path, '{"text": "a"}\n{"text": "b"}\n')
    first, second = corpus.blocks(1)
    path.write_text('{"text": "a"}\n')
    with pytest.raises(MoralscopeError, match=r"has changed since .* continue with --resume"):
        corpus.read(second)
    path.write_text('{"text": "c"}\n{"text": "b"}\n')  # as long as it was, another text
    with pytest.raises(MoralscopeError, match="has changed since"):
        corpus.read(first)
    path.unlink()
    with pytest.raises(MoralscopeError, match=r"cannot be read \(No such file.* with --resume"):
        corpus.read(first)


class Share(MemoryFileSystem):
    """A network share that can go away."""

    protocol = "share"
    store = {}  # noqa: RUF012 - as its base has it
    pseudo_dirs = [""]  # noqa: RUF012
    reads_left = None

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("share://"))

    def _open(self, path, *args, **options):
        file = super()._open(path, *args, **options)
        read = file.read

        def counted(size=-1):
            if Share.reads_left is not None:
                Share.reads_left -= 1
                if Share.reads_left < 0:
                    raise OSError("stale file handle")  # no number, as drivers do
            return read(size)

        file.read = counted
        return file


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_network_share_that_vanishes_stops_the_run_and_fails_no_row(tmp_path, monkeypatch, kind):
    fsspec.register_implementation("share", Share, clobber=True)
    monkeypatch.setattr(Share, "store", {})
    monkeypatch.setattr(parquet_rows, "_BUFFER", 4096)
    texts = [os.urandom(300).hex() for _ in range(6000)]
    data = "".join(f'{{"text": "{text}"}}\n' for text in texts).encode()
    if kind == "parquet":
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"text": texts}), sink, use_dictionary=False)
        data = sink.getvalue().to_pybytes()
    Share().pipe(f"/logs/a.{kind}", data)
    open_parquet.cache_clear()
    corpus = open_corpus(["share://logs"], ["text"])
    blocks = corpus.blocks(500)
    assert corpus.read(next(blocks)).table.num_rows == 500
    monkeypatch.setattr(Share, "reads_left", 1)
    with pytest.raises(MoralscopeError, match=r"cannot be read \(stale.*continue with --resume"):
        all(corpus.read(block).failed == [] or pytest.fail("a failed row") for block in blocks)
    monkeypatch.setattr(Share, "reads_left", None)
    assert everything(corpus, rows=500) == (texts, [])


def test_a_share_that_is_away_at_the_start_is_refused(monkeypatch):
    fsspec.register_implementation("share", Share, clobber=True)
    monkeypatch.setattr(Share, "store", {})
    Share().pipe("/logs/a.csv", b"text\na\n")
    monkeypatch.setattr(Share, "reads_left", 0)
    refused("share:///?logs/a.csv cannot be read .stale file handle", "share://logs/a.csv")
