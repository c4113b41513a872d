"""Fitting, projecting and saving, on an encoder in which one number tells good from bad."""

import pickle
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from moralscope.axes.direction.axis import DirectionAxis
from moralscope.axes.direction.fitting import fit_labelled, fit_pca
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.direction.saved import load_direction, save_direction
from moralscope.axes.records import Anchors
from moralscope.axes.templates import Prompt, Template
from moralscope.core.errors import InputError, MoralscopeError

GOOD = tuple(f"good {number}" for number in range(12))
BAD = tuple(f"bad {number}" for number in range(12))
LABELS = Anchors(GOOD, BAD)
ASKED = Template(
    "planted", (Prompt("May I {}?", "Yes.", "No."), Prompt("Should I {}?", "Yes.", "No."))
)


def noise(text):
    digest = blake2b(text.encode(), digest_size=5).digest()
    return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) / 255 - 0.5


class PlantedEncoder:
    """The third of five numbers is +2 for texts with "good", -2 for texts with "bad"."""

    arithmetic = "float32"

    name, dimension = "planted", 5

    def __init__(self, checksum="1" * 64):
        self.checksum = checksum

    def encode(self, texts):
        rows = np.stack([noise(text) for text in texts])
        for row, text in zip(rows, texts, strict=True):
            row[2] += 2 * ("good" in text) - 2 * ("bad" in text)
        return rows


class ConstantEncoder:
    """The same number everywhere, whatever it is asked."""

    arithmetic = "float32"

    name, checksum, dimension = "constant", "2" * 64, 5

    def __init__(self, value=1.0):
        self._value = value

    def encode(self, texts):
        return np.full((len(texts), 5), self._value, dtype=np.float32)


@pytest.fixture
def encoder():
    return PlantedEncoder()


def pca(encoder, anchors=LABELS, actions=(*GOOD, *BAD)):
    return fit_pca(encoder, ASKED, actions, anchors)


def labelled(encoder):
    return fit_labelled(encoder, ASKED, LABELS)


@pytest.mark.parametrize("fit", [pca, labelled])
def test_the_planted_axis_is_found(fit, encoder):
    direction = fit(encoder)
    assert direction.vector[2] > 0.95
    assert direction.second @ direction.vector == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(direction.vector) == pytest.approx(1)
    assert direction.separation == 1
    assert direction.stability.bootstrap_degrees_p95 < 20


@pytest.mark.parametrize("order", [(*GOOD, *BAD), (*BAD, *GOOD)])
def test_anchors_fix_the_sign(encoder, order):
    assert pca(encoder, actions=order).vector[2] > 0
    assert pca(encoder, Anchors(BAD, GOOD), order).vector[2] < 0


