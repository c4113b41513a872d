"""The printed tables of the Moral Integrity Corpus, by their sums: a slip of one digit is seen."""

import pytest

from moralscope.rules.annotations.metrics import AUTOMATIC, FILTERS, PEOPLE, load_paper
from moralscope.rules.records import FOUNDATIONS

COLUMNS = {  # sums over the eleven systems of Table 1, added from the columns of the paper's text
    "R-1": 442.78,
    "R-2": 222.67,
    "R-L": 428.97,
    "BLEU": 166.89,
    "BScore": 1007.91,
    "Avg. Len": 102.00,
    "Well-Formed": 9.31,
    "Fluent": 49.55,
    "Relevant": 35.74,
}
ROWS = {  # sums of the rows of Tables 3 and 4
    ("Table 3", "BERT"): 458.47,
    ("Table 3", "ALBERT"): 473.94,
    ("Table 3", "Human"): 328.17,
    ("Table 4", "BlenderBot"): 406.5,
    ("Table 4", "DialoGPT"): 377.6,
    ("Table 4", "GPT-Neo"): 352.2,
}


@pytest.mark.parametrize("column", COLUMNS)
def test_table_1(column):
    rows = {name: row for name, row in load_paper().tables["Table 1"].items() if name != "Human"}
    assert len(rows) == 11
    assert sum(row[column] for row in rows.values()) == pytest.approx(COLUMNS[column])


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_tables_3_and_4(table, row):
    assert sum(load_paper().tables[table][row].values()) == pytest.approx(ROWS[table, row])


def test_what_the_text_of_the_paper_says_of_its_tables():
    paper = load_paper()
    automatic = paper.tables["Table 1"]
    assert max(automatic, key=lambda row: automatic[row].get("R-L", 0)) == "T-5, beam"
    assert round(paper.printed("Table 1", "T-5, beam", "R-L")) == 53
    assert paper.printed("Table 1", "GPT-2, beam", "Relevant") == 4.03
    assert paper.printed("Table 1", "Human", "Relevant") == 4.03
    assert paper.printed("Table 1", "Human", "R-L") is None
    assert paper.printed("Table 3", "ALBERT", "severity r") == 0.59
    assert paper.printed("Table 3", "ALBERT", "sanctity F1") == 40.8


def test_table_2_and_figure_2():
    paper = load_paper()
    assert tuple(paper.tables["Table 2"]["Social-Chem"]) == (*AUTOMATIC, *PEOPLE)
    assert sum(paper.tables["Table 2"]["Social-Chem"].values()) == pytest.approx(202.73)
    icc = {name: row["ICC(1, k)"] for name, row in paper.figure2.items()}
    assert (min(icc.values()), max(icc.values())) == (0.42, 0.72)  # as section 4.2 says
    assert set(paper.figure2) == {"alignment", "consensus", "severity", *FOUNDATIONS}
    assert sum(row["alpha"] for row in paper.figure2.values()) == pytest.approx(2.33)
    assert set(paper.shares) == set(FOUNDATIONS)
    assert len(FILTERS) == 6
    assert paper.corpus["pairs_collected"] == 3 * paper.corpus["prompts_collected"]
