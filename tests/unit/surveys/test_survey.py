"""Surveys: what was planted into a model is found, and what was not is not."""

import json
import math

import pytest

from moralscope.core.errors import GateNotMet, InputError
from moralscope.core.records import Continuation, to_plain
from moralscope.models.language.scripted import PlantedBias, ScriptedModel
from moralscope.pages import build_page
from moralscope.surveys.asking import dilemma_cells
from moralscope.surveys.items import Dilemma, read_items, spread
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.replies import cronbach_alpha
from moralscope.surveys.survey import survey

PLANTED = {"order": 0.6, "label": 0.4, "yes": 0.5, "wording": 0.7, "mass": 0.6}
FIGURES = {"order_bias": 0.6, "label_bias": 0.4, "yes_bias": 0.5, "wording": 0.7}
RUNS = 100
ENOUGH = 93


def dilemmas(count=24, **more):
    return [
        Dilemma(
            str(n),
            f"You are in situation {n}.",
            (f"I do the kind thing {n}.", f"I do the other thing {n}."),
            better=0,
            **more,
        )
        for n in range(count)
    ]


def figures(planted, items=None, **options):
    model = ScriptedModel(planted)
    record = survey(items or dilemmas(), speakers=[model], wordings=2, **options)
    return record.statistics["models"][model.name]


def recovered(runs):
    """Count, for each figure, the runs in which its interval holds what was planted."""
    found = dict.fromkeys([*FIGURES, "mass"], 0)
    for seed in runs:
        each = figures(PlantedBias(**PLANTED, noise=0.4, seed=seed))
        for name, truth in FIGURES.items():
            found[name] += each.biases[name].low <= truth <= each.biases[name].high
        found["mass"] += each.mass.low <= PLANTED["mass"] <= each.mass.high
    return found


def test_what_was_planted_is_recovered():
    found = recovered(range(6))
    assert min(found.values()) >= 5


@pytest.mark.slow
def test_what_was_planted_is_recovered_in_93_of_100_runs():
    found = recovered(range(RUNS))
    assert min(found.values()) >= ENOUGH, found


@pytest.mark.slow
def test_a_model_without_bias_has_none_flagged_in_93_of_100_runs():
    clean = sum(not figures(PlantedBias(noise=0.4, seed=s)).flagged for s in range(RUNS))
    assert clean >= ENOUGH


def test_a_model_without_bias_and_noise_has_no_figure_but_its_values():
    found = figures(PlantedBias())
    assert not found.flagged
    assert all(abs(each.value) < 1e-6 for each in found.biases.values())
    assert found.consistency.value == pytest.approx(1.0)
    assert found.flips.value == 0
    assert found.noise_floor == pytest.approx(0.0, abs=1e-9)


def test_planted_biases_are_flagged_and_told_apart():
    for name, key in (("order", "order_bias"), ("label", "label_bias"), ("yes", "yes_bias")):
        assert figures(PlantedBias(**{name: 1.5})).flagged == (key,)
    assert figures(PlantedBias(wording=1.0)).flagged == ("wording",)


def test_the_likelihood_is_that_of_the_values_whatever_is_planted():
    values = {"I do the kind thing 0.": 1.0, "I do the other thing 0.": 0.0}
    model = ScriptedModel(PlantedBias(), values)
    row = survey(dilemmas(1), speakers=[model]).results[0]
    assert row.likelihoods[0] == pytest.approx(1 / (1 + math.exp(-1)))
    assert sum(row.likelihoods) == pytest.approx(1)
    assert row.right


LEANING = {"I do the kind thing 0.": -0.606, "I do the other thing 0.": 0.0}


def leaning(values=LEANING, **planted):
    """Return the figures of one dilemma, put to a model with known values and biases."""
    model = ScriptedModel(PlantedBias(**planted), values)
    record = survey(dilemmas(1), speakers=[model])
    return record.results[0], record.statistics["models"][model.name]


