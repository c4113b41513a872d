import pytest

from moralscope.core.errors import UnknownName
from moralscope.core.registry import Registry


def test_an_unknown_name_is_answered_with_the_nearest_one():
    shelf = Registry()
    shelf.add("encoder", "minilm", object())
    shelf.add("encoder", "use-lite", object())
    with pytest.raises(UnknownName, match="did you mean 'use-lite'") as caught:
        shelf.get("encoder", "use_lite")
    assert caught.value.exit_code == 2
    assert "minilm" in caught.value.remedy


def test_a_name_far_from_all_gets_the_list_and_no_guess():
    shelf = Registry()
    shelf.add("axis", "choice", object())
    with pytest.raises(UnknownName, match="there is no axis 'qqqq'; known: choice"):
        shelf.get("axis", "qqqq")


def test_a_second_entry_of_the_same_name_is_refused():
    shelf = Registry()
    shelf.add("axis", "choice", 1)
    with pytest.raises(ValueError, match="twice"):
        shelf.add("axis", "choice", 2)
