"""The jobs `words extract` and `words validate`, end to end on small files."""

import importlib.util
import json

import pytest

from moralscope.core.errors import InputError, UnknownName
from moralscope.io.files import record_lines
from moralscope.words.extract import extract
from moralscope.words.options import ExtractOptions
from moralscope.words.valence import validate
from moralscope.words.vectors import scripted_vectors
from moralscope.words.verbs import VerbLexicon

VERBS = frozenset({"help", "thank", "cheer", "kill", "steal", "lie", "slander", "hug"})
LEXICON = VerbLexicon("mine", "0" * 64, VERBS, frozenset({"kill", "steal"}))


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.txt"
    path.write_text("help\t2\nthank\t2\nhug\t1\nkill\t-3\nsteal\t-2\nlie\t-1\n", "utf-8")
    return path


@pytest.fixture
def no_lexicon(monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def words_file(folder, name, text):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_the_record_carries_results_overlap_and_validation(ratings):
    record = extract("scripted", ExtractOptions(count=3, valence=ratings), lexicon=LEXICON)
    plain = json.loads("".join(record_lines(record)))
    assert plain["job"] == "words extract"
    assert [row["side"] for row in plain["results"]] == ["do"] * 3 + ["don't"] * 3
    scores = [row["score"] for row in plain["results"]]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert max(scores[3:]) < min(scores[:3])
    assert all(row["low"] <= row["score"] <= row["high"] for row in plain["results"])
    assert plain["statistics"]["verbs"] == len(VERBS)
    assert plain["statistics"]["overlap"]["dos"]["of"] == 3
    assert plain["statistics"]["validation"]["all_words"]["dos"]["n"] == 3
    assert [model["name"] for model in plain["models"]] == ["scripted", "mine"]


def test_missing_association_words_are_named_in_the_record_and_its_warnings():
    record = extract("scripted", ExtractOptions(count=1), lexicon=LEXICON)
    assert "caress" in record.statistics["missing_words"]
    assert any("association words without a vector (79)" in line for line in record.warnings)


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others():
    first, again, other = (
        extract("scripted", ExtractOptions(count=2, seed=seed), lexicon=LEXICON)
        for seed in (1, 1, 2)
    )
    assert first.results == again.results
    assert [row.low for row in first.results] != [row.low for row in other.results]


def test_max_words_looks_only_at_the_frequent_words():
    vectors = scripted_vectors(["joy", "war", "bad", "help", "kill", "steal", "lie"])
    options = ExtractOptions(count=2, max_words=5)
    record = extract(vectors, options, lexicon=LEXICON)
    assert {row.word for row in record.results} == {"help", "kill"}
    assert record.statistics["words"] == 5
    assert any("only 2 verbs were found" in line for line in record.warnings)


def test_strict_reaches_the_lexicon():
    record = extract("scripted", ExtractOptions(count=5, verbs="strict"), lexicon=LEXICON)
    assert {row.word for row in record.results} == {"kill", "steal"}


def test_verbs_and_sets_may_be_files_of_the_user(tmp_path):
    verbs = words_file(tmp_path, "verbs.txt", "hug\nharm\nwaste\n")
    sets = words_file(tmp_path, "sets.yaml", "positive: [joy, waste]\nnegative: [war]\n")
    record = extract("scripted", ExtractOptions(sets=str(sets), count=5, verbs=str(verbs)))
    assert {row.word for row in record.results} == {"hug", "harm", "waste"}
    assert [row.word for row in record.results if row.association_word] == ["waste"]
    assert record.config["positive_words"] == ("joy", "waste")


def test_the_users_verbs_are_never_taken_for_conjugations_of_each_other(tmp_path):
    verbs = words_file(tmp_path, "verbs.txt", "see\nseed\n")
    vectors = scripted_vectors(["joy", "war", "see", "seed"])
    record = extract(vectors, ExtractOptions(verbs=str(verbs)))
    assert {row.word for row in record.results} == {"see", "seed"}


def test_without_a_valence_lexicon_the_record_says_that_it_was_not_validated(no_lexicon):
    record = extract("scripted", ExtractOptions(count=1), lexicon=LEXICON)
    assert record.statistics["validation"] is None
    assert any("not validated" in line and "pip install afinn" in line for line in record.warnings)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"count": 0}, InputError, "count is 0; give 1 or more"),
        ({"max_words": 0}, InputError, "max_words is 0; give 1 or more"),
        ({"verbs": "brod"}, InputError, "--verbs 'brod' is not a file"),
        ({"sets": "paper"}, UnknownName, "papers"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        extract("scripted", **options)


def test_an_empty_vocabulary_and_sets_out_of_vocabulary_are_refused():
    for words in ([], ["table", "chair"]):
        with pytest.raises(InputError, match="none of the 46 words of the set 'positive'"):
            extract(scripted_vectors(words), lexicon=LEXICON)


def test_a_vocabulary_without_verbs_is_refused():
    with pytest.raises(InputError, match="no verb"):
        extract(scripted_vectors(["joy", "war", "bad", "table"]), lexicon=LEXICON)


def test_validate_rates_the_lists_of_the_user(tmp_path, ratings):
    dos = words_file(tmp_path, "dos.txt", "help\nhug\nwalk\n")
    donts = words_file(tmp_path, "donts.txt", "kill\nlie\n")
    record = validate(dos=dos, donts=donts, valence=ratings)
    assert [row.rating for row in record.results] == [2.0, 1.0, None, -3.0, -1.0]
    assert record.statistics["all_words"].dos.mean == pytest.approx(1.0)
    assert record.statistics["rated_only"].dos.mean == pytest.approx(1.5)
    assert "paper" not in record.statistics


def test_validate_puts_the_printed_figures_beside_the_papers_lists(ratings):
    record = validate(valence=ratings)
    assert len(record.results) == 100
    assert record.statistics["paper"]["all_words"].t == 8.12


def test_validate_warns_of_words_on_both_sides_twice_and_unrated(tmp_path, ratings):
    dos = words_file(tmp_path, "dos.txt", "help\nhelp\nhug\n")
    donts = words_file(tmp_path, "donts.txt", "help\nwalk\n")
    warnings = "\n".join(validate(dos=dos, donts=donts, valence=ratings).warnings)
    assert "words on both sides: help" in warnings
    assert "more than once among the dos" in warnings
    assert "fewer than two of the don'ts" in warnings


def test_validate_wants_both_lists_or_none(tmp_path, ratings):
    with pytest.raises(InputError, match="--donts"):
        validate(dos=words_file(tmp_path, "dos.txt", "help\n"), valence=ratings)


def test_a_word_list_that_is_not_utf8_is_refused_with_its_line(tmp_path, ratings):
    path = tmp_path / "dos.txt"
    path.write_bytes(b"help\nf\xeate\n")
    with pytest.raises(InputError, match="line 2 is not valid UTF-8"):
        validate(dos=path, donts=path, valence=ratings)