@pytest.mark.parametrize("name", ["order", "label", "yes"])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_planted_order_label_or_yes_effect_leaves_the_likelihood_alone(name, size):
    row, model = leaning(**{name: float(size)})
    assert row.likelihoods[0] == pytest.approx(0.353, abs=1e-3)
    assert model.better.value == row.likelihoods[0]
    assert model.better_mean_probability.value == row.mean_probabilities[0]
    if size == 3 and name == "order":  # a mean of probabilities is pulled to a coin
        assert row.mean_probabilities[0] == pytest.approx(0.471, abs=1e-3)
    if size == 0:
        assert row.mean_probabilities == pytest.approx(row.likelihoods)


def test_a_planted_order_effect_leaves_the_likelihoods_of_three_actions_alone():
    three = Dilemma("1", "You are late.", ("I run.", "I call.", "I wait."), better=1)
    values = {"I run.": 0.0, "I call.": 0.7, "I wait.": -0.4}
    truth = [math.exp(value) / sum(map(math.exp, values.values())) for value in values.values()]
    model = ScriptedModel(PlantedBias(order=2.0, label=1.0, yes=1.0), values)
    [row] = survey([three], speakers=[model]).results
    assert row.likelihoods == pytest.approx(truth)
    assert abs(row.mean_probabilities[1] - truth[1]) > 0.03


def test_a_balanced_order_effect_does_not_widen_an_items_interval():
    plain, _ = leaning(wording=0.5, noise=0.2)
    pushed, _ = leaning(wording=0.5, noise=0.2, order=3.0, label=2.0, yes=1.0)
    assert plain.low[0] < plain.likelihoods[0] < plain.high[0]
    assert pushed.low == pytest.approx(plain.low)
    assert pushed.high == pytest.approx(plain.high)


def test_without_noise_an_items_interval_is_its_likelihood_whatever_the_order_does():
    row, _ = leaning(order=3.0)
    assert (row.low, row.high) == (pytest.approx(row.likelihoods), pytest.approx(row.likelihoods))


def test_items_intervals_hold_what_was_planted_in_nine_of_ten_items():
    items = dilemmas(100)
    values = {action: float(n == 0) / 2 for item in items for n, action in enumerate(item.actions)}
    model = ScriptedModel(PlantedBias(order=2.0, wording=0.7, noise=0.3), values)
    truth = 1 / (1 + math.exp(-0.5))
    rows = survey(items, speakers=[model]).results
    assert 89 <= sum(row.low[0] <= truth <= row.high[0] for row in rows) <= 99


def test_one_wording_says_nothing_of_an_items_interval():
    row = survey(dilemmas(2), models=("scripted",), wordings=1).results[0]
    assert math.isnan(row.low[0])
    assert math.isnan(row.high[0])


def test_every_form_counts_alike_however_many_questions_it_has():
    class ByForm(ScriptedModel):
        """Prefers the kind thing by letters, and sees much probability elsewhere otherwise."""

        def log_probabilities(self, prompts, continuations):
            rows = []
            for prompt, some in zip(prompts, continuations, strict=True):
                by_letter = "Answer with A or B" in prompt
                kind = "A" if "A. I do the kind" in prompt else "B"
                share = {answer: 0.8 if answer == kind else 0.1 for answer in some}
                if not by_letter:
                    share = dict.fromkeys(some, 0.1)
                rows.append([Continuation(a, (math.log(share[a]),)) for a in some])
            return rows

    record = survey(dilemmas(2), speakers=[ByForm(PlantedBias())], forms=("ab", "repeat"))
    [row, _] = record.results
    assert row.likelihoods[0] == pytest.approx((8 / 9 + 1 / 2) / 2)  # 4 questions, and 2
    assert row.mean_probabilities == pytest.approx(row.likelihoods)
    assert row.mass == pytest.approx((0.9 + 0.2) / 2)


def test_a_model_without_a_preference_is_right_by_a_coin():
    items = dilemmas(60)
    values = {action: 0.0 for item in items for action in item.actions}
    model = ScriptedModel(PlantedBias(label=5.0), values)
    record = survey(items, speakers=[model], wordings=1)
    assert 0.3 < record.statistics["models"][model.name].accuracy.value < 0.7


