"""Where sentences end."""

import pytest

from moralscope.models.language.decoding import sentence_end

SENTENCES = [
    ("Jo leaves. Ann stays.", "Jo leaves."),
    ("  Jo leaves! Ann", "Jo leaves!"),
    ("Does Jo leave? Yes.", "Does Jo leave?"),
    ("Mr. Li pays Dr. Oz back. Then", "Mr. Li pays Dr. Oz back."),
    ("J. Smith pays. Then", "J. Smith pays."),
    ("It was I. Then", "It was I."),
    ("They meet at 5 p.m. on Monday. Then", "They meet at 5 p.m. on Monday."),
    ("They meet at 5 p.m. Jo is late.", "They meet at 5 p.m."),
    ("Jo owes 3.50 euros. Then", "Jo owes 3.50 euros."),
    ("Jo came in 1990. Ann came later.", "Jo came in 1990."),
    ('Jo says "Go. Now." and leaves. Then', 'Jo says "Go. Now." and leaves.'),
    ('Jo says, "Go." Then', 'Jo says, "Go."'),
    ("Jo says “Go. Now.” Then", "Jo says “Go. Now.”"),
    ("Jo waits... and waits. Then", "Jo waits... and waits."),
    ("Jo waits... Ann leaves.", "Jo waits..."),
    ("Jo leaves\nAnn stays.", "Jo leaves"),
    ("\n\nJo leaves.\n", "Jo leaves."),
    ("Jo (who waits.) leaves. Then", "Jo (who waits.) leaves."),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_the_first_sentence(text, expected):
    assert text[: sentence_end(text)].strip() == expected


@pytest.mark.parametrize(
    "text", ["", " ", ".", "...", "Jo", "Jo owes 3.", "Mr.", 'Jo says "Go.', "at 5 p.m.", "Jo…"]
)
def test_what_may_go_on_has_no_end(text):
    assert sentence_end(text) is None


@pytest.mark.parametrize("text", ["Jo leaves.", "Jo?", 'Jo says "Go."', "Yes!"])
def test_a_plain_end_needs_nothing_after_it(text):
    assert sentence_end(text) == len(text)
