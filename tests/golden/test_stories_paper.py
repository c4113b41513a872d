"""The printed tables of Moral Stories, by their sums: a slip of one digit is seen."""

import pytest

from moralscope.stories.options import SPLITS
from moralscope.stories.paper import load_paper
from moralscope.stories.story import SENTENCES
from moralscope.stories.tasks import classification_tasks

SUMS = {  # column sums over settings, added by hand from Tables 2, 3, 8 and 9
    ("test", "accuracy"): (5.51, 5.37, 5.41),
    ("test", "f1"): (5.51, 5.34, 5.40),
    ("dev", "accuracy"): (5.51, 5.51, 5.54),
    ("dev", "f1"): (5.52, 5.51, 5.54),
}


@pytest.mark.parametrize(("part", "metric"), SUMS)
def test_accuracies_and_f1(part, metric):
    table = load_paper().metrics[part][metric]
    assert set(table) <= set(classification_tasks())
    sums = tuple(sum(row[split] for row in table.values()) for split in SPLITS)
    assert sums == pytest.approx(SUMS[part, metric])


def test_tables_1_7_and_10():
    paper = load_paper()
    assert sum(value for row in paper.table1.values() for value in row.values()) == pytest.approx(
        0.31 + 3.41 + 4.55 + 1.95 + 2.12
    )
    assert tuple(paper.table7) == SENTENCES
    assert sum(paper.table7.values()) == pytest.approx(90.0)
    assert paper.table10["consequence"] == {"train": 40000, "dev": 4000, "test": 4000}
    assert paper.printed("test", "accuracy", "action+consequence", "lexical_bias") is None
