"""Comparing encoders: known shifts are found, noise is not, and the same models are the same."""

import os
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from moralscope.axes.compare import FIGURES, NEGLIGIBLE, _standardise, compare, label
from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.templates import load_template
from moralscope.core.errors import GateNotMet, InputError, UnknownName
from moralscope.core.records import ActionScore, to_plain
from moralscope.io.actions import ActionList
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoder
from moralscope.stats.significance import holm, paired_differences

ACTIONS = [f"do thing {place:02d}" for place in range(30)]
PROMPTS = load_template("moral").prompts


class Planted:
    """An encoder whose question/answer bias of each action is given, with noise per prompt."""

    arithmetic = "float32"

    dimension = 2

    def __init__(self, values, *, noise=0.02, scale=1.0, seed=0, name="planted", checksum=None):
        self.name = name
        self.checksum = checksum or sha256(f"{name} {seed}".encode()).hexdigest()
        generator = np.random.default_rng(seed)
        self._rows = {}
        for prompt in PROMPTS:
            taste = generator.normal(0, 0.1)  # of the prompt, shared by all actions
            for action, value in values.items():
                side = scale * (value + generator.normal(0, noise)) + taste
                self._rows[prompt.question.replace("{}", action)] = (side, np.sqrt(1 - side**2))
            self._rows[prompt.positive], self._rows[prompt.negative] = (1, 0), (-1, 0)

    def encode(self, texts):
        return np.array([self._rows[text] for text in texts], dtype=np.float32)


VALUES = dict(zip(ACTIONS, np.linspace(-0.3, 0.3, 30), strict=True))
SHIFTED = {**VALUES, ACTIONS[3]: VALUES[ACTIONS[3]] + 0.25, ACTIONS[20]: VALUES[ACTIONS[20]] - 0.2}


@pytest.fixture(scope="module")
def shifted():
    return compare(
        ACTIONS,
        encoders=[Planted(VALUES, seed=1, name="old"), Planted(SHIFTED, seed=2, name="new")],
    )


def significant(record):
    return {row.action for row in record.results if any(d.p_holm < 0.05 for d in row.differences)}


def test_planted_shifts_are_found_and_nothing_else(shifted):
    assert significant(shifted) == {ACTIONS[3], ACTIONS[20]}
    assert set(shifted.statistics["most_disputed"][:2]) == {ACTIONS[3], ACTIONS[20]}
    assert shifted.statistics["pairs"][0].significant == 2


def test_a_difference_is_second_less_first_on_the_common_scale(shifted):
    row = shifted.results[3]
    (found,) = row.differences
    assert found.pair == ("old", "new")
    assert found.difference == pytest.approx(row.scores["new"] - row.scores["old"])
    assert found.difference > 0
    assert found.low < found.difference < found.high
    assert row.spread == pytest.approx(abs(found.difference))


def test_raw_scores_are_kept_beside_z_scores(shifted):
    raw = np.array([row.raw["old"].score for row in shifted.results])
    scores = [row.scores["old"] for row in shifted.results]
    assert scores == pytest.approx(scipy_stats.zscore(raw, ddof=1))
    assert len(shifted.results[0].raw["old"].prompts) == 10


def test_rank_agreement_is_scipys(shifted):
    (pair,) = shifted.statistics["pairs"]
    columns = [[row.scores[name] for row in shifted.results] for name in pair.pair]
    assert pair.pearson.r == pytest.approx(scipy_stats.pearsonr(*columns).statistic)
    assert pair.spearman.r == pytest.approx(scipy_stats.spearmanr(*columns).statistic)
    assert pair.kendall.r == pytest.approx(scipy_stats.kendalltau(*columns).statistic)
    for found in (pair.pearson, pair.spearman, pair.kendall):
        assert found.low < found.r < found.high
    assert 0 < pair.minimum_detectable_effect < pair.minimum_detectable_effect_corrected


