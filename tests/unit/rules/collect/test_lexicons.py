"""Lexicons in their three forms, and the words they find."""

import pytest

from moralscope.models.store import data_file
from moralscope.rules.collect.lexicons import Lexicon, Term, load_lexicon
from moralscope.rules.records import FOUNDATIONS


def found(lexicon, text):
    return [str(term) for term in lexicon.find(text)]


def written(folder, name, text):
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_ours_has_every_foundation_and_each_word_once():
    lexicon = load_lexicon("moralscope")
    assert 400 < len(lexicon) < 1000
    texts = {
        "care": "He hurt her.",
        "fairness": "That is cheating.",
        "liberty": "They oppress us.",
        "loyalty": "A traitor!",
        "authority": "Obey the law.",
        "sanctity": "A filthy sin.",
    }
    assert set(texts) == set(FOUNDATIONS)
    for foundation, text in texts.items():
        assert foundation in {name for term in lexicon.find(text) for name in term.categories}
    assert found(lexicon, "The train leaves at noon.") == []


def test_ours_does_not_take_innocent_words_for_others():
    words = "paint career vowel obese cursor marrow forget earlier painter boring custody letter"
    assert found(load_lexicon("moralscope"), words) == []


def test_mfd_has_beginnings_phrases_and_several_categories(tmp_path):
    text = "%\n01 \tcare\n2\tloyalty.vice\n%\n\nharm*   \t01\nblood brother*\t2\npreserve\t01 2\t\n"
    lexicon = load_lexicon(written(tmp_path, "a.dic", text))
    assert found(lexicon, "Harmless blood brothers") == ["harm*", "blood brother*"]
    assert found(lexicon, "charm, brothers, blood, preserves") == []
    assert found(Lexicon("mine", "", [Term(("white", "lie"))]), "white lies") == []
    (term,) = lexicon.find("PRESERVE!")
    assert term.categories == ("care", "loyalty.vice")


def test_emfd_gives_a_word_its_likeliest_foundation(tmp_path):
    text = "word,care_p,sanctity_p,care_sent\nsteal,0.1,0.3,-1\nGive,0.4,0.2,1\n"
    lexicon = load_lexicon(written(tmp_path, "e.csv", text))
    assert [(str(term), term.categories) for term in lexicon.find("give, steal, stealing")] == [
        ("give", ("care",)),
        ("steal", ("sanctity",)),
    ]


def test_a_bare_list_of_words_is_a_lexicon_too(tmp_path):
    lexicon = load_lexicon(written(tmp_path, "w.csv", "word\nhonour\n"))
    assert [term.categories for term in lexicon.find("my honour")] == [()]


def test_mpqa_keeps_strong_clues_and_their_inflections(tmp_path):
    rows = [
        "type=weaksubj len=1 word1=close pos1=verb stemmed1=y priorpolarity=neutral",
        "type=strongsubj len=1 word1=abase pos1=verb stemmed1=y priorpolarity=negative",
        "type=strongsubj polarity=neg len=1 word1=awful pos1=adj stemmed1=n m priorpolarity=both",
    ]
    lexicon = load_lexicon(written(tmp_path, "m.tff", "\n".join(rows)))
    assert len(lexicon) == 2
    assert found(lexicon, "Close, abased, awful, awfuller") == ["abase", "awful"]


def test_the_checksum_names_the_content(tmp_path):
    one = load_lexicon(written(tmp_path, "a.csv", "word\nhonour\n"))
    same = load_lexicon(written(tmp_path, "b.csv", "word\nhonour\n"))
    other = load_lexicon(written(tmp_path, "c.csv", "word\nhonor\n"))
    assert one.checksum == same.checksum != other.checksum


def test_a_term_is_told_once():
    lexicon = Lexicon("mine", "", [Term(("lie",), beginning=True)])
    assert found(lexicon, "lies and lies and liest") == ["lie*"]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("emfd_scoring.csv", 3270),
        ("mfd2.0.dic", 2000),
        ("mft_original.dic", 300),
        ("subjclueslen1-HLTEMNLP05.tff", 4500),
    ],
)
def test_the_published_lexicons_are_read_whole(name, least):
    path = data_file(f"lexicons/{name}")
    if path is None:
        pytest.skip("MORALSCOPE_DATA has no lexicons")
    lexicon = load_lexicon(str(path))
    assert len(lexicon) >= least
    assert lexicon.find("It is cruel to betray and murder innocent people: shameful treason.")
