"""What can be walked through is not yet a list."""

from collections.abc import Sequence

import pytest

from moralscope.core.decode import decode
from moralscope.core.errors import InputError


@pytest.mark.parametrize("kind", [list[str], Sequence[str], tuple[str, ...], tuple[str, str]])
@pytest.mark.parametrize("plain", ["ab", {"a": 1, "b": 2}, None, 3])
def test_a_text_or_a_mapping_is_no_list(kind, plain):
    with pytest.raises(InputError, match="not a list"):
        decode(kind, plain, "a.json")
    assert list(decode(kind, ["a", "b"])) == ["a", "b"]
