"""What the paper prints about training and chains stands beside the right recipe."""

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import Candidate
from moralscope.stories.chains.recipes import load_recipe
from moralscope.stories.chains.steps import _different
from moralscope.stories.options import SPLITS
from moralscope.stories.paper import load_generation_paper, load_paper

PRINTED = {  # Table 14: batch sizes, epochs and best epochs; norm distance, lexical bias, pairs
    "action": "8 8 8 3 4 4 3 4 4",
    "action+norm": "16 8 16 4 3 4 4 3 4",
    "action+context": "16 16 16 4 4 4 4 3 3",
    "action+context+consequence": "16 16 8 3 3 3 2 2 3",
    "consequence+action": "16 16 8 4 4 4 4 4 4",
    "consequence+context+action": "16 8 8 4 4 4 4 4 4",
}


@pytest.mark.parametrize("task", PRINTED)
def test_table_14_is_carried_cell_by_cell(task):
    row = load_paper().table14[task]
    cells = [
        row[name][split] for name in ("batch_size", "epochs", "best_epoch") for split in SPLITS
    ]
    assert cells == [int(cell) for cell in PRINTED[task].split()]


def test_an_unknown_setting_of_table_14_is_one_clear_line():
    with pytest.raises(InputError, match="Table 14 has no 'actoin'"):
        load_paper().training("actoin", "lexical_bias")


def test_the_papers_abduction_stands_beside_its_own_figures_and_ours_says_changed():
    [printed] = load_generation_paper().beside("action-abduction-published")
    assert (printed.bleu, printed.rouge_l) == (5.93, 29.38)
    assert load_generation_paper().beside("action-abduction") == ()
    assert "changed" in load_recipe("action-abduction").paper


def test_candidates_of_a_chain_are_different_texts():
    made = [Candidate(text, (), "stop") for text in ("He  pays.", "he pays.", "He runs.")]
    assert [text.text for text in _different(made, "")] == ["He pays.", "He runs."]
    more = _different(made, "", _different([Candidate("He runs.", (), "stop")], ""))
    assert [text.text for text in more] == ["He runs.", "He pays."]