def test_a_taste_for_yes_and_another_range_are_no_difference():
    small, wide = Planted(VALUES, seed=1), Planted(VALUES, seed=5, scale=2, name="wide")
    record = compare(ACTIONS, encoders=[small, wide])
    assert significant(record) == set()
    assert record.statistics["pairs"][0].pearson.r > 0.99


def test_identical_encoders_differ_nowhere():
    record = compare(
        ["kill", "help", "smile", "lie"], encoders=["scripted", "scripted"], gate="r>=1,changed==0"
    )
    assert significant(record) == set()
    assert all(row.differences[0].p_holm == 1 for row in record.results)
    assert record.statistics["pairs"][0].pearson.r == pytest.approx(1)
    assert record.statistics["pairs"][0].max_shift == 0
    assert record.statistics["gate"].values["changed"] == 0
    assert any("have the same weights" in line for line in record.warnings)


def test_float_rounding_is_no_difference():
    class Rounded(Planted):
        def encode(self, texts):
            return super().encode(texts) * np.float32(1 + 3e-7)

    record = compare(ACTIONS, encoders=[Planted(VALUES, seed=1), Rounded(VALUES, seed=1, name="b")])
    assert significant(record) == set()


@pytest.mark.parametrize("own_unit", [False, True], ids=["run", "axis"])
def test_on_noise_the_corrected_test_errs_in_about_one_run_of_twenty(own_unit):
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 1, 20)
    runs, wrong = 400, 0
    for seed in range(runs):
        tables = {}
        for name in ("a", "b", "c"):
            values = truth[:, None] + rng.normal(0, 0.7, (20, 10)) + rng.normal(0, 1, 10)
            if own_unit:  # an axis is centred on the actions it was fitted on
                values -= values.mean()
            rows = [ActionScore("", row.mean(), 0, 0, tuple(row)) for row in values]
            tables[name] = _standardise(name, rows, own_unit=own_unit)
        pairs = [("a", "b"), ("a", "c"), ("b", "c")]
        p = np.concatenate(
            [
                paired_differences(tables[b], tables[a], seed=seed, negligible=NEGLIGIBLE).p
                for a, b in pairs
            ]
        )
        wrong += bool((holm(p) < 0.05).any())
    assert 0 < wrong / runs <= 0.075


def test_three_encoders_give_three_pairs_and_one_correction():
    models = [Planted(VALUES, seed=seed, name=name) for seed, name in enumerate("abc")]
    record = compare(ACTIONS, encoders=models)
    assert [pair.pair for pair in record.statistics["pairs"]] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    p = [d.p for row in record.results for d in row.differences]
    corrected = [d.p_holm for row in record.results for d in row.differences]
    assert corrected == pytest.approx(holm(p))
    assert len(p) == 90


def test_checkpoints_of_one_name_are_told_apart():
    first, second = (
        Planted(VALUES, seed=seed, name="model", checksum=f"{seed}{'ab' * 31}") for seed in (1, 2)
    )
    one, other = model_refs([first, second])
    assert label([one, other]) == ["model@1abababa", "model@2abababa"]
    assert label([one, one, other]) == [
        "model@1abababa",
        "model@1abababa (2)",
        "model@2abababa",
    ]
    record = compare(ACTIONS, encoders=[first, second])
    assert list(record.results[0].scores) == ["model@1abababa", "model@2abababa"]
    assert [model.name for model in record.models] == record.config["encoders"]


def test_repeated_actions_count_once_and_paraphrases_travel():
    listed = ActionList(["kill", "help", "smile", "kill"], [("murder",), (), (), ()])
    record = compare(listed, encoders=["scripted", "scripted"])
    assert [row.action for row in record.results] == ["kill", "help", "smile"]
    assert any("repeated" in line for line in record.warnings)
    plain = compare(["kill", "help", "smile"], encoders=["scripted", "scripted"])
    name = record.config["encoders"][0]
    assert record.results[0].raw[name].score != plain.results[0].raw[name].score
    assert record.results[1].raw[name].score == plain.results[1].raw[name].score


