"""What a small model says of texts, on real weights."""

import pytest

from moralscope.models.language import load_language_model
from moralscope.models.language.text_check import CHECKER, TextCheck

ASKED = "My roommate never does the dishes."
GOOD = "I would talk to him calmly and agree on who washes up on which day."


@pytest.mark.slow
def test_what_reads_badly_or_answers_something_else_does_not_pass():
    check = TextCheck(load_language_model(CHECKER))
    good, garbled, other, alone = check.read(
        [
            (ASKED, GOOD),
            (ASKED, "him would on washes I who agree to day which calmly talk up and."),
            (ASKED, "The capital of France is Paris, and it lies on the river Seine."),
            ("", GOOD),
        ]
    )
    assert [good.passes, garbled.passes, other.passes, alone.passes] == [True, False, False, True]
    assert good.relevance > other.relevance