def test_one_is_the_standard_deviation_of_the_fitting_actions(encoder):
    direction = pca(encoder)
    assert direction.positions.mean(axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert direction.positions.std(axis=0, ddof=1) == pytest.approx([1, 1])
    axis = DirectionAxis(direction, encoder, ASKED)
    run = axis.score_rows([{"action": action} for action in direction.actions])
    assert np.array(run.statistics["map"]["points"]) == pytest.approx(direction.positions)
    # The paper's raw projection: (mean question - mean of all) . m
    rows = encoder.encode([q for a in direction.actions for q in ASKED.questions(a)])
    means = rows.astype(float).reshape(24, 2, 5).mean(axis=1)
    raw = (means - means.mean(axis=0)) @ direction.vector
    assert [s.score * direction.scales[0] for s in run.results] == pytest.approx(raw)


def test_zero_of_a_labelled_axis_is_half_way_between_the_classes(encoder):
    direction = fit_labelled(encoder, ASKED, Anchors(GOOD, BAD[:3]))
    good, bad = direction.positions[:12, 0], direction.positions[12:, 0]
    assert good.mean() == pytest.approx(-bad.mean())


def test_the_components_add_up_and_stand_out(encoder):
    direction = pca(encoder)
    assert sum(direction.explained) == pytest.approx(1)
    assert direction.prominence.stands_out
    assert not fit_pca(encoder, ASKED, load_paper().atomic).prominence.stands_out


def test_repeated_actions_do_not_weigh_double(encoder):
    once, twice = pca(encoder), pca(encoder, actions=(*GOOD, *BAD, *GOOD))
    assert twice.vector.tolist() == once.vector.tolist()


def test_the_paper_is_whole():
    paper = load_paper()
    for column in paper.table9.values():
        assert set(column.atomic) == set(paper.atomic)
        assert set(column.contextual) == set(paper.contextual)
    assert paper.table9["bert"].contextual["kill time"] == -2.3187
    assert {
        len(side)
        for t in (*paper.table7.values(), *paper.table8.values())
        for side in (t.dos, t.donts)
    } == {10}


# Bad input


@pytest.mark.parametrize("actions", [(), GOOD[:10], ("lie",) * 40])
def test_fewer_actions_than_components_are_refused(encoder, actions):
    with pytest.raises(InputError, match="more than 10 different actions"):
        pca(encoder, actions=actions)


def test_too_many_actions_are_refused(encoder):
    with pytest.raises(InputError, match="too many"):
        pca(encoder, actions=[f"buy {number} apples" for number in range(2001)])


@pytest.mark.parametrize("fit", [pca, labelled])
def test_actions_that_all_look_the_same_are_refused(fit):
    with pytest.raises(InputError, match="sees no difference between the fitting actions"):
        fit(ConstantEncoder())


@pytest.mark.parametrize("fit", [pca, labelled])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(fit, value):
    with pytest.raises(InputError, match="not finite for 'May I good 0"):
        fit(ConstantEncoder(value))


def test_one_class_only_is_refused(encoder):
    with pytest.raises(InputError, match="only 0 of the labelled actions are bad"):
        fit_labelled(encoder, ASKED, Anchors(GOOD, ()))


def test_contradictory_labels_are_refused(encoder):
    with pytest.raises(InputError, match="'good 0' is labelled good and bad"):
        fit_labelled(encoder, ASKED, Anchors(GOOD, (*BAD, "good 0")))


# Saved and loaded


@pytest.fixture
def saved(tmp_path, encoder):
    direction = labelled(encoder)
    path = tmp_path / "axis.safetensors"
    save_direction(direction, path)
    return direction, path


def test_what_was_saved_comes_back(saved, encoder):
    direction, path = saved
    loaded = load_direction(path, encoder, ASKED)
    for name in ("vector", "second", "positions"):
        assert getattr(loaded, name).tolist() == getattr(direction, name).tolist()
        loaded, direction = (replace(d, **{name: None}) for d in (loaded, direction))
    for name in direction.__slots__:
        assert getattr(loaded, name) == getattr(direction, name)
    assert [path.name for path in path.parent.iterdir()] == ["axis.safetensors"]


def test_a_direction_of_another_encoder_is_refused(saved):
    with pytest.raises(InputError, match=r"fitted with planted .* not with planted"):
        load_direction(saved[1], PlantedEncoder("9" * 64), ASKED)


def test_a_direction_of_another_template_is_refused(saved, encoder):
    with pytest.raises(InputError, match="another template"):
        load_direction(saved[1], encoder, replace(ASKED, prompts=ASKED.prompts[:1]))


def rewrite(path, metadata=None, **tensors):
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as stream:
        old = stream.metadata()
    save_file({**load_file(path), **tensors}, path, {**old, **(metadata or {})})


@pytest.mark.parametrize(
    ("metadata", "tensors", "problem"),
    [
        ({"schema": "moralscope.axes.direction/99"}, {}, "schema 'moralscope.axes.direction/99'"),
        ({"direction": "[]"}, {}, "axis.safetensors"),
        ({"direction": "{"}, {}, "does not hold a direction"),
        ({"direction": '{"fit": "pca"}'}, {}, "has no 'method'"),
        ({}, {"vector": np.zeros(3)}, "contradict"),
        ({}, {"vector": np.full(5, np.nan)}, "contradict"),
        ({}, {"positions": np.zeros((1, 2))}, "contradict"),
    ],
)
def test_a_file_that_is_not_ours_is_refused(saved, encoder, metadata, tensors, problem):
    rewrite(saved[1], metadata, **tensors)
    with pytest.raises(InputError, match=problem):
        load_direction(saved[1], encoder, ASKED)


def test_a_pickle_is_not_opened(tmp_path, encoder):
    path = tmp_path / "axis.safetensors"
    path.write_bytes(pickle.dumps({"vector": [1.0]}))
    with pytest.raises(InputError, match="not a safetensors file"):
        load_direction(path, encoder, ASKED)


@pytest.mark.parametrize("name", ["missing.safetensors", "."])
def test_a_file_that_cannot_be_read_is_said(tmp_path, encoder, name):
    with pytest.raises(InputError, match="cannot be read"):
        load_direction(tmp_path / name, encoder, ASKED)


def test_a_place_that_cannot_be_written_is_said(saved, tmp_path):
    with pytest.raises(MoralscopeError, match="could not be written"):
        save_direction(saved[0], tmp_path / "nowhere" / "axis.safetensors")
