"""The edit job: tables of both biases, saved encoders, refusals before any work."""

import json

import numpy as np
import pytest

from moralscope.axes.score import score
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.records import to_plain
from moralscope.models.encoders import load_encoder
from moralscope.models.encoders.loading import load_edited
from moralscope.steer.edit import edit, edited_encoder


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MORALSCOPE_DATA", raising=False)
        path = tmp_path_factory.mktemp("edit") / "g.safetensors"
        yield edit("scripted", save=path), path


def test_the_bias_falls_and_the_moral_scores_stay(record):
    found = record[0].statistics
    own, other = found["gender"]
    assert (own.template, own.held_out, own.n) == ("gender", False, 20)
    assert other.held_out
    assert own.fall > 50
    assert own.centred_fall > 50
    assert set(found["moral"]) == {"choice", "direction"}
    assert all(row.r > 0.95 for row in found["moral"].values())
    assert found["moral"]["choice"].n == 120


def test_the_figures_are_those_of_the_rows(record):
    rows = [row for row in record[0].results if row.axis == "gender"]
    table = record[0].statistics["gender"][0]
    before, after = (
        np.mean([abs(getattr(row, key)) for row in rows]) for key in ("before", "after")
    )
    assert (table.before, table.after) == pytest.approx((before, after))
    assert table.fall == pytest.approx(100 * (1 - after / before))
    assert all(row.change == pytest.approx(row.after - row.before) for row in rows)


def test_the_record_says_that_a_linear_edit_hides(record):
    assert any("hides a direction" in line for line in record[0].warnings)
    assert any("held-out template" in line for line in record[0].warnings)
    leaks = record[0].statistics["leakage"]
    assert 0 <= leaks["after"].probe <= 1
    json.dumps(to_plain(record[0]), allow_nan=False)


def test_the_saved_edit_gives_an_encoder_that_scores(record):
    encoder = load_edited(record[1])
    assert encoder.name == "scripted-gender"
    assert [ref.sha256 for ref in record[0].models][1] == encoder.checksum
    mine = score(["kill time"], encoder=encoder)
    assert mine.models[0].sha256 == encoder.checksum


def test_a_saved_edit_for_another_encoder_is_refused(record, minilm):
    with pytest.raises(InputError, match="made for scripted"):
        load_edited(record[1], minilm)


def test_pairs_alone_leave_the_gender_template_held_out():
    found = edit("scripted", keep=["choice"], source="pairs")
    assert all(table.held_out for table in found.statistics["gender"])
    assert not any("held-out template" in line for line in found.warnings)


def test_strength_zero_changes_nothing():
    found = edit("scripted", keep=[], strength=0)
    assert max(abs(row.change) for row in found.results) < 1e-6
    assert any("removes nothing" in line for line in found.warnings)


def test_the_two_sides_of_the_pairs_come_nearer(record):
    apart = record[0].statistics["pairs"]
    assert apart["after"] < apart["before"]


def test_a_direction_of_ones_own(tmp_path):
    path = tmp_path / "age.csv"
    path.write_text("old,young\naged,youthful\n")
    encoder = edited_encoder("scripted", remove="age", pairs=path)
    assert encoder.name == "scripted-age"
    first, second = encoder.encode(["The old is here.", "The young is here."])
    base = load_encoder("scripted").encode(["The old is here.", "The young is here."])
    assert np.linalg.norm(first - second) < 0.7 * np.linalg.norm(base[0] - base[1])


def test_the_professions_of_the_user_join(tmp_path, monkeypatch):
    (tmp_path / "weat").mkdir()
    (tmp_path / "weat" / "professions.json").write_text('[["nurse", 0, 0], ["film_star", 0, 0]]')
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    found = edit("scripted", keep=["choice"])
    assert [table.n for table in found.statistics["gender"]] == [20, 20, 2, 2]
    assert "film star" in {row.text for row in found.results}


@pytest.mark.parametrize("text", ['{"nurse": 1}', "[]", "[[1]]", "[[]]", "nurse"])
def test_a_broken_list_of_professions_is_refused(tmp_path, monkeypatch, text):
    (tmp_path / "weat").mkdir()
    (tmp_path / "weat" / "professions.json").write_text(text)
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"professions\.json"):
        edit("scripted", keep=["choice"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"remove": "gendre"}, "did you mean 'gender'"),
        ({"keep": ["choise"]}, "did you mean 'choice'"),
        ({"source": "template "}, "source is 'template '; did you mean 'template'"),
    ],
)
def test_unknown_names_are_refused(options, problem):
    with pytest.raises(UnknownName, match=problem):
        edit("scripted", **options)


@pytest.mark.parametrize("strength", [-1, 1.01, float("nan")])
def test_strength_outside_zero_to_one_is_refused(strength):
    with pytest.raises(InputError, match="strength is"):
        edit("scripted", strength=strength)


def test_a_place_that_cannot_be_written_is_refused_first(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        edit("no-such-encoder", save=tmp_path / "absent" / "e.safetensors")
