"""Every printed number that we carry stands so in the text of its paper, in the same order.

The texts are not ours to ship: they lie in `papers`, beside the folder that MORALSCOPE_DATA names.
A table may have become a line for each row or a block for each column; numbers are compared as a
sequence, so a slip of one digit, a lost figure or two that changed places are seen.
"""

import os
import re
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from unicodedata import normalize

import pytest

from moralscope.axes.direction.paper import load_paper as load_compass
from moralscope.rules.annotations.metrics import load_paper as load_integrity
from moralscope.stories.paper import load_generation_paper
from moralscope.stories.paper import load_paper as load_stories
from moralscope.words.paper import load_paper as load_choice
from moralscope.words.valence import PAPER as VALENCE

pytestmark = pytest.mark.realdata
NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
CHOICE, COMPASS = "moral_choice_machine", "moral_compass"
STORIES, INTEGRITY = "moral_stories", "moral_integrity_corpus"


@cache
def text(name):
    folder = os.environ.get("MORALSCOPE_DATA")
    path = Path(folder or "none").parent / "papers" / f"{name}.txt"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    found = path.read_text("utf-8").translate({0x2212: "-", 0x2013: "-", 0x2217: "*"})
    return re.sub(r"(\d),(\d{3})", r"\1\2", found)


@cache
def numbers(name):
    return [float(token) for token in NUMBER.findall(text(name))]


def stands(name, *values):
    """Whether the numbers follow each other in the paper."""
    found, wanted = numbers(name), [float(value) for value in values]
    starts = (at for at, value in enumerate(found) if value == wanted[0])
    return any(found[at : at + len(wanted)] == wanted for at in starts)


def check(name, series):
    missing = {label: values for label, values in series.items() if not stands(name, *values)}
    assert not missing


def test_tables_1_to_3_of_the_choice_machine():
    paper = load_choice()
    dos = [word for word in paper.bias_sums if word in paper.dos]
    donts = [word for word in paper.bias_sums if word in paper.donts]
    check(
        CHOICE,
        {
            "female": paper.female.values(),
            "male": paper.male.values(),
            "bias of dos": [paper.bias_sums[word] for word in dos],
            "bias of don'ts": [paper.bias_sums[word] for word in donts],
            "WEAT of dos": [paper.weat[word] for word in dos],
            "WEAT of don'ts": [paper.weat[word] for word in donts],
            **{each.question: each.cosines for each in paper.rankings},
        },
    )


def test_means_t_p_and_r_of_the_choice_machine():
    paper = load_choice()
    for each in (paper.dos_summary, paper.donts_summary, paper.all_summary):
        assert stands(CHOICE, each.mean, each.sd)
    assert stands(CHOICE, paper.t, paper.p_below)
    assert stands(CHOICE, paper.r)
    for each in VALENCE.values():
        assert stands(CHOICE, each.dos.mean, each.dos.sd)
        assert stands(CHOICE, each.donts.mean, each.donts.sd)
        assert stands(CHOICE, each.t, 0.0001)
    assert stands(CHOICE, VALENCE["rated_only"].dos.sd, VALENCE["rated_only"].dos.n)


def test_the_lists_of_dos_and_donts_and_of_association_words():
    paper = load_choice()
    for listed, name in (
        (paper.dos, CHOICE),
        (paper.donts, CHOICE),
        (paper.positive_words, COMPASS),
        (paper.negative_words, COMPASS),
    ):
        plain = normalize("NFC", " ".join(text(name).split()))
        assert ", ".join(listed) in plain


@pytest.mark.parametrize("encoder", ["bert", "use"])
def test_tables_7_to_9_and_figure_2_of_the_compass(encoder):
    paper, rows = load_compass(), text(COMPASS)
    for table in (paper.table7, paper.table8, paper.table9):
        sides = table[encoder]
        for side in ("atomic", "contextual") if table is paper.table9 else ("dos", "donts"):
            for action, value in getattr(sides, side).items():
                digits = 4 if table is paper.table9 else 3
                printed = rf"(?m)(?:^|\t){re.escape(action)}\t[-\d.\t]*?{value:.{digits}f}(?=\t|$)"
                assert re.search(printed, rows), (action, value)
    figure = paper.figures[encoder]
    for each in (figure.dos, figure.donts):
        assert stands(COMPASS, each.mean, each.sd, each.n)
    assert stands(COMPASS, figure.all.mean, figure.all.sd)
    digits, _, power = f"{figure.p:.4e}".partition("e")
    assert stands(COMPASS, figure.r, digits, power)  # r = 0.73 with p = 2.3732e^{-16}


@pytest.mark.parametrize("part", ["test", "dev"])
def test_accuracies_of_moral_stories_stand_row_by_row(part):
    metrics = load_stories().metrics[part]
    for task, row in metrics["accuracy"].items():
        assert stands(STORIES, *row.values(), *metrics["f1"][task].values()), task


def test_data_tables_of_moral_stories():
    paper = load_stories()
    assert stands(STORIES, *paper.table7.values())
    check(STORIES, {name: row.values() for name, row in paper.table1.items()})
    for name, sizes in paper.table10.items():  # printed as 20k
        found = [f"{size // 1000}k" for size in sizes.values()]
        assert f"{name} classification {' '.join(found)}" in text(STORIES)


@pytest.mark.parametrize("number", [4, 5, 6, 15, 16, 17])
def test_generation_tables_of_moral_stories(number):
    for row in load_generation_paper().table(number):
        people = [value for values in (row.people or {}).values() for value in values]
        between = [] if row.diversity is None else [row.diversity]
        assert stands(STORIES, row.bleu, row.rouge_l, *between, *people), row


@pytest.mark.parametrize("name", ["Table 1", "Table 2", "Table 3", "Table 4"])
def test_tables_of_the_integrity_corpus_stand_column_by_column_or_row_by_row(name):
    table = dict(load_integrity().tables[name])
    if name == "Table 1":  # people's own row is a line; the columns above are blocks
        assert stands(INTEGRITY, *table.pop("Human").values())
    if all(stands(INTEGRITY, *row.values()) for row in table.values()):
        return
    columns = next(iter(table.values()))
    check(INTEGRITY, {column: [row[column] for row in table.values()] for column in columns})


def test_figures_in_the_text_of_the_integrity_corpus():
    text_ = resources.files("moralscope.rules").joinpath("data/paper.toml").read_text("utf-8")
    data = tomllib.loads(text_)
    for alpha, icc in data["figure2"].values():
        assert stands(INTEGRITY, alpha)
        assert stands(INTEGRITY, icc)
    for count in data["kept"].values():
        assert stands(INTEGRITY, count)
