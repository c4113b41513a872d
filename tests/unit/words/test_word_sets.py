"""Word sets: the built-in ones against the published lists, the user's own and its errors."""

import json
import re

import pytest

from moralscope.core.errors import InputError, UnknownName
from moralscope.models.store import data_file
from moralscope.words.paper import load_paper
from moralscope.words.word_sets import CALISKAN, load_word_sets, parse_word_sets

SIZES = [(25, 25), (25, 25), (50, 25), (18, 25), (18, 8), (8, 8), (8, 8), (8, 8), (6, 7), (8, 8)]


def test_the_default_is_the_papers_sets():
    sets = load_word_sets("papers")
    assert sets.positive == load_paper().positive_words
    assert sets.negative == load_paper().negative_words
    with pytest.raises(InputError, match="no target sets"):
        sets.targets()


@pytest.mark.parametrize(("name", "sizes"), list(zip(CALISKAN, SIZES, strict=True)))
def test_caliskans_sets_have_their_sizes_and_figures(name, sizes):
    sets = load_word_sets(name)
    assert (len(sets.x), len(sets.positive)) == sizes
    assert (len(sets.y), len(sets.negative)) == sizes
    for words in (sets.x, sets.y, sets.positive, sets.negative):
        assert len(set(words)) == len(words)
    assert set(sets.published) == {"word2vec", "glove"}


def test_career_and_family_are_those_of_test_six():
    sets, six = load_word_sets("career-family"), load_word_sets("caliskan-6")
    assert (sets.positive, sets.negative) == (six.positive, six.negative)


@pytest.mark.realdata
def test_caliskans_words_are_the_published_ones():
    file = data_file("weat/caliskan.json")
    if file is None:
        pytest.skip("MORALSCOPE_DATA does not hold weat/caliskan.json")
    keys = {"x": "first_target", "y": "second_target"}
    keys |= {"positive": "first_attribute", "negative": "second_attribute"}
    repaired = {"failur": "failure"}  # a slip of that file, in test 10
    for name, row in zip(CALISKAN, json.loads(file.read_text("utf-8")), strict=True):
        sets = load_word_sets(name)
        for ours, theirs in keys.items():
            words = {repaired.get(word, word) for word in row[theirs]["words"]}
            assert set(getattr(sets, ours)) == words, (name, ours)


FILES = {
    "mine.yaml": "name: mine\npositive: [joy, 'no']\nnegative:\n  - war\nx: [on]\ny: [off]\n",
    "mine.toml": 'name = "mine"\npositive = ["joy", "no"]\nnegative = ["war"]\nx=["on"]\ny=["off"]',
    "mine.json": '{"name": "mine",\n\t"positive": ["joy", "no"], "negative": ["war"],'
    ' "x": ["on"], "y": ["off"]}',
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_ones_own_is_read(tmp_path, name):
    (tmp_path / name).write_text(FILES[name], "utf-8")
    sets = load_word_sets(str(tmp_path / name))
    assert sets.name == "mine"
    assert (sets.positive, sets.negative) == (("joy", "no"), ("war",))
    assert (sets.targets().x, sets.targets().y) == (("on",), ("off",))


GOOD = "positive: [joy]\nnegative: [war]\n"
REFUSED = {
    "empty": ("", "hold no keys"),
    "list": ("- joy\n- war\n", "hold no keys"),
    "one side": ("positive: [joy]\n", "no words under 'negative'"),
    "empty side": ("positive: []\nnegative: [war]\n", "no words under 'positive'"),
    "unknown key": (GOOD + "postive: [a]\n", "unknown key 'postive'"),
    "no list": ("positive: joy\nnegative: [war]\n", "positive is 'joy', not a list"),
    "no word": ("positive: [joy]\nnegative: [[war]]\n", "negative, row 1 is a list, not a text"),
    "blank word": ("positive: [joy, '  ']\nnegative: [war]\n", "line 1 has something under"),
    "twice": ("positive:\n- joy\n- joy\nnegative: [war]\n", "line 3 has 'joy' twice"),
    "overlap": ("positive: [joy]\nnegative: [war, joy]\n", "line 2 has 'joy' under 'negative'"),
    "targets overlap": (GOOD + "x: [a1]\ny: [a1]\n", "line 4 has 'a1' under 'y'"),
    "one target": (GOOD + "x: [a]\n", "only one of 'x' and 'y'"),
    "key twice": (GOOD + "positive: [love]\n", "has the key 'positive' twice"),
    "name": (GOOD + "name: [a]\n", "name is a list, not a text"),
    "bad yaml": ("positive: [joy\nnegative: [war]\n", "is not YAML"),
    "control": ("positive: [\x00]", "is not YAML text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_refused_in_one_line(case):
    text, problem = REFUSED[case]
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        parse_word_sets(text, "mine.yaml")
    assert caught.value.remedy


def test_bad_toml_and_json_name_their_line():
    with pytest.raises(InputError, match=r"not TOML .*line 2"):
        parse_word_sets('positive = ["joy"]\nnegative = [war]\n', "mine.toml")
    with pytest.raises(InputError, match="line 2 is not JSON"):
        parse_word_sets('{"positive": ["joy"],\n"negative": [war]}', "mine.json")
    with pytest.raises(InputError, match="'x' twice"):
        parse_word_sets('{"x": ["joy"], "x": ["war"]}', "mine.json")


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_word_sets(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "mine.yaml").write_bytes(b"positive: [joy]\nnegative: [f\xeate]\n")
    with pytest.raises(InputError, match="line 2 is not valid UTF-8"):
        load_word_sets(str(tmp_path / "mine.yaml"))
    (tmp_path / "mine.yaml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(InputError, match="1,000,001 bytes"):
        load_word_sets(str(tmp_path / "mine.yaml"))


def test_an_alias_bomb_stays_small():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
        for old, new in zip("abcdefghi", "bcdefghij", strict=True)
    )
    with pytest.raises(InputError, match="alias or an anchor"):
        parse_word_sets(bomb, "mine.yaml")


def test_unknown_names_get_the_nearest_one():
    with pytest.raises(UnknownName, match="did you mean 'caliskan-3'"):
        load_word_sets("caliskan3")
