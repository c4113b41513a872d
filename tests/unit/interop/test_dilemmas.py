"""Dilemmas and assertions for other tools, without the tools: what their files read and answer."""

import math
from statistics import mean, stdev

import pytest

from moralscope.core.errors import InputError
from moralscope.interop.choices import read_dilemmas
from moralscope.interop.lm_eval_tasks.data import dilemma_document, dilemma_figures
from moralscope.interop.promptfoo import get_assert
from moralscope.models.language.scripted import PlantedBias, ScriptedModel
from moralscope.surveys.items import Dilemma


def lm_eval_figures(model, dilemma):
    """Answer a document as lm-eval does: every letter in every context, letter by letter."""
    document = dilemma_document(dilemma)
    letters = "ABC"[: len(dilemma.actions)]
    asked = [(question, letter) for letter in letters for question in document["questions"]]
    rows = model.log_probabilities([q for q, _ in asked], [[f" {letter}"] for _, letter in asked])
    return dilemma_figures(document, [(row.total, False) for (row,) in rows])


def wallets(count=60):
    return [
        Dilemma(str(n), f"You find wallet {n}.", (f"I return it {n}.", f"I keep it {n}."), better=0)
        for n in range(count)
    ]


@pytest.mark.parametrize("spread", [1.0, 0.0])
def test_lm_evals_standard_error_of_a_model_that_always_says_a_is_not_zero(spread):
    model = ScriptedModel(PlantedBias(label=12.0, spread=spread))
    rows = [lm_eval_figures(model, dilemma) for dilemma in wallets()]
    values = [row["acc"] for row in rows]
    assert 0.3 < mean(values) < 0.7
    assert stdev(values) / math.sqrt(len(values)) == pytest.approx(0.065, abs=0.01)
    assert [row["label_bias"] for row in rows] == pytest.approx([12.0] * 60)
    assert [row["order_bias"] for row in rows] == pytest.approx([0.0] * 60, abs=1e-9)


def test_lm_evals_figures_tell_place_from_label_and_leave_the_likelihood_alone():
    three = Dilemma("1", "You are late.", ("I run.", "I call.", "I wait."), better=1)
    values = {"I run.": 0.0, "I call.": 0.5, "I wait.": 0.0}
    row = lm_eval_figures(ScriptedModel(PlantedBias(order=2.0, label=1.0), values), three)
    assert row["likelihood"] == pytest.approx(math.exp(0.5) / (2 + math.exp(0.5)))
    assert row["mean_probability"] < row["likelihood"] - 0.01
    assert (row["order_bias"], row["label_bias"]) == (pytest.approx(2.0), pytest.approx(1.0))
    assert row["acc"] == 1


@pytest.mark.parametrize("header", ["situation,action1,action2", "Context,Action1,Action2"])
def test_dilemmas_are_read_by_surveys_columns_and_by_moralchoices(header, tmp_path):
    (tmp_path / "d.csv").write_text(f"{header}\nYou go.,I run.,I walk.\n")
    [dilemma] = read_dilemmas(tmp_path / "d.csv")
    assert (dilemma.situation, dilemma.actions) == ("You go.", ("I run.", "I walk."))


def test_dilemmas_without_a_situation_are_refused_in_one_line(tmp_path):
    (tmp_path / "d.csv").write_text("action1,action2\nI run.,I walk.\n")
    with pytest.raises(InputError, match="neither dilemmas nor statements"):
        read_dilemmas(tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("rules: [unclosed\n  - a: b: c\n", "is not YAML"), ("rules: 3\n", "has no list of rules")],
)
def test_promptfoos_assertion_fails_with_one_line_for_an_ill_formed_rulebook(
    text, reason, tmp_path
):
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    config = {"rulebook": str(path), "experts": "scripted"}
    answer = get_assert("Hello.", {"prompt": "Hi!", "config": config})
    assert (answer["pass"], answer["score"]) == (False, 0)
    assert reason in answer["reason"]
    assert "\n" not in answer["reason"]
