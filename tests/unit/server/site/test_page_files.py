"""Uploads are read like files of the command line; what is wrong is said in their owner's words."""

import pytest

from moralscope.core.errors import InputError
from moralscope.server.site import pages
from moralscope.server.site.pages import plot_styles, read_upload, shipped_experts


def test_too_many_exchanges_are_refused_with_another_way(monkeypatch):
    monkeypatch.setattr(pages, "MOST_EXCHANGES", 1)
    with pytest.raises(InputError, match=r"my\.csv holds 2 exchanges; .*moralscope audit FILE"):
        read_upload("my.csv", b"prompt,reply\na,b\nc,d\n")


def test_a_missing_column_names_no_option_of_the_command_line():
    with pytest.raises(InputError) as caught:
        read_upload("my.csv", b"question,answer\na,b\n")
    assert "--" not in str(caught.value)
    assert "my.csv" in caught.value.problem


@pytest.mark.parametrize("name", ["../../etc/passwd", "a.csv/../../x", "", "x" * 5000])
def test_a_name_is_never_a_path(name):
    with pytest.raises(InputError) as caught:
        read_upload(name, b"prompt,reply\na,b\n")
    assert "/etc" not in caught.value.problem


def test_ids_of_the_file_are_kept():
    assert read_upload("a.jsonl", b'{"prompt": "a", "reply": "b", "id": "x"}')[0]["id"] == "x"


def test_every_shipped_expert_says_what_it_was_trained_on():
    assert all(each.data and each.base for each in shipped_experts())


def test_styles_of_the_plot_library_are_found():
    assert all(len(each) == 64 for each in plot_styles())
