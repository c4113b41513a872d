import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.words.comparison import (
    CorpusComparison,
    association_values,
    common_ground,
    everyday_actions,
    interval,
    movements,
    percentiles,
)
from moralscope.words.corpora import build_corpus
from moralscope.words.spaces import TrainingSettings, WordSpace, train_runs
from moralscope.words.trajectories import period_ground, trajectories
from moralscope.words.word_sets import WordSets

SETS = WordSets("test", ("joy", "peace", "love"), ("war", "death", "evil"))
GOOD = ("help", "give", "heal", "bless", "feed")
BAD = ("steal", "kill", "curse", "harm", "lie")
NEUTRAL = ("walk", "sit", "carry", "count", "open")


def text(name, good=GOOD, bad=BAD, seed=0):
    """Templates: good actions bring good words, bad ones bad words, neutral ones things."""
    generator = np.random.default_rng(seed)
    groups = (
        (good, SETS.positive, ("friends", "gladly", "kindly")),
        (bad, SETS.negative, ("enemies", "cruelly", "darkly")),
        (NEUTRAL, ("road", "stone", "door"), ("slowly", "daily", "there")),
    )
    sentences = []
    for _ in range(1500):
        actions, company, others = groups[generator.integers(3)]
        verb, word, other = (generator.choice(group) for group in (actions, company, others))
        sentences.append(["they", str(verb), str(other), "and", "find", str(word)])
    return build_corpus(name, sentences)


def compared(first, second, seed=0):
    actions = (*GOOD, *BAD, *NEUTRAL)
    ground = common_ground([first, second], actions, SETS, 10)
    settings = TrainingSettings(dimensions=10)
    spaces = train_runs([first, second], settings, runs=4, seed=seed)
    return CorpusComparison([first, second], spaces, ground)


@pytest.fixture(scope="module")
def swapped():
    good, bad = ("help", "steal", *GOOD[2:]), ("give", *BAD[1:])
    return text("swapped", good, bad, seed=1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_planted_swap_is_found_on_top(swapped, seed):
    rows = compared(text("plain"), swapped, seed).differences(0, 1)
    assert {row.action for row in rows[:2]} == {"steal", "give"}
    found = {row.action: row for row in rows}
    assert found["steal"].low > 0 > found["give"].high
    assert found["steal"].displacement_low > 0
    assert rows[1].movement > 2 * rows[2].movement


def test_the_same_usage_has_no_mover_that_stands_out():
    rows = compared(text("one"), text("two", seed=5)).differences(0, 1)
    # The spread of four runs: no more than a chance excess, and no displacement to speak of.
    assert sum(row.low > 0 or row.high < 0 for row in rows) <= 1
    assert max(abs(row.displacement) for row in rows) < 0.3


def test_shared_and_divergent_dos_and_donts(swapped):
    agreement = compared(text("plain"), swapped).agreement()
    assert set(agreement.dos) <= set(GOOD) - {"give"}
    assert set(agreement.donts) <= set(BAD) - {"steal"}
    assert len(agreement.dos) >= 2
    assert len(agreement.donts) >= 2
    assert set(agreement.divergent) == {"steal", "give"}


def test_values_do_not_compare_a_word_of_a_set_with_itself():
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    found = association_values(rows, [0, 1], [2])
    assert found == pytest.approx([0.6 - 0.0, 0.6 - 0.8, (0.0 + 0.8) / 2 - 0.0])


def test_values_do_not_change_under_rotation():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(20, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    turn, _ = np.linalg.qr(generator.normal(size=(4, 4)))
    plain, turned = (association_values(r, [0, 1], [2, 3]) for r in (rows, rows @ turn))
    assert plain == pytest.approx(turned)


def test_the_interval_is_students():
    middle, low, high = interval(np.array([[1.0], [2.0], [3.0]]))
    assert (middle[0], low[0], high[0]) == pytest.approx((2.0, 2 - 4.302653, 2 + 4.302653))


def test_percentiles_are_blind_to_scale():
    values = np.array([[0.1, -0.2, 0.3]])
    assert percentiles(values).tolist() == percentiles(values * 7 + 1).tolist()


def test_noise_does_not_crowd_out_a_steady_mover():
    generator = np.random.default_rng(0)
    changes = generator.normal(0, 5, size=(6, 100))
    changes[:, 0] += 40  # a steady mover
    changes[:, 1] = generator.normal(20, 60, size=6)  # a rare word that jumps
    order = np.argsort(-movements(changes, generator.normal(0, 0.05, size=(6, 100))))
    assert order[0] == 0
    assert 1 not in order[:3]


def test_rare_actions_and_set_words_are_named():
    actions = ("give", "steal", "yodel")
    sets = WordSets("test", (*SETS.positive, "bliss"), SETS.negative)
    ground = common_ground([text("a"), text("b")], actions, sets, 10)
    assert (ground.actions, ground.dropped_actions) == (("give", "steal"), ("yodel",))
    assert ground.dropped_set_words == ("bliss",)


def test_words_of_one_passage_are_not_common_ground():
    plain = text("a")
    passage = build_corpus("b", [*plain.sentences(), *[["they", "yodel"]] * 30])
    assert common_ground([passage, passage], ("give", "yodel"), SETS, 10).actions == ("give",)


def test_too_little_common_ground_is_refused():
    with pytest.raises(InputError, match="none of the 1 actions occurs 10 times"):
        common_ground([text("a"), text("b")], ("yodel",), SETS, 10)
    rare = WordSets("test", ("joy", "bliss"), SETS.negative)
    with pytest.raises(InputError, match="only 1 of 2 positive association words"):
        common_ground([text("a"), text("b")], ("give",), rare, 10)


def test_a_trajectory_follows_the_word_that_changes(swapped):
    periods = [text("1800-1849"), text("1850-1899", seed=3), swapped]
    whole = build_corpus("all", [s for period in periods for s in period.sentences()])
    ground = period_ground(whole, periods, (*GOOD, *BAD, "yodel"), SETS, 10)
    settings = TrainingSettings(dimensions=10)
    rows = trajectories(periods, train_runs([whole, *periods], settings, runs=4, seed=0), ground)
    assert {row.action for row in rows[:2]} == {"steal", "give"}
    steal = next(row for row in rows if row.action == "steal")
    assert [point.period for point in steal.points] == ["1800-1849", "1850-1899", "swapped"]
    assert steal.change == pytest.approx(steal.points[-1].percentile - steal.points[0].percentile)
    assert steal.change > 30
    assert ground.dropped_actions == ("yodel",)


def test_a_period_that_hardly_uses_an_action_has_no_point():
    rare = text("2", good=GOOD[:4])
    periods = [text("1"), rare, text("3", seed=2)]
    ground = period_ground(text("all"), periods, ("feed", "give"), SETS, 10)
    index = {word: n for n, word in enumerate(dict.fromkeys(w for p in periods for w in p.words))}
    spaces = [
        [WordSpace(index, np.random.default_rng(run).normal(size=(len(index), 4)))] * 3
        for run in range(4)
    ]
    rows = {row.action: row for row in trajectories(periods, spaces, ground)}
    assert [point.period for point in rows["feed"].points] == ["1", "3"]
    assert [point.period for point in rows["give"].points] == ["1", "2", "3"]


def test_the_built_in_actions_are_single_words_once_each():
    actions = everyday_actions()
    assert len(actions) == len(set(actions)) >= 300
    assert all(action.isalpha() and action.islower() for action in actions)
