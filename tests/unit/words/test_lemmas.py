"""The verb lexicon, on small tables of our own in the format of the pinned ones."""

import gzip

import pytest

from moralscope.core.errors import StoreError
from moralscope.words.verbs import LEMMAS, MOBY, load_verb_lexicon, read_verb_lexicon

MOBY_ROWS = [
    "joy|Nit",
    "poison|Nt",
    "demonise|t",
    "anathematize|ti",
    "plod|i",
    "glorify|t",
    "kill|VN",
    "stole|VN",
    "misgrade|t",
    "table|N",
    "Poland|N",
    "a|V",
    "sit in|Vi",
    "gangrene|N",
]
LEMMA_ROWS = [
    "'d,verb,have",
    "kill,verb,kill",
    "killed,verb,kill",
    "stole,verb,steal",
    "steal,verb,steal",
    "steal,noun,steal",
    "lay,verb,lie/lay",
    "lie,verb,lie",
    "bungling,verb,bungle/bungling",
    "email,verb,email",
    "email,noun,email",
    "exfiltrate,verb,exfiltrate",
    "gangrene,verb,gangrene",
    "tables,noun,table",
]


def read(folder, moby, lemmas):
    rows = "".join(f"{row}\r" for row in moby).replace("|", "\u00d7")
    (folder / MOBY).write_bytes(rows.encode())
    (folder / LEMMAS).write_bytes(gzip.compress("".join(f"{row}\n" for row in lemmas).encode()))
    return read_verb_lexicon(folder, "mine", "0" * 64)


@pytest.fixture
def lexicon(tmp_path):
    return read(tmp_path, MOBY_ROWS, LEMMA_ROWS)


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("poison", "poison"),
        ("killed", "kill"),
        ("stole", "steal"),  # Moby calls it a verb of its own, the lemma table knows better
        ("lay", "lay"),  # a base form although also the past of another
        ("bungling", "bungle"),
        ("email", "email"),  # not in Moby
        ("table", None),
        ("tables", None),
        ("unheard", None),
        ("demonised", None),  # in neither table: not every word in -ed is a verb
        ("'d", None),
    ],
)
def test_a_conjugation_is_reduced_to_its_base_form(lexicon, word, base):
    assert lexicon.base(word) == base


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("demonised", "demonise"),
        ("anathematizing", "anathematize"),
        ("plodded", "plod"),
        ("glorified", "glorify"),
        ("killing", "kill"),
        ("outing", "outing"),  # a verb of Moby without a stem that is one
    ],
)
def test_a_regular_form_that_only_moby_lists_loses_its_ending(tmp_path, form, base):
    assert read(tmp_path, [*MOBY_ROWS, f"{form}|V"], []).base(form) == base


def test_strict_means_that_the_first_use_moby_lists_is_a_verb(lexicon):
    assert {"kill", "demonise"} <= lexicon.mainly_verbs
    assert not {"joy", "poison", "gangrene"} & lexicon.mainly_verbs


def test_without_moby_a_word_is_mainly_a_verb_when_it_has_no_other_use(lexicon):
    assert "exfiltrate" in lexicon.mainly_verbs
    assert "email" not in lexicon.mainly_verbs
    assert "steal" not in lexicon.mainly_verbs


def test_names_phrases_and_single_letters_are_no_verbs(lexicon):
    assert not {"Poland", "sit in", "a"} & lexicon.verbs


def test_without_the_tables_the_pull_command_is_named(empty_home):
    with pytest.raises(StoreError, match="models pull english-verbs"):
        load_verb_lexicon()
