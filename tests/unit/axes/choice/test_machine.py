import numpy as np
import pytest

from moralscope.axes.choice import ChoiceMachine, rank_answers
from moralscope.axes.templates import load_template
from moralscope.core.protocols import Axis
from moralscope.models.encoders import load_encoder


class CountingEncoder:
    """Counts every text it is asked to encode."""

    arithmetic = "float32"

    name, checksum, dimension = "counting", "0" * 64, 64

    def __init__(self):
        self._inner = load_encoder("scripted")
        self.asked = []

    def encode(self, texts):
        self.asked.extend(texts)
        return self._inner.encode(texts)


class PlantedEncoder:
    """Questions about murder lie near "no", all others near "yes"."""

    arithmetic = "float32"

    name, checksum, dimension = "planted", "1" * 64, 2

    def encode(self, texts):
        def row(text):
            near_no = text.startswith("No") or "murder" in text
            return [0.1, 1.0] if near_no else [3.0, 0.3]

        return np.array([row(text) for text in texts], dtype=np.float32)


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.fixture
def moral():
    return load_template("moral")


def test_is_a_moral_axis(moral):
    assert isinstance(ChoiceMachine(load_encoder("scripted"), moral), Axis)


def test_bias_is_equation_two_of_the_paper(moral):
    encoder = load_encoder("scripted")
    biases = ChoiceMachine(encoder, moral).biases(["kill people"])
    for place, (prompt, question) in enumerate(
        zip(moral.prompts, moral.questions("kill people"), strict=True)
    ):
        q, a, b = encoder.encode([question, prompt.positive, prompt.negative]).astype(np.float64)
        assert biases[0, place] == pytest.approx(cosine(a, q) - cosine(b, q), abs=1e-7)


def test_score_is_the_mean_and_sum_is_the_papers_sum(moral):
    (score,) = ChoiceMachine(load_encoder("scripted"), moral).score(["kill people"])
    assert score.score == pytest.approx(np.mean(score.prompts))
    assert score.sum == pytest.approx(10 * score.score)
    assert score.low <= score.score <= score.high


def test_positive_is_good_and_negative_is_bad(moral):
    murder, greet = ChoiceMachine(PlantedEncoder(), moral).score(["murder people", "greet people"])
    assert murder.score < 0 < greet.score
    assert greet.score == pytest.approx(-murder.score, abs=1e-6) or greet.score > murder.score


def test_questions_and_answers_are_encoded_once(moral):
    encoder = CountingEncoder()
    actions = [f"kill {number} minutes" for number in range(600)]
    ChoiceMachine(encoder, moral).score([*actions, *actions[:50]])
    answers = {text for p in moral.prompts for text in (p.positive, p.negative)}
    assert len(encoder.asked) == 10 * 600 + len(answers)
    assert len(set(encoder.asked)) == len(encoder.asked)


def test_results_keep_the_order_and_the_repeats(moral):
    actions = ["b", "a", "b"]
    scores = ChoiceMachine(load_encoder("scripted"), moral).score(actions)
    assert [score.action for score in scores] == actions
    assert scores[0] == scores[2]


def test_an_action_scores_the_same_in_any_company(moral):
    encoder = load_encoder("scripted")
    (alone,) = ChoiceMachine(encoder, moral).score(["kill time"])
    many = ChoiceMachine(encoder, moral).score([f"do {n}" for n in range(300)] + ["kill time"])
    assert many[-1].score == pytest.approx(alone.score, abs=1e-12)
    assert (many[-1].low, many[-1].high) == pytest.approx((alone.low, alone.high), abs=1e-12)


def test_the_seed_decides_the_interval_and_not_the_score(moral):
    encoder = load_encoder("scripted")
    first, again, other = (
        ChoiceMachine(encoder, moral, seed=seed).score(["kill time"])[0] for seed in (1, 1, 2)
    )
    assert first == again
    assert first.score == other.score
    assert (first.low, first.high) != (other.low, other.high)


def test_paraphrases_join_the_mean_and_the_interval(moral):
    encoder = load_encoder("scripted")
    machine = ChoiceMachine(encoder, moral)
    plain, other = machine.score(["kill time", "while away the hours"])
    (joined,) = machine.score(["kill time"], [["while away the hours"]])
    assert joined.action == "kill time"
    assert joined.score == pytest.approx((plain.score + other.score) / 2)
    assert joined.prompts == pytest.approx(np.mean([plain.prompts, other.prompts], axis=0))
    assert joined.low < joined.score < joined.high


def test_progress_is_reported_to_the_end(moral):
    seen = []
    ChoiceMachine(load_encoder("scripted"), moral).score(
        [f"do {n}" for n in range(300)], report=lambda done, total: seen.append((done, total))
    )
    assert seen == [(256, 300), (300, 300)]


def test_minilm_puts_killing_time_above_killing_people(minilm, moral):
    people, time = ChoiceMachine(minilm, moral).score(["kill people", "kill time"])
    assert people.high < time.score
    assert people.score == pytest.approx(-0.023, abs=0.002)


def test_answers_are_ranked_by_cosine(minilm):
    ranked = rank_answers(
        minilm, "What should I put in the toaster?", ["my hamster", "bread", "old pizza"]
    )
    assert [row.answer for row in ranked] == ["bread", "old pizza", "my hamster"]
    assert ranked[0].score > ranked[1].score > ranked[2].score
