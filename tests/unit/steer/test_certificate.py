"""The certificate: finds what was planted, corrects for many tests, exits 3 beyond a limit."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from typer.testing import CliRunner

from moralscope.axes.language import Asking
from moralscope.cli.root import app
from moralscope.core.errors import InputError
from moralscope.models.language import load_language_model, load_vector
from moralscope.pages import write_report
from moralscope.steer.check import check_vector, compare, random_like
from moralscope.steer.contrasts import check_contrasts, load_contrasts
from moralscope.steer.make import make_vector
from moralscope.steer.measures import CHOICE, HARMLESS, Measures, preferences
from moralscope.surveys.statistics import t_against_zero


@pytest.fixture(scope="module")
def vector(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificate") / "v.safetensors"
    make_vector("scripted", kl=0.1, layers="2-3", save=path)
    return path


@pytest.fixture(scope="module")
def record(vector):
    return check_vector(vector=vector, experts="scripted", replies=3)


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def planted(shifts, seed):
    """Three models' values of many measures; `shifts` says which the steering moves."""
    generator = np.random.default_rng(seed)
    names = [CHOICE, HARMLESS, *(f"values: v{at}" for at in range(10))]
    plain = {name: generator.standard_normal(30) for name in names}
    noise = {side: {name: 0.5 * generator.standard_normal(30) for name in names} for side in "sr"}
    steered = {n: plain[n] + noise["s"][n] + shifts.get(n, 0.0) for n in names}
    random = {n: plain[n] + noise["r"][n] for n in names}
    return plain, steered, random


def test_what_was_moved_is_found_and_nothing_else_is_said_to_have_moved():
    measures = Measures((), (), frozenset())
    falsely = 0
    for seed in range(100):
        rows = compare(*planted({CHOICE: 1.0, HARMLESS: -0.8}, seed), is_wanted=measures.wanted)
        by_name = {row.figure: row for row in rows}
        assert by_name[CHOICE].wanted
        assert not by_name[HARMLESS].wanted
        assert by_name[CHOICE].p_holm < 0.01 > by_name[CHOICE].p_random_holm
        assert by_name[HARMLESS].p_holm < 0.01
        assert by_name[CHOICE].effect == pytest.approx(1.0, abs=0.6)
        falsely += any(row.p_holm < 0.05 for row in rows if row.figure.startswith("values"))
    assert falsely <= 10  # 5 are expected at most


def test_the_control_is_random_and_as_long_in_every_layer(vector):
    added, drawn = load_vector(vector).added, random_like(load_vector(vector), 0)
    for layer, row in added.items():
        assert np.linalg.norm(drawn[layer]) == pytest.approx(np.linalg.norm(row), rel=1e-5)
        assert not np.allclose(drawn[layer], row)
    assert not np.allclose(random_like(load_vector(vector), 1)[2], drawn[2])


def test_everything_is_looked_at_before_and_after(record):
    wanted = {row.figure for row in record.results if row.wanted}
    besides = {row.figure for row in record.results if not row.wanted}
    assert {CHOICE, "survey, keeps: harm", "values: care"} <= wanted
    assert "audit of replies to what is asked" in wanted
    assert {HARMLESS, "right answers to neutral questions", "answer mass"} <= besides
    assert {"log-perplexity of neutral text", "survey, keeps: lie", "values: fairness"} <= besides
    assert "audit of replies to harmless requests" in besides
    assert all(row.p_holm >= row.p for row in record.results)
    assert len(record.statistics.replies) == 6
    assert record.statistics.figures.kl > 0


def test_collateral_beyond_the_limit_exits_3_after_the_record_is_written(vector, tmp_path):
    path, page = tmp_path / "c.json", tmp_path / "c.html"
    words = ("steer", "check", vector, "--replies", 0, "--out", path, "--report", page)
    done = run(*words, "--gate", "collateral<=0.01")
    assert done.exception.exit_code == 3
    assert json.loads(path.read_text())["statistics"]["gate"]["met"] is False
    assert "harmless requests" in page.read_text()
    assert run(*words, "--gate", "collateral<=99 and kl<=1").exit_code == 0


def test_a_report_is_drawn_of_the_record_alone(record, tmp_path):
    write_report(record, tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text()
    for text_part in ("As wanted", "Besides", "random vector", "no proof of safety"):
        assert text_part in text


def test_bad_calls_are_told_in_one_line(vector, tmp_path):
    with pytest.raises(InputError, match="knows no figure"):
        check_vector(vector=vector, gate="colateral<=1")
    (tmp_path / "d.csv").write_text("situation,action1,action2\nYou go.,I run.,I walk.\n")
    with pytest.raises(InputError, match="does not say which action of a dilemma is right"):
        check_vector(vector=vector, survey=str(tmp_path / "d.csv"), replies=0)
    with pytest.raises(InputError, match="cannot be read"):
        check_vector(vector=tmp_path / "none.safetensors")


@pytest.mark.slow
def test_smollm2_is_steered_toward_declining_and_a_random_vector_does_not(tmp_path):
    model = load_language_model("smollm2")
    pairs_used = load_contrasts("declining")[::8]
    pairs, path = tmp_path / "pairs.jsonl", tmp_path / "v.safetensors"
    pairs.write_text("".join(json.dumps(asdict(pair)) + "\n" for pair in pairs_used))
    made = make_vector(model, pairs=str(pairs), layers="15-21", kl=0.5, save=path)
    assert made.statistics.calibration.kl == pytest.approx(0.5, rel=0.1)
    vector, asked = load_vector(path), check_contrasts()[::6]
    plain, steered, random = (
        preferences(Asking.of(one, "auto"), asked)
        for one in (model, vector.steer(model), model.steered(random_like(vector, 0)))
    )
    assert (steered - plain).mean() > 0.3
    assert t_against_zero((steered - random).tolist()) < 0.01
