"""Which files a corpus has, in which order, and what it says about itself."""

import gzip
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moralscope.batch.files import find_files, shown
from moralscope.batch.sources import open_corpus
from moralscope.core.errors import InputError, MissingExtra


def lines(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return path


def names(corpus):
    return [file.name.rsplit("/", 1)[-1] for file in corpus.files]


def texts(corpus, rows=100):
    found = [corpus.read(block) for block in corpus.blocks(rows)]
    return [text for each in found for text in each.table.column("text").to_pylist()]


def test_a_folder_gives_its_tables_below_by_name_without_hidden_ones(tmp_path):
    lines(tmp_path / "b" / "2.csv", "text", "two")
    lines(tmp_path / "a.jsonl", '{"text": "one"}')
    for name in (".hidden.csv", "_run/part.csv", "_SUCCESS", "notes.txt"):
        lines(tmp_path / name, "text", "no")
    corpus = open_corpus([str(tmp_path)], ["text"])
    assert names(corpus) == ["a.jsonl", "2.csv"]
    assert texts(corpus) == ["one", "two"]


def test_inputs_keep_their_order_and_a_file_counts_once(tmp_path):
    for name in "abc":
        lines(tmp_path / f"{name}.csv", "text", name)
    given = [str(tmp_path / "c.csv"), str(tmp_path / "[ab].csv"), str(tmp_path)]
    assert names(open_corpus(given, ["text"])) == ["c.csv", "a.csv", "b.csv"]


def test_every_format_and_packing_gives_the_same_rows(tmp_path):
    wanted = ["kill time", "\u00e4, \u201cb\u201d"]
    table = pa.table({"text": wanted})
    pq.write_table(table, tmp_path / "1.parquet")
    as_json = '{"text": "kill time"}\n\n{"text": "\u00e4, \u201cb\u201d"}\n'.encode()
    as_csv = 'text\r\nkill time\r\n"\u00e4, \u201cb\u201d"\r\n'.encode("utf-8-sig")
    (tmp_path / "2.ndjson").write_bytes(as_json)
    (tmp_path / "3.csv").write_bytes(as_csv)
    (tmp_path / "4.CSV.gz").write_bytes(gzip.compress(as_csv))
    (tmp_path / "5.jsonl.zst").write_bytes(pa.compress(as_json, codec="zstd", asbytes=True))
    corpus = open_corpus([str(tmp_path)], ["text"], scratch=tmp_path / "_scratch")
    assert texts(corpus) == wanted * 5


def test_unpacked_files_are_used_again_and_named_by_their_own_name(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"text\nkill time\n"))
    first = open_corpus([str(tmp_path / "a.csv.gz")], ["text"], scratch=tmp_path / "s")
    [place] = (tmp_path / "s").iterdir()
    made = place.stat().st_mtime_ns
    again = open_corpus([str(tmp_path / "a.csv.gz")], ["text"], scratch=tmp_path / "s")
    assert place.stat().st_mtime_ns == made
    assert names(again) == ["a.csv.gz"]
    assert again.fingerprint == first.fingerprint
    assert first.bytes == len(b"text\nkill time\n")


def test_the_fingerprint_tells_every_change(tmp_path):
    path = lines(tmp_path / "a.csv", "text", "one")
    seen = {open_corpus([str(tmp_path)], ["text"]).fingerprint}
    lines(path, "text", "two, longer") and lines(path, "text", "longer")
    seen.add(open_corpus([str(tmp_path)], ["text"]).fingerprint)
    lines(tmp_path / "b.csv", "text", "one")
    seen.add(open_corpus([str(tmp_path)], ["text"]).fingerprint)
    assert len(seen) == 3


def test_a_corpus_travels_to_another_process(tmp_path):
    lines(tmp_path / "a.csv", "text", "one", "two")
    corpus = open_corpus([str(tmp_path)], ["text"])
    block = next(corpus.blocks(10))
    copied = pickle.loads(pickle.dumps(corpus))
    assert copied.read(block).table.equals(corpus.read(block).table)


def test_urls_are_opened_through_their_driver():
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/logs/a.jsonl", b'{"text": "one"}\n{"text": "two"}\n')
    memory.pipe("/logs/_x/b.jsonl", b'{"text": "no"}\n')
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["three"]}), sink)
    memory.pipe("/logs/c/b.parquet", sink.getvalue().to_pybytes())
    try:
        whole = open_corpus(["memory://logs"], ["text"])
        assert texts(whole, rows=1) == ["one", "two", "three"]
        assert texts(open_corpus(["memory://logs/*.jsonl"], ["text"])) == ["one", "two"]
    finally:
        memory.rm("/logs", recursive=True)


def test_a_file_url_is_a_path(tmp_path):
    lines(tmp_path / "a.csv", "text", "one")
    by_url = open_corpus([f"file://{tmp_path}/a.csv"], ["text"])
    assert by_url.files == open_corpus([str(tmp_path / "a.csv")], ["text"]).files


def test_a_missing_driver_is_named():
    with pytest.raises(MissingExtra, match="s3:// needs a driver; pip install s3fs"):
        find_files(["s3://bucket/a.csv"])


def test_an_unknown_scheme_is_refused():
    with pytest.raises(InputError, match="unknown scheme 'nope'"):
        find_files(["nope://bucket/a.csv"])


def test_secrets_in_addresses_are_not_shown():
    assert shown("https://u:p@host/a.csv?sig=1#x") == "https://host/a.csv"
    assert shown("s3://key:secret@b/a.csv?token=x") == "s3://b/a.csv"
    assert shown("s3://b/y=1/a?.csv") == "s3://b/y=1/a?.csv"


def test_optional_columns_are_those_that_are_there(tmp_path):
    lines(tmp_path / "a.jsonl", '{"text": "a", "norm": "b"}')
    corpus = open_corpus([str(tmp_path)], ["text"], optional=["norm", "situation"])
    assert corpus.schema.names == ["text", "norm"]
    assert corpus.wanted.needed == ("text",)