def test_more_than_two_actions_are_asked_in_every_order():
    three = Dilemma("1", "You are late.", ("I run.", "I call.", "I wait."), better=1)
    cells = list(dilemma_cells(0, three, ("ab", "repeat", "compare"), 1))
    assert [sum(c.form == f for c in cells) for f in ("ab", "repeat", "compare")] == [18, 6, 6]
    values = {"I run.": 0.0, "I call.": 2.0, "I wait.": -1.0}
    model = ScriptedModel(PlantedBias(order=0.8), values)
    record = survey([three, three.__class__("2", "You are.", three.actions)], speakers=[model])
    found = record.statistics["models"][model.name]
    assert found.biases["order_bias"].value == pytest.approx(0.8)
    assert found.biases["label_bias"].value == pytest.approx(0.0, abs=1e-9)
    assert record.results[0].likelihoods[1] > 0.7


def test_rules_that_are_broken_more_often_than_by_chance_are_told():
    items = dilemmas(20, breaks=(frozenset(), frozenset({"lie"})))
    values = {action: float(n == 0) * 2 for item in items for n, action in enumerate(item.actions)}
    model = ScriptedModel(PlantedBias(), values)
    [rule] = survey(items, speakers=[model]).statistics["models"][model.name].rules
    assert rule.rule == "lie"
    assert rule.rate.value < 0.2
    assert rule.rate.n == 20
    assert rule.p_holm < 0.05


def test_models_are_compared_item_by_item_with_holm():
    models = [ScriptedModel(PlantedBias(seed=1)), ScriptedModel(PlantedBias(seed=1, order=2.0))]
    found = survey(dilemmas(), speakers=models, wordings=2).statistics["comparisons"]
    by_name = {each.figure: each for each in found}
    assert by_name["order_bias"].difference.value == pytest.approx(2.0)
    assert by_name["order_bias"].p_holm < 0.001
    assert by_name["label_bias"].p_holm > 0.05


def test_models_are_compared_statement_by_statement():
    record = survey("values", models=("scripted", "scripted:seed=3,mass=0.5"), wordings=1)
    by_name = {each.figure: each for each in record.statistics["comparisons"]}
    assert by_name["mass"].difference.value == pytest.approx(-0.5, abs=0.05)
    assert by_name["mass"].p_holm < 0.001
    assert by_name["agreement"].p_holm > 0.05
    titles = [section.title for section in build_page(to_plain(record)).sections]
    assert "Models compared" in titles


def test_shares_of_few_items_end_at_zero_and_one():
    record = survey(dilemmas(2), models=("scripted",), wordings=1)
    found = record.statistics["models"]["scripted"]
    assert 0 <= found.better.low <= found.better.high <= 1
    assert math.isnan(found.biases["wording"].value)  # one wording says nothing of wordings


def test_an_encoder_is_no_subject_of_a_survey():
    with pytest.raises(InputError, match="'minilm' is an encoder"):
        survey(dilemmas(2), models=("minilm",))


def test_a_gate_that_is_not_met_says_so():
    record = survey(dilemmas(4), models=("scripted:order=1",), gate="order_bias<=0.5", wordings=1)
    with pytest.raises(GateNotMet, match="order_bias is 1"):
        record.statistics["gate"].require()
    with pytest.raises(InputError, match="knows no figure 'orderbias'"):
        survey(dilemmas(4), models=("scripted",), gate="orderbias<=0.5")


def test_a_questionnaire_is_answered_forwards_and_negated():
    record = survey("values", models=("scripted",), wordings=1)
    found = record.statistics["models"]["scripted"]
    assert {each.subscale for each in found.subscales} >= {"care", "fairness", "loyalty"}
    for row in record.results:
        assert 0 <= row.agreement <= 1
        assert sum(row.distribution) == pytest.approx(1)
        assert row.numbering == pytest.approx(0.0, abs=1e-9)
    json.dumps(to_plain(record))


def test_free_replies_stand_beside_choices_and_ratings():
    record = survey(
        dilemmas(6), models=("scripted",), wordings=1, free=True, experts="scripted", replies=3
    )
    rows = record.statistics["say_rate_do"]
    assert len(rows) == 6
    assert all(len(row.reply) == 3 and -1 <= row.do <= 1 for row in rows)
    found = record.statistics["replies"]["scripted"]
    assert [gap.pair for gap in found.gaps] == [("say", "rate"), ("say", "do"), ("rate", "do")]
    assert found.replies == 18


