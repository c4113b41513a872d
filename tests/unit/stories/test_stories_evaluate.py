"""Evaluation of experts on splits: what is measured, what is left out, what is said."""

from dataclasses import replace

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef
from moralscope.models.classifiers.saved import read_settings
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.store import shipped_folder
from moralscope.pages import write_report
from moralscope.papers.stories import reproduce_stories
from moralscope.stories.evaluate import evaluate, trained_part
from moralscope.stories.options import EvaluateOptions
from moralscope.stories.reading import StoryFile
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import classification_tasks

PARTS = ("train", "dev", "test")


def story(number):
    part, other = PARTS[number % 3], PARTS[number // 3 % 3]
    splits = {"norm_distance": part, "lexical_bias": other, "minimal_pairs": other}
    full = number % 2 == 0
    return MoralStory(
        str(number),
        f"It's {'good' if number % 4 else 'rude'} to feed dog {number}.",
        "Jo has <b>a dog</b>." if full else None,
        "Jo wants quiet." if full else None,
        f"Jo feeds dog {number}.",
        "It sleeps." if full else None,
        f"Jo kicks dog {number}.",
        "It barks." if full else None,
        splits={"action": splits, "consequence": splits},
    )


STORIES = [story(number) for number in range(90)]
ALL = {name: row.labels for name, row in classification_tasks().items()}


class Trained(ScriptedExperts):
    def __init__(self, split="norm_distance", name="trained", tasks=ALL):
        super().__init__(tasks)
        self.ref = ModelRef(name, "0" * 64)
        self.card = {"trained_on": {"split": split, "part": "train"}}


def test_the_grid_has_every_task_on_every_split_beside_the_paper():
    record = evaluate(Trained(), STORIES)
    assert len(record.results) == 3 * len(ALL)
    cells = {(cell.task, cell.split): cell for cell in record.results}
    cell = cells["action+norm", "norm_distance"]
    assert (cell.paper_accuracy, cell.paper_f1, cell.seen) == (0.92, 0.92, 0)
    assert (cell.measured.stories, cell.measured.samples) == (30, 60)
    assert cells["action+context", "norm_distance"].measured.stories == 15
    assert cells["consequence+action", "norm_distance"].measured.samples == 60
    assert [found.variant for found in cell.reversed] == [0, 1, 2]
    assert cell.swapped.samples == 60
    assert cell.calibration.temperature > 0
    assert cells["action", "norm_distance"].reversed == ()


def test_stories_of_the_training_part_never_count():
    record = evaluate(Trained(), STORIES, EvaluateOptions(["action"]))
    cells = {cell.split: cell for cell in record.results}
    assert cells["norm_distance"].seen == 0
    assert (cells["lexical_bias"].seen, cells["lexical_bias"].measured.stories) == (10, 20)
    assert any("10 stories of the test part were in training" in line for line in record.warnings)
    own = evaluate(Trained("lexical_bias"), STORIES, EvaluateOptions(["action"]))
    assert [cell.seen for cell in own.results] == [10, 0, 0]


def test_a_card_that_says_nothing_is_said():
    record = evaluate(ScriptedExperts(ALL), STORIES, EvaluateOptions(["action"]))
    assert any("does not say what it was trained on" in line for line in record.warnings)
    assert any("6,912" in line for line in record.warnings)


def test_a_second_set_is_compared_on_the_same_samples():
    record = evaluate(
        Trained(), STORIES, EvaluateOptions(["action"]), against=Trained("minimal_pairs", "other")
    )
    for cell in record.results:
        assert cell.against.difference.value == 0  # the same probabilities
        assert cell.against.samples == cell.measured.samples
    # What either was trained on is left out for both.
    assert [cell.seen for cell in record.results] == [10, 10, 10]


def test_words_are_measured_on_the_same_split():
    record = evaluate(Trained(), STORIES, EvaluateOptions(["action"], shortcuts=True))
    found = record.results[0].shortcut
    assert (found.trained_on, found.samples, found.accuracy.value) == (60, 60, 1.0)
    assert found.for_positive[0].word == "feeds"


def test_fewer_stories_are_drawn_by_the_seed():
    options = EvaluateOptions(["action"], ["norm_distance"], max_stories=5, reversed=False)
    first, same, other = (
        evaluate(Trained(), STORIES, replace(options, seed=seed)).results[0] for seed in (1, 1, 2)
    )
    assert first == same
    assert first.measured.stories == 5
    assert first.mistakes != other.mistakes


def test_any_stories_can_be_measured_whole():
    plain = [replace(story, splits={}) for story in STORIES]
    record = evaluate(Trained(), plain, EvaluateOptions(["action"], part="all"))
    assert record.results[0].measured.stories == 90
    assert record.results[0].paper_accuracy is None


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (EvaluateOptions(part="tset"), "there is no part 'tset'"),
        (EvaluateOptions(splits=["norm"]), "there is no split 'norm'"),
        (EvaluateOptions(["action+norms"]), "has no expert for 'action\\+norms'"),
    ],
)
def test_unknown_names_are_refused(options, line):
    with pytest.raises(InputError, match=line):
        evaluate(ScriptedExperts(ALL), STORIES, options)


