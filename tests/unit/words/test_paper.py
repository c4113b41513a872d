"""The papers' lists and tables, as they are printed."""

from moralscope.words.paper import load_paper


def test_the_lists_are_whole_and_without_repeats():
    paper = load_paper()
    for words, size in (
        (paper.dos, 50),
        (paper.donts, 50),
        (paper.positive_words, 46),
        (paper.negative_words, 55),
    ):
        assert len(words) == size
        assert len(set(words)) == size
    assert paper.dos[0] == "joy"
    assert "fête" in paper.dos
    assert paper.donts[-1] == "torture"


def test_every_word_of_the_tables_is_in_the_lists():
    paper = load_paper()
    assert set(paper.weat) <= {*paper.dos, *paper.donts}
    assert set(paper.bias_sums) <= set(paper.weat)
    assert all((value > 0) == (word in paper.dos) for word, value in paper.weat.items())


def test_occupations_stand_on_their_side():
    paper = load_paper()
    assert len(paper.female) == len(paper.male) == 10
    assert min(paper.female.values()) > 0 > max(paper.male.values())


def test_rankings_are_printed_best_first():
    for ranking in load_paper().rankings:
        assert sorted(ranking.cosines, reverse=True) == list(ranking.cosines)
        assert len(ranking.answers) == 3
