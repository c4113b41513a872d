"""Training the filters: whose settings, what is written, and that `collect` takes it."""

import json

import pytest

from moralscope.core.errors import InputError
from moralscope.models.training.recipe import load_recipe
from moralscope.rules.collect.chatbots import CollectPrompt
from moralscope.rules.collect.collect import collect
from moralscope.rules.collect.filters import TASKS
from moralscope.rules.collect.options import CollectOptions
from moralscope.rules.collect.train import (
    FilterRecipe,
    measure_filter,
    read_labelled,
    share_out,
    train_filters,
)
from moralscope.stories.experts import prepare_experts

from ....expert_makers import tiny_bert

KINDS = [("good help", 1, 1), ("good pays", 1, 0), ("bad lies", 0, 1), ("bad bad", 0, 0)]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    path = tmp_path_factory.mktemp("labels") / "labelled.csv"
    rows = [
        f"Question {n}?,{reply},{sufficient},{moral},{'one' if n % 2 else 'two'}\n"
        for n in range(20)
        for reply, sufficient, moral in KINDS
    ]
    path.write_text("prompt,reply,sufficient,moral,chatbot\n" + "".join(rows))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory, base, labelled):
    out = tmp_path_factory.mktemp("out") / "filters"
    settings = ("epochs=3", "learning_rate=2e-2", "batch_size=16")
    record = train_filters(labelled=labelled, to=out, base=str(base), settings=settings)
    return out, record


def test_the_record_has_the_table_of_the_paper(trained):
    _, record = trained
    rows = [(row.task, row.chatbot, row.n) for row in record.results]
    assert rows[0] == ("sufficiency", "all", 16)
    assert {row[1] for row in rows} == {"all", "one", "two"}
    assert len(rows) == 6
    assert record.statistics["parts"] == {"train": 48, "dev": 16, "test": 16}
    assert record.statistics["labels"]["sufficiency"] == {"sufficient": 40, "insufficient": 40}
    assert all(0 <= row.low <= row.f1 <= row.high <= 100 for row in record.results)


def test_what_was_learnt_is_on_the_card_and_taken_by_collect(trained):
    out, record = trained
    experts = prepare_experts(str(out))
    assert experts.tasks == tuple(TASKS)
    assert "collect-train labelled.csv" in experts.card["command"]
    assert "| sufficiency | all |" in (out / "README.md").read_text()
    found = collect(
        [CollectPrompt("Question 1?", "1")],
        CollectOptions(("scripted",), lexicons=(), filters=str(out)),
    ).results
    told = experts.expert("sufficiency").probabilities([(found[0].prompt, found[0].reply)])
    assert found[0].sufficient == pytest.approx(float(told[0, 1]))
    assert json.loads((out / "expert.json").read_text())["base_sha256"] == record.models[0].sha256


def test_it_learns_and_what_was_written_is_what_was_measured(trained, labelled):
    out, record = trained
    test = share_out(read_labelled(labelled))["test"]
    pairs = [(row.exchange.prompt, row.exchange.reply) for row in test]
    for task in TASKS:
        told = prepare_experts(str(out)).expert(task).probabilities(pairs)[:, 1] > 0.5
        again = measure_filter([row.labels[task] for row in test], told.tolist())
        measured = next(row for row in record.results if row.task == task)
        assert again.f1 == pytest.approx(measured.f1)
    assert record.results[0].f1 > 80


def test_the_papers_settings():
    recipe = load_recipe(FilterRecipe, "paper-filters", seed=3)
    assert recipe.base == "albert-base-v2"
    assert [each.learning_rate for each in recipe.points] == [2e-5, 3e-5, 5e-5]
    assert {(each.epochs, each.batch_size, each.seed) for each in recipe.points} == {(8, 16, 3)}
    given = load_recipe(FilterRecipe, "paper-filters", ["learning_rate=1e-5"]).points
    assert [each.learning_rate for each in given] == [1e-5]


def test_a_folder_of_other_things_is_left_alone(trained, labelled, base):
    out, _ = trained
    before = (out / "expert.json").read_bytes()
    with pytest.raises(InputError, match="holds files already"):
        train_filters(labelled=labelled, to=out, base=str(base))
    assert (out / "expert.json").read_bytes() == before


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("q,a,2,1", "line 3 has no vote under 'sufficient'"),
        ("q,a,1,", "line 3 has no vote under 'moral'"),
        ("q,a,1", "line 3 has 3 cells"),
    ],
)
def test_broken_lines_are_named(tmp_path, row, told):
    path = tmp_path / "l.csv"
    path.write_text(f"prompt,reply,sufficient,moral\nq,a,1,1\n{row}\n")
    with pytest.raises(InputError, match=told):
        train_filters(labelled=path, to=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_too_few_labels_are_refused(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("prompt,reply,sufficient,moral\nq,a,1,1\n")
    with pytest.raises(InputError, match="no reply of each label"):
        train_filters(labelled=path, to=tmp_path / "out")
