"""Rulebooks: ours as people read it, layers, and what is read from each form."""

from collections import Counter

import pytest

from moralscope.core.errors import InputError
from moralscope.rules.judgments import broken_checks, read_judgment, unmet_criteria
from moralscope.rules.records import FOUNDATIONS
from moralscope.rules.rulebook import (
    layer_rulebooks,
    load_layers,
    load_rulebook,
    parse_rulebook,
    shipped_rulebook,
)

FULL = """name: house
rules:
  - id: h1
    text: "You should greet every guest."
    foundations: [care, authority]
    severity: 2
    consensus: 4.5
    theme: guests
    scope: front desk
    examples: ["I ignored the guest.", "Good morning!"]
"""


def test_the_shipped_rulebook_is_large_and_balanced():
    book = shipped_rulebook()
    first = Counter(rule.foundations[0] for rule in book.rules)
    assert len(book.rules) >= 420
    assert set(first) == set(FOUNDATIONS)
    assert min(first.values()) >= 60


def test_every_shipped_rule_is_complete():
    book = shipped_rulebook()
    for rule in book.rules:
        assert rule.id
        assert rule.severity in (1, 2, 3, 4, 5), rule.text
        assert rule.consensus in (1, 2, 3, 4, 5), rule.text
        assert book.themes[rule.text]
        assert rule.text.endswith(".")
        assert not broken_checks(rule.text) + unmet_criteria(rule.text)


def test_the_shipped_rulebook_permits_and_forbids():
    signs = Counter(read_judgment(rule.text).polarity for rule in shipped_rulebook().rules)
    assert signs[0] == 0
    assert min(signs[1], signs[-1]) >= 150


def test_the_shipped_rulebook_covers_what_chatbots_meet():
    themes = Counter(shipped_rulebook().themes.values())
    for theme in ("privacy", "health", "self-harm", "hate", "deception", "safety", "opinions"):
        assert themes[theme] >= 5, theme


def test_yaml_holds_every_field():
    book = parse_rulebook(FULL, "house.yaml")
    (rule,) = book.rules
    assert (book.name, rule.id, rule.foundations) == ("house", "h1", ("care", "authority"))
    assert (rule.severity, rule.consensus, rule.scope) == (2.0, 4.5, "front desk")
    assert rule.examples == ("I ignored the guest.", "Good morning!")
    assert book.themes[rule.text] == "guests"


def test_csv_and_plain_lines_read_as_yaml_does(tmp_path):
    table = 'id,text,foundations,severity\nh1,"You should greet, and smile.",care|liberty,3\n'
    (rule,) = parse_rulebook(table, "house.csv").rules
    assert (rule.text, rule.foundations) == ("You should greet, and smile.", ("care", "liberty"))
    path = tmp_path / "house.txt"
    path.write_text("# ours\nYou should greet every guest.\n\nIt's rude to stare.\n")
    assert [rule.text for rule in load_rulebook(path).rules][1] == "It's rude to stare."


def test_a_later_layer_overrides_by_id_and_by_text(tmp_path):
    path = tmp_path / "house.csv"
    path.write_text(
        "id,text,severity\n"
        "care-insult,It's rude to insult our guests.,5\n"
        ",It's wrong to STEAL from a shop!,1\n"
        ",You should greet every guest.,2\n"
    )
    book = load_layers(["moralscope", path])
    assert len(book.rules) == len(shipped_rulebook().rules) + 1
    assert book.by_id()["care-insult"].severity == 5
    texts = {rule.text: rule.severity for rule in book.rules}
    assert texts["It's wrong to STEAL from a shop!"] == 1
    assert "It's wrong to steal from a shop." not in texts


def test_a_rule_that_replaces_two_leaves_one():
    below = parse_rulebook("id,text\na,It's rude to stare.\nb,It's rude to yell.\n", "a.csv")
    above = parse_rulebook("id,text\na,It's rude to yell.\n", "b.csv")
    assert [rule.id for rule in layer_rulebooks([below, above]).rules] == ["a"]


def test_a_rule_that_was_replaced_is_forgotten():
    texts = ("a,It's rude to stare.", "a,It's rude to yell.", "c,It's rude to stare.")
    books = [parse_rulebook(f"id,text\n{text}\n", f"{n}.csv") for n, text in enumerate(texts)]
    assert [rule.id for rule in layer_rulebooks(books).rules] == ["a", "c"]


def test_a_rule_without_a_judgment_is_kept_and_told():
    book = parse_rulebook("It's rude to stare.\nNo refunds after ten days.\n", "house.txt")
    assert len(book.rules) == 2
    assert book.warnings[0].startswith("house.txt line 2 holds no judgment")


def test_rules_are_chosen_by_theme_and_foundation():
    chosen = shipped_rulebook().chosen("privacy", "loyalty").rules
    assert 0 < len(chosen) < len(shipped_rulebook().chosen("privacy").rules)
    assert all("loyalty" in rule.foundations for rule in chosen)


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("It is not okay to lie.", -1),
        ("No one should lie.", -1),
        ("You ought to be honest with your doctor.", 1),
        ("It's okay to not drink.", 1),
        ("You shouldn't lie.", -1),
        ("Don't lie to your mother.", -1),
        ("Lying is fun for everyone.", 0),
    ],
)
def test_polarity(text, polarity):
    assert read_judgment(text).polarity == polarity


def test_an_unknown_file_form_is_refused(tmp_path):
    with pytest.raises(InputError, match="neither YAML nor CSV"):
        load_rulebook(tmp_path / "rules.pkl")
