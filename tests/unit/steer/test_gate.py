"""A gate: the vector acts on prompts that are like those of its pairs, and on nothing else."""

from pathlib import Path

import numpy as np
import pytest

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.core.records import Decoding
from moralscope.models.language import load_language_model
from moralscope.models.language.gated import GatedModel, SteeringGate
from moralscope.models.language.steering import SteeringVector, load_vector
from moralscope.steer.exchange import export_vector
from moralscope.steer.fit import fit_gate
from moralscope.steer.make import make_vector
from moralscope.steer.options import SteerExportOptions

HARM, FINE = "Should I kill people?", "Should I help people?"


@pytest.fixture
def gated():
    plain = load_language_model("scripted")
    row = -plain.direction().astype(np.float32)
    states = plain.hidden_states([HARM, FINE], [2])[:, 0] @ row
    assert states[0] > states[1]
    pushed = plain.steered({2: 3 * plain.direction()})
    gate = SteeringGate(2, row[None], float(states.mean()))
    return plain, pushed, GatedModel(plain, pushed, gate)


def test_a_shut_gate_leaves_every_answer_as_it_is_and_an_open_one_steers(gated):
    plain, pushed, model = gated
    prompts, answers = [FINE, HARM, FINE], [[" Yes.", " No."]] * 3
    rows = [one.log_probabilities(prompts, answers) for one in (model, plain, pushed)]
    assert rows[0] == [rows[1][0], rows[2][1], rows[1][2]]
    assert rows[1][1] != rows[2][1]
    states = [one.hidden_states(prompts, [1, 3]) for one in (model, plain, pushed)]
    assert np.array_equal(states[0], np.stack([states[1][0], states[2][1], states[1][2]]))
    drawn = [one.generate(prompts, Decoding(), [1, 2, 3]) for one in (model, plain, pushed)]
    assert drawn[0] == [drawn[1][0], drawn[2][1], drawn[1][2]]
    both = [next(one.distributions([text])) for one in (model, plain) for text in (FINE, HARM)]
    assert np.array_equal(both[0], both[2])


def test_without_a_prompt_the_gate_stays_shut(gated):
    plain, _, model = gated
    answer = [["People were killed."]]
    assert model.log_probabilities([""], answer) == plain.log_probabilities([""], answer)


def test_a_gate_has_a_checksum_of_its_own(gated):
    plain, pushed, model = gated
    assert len({plain.checksum, pushed.checksum, model.checksum}) == 3


def test_a_fitted_gate_tells_prompts_that_were_held_out(monkeypatch):
    model = load_language_model("scripted")
    hashed, way = model.hidden_states, model.direction()

    def planted(texts, layers):  # every layer knows what is asked for
        rows = hashed(texts, layers)
        harm = np.array(["kill" in text for text in texts], np.float32)
        return rows + np.multiply.outer(np.outer(harm, np.ones(len(layers))), 20 * way)

    monkeypatch.setattr(model, "hidden_states", planted)
    open_on = [f"Tell me how to kill them, part {at}." for at in range(20)]
    shut_on = [f"Tell me how to help them, part {at}." for at in range(30)]
    gate, fit = fit_gate(Asking.of(model, "auto"), open_on, shut_on)
    assert (fit.opened, fit.opened_wrongly) == (1.0, 0.0)
    assert gate.opens(model, ["Please kill it.", "Please help it."]) == [True, False]


def test_a_fitted_gate_opens_on_new_prompts_as_often_as_it_says(monkeypatch):
    """Its limit comes from other discriminants, of folds: states far from zero must not move it."""
    model = load_language_model("scripted")
    draw = np.random.default_rng(0).standard_normal
    far, harmful = 300 * draw(64), 0.6 * draw(64)

    def drawn(texts, layers):
        harm = np.array(["kill" in text for text in texts])
        rows = far + draw((len(texts), len(layers), 64)) + draw((len(texts), 1, 64))
        return rows + harm[:, None, None] * harmful

    monkeypatch.setattr(model, "hidden_states", drawn)
    sides = [[f"How do I {verb} it, part {at}?" for at in range(60)] for verb in ("kill", "help")]
    gate, fit = fit_gate(Asking.of(model, "auto"), *sides)
    opened, wrongly = (np.mean(gate.opens(model, 10 * prompts)) for prompts in sides)
    assert 0.5 < fit.opened < 1
    assert abs(opened - fit.opened) < 0.15
    assert abs(wrongly - fit.opened_wrongly) < 0.05


def test_a_gated_vector_is_saved_and_loaded_and_no_other_tool_gets_it(tmp_path: Path):
    path = tmp_path / "v.safetensors"
    record = make_vector("scripted", gate=True, save=path)
    assert record.statistics["gate"].prompts > 40
    vector = load_vector(path)
    assert vector.gate_rows is not None
    assert isinstance(vector.steer(load_language_model("scripted")), GatedModel)
    with pytest.raises(InputError, match="has a gate"):
        export_vector(SteerExportOptions(vector=path, to="gguf", save=tmp_path / "v.gguf"))
    with pytest.raises(InputError, match="gate does not fit"):
        SteeringVector(vector.info, vector.rows)


def test_a_gated_vector_keeps_the_kl_that_is_given_and_else_looks_for_one(tmp_path: Path):
    own, given = (
        make_vector("scripted", gate=True, kl=kl, save=tmp_path / "v.safetensors")
        for kl in (None, 0.1)
    )
    assert given.statistics["calibration"].target == given.config["kl"] == 0.1
    assert own.statistics["calibration"].target == own.config["kl"] > 0.1


def test_pairs_without_prompts_make_no_gate(tmp_path: Path):
    table = tmp_path / "pairs.csv"
    table.write_text("wanted,unwanted\nI help.,I steal.\nI thank.,I lie.\n", "utf-8")
    with pytest.raises(InputError, match="a gate is made of 10 prompts"):
        make_vector("scripted", pairs=str(table), gate=True, save=tmp_path / "v.safetensors")
