"""What every `Axis` promises: choice, directions by pca and by labels, the judge."""

import json
import pickle
from dataclasses import replace

import pytest

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.options import AXES as KINDS
from moralscope.axes.options import AxisOptions
from moralscope.core.protocols import Axis
from moralscope.core.records import to_plain
from moralscope.models.encoders import load_encoder

AXES = {
    "choice": AxisOptions(axis="choice"),
    "direction-pca": AxisOptions(axis="direction"),
    "direction-labelled": AxisOptions(axis="direction", fit="labelled"),
    "choice-language": AxisOptions(axis="choice", model="scripted:mass=0.6"),
    "direction-language": AxisOptions(axis="direction", model="scripted"),
    "judge": AxisOptions(axis="judge", encoder="scripted"),
    "judge-norm": AxisOptions(axis="judge", encoder="scripted", norm="It's wrong to hurt people."),
}
ACTIONS = ["kill people", "help people", "kill time", "eat meat", "go to church"]


@pytest.fixture(scope="module", params=AXES.values(), ids=AXES)
def options(request):
    return request.param


@pytest.fixture(scope="module")
def axis(options):
    return build_axis(options, LocalModels(load_encoder("scripted")))


def numbers(score):
    return (score.score, score.prompts)


def test_every_axis_there_is_is_tried():
    assert {options.axis for options in AXES.values()} == set(KINDS)


def test_is_an_axis_with_the_name_that_was_asked_for(axis, options):
    assert isinstance(axis, Axis)
    assert axis.name == axis.card.config["axis"] == options.axis


def test_the_card_can_be_written_into_a_record_and_names_the_weights(axis):
    card = axis.card
    json.dumps(to_plain([card.config, card.statistics, card.warnings, card.doubts]))
    assert all(len(model.sha256) > 8 for model in card.models)
    assert {"interval", "wordings"} & card.config.keys() or axis.name == "judge"


def test_rows_are_scored_as_their_actions_and_written_in_full(axis, options):
    rows = [{"action": action} for action in ACTIONS]
    run = axis.score_rows(rows)
    assert to_plain(run.results) == to_plain(axis.score(ACTIONS))
    json.dumps(to_plain([run.config, run.statistics, run.warnings]))
    for name in KINDS[options.axis].writes:
        assert name in to_plain(run.results[0])


def test_the_state_can_be_sent_to_a_worker_and_gives_the_same_axis(axis, options):
    state = pickle.loads(pickle.dumps(axis.state))
    moved = replace(options, template="moral", axis_file=None, fit_actions=None)
    again = build_axis(moved, LocalModels(load_encoder("scripted")), state=state)
    assert to_plain(again.score(ACTIONS)) == to_plain(axis.score(ACTIONS))


def test_scores_come_in_the_order_given(axis):
    forward = axis.score(ACTIONS)
    backward = axis.score(ACTIONS[::-1])
    assert [score.action for score in forward] == ACTIONS
    assert [numbers(s) for s in forward] == [numbers(s) for s in backward[::-1]]
    assert len({score.score for score in forward}) == len(ACTIONS)


def test_a_repeated_action_has_one_score(axis):
    first, other, again = axis.score(["kill time", "eat meat", "kill time"])
    assert to_plain(first) == to_plain(again)
    assert first.score != other.score


def test_a_score_does_not_depend_on_its_company(axis):
    (alone,) = axis.score(["kill people"])
    crowd = axis.score(["kill people", *(f"buy {number} apples" for number in range(700))])
    assert (crowd[0].score, crowd[0].prompts) == (alone.score, alone.prompts)
    # Interval ends are products of matrices, whose last digits hang on their shape.
    ends = pytest.approx((alone.low, alone.high), rel=1e-12)
    assert (crowd[0].low, crowd[0].high) == ends


def test_a_score_is_the_mean_of_its_prompts_inside_its_interval(axis):
    for score in axis.score(ACTIONS):
        if axis.name == "judge":  # scored in the first wording; the others give its range
            assert score.score == score.prompts[0]
            assert (score.low, score.high) == (min(score.prompts), max(score.prompts))
            assert score.low < score.high
            continue
        assert len(score.prompts) == 10
        assert score.score == pytest.approx(sum(score.prompts) / 10)
        assert score.low < score.score < score.high


def test_the_seed_moves_intervals_and_nothing_else(options):
    def scored(seed):
        seeded = replace(options, seed=seed)
        return build_axis(seeded, LocalModels(load_encoder("scripted"))).score(ACTIONS)

    first, same, other = scored(1), scored(1), scored(2)
    assert to_plain(first) == to_plain(same)
    assert [(s.score, s.prompts) for s in first] == [(s.score, s.prompts) for s in other]
    moved = [(s.low, s.high) for s in first] != [(s.low, s.high) for s in other]
    assert moved == (options.axis != "judge")  # a range over wordings draws nothing


def test_paraphrases_join_the_mean_and_the_interval(axis, options):
    alone, other = axis.score(["kill time", "waste an hour"])
    (joined,) = axis.score(["kill time"], [["waste an hour"]])
    assert joined.action == "kill time"
    assert joined.score == pytest.approx((alone.score + other.score) / 2)
    for place in range(len(alone.prompts)):
        mean = (alone.prompts[place] + other.prompts[place]) / 2
        assert joined.prompts[place] == pytest.approx(mean)
    # Two wordings that differ make a wider interval than the mean of one does, unless what a
    # prompt adds is drawn anew for every wording, as a scripted language model draws it.
    assert options.model or joined.high - joined.low > min(
        alone.high - alone.low, other.high - other.low
    )


def test_progress_is_reported_to_its_end(axis):
    seen = []
    axis.score([f"buy {number} apples" for number in range(300)], None, lambda *at: seen.append(at))
    assert seen[-1] == (300, 300)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_an_empty_list_has_no_scores(axis):
    assert axis.score([]) == []


def test_positive_is_good_on_a_real_encoder(options, minilm):
    if options.norm or options.model:
        pytest.skip("a norm decides what is good; a scripted model's values mean nothing")
    axis = build_axis(replace(options, encoder=minilm.name), LocalModels(minilm))
    bad, good = axis.score(["kill people", "help people"])
    assert bad.high < good.low
