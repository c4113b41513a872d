import os

import pytest

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.io.documents import MAX_BYTES, read_document
from moralscope.io.files import write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    write_whole(path, [b"old", b" text"])
    assert path.read_bytes() == b"old text"

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MoralscopeError, match=r"could not be written \(No space left"):
        write_whole(path, [b"new"])
    assert path.read_bytes() == b"old text"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"pairs .* cannot be read"):
        read_document(tmp_path / "none", "pairs", "give a file")
    path = tmp_path / "file"
    path.write_bytes(b"ok\n\xff\n")
    with pytest.raises(InputError, match="line 2 is not valid UTF-8"):
        read_document(path, "pairs", "give a file")
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="1,000,001 bytes"):
        read_document(path, "pairs", "give a file")


def test_a_byte_order_mark_is_not_text(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfjoy\n")
    assert read_document(path, "words", "").content == "joy\n"
