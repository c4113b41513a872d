import pytest

from moralscope.core.errors import UnknownName
from moralscope.core.registry import look_up


def test_an_unknown_name_is_answered_with_the_nearest_one():
    with pytest.raises(UnknownName, match="did you mean 'use-lite'") as caught:
        look_up("encoder", "use_lite", {"minilm": 1, "use-lite": 2})
    assert caught.value.exit_code == 2
    assert "minilm" in caught.value.remedy


def test_a_name_far_from_all_gets_the_list_and_no_guess():
    with pytest.raises(UnknownName, match="there is no axis 'qqqq'; known: choice"):
        look_up("axis", "qqqq", {"choice": 1})
