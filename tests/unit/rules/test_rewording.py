"""Candidates without a generator: sentences left out, rules said kindly."""

from moralscope.rules.judgments import act_of, read_judgment
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.writing.revision import MAX_EDITS, is_usable, reworded, shortened


def test_every_sentence_is_left_out_once():
    found = shortened("One thing. Two things. Three things.")
    assert found[:3] == [
        "Two things. Three things.",
        "One thing. Three things.",
        "One thing. Two things.",
    ]
    assert "Two things." in found


def test_many_sentences_make_a_bounded_number_of_candidates():
    assert len(shortened(" ".join(f"Number {n}." for n in range(40)))) == MAX_EDITS


def test_every_rule_of_ours_can_be_said_as_a_reply():
    for rule in shipped_rulebook().rules:
        first = reworded([rule.text])[0]
        assert is_usable(first, "No.", rule.text)
        assert "{" not in first
        assert first.startswith("I think" if read_judgment(rule.text).polarity > 0 else "I would")


def test_no_template_answers_a_question_that_nobody_asked():
    told = reworded(["It's wrong to hit people.", "It's good to keep a lonely person company."])
    assert not [text for text in told if text.startswith(("Yes", "No"))]
    assert not [text for text in told if "believe in that" in text or "recommend that" in text]


def test_what_a_rule_judges_is_said_of_oneself():
    told = reworded(["You should return what you borrow.", "It's wrong to read your son's diary."])
    assert any(text.startswith("I would never read my son's diary.") for text in told)
    assert not any("I always try to return" in text for text in told)  # whose "you" is it?
    assert act_of("It's wrong for parents to beat their children.") == ""


def test_every_act_of_ours_begins_with_a_verb():
    acts = [act for rule in shipped_rulebook().rules if (act := act_of(rule.text))]
    assert len(acts) > 200
    assert not [act for act in acts if act.split()[0] in {"to", "a", "the", "is", "that", "my"}]


def test_a_rule_in_the_imperative_becomes_a_sentence():
    said = reworded(["Don\N{RIGHT SINGLE QUOTATION MARK}t promise a refund."])
    assert "I would look for another way, because you shouldn't promise a refund." in said
    assert not [text for text in said if "that never" in text or "don't promise" in text]


def test_a_chatbot_says_of_itself_what_its_own_rules_forbid():
    said = reworded(["Never speak badly about Hexham Buses."], house=True)
    assert said[0] == "I'm sorry, I can't speak badly about Hexham Buses."
    assert not [text for text in said if "keep in mind" in text]
    demand = reworded(["You should name every fee."], house=True)
    assert not [text for text in demand if "you should" in text.lower()]