def test_a_gate_is_judged_and_raises_on_request(shifted):
    models = [Planted(VALUES, seed=1, name="old"), Planted(SHIFTED, seed=2, name="new")]
    record = compare(ACTIONS, encoders=models, gate="spearman>=0.5 and changed<=1")
    gate = record.statistics["gate"]
    assert not gate.met
    assert gate.values["changed"] == 2
    with pytest.raises(GateNotMet, match="changed is 2 for old vs new, wanted <= 1"):
        gate.require()
    assert shifted.statistics["gate"] is None


def test_every_gate_figure_is_a_number(shifted):
    (pair,) = shifted.statistics["pairs"]
    for name, figure in FIGURES.items():
        assert np.isfinite(figure(pair)), name
    assert FIGURES["changed_share"](pair) == pytest.approx(2 / 30)


def test_a_bad_gate_is_refused_before_any_work():
    with pytest.raises(UnknownName, match="did you mean 'kendall'"):
        compare(ACTIONS, encoders=[None, None], gate="kendal>=0.1")


def test_progress_counts_all_encoders():
    steps = []
    models = [Planted(VALUES, seed=1), Planted(VALUES, seed=2, name="b")]
    compare(ACTIONS, encoders=models, report=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (60, 60)


@pytest.mark.parametrize(
    ("actions", "encoders", "message"),
    [
        (["kill", "help", "smile"], ["scripted"], "1 encoder was given"),
        (["kill", "help", "kill"], ["scripted"] * 2, "2 different actions were given"),
        (["kill", "help", "smile"], ["scripted", "minilmm"], "did you mean 'minilm'"),
    ],
)
def test_what_cannot_be_compared_is_refused(actions, encoders, message):
    with pytest.raises(InputError, match=message):
        compare(actions, encoders=encoders)


def test_an_encoder_without_an_opinion_is_named():
    flat = Planted(dict.fromkeys(ACTIONS, 0.1), noise=0, name="flat")
    with pytest.raises(InputError, match="flat gives every action the same score"):
        compare(ACTIONS, encoders=[Planted(VALUES, seed=1), flat])


def test_one_prompt_has_differences_and_no_test(tmp_path):
    template = tmp_path / "one.yaml"
    template.write_text(
        "name: one\nprompts:\n  - question: May I {}?\n    positive: Yes.\n    negative: No.\n"
    )
    record = compare(["kill", "help", "smile"], encoders=["scripted"] * 2, template=str(template))
    plain = to_plain(record)
    assert plain["results"][0]["differences"][0]["p_holm"] is None
    assert plain["statistics"]["pairs"][0]["significant"] == 0


def test_the_same_seed_gives_the_same_record():
    models = [Planted(VALUES, seed=1), Planted(VALUES, seed=2, name="b")]
    assert compare(ACTIONS, encoders=models, seed=3) == compare(ACTIONS, encoders=models, seed=3)


@pytest.mark.realdata
def test_minilm_and_a_scripted_encoder_on_the_rated_actions(minilm):
    if "MORALSCOPE_DATA" not in os.environ:
        pytest.skip("MORALSCOPE_DATA is not set: the human ratings are not here")
    from moralscope.axes.ratings import read_ratings

    path = Path(os.environ["MORALSCOPE_DATA"]) / "human/yes_no_visible_half.csv"
    actions = list(read_ratings(path).counts)
    record = compare(actions, encoders=[minilm, load_encoder("scripted")])
    (pair,) = record.statistics["pairs"]
    assert abs(pair.pearson.r) < 0.4
    assert pair.significant > 0


def test_nothing_named_to_compare_is_refused():
    with pytest.raises(InputError, match="nothing was named to compare"):
        CompareOptions(encoders=())