def test_a_task_without_its_sentences_is_said_and_none_at_all_is_refused():
    bare = [story for story in STORIES if story.situation is None]
    record = evaluate(Trained(), bare, EvaluateOptions(["action", "action+context"]))
    assert {cell.task for cell in record.results} == {"action"}
    assert sum("no complete story" in line for line in record.warnings) == 3
    with pytest.raises(InputError, match="no story is complete"):
        evaluate(Trained(), bare, EvaluateOptions(["action+context"]))


def test_the_report_shows_the_grid_and_runs_nothing_of_the_stories(tmp_path):
    path = tmp_path / "evaluate.html"
    write_report(
        evaluate(Trained(), STORIES, EvaluateOptions(shortcuts=True), against=Trained(name="b")),
        path,
    )
    page = path.read_text("utf-8")
    for title in (
        "Accuracy and F1",
        "Does it read the norm?",
        "Reliability, norm_distance",
        "Surest mistakes",
        "What single words reach",
        "Against b",
    ):
        assert title in page
    assert "<b>a dog</b>" not in page


def test_reproduce_sets_the_tables_beside_the_paper(tmp_path):
    sets = [Trained(), Trained("lexical_bias", "lexical")]
    record = reproduce_stories(StoryFile("mine", tuple(STORIES)), sets)
    names = [table.name.partition(":")[0] for table in record.results]
    assert names == [f"Table {number}" for number in (*range(2, 11), 15, 16, 17)]
    used = {cell["split"] if isinstance(cell, dict) else cell.split: cell.expert
            for cell in record.statistics["cells"]}  # fmt: skip
    assert used == {
        "norm_distance": "trained",
        "lexical_bias": "lexical",
        "minimal_pairs": "trained",
    }
    table2 = record.results[0]
    row = next(
        row for row in table2.rows if (row.row, row.column) == ("action", "F1, lexical_bias")
    )
    assert row.paper == 0.78
    table10 = record.results[names.index("Table 10")]
    sizes = {(row.row, row.column): row.ours for row in table10.rows}
    assert sizes["consequence classification, norm_distance", "test"] == 120
    write_report(record, tmp_path / "r.html")
    assert "Table 2: action classification, test" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize("folder", ["large", "rules-mpnet", "stories-mpnet"])
def test_the_cards_of_shipped_experts_say_which_stories_they_learnt(folder):
    assert trained_part(read_settings(shipped_folder(folder)).card) == ("norm_distance", "train")


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (["Moral Stories (Emelin et al. 2021), MIT"], [10, 0, 10]),
        (["annotations of MIC.csv"], [0, 0, 0]),
    ],
)
def test_a_card_without_a_split_is_read_by_its_data(data, seen):
    rules = Trained(tasks={"action": ALL["action"]})
    rules.card = {"trained_on": {"part": "train", "limit": None}, "data": data}
    record = reproduce_stories(StoryFile("mine", tuple(STORIES)), [rules])
    cells = [cell for cell in record.statistics["cells"] if cell.part == "test"]
    assert {cell.split: cell.seen for cell in cells} == dict(
        zip(("lexical_bias", "norm_distance", "minimal_pairs"), seen, strict=True)
    )
    said = [line for line in record.warnings if "does not say what it was trained on" in line]
    assert len(said) == (not any(seen))
