"""`--columns`: ours=theirs by commas, or one line that says what is wrong."""

import pytest

from moralscope.core.errors import InputError
from moralscope.io.tables import parse_columns


@pytest.mark.parametrize("told", ["", "prompt", "prompt=", "=Q", "prompt=a,prompt=b"])
def test_columns_that_cannot_be_read_are_refused(told):
    with pytest.raises(InputError, match="--columns has '"):
        parse_columns(told)


def test_a_name_that_is_not_ours_is_told_what_is_near():
    with pytest.raises(InputError, match="did you mean 'reply'"):
        parse_columns("replay=A", ("prompt", "reply"))


def test_two_names_for_one_column_are_refused():
    with pytest.raises(InputError, match="names a column twice"):
        parse_columns("prompt=Q,reply=Q")


def test_columns():
    assert parse_columns(None) == {}
    assert parse_columns(" prompt = the question ,reply=b,") == {
        "prompt": "the question",
        "reply": "b",
    }
