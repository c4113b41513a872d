"""Verbs of a vocabulary."""

import json

import pytest

from moralscope.models.store import data_file
from moralscope.words.verbs import Verb, VerbLexicon, find_verbs, load_verb_lexicon

LEXICON = VerbLexicon(
    "mine",
    "",
    verbs=frozenset({"kill", "harm", "joy", "savor", "savour"}),
    mainly_verbs=frozenset({"kill", "harm"}),
    lemmas={"killed": ("kill",), "kills": ("kill",), "harmed": ("harm",), "harming": ("harm",)},
)


def test_conjugations_do_not_repeat_and_the_base_form_stands_for_them():
    verbs = find_verbs(["killed", "kills", "kill", "table"], LEXICON)
    assert verbs == [Verb("kill", "kill", 3)]


def test_the_most_frequent_conjugation_stands_in_for_a_missing_base_form():
    verbs = find_verbs(["table", "harming", "harmed"], LEXICON)
    assert verbs == [Verb("harm", "harming", 2)]


def test_british_and_american_spellings_stay_two_verbs():
    assert [verb.base for verb in find_verbs(["savour", "savor"], LEXICON)] == ["savour", "savor"]


def test_strict_keeps_only_what_is_mainly_a_verb():
    assert [verb.base for verb in find_verbs(["joy", "kill"], LEXICON, strict=True)] == ["kill"]


def test_words_with_capitals_and_phrases_are_left_out():
    assert find_verbs(["Kill", "KILL", "kill_time", "kill time"], LEXICON) == []


def test_any_case_reads_capitals_but_prefers_the_frequent_word():
    verbs = find_verbs(["Kill", "kill", "Harmed"], LEXICON, any_case=True)
    assert verbs == [Verb("kill", "Kill", 1), Verb("harm", "Harmed", 3)]


def test_a_vocabulary_without_verbs_gives_none():
    assert find_verbs([], LEXICON) == []
    assert find_verbs(["table", "chair"], LEXICON) == []


@pytest.mark.slow
@pytest.mark.realdata
def test_the_real_lexicon_covers_the_published_dos_and_donts():
    path = data_file("figures/mcm_dos_donts.json")
    if path is None:
        pytest.skip("MORALSCOPE_DATA does not hold figures/mcm_dos_donts.json")
    rows = json.loads(path.read_text("utf-8"))
    lexicon = load_verb_lexicon()
    covered = {
        key: sum(row["word"] in lexicon.verbs for row in rows[key])
        for key in ("dos_100", "donts_100")
    }
    assert covered == {"dos_100": 95, "donts_100": 99}
