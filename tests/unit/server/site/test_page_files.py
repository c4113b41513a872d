"""Uploads are read like files of the command line; what is wrong is said in their owner's words."""

import pytest

from moralscope.core.errors import InputError
from moralscope.server.site import pages
from moralscope.server.site.pages import read_upload, shipped_experts


def test_too_many_rows_are_refused_with_another_way(monkeypatch):
    monkeypatch.setattr(pages, "MAX_ROWS", 1)
    with pytest.raises(InputError, match=r"my\.csv has more than 1 rows; use the command line"):
        read_upload("my.csv", b"prompt,reply\na,b\nc,d\n")


def test_columns_are_told_whatever_stands_between_the_cells():
    found = read_upload("my.csv", b"question;answer\na;b\n")
    assert found["columns"] == ["question", "answer"]
    assert found["rows"] == [["a", "b"]]
    assert read_upload("lines.txt", b"kill time\n\nread\n")["rows"] == [["kill time"], ["read"]]


def test_objects_with_other_keys_fill_the_columns_they_have():
    found = read_upload("a.jsonl", b'{"action": "a"}\n{"action": "b", "n": 3}\n')
    assert found["rows"] == [["a", ""], ["b", "3"]]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a.csv/../../x", "", "x" * 5000])
def test_a_name_is_never_a_path(name):
    with pytest.raises(InputError) as caught:
        read_upload(name, b"prompt,reply\na,b\n")
    assert "/etc" not in caught.value.problem


def test_every_shipped_expert_says_what_it_was_trained_on():
    assert all(each.data and each.base for each in shipped_experts())