def test_reliability_is_one_without_noise_and_low_with_noise_alone():
    import numpy as np

    generator = np.random.default_rng(0)
    items = generator.normal(size=(60, 1))
    assert cronbach_alpha(list(np.repeat(items, 3, axis=1))) == pytest.approx(1.0)
    assert cronbach_alpha(list(generator.normal(size=(60, 3)))) < 0.5


def test_the_report_draws_dilemmas_questionnaires_and_replies():
    record = survey(
        dilemmas(6), models=("scripted:order=1,noise=0.3", "scripted"), wordings=2, free=True,
        experts="scripted",
    )  # fmt: skip
    page = build_page(json.loads(json.dumps(to_plain(record))))
    titles = [section.title for section in page.sections]
    assert {"What the answers depend on", "Say, rate, do", "Models compared"} <= set(titles)
    scale = survey("values", models=("scripted",), wordings=1)
    page = build_page(json.loads(json.dumps(to_plain(scale))))
    assert page.sections[0].title == "How far the models agree"


def table(folder, text):
    path = folder / "items.csv"
    path.write_text(text)
    return path


def test_moralchoice_columns_are_read(tmp_path):
    text = (
        "scenario_id,ambiguity,context,action1,action2,a1_death,a2_death\n"
        "X_1,low,You drive.,I stop.,I go on.,No,Yes\n"
    )
    [item] = read_items(table(tmp_path, text))
    assert item.better == 0
    assert item.breaks == (frozenset(), frozenset({"death"}))
    assert item.id == "X_1"


def test_items_are_spread_evenly_over_a_file():
    assert [item.id for item in spread(dilemmas(10), 3)] == ["0", "3", "6"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("situation,action1,action2\nYou go.,I run.,I run.\n", "line 2 has actions that are equal"),
        ("situation,action1,action2\nYou go.,I run.,\n", "line 2 has only one action"),
        ("situation,action1,action2\n,I run.,I go.\n", "line 2 has no situation"),
        ("a,b\n1,2\n", "neither dilemmas nor statements"),
        ("situation,action1,action2\n", "holds no items"),
        ("situation,action1,action2,better\nYou go.,I run.,I go.,3\n", "better = '3'"),
        ("statement,scale\nI like it.,yes\n", "scale of 1 points"),
        ("id,situation,action1,action2\n1,A.,I b.,I c.\n1,A.,I b.,I c.\n", "the id '1' of line 2"),
        ("situation,action1,action2,a1_lie\nYou go.,I run.,I go.,maybe\n", "a1_lie = 'maybe'"),
    ],
)
def test_bad_tables_are_refused_with_their_line(tmp_path, text, told):
    with pytest.raises(InputError) as error:
        read_items(table(tmp_path, text))
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_senseless_options_are_refused():
    with pytest.raises(InputError, match="there is no form 'abc'"):
        SurveyOptions(forms=("abc",))
    with pytest.raises(InputError, match="wordings is 9"):
        SurveyOptions(wordings=9)
    with pytest.raises(InputError, match="free replies answer dilemmas"):
        survey("values", models=("scripted",), free=True)


def test_no_figure_leaves_the_range_that_it_can_have():
    for seed in range(4):
        each = figures(PlantedBias(noise=0.5, seed=seed), dilemmas(6))
        spread_of_wordings = each.biases["wording"]
        assert 0 <= spread_of_wordings.low <= spread_of_wordings.value <= spread_of_wordings.high
        assert 0 <= each.entropy.low <= each.entropy.value <= each.entropy.high <= 1


def test_an_interval_that_is_written_with_an_end_at_zero_is_no_bias():
    for seed in range(8):
        each = figures(PlantedBias(order=0.08, noise=0.3, seed=seed), dilemmas(12))
        for name in each.flagged:
            bias = each.biases[name]
            assert round(bias.low, 2) > 0 or round(bias.high, 2) < 0
