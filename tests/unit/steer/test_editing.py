"""Editing: what is removed is gone, what is kept stays, and nothing mixes with another encoder."""

import json

import numpy as np
import pytest

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.protocols import Encoder
from moralscope.models.encoders import load_encoder
from moralscope.models.encoders.edited import Edit, EditedEncoder, load_edit, save_edit
from moralscope.steer.linear import answer_differences, leakage, leaning, pair_components, subspace
from moralscope.steer.pairs import held_out_questions, load_pairs

MORAL = [("Yes, it is.", "No, it is not."), ("Yes, you should.", "No, you should not.")]
TEXTS = ["Is your cousin a nurse?", "Should I kill time?", "", "she"]


@pytest.fixture(scope="module")
def base():
    return load_encoder("scripted")


@pytest.fixture(scope="module")
def moral(base):
    return answer_differences(base, MORAL)


@pytest.fixture(scope="module")
def basis(base, moral):
    return subspace(pair_components(base, load_pairs("gender").sentences, 4), moral)


def gender(basis, strength, encoder, checksum):
    return Edit(
        name="gender",
        basis=basis,
        strength=strength,
        encoder=encoder,
        checksum=checksum,
        source="pairs",
    )


def make(base, basis, strength=1.0):
    return EditedEncoder(base, gender(basis, strength, base.name, base.checksum))


def test_the_removed_subspace_is_gone_and_the_moral_vectors_stay(base, basis, moral):
    before, after = base.encode(TEXTS), make(base, basis).encode(TEXTS)
    assert np.abs(before @ basis.T).max() > 0.05
    np.testing.assert_allclose(after @ basis.T, 0, atol=1e-6)
    np.testing.assert_allclose(after @ moral.T, before @ moral.T, atol=1e-6)


def test_without_keeping_the_moral_scores_would_move(base, moral):
    removed = subspace(pair_components(base, load_pairs("gender").sentences, 4), np.empty((0, 64)))
    before, after = base.encode(TEXTS), make(base, removed).encode(TEXTS)
    assert np.abs(after @ moral.T - before @ moral.T).max() > 1e-3


def test_strength_dampens_in_proportion(base, basis):
    before = base.encode(TEXTS)
    half = make(base, basis, 0.5).encode(TEXTS)
    np.testing.assert_allclose(half @ basis.T, 0.5 * before @ basis.T, atol=1e-6)
    np.testing.assert_array_equal(make(base, basis, 0.0).encode(TEXTS), before)


def test_the_first_component_is_the_common_difference_of_the_pairs():
    class Planted:
        arithmetic = "float32"
        name, checksum, dimension = "planted", "0" * 32, 8

        def encode(self, texts):
            rows = np.zeros((len(texts), 8), dtype=np.float32)
            for row, text in zip(rows, texts, strict=True):
                row[0] = 1.0 if "she" in text else -1.0
                row[1 + len(text) % 7] = 5.0  # large, but the same on both sides
            return rows

    found = pair_components(Planted(), [("she a", "xhe a"), ("she bb", "xhe bb")], 1)
    np.testing.assert_allclose(np.abs(found), np.eye(1, 8), atol=1e-6)


def test_is_an_encoder_of_its_own_name_and_checksum(base, basis):
    whole, half = make(base, basis), make(base, basis, 0.5)
    assert isinstance(whole, Encoder)
    assert whole.name == "scripted-gender"
    assert len({base.checksum, whole.checksum, half.checksum}) == 3
    assert whole.encode(TEXTS).dtype == np.float32
    assert whole.encode([]).shape == (0, base.dimension)
    assert make(base, basis).checksum == whole.checksum


def test_edits_can_be_stacked(base, basis):
    twice = make(make(base, basis), np.eye(1, 64))
    assert twice.name == "scripted-gender-gender"
    assert np.abs(twice.encode(TEXTS)[:, 0]).max() < 1e-6


def test_a_saved_edit_gives_the_same_rows(base, basis, tmp_path):
    edited = make(base, basis, 0.7)
    save_edit(edited.edit, tmp_path / "e.safetensors")
    loaded = EditedEncoder(base, load_edit(tmp_path / "e.safetensors"))
    assert loaded.checksum == edited.checksum
    np.testing.assert_array_equal(loaded.encode(TEXTS), edited.encode(TEXTS))
    assert [path.name for path in tmp_path.iterdir()] == ["e.safetensors"]


def test_an_edit_for_another_encoder_is_refused(base, basis):
    other = gender(basis, 1.0, "mpnet", "f" * 64)
    with pytest.raises(InputError, match=r"made for mpnet \(ffff.*not for scripted"):
        EditedEncoder(base, other)


def test_files_that_are_no_edits_are_refused(basis, tmp_path):
    from safetensors.numpy import save_file

    text = tmp_path / "text.safetensors"
    text.write_text("not tensors")
    other = tmp_path / "other.safetensors"
    save_file({"weights": basis}, other)
    skewed = tmp_path / "skewed.safetensors"
    save_edit(gender(2 * basis, 1.0, "scripted", "abc"), skewed)
    strong = tmp_path / "strong.safetensors"
    fields = {"name": "g", "encoder": "e", "checksum": "c", "source": "", "strength": 7}
    metadata = {"format": "moralscope.edit/1", "edit": json.dumps(fields)}
    save_file({"basis": np.ascontiguousarray(basis)}, strong, metadata=metadata)
    for path in (text, other, skewed, strong):
        with pytest.raises(InputError, match="does not hold an edit of ours"):
            load_edit(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_edit(tmp_path / "absent.safetensors")


@pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan")])
def test_strength_outside_zero_to_one_is_refused(basis, strength):
    with pytest.raises(InputError, match="strength is"):
        gender(basis, strength, "scripted", "abc")


def test_a_direction_along_the_moral_one_leaves_nothing_to_remove(moral):
    with pytest.raises(InputError, match="nothing is left to remove"):
        subspace(moral[:1], moral)


def test_the_built_in_pairs_are_the_ten_and_do_not_use_the_measuring_sentences():
    from moralscope.axes.templates import load_template

    pairs = load_pairs("gender")
    assert len(pairs.words) == 10
    fitted = {text for pair in pairs.sentences for text in pair}
    measured = {
        text
        for prompt in load_template("gender").prompts
        for text in (prompt.positive, prompt.negative)
    }
    held = {text for _, *answers in held_out_questions() for text in answers}
    assert not fitted & measured
    assert not fitted & held
    assert not measured & held


def test_an_unknown_direction_gets_a_suggestion():
    with pytest.raises(UnknownName, match="did you mean 'gender'"):
        load_pairs("gendre")


@pytest.mark.parametrize("name", ["age.csv", "age.yaml"])
def test_pairs_of_ones_own(tmp_path, name):
    path = tmp_path / name
    path.write_text(
        "first,second,kind\nold,young,\nThey are aged.,They are youthful.\n"
        if name.endswith("csv")
        else "- [old, young]\n- [They are aged., They are youthful.]\n"
    )
    pairs = load_pairs("age", path)
    assert pairs.words[0] == ("old", "young")
    assert ("The old is here.", "The young is here.") in pairs.sentences
    assert pairs.sentences[-1] == ("They are aged.", "They are youthful.")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.csv", "she,he\nwoman\n", "line 2 has 1 cells, not 2"),
        ("a.csv", "she,he\nwoman,\n", "line 2 has a pair without two texts"),
        ("a.csv", "she,she\n", "line 1 pairs 'she' with itself"),
        ("a.csv", "she,he\nshe,he\n", "line 2 repeats the pair"),
        ("a.csv", "she,he\nher,his,posessive\n", "line 2 has the unknown kind 'posessive'"),
        ("a.csv", "she,he\n", "holds 1 pair"),
        ("a.csv", "", "holds 0 pairs"),
        ("a.csv", 'she,"he\n', "isn't valid CSV: a quote is never closed"),
        ("a.yaml", "she: he\n", "line 1 has no list of pairs"),
        ("a.yaml", "- [she, he]\n- [woman]\n", "line 2 is not a pair of texts"),
        ("a.yaml", "- [she, he\n", "is not YAML"),
    ],
)
def test_malformed_pairs_are_refused_by_line(tmp_path, name, text, problem):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        load_pairs("mine", path)


def test_pairs_that_are_not_utf8_or_not_there_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"she,he\nwoman,m\xffn\n")
    with pytest.raises(InputError, match="line 2 is not valid UTF-8"):
        load_pairs("mine", path)
    with pytest.raises(InputError, match="cannot be read"):
        load_pairs("mine", tmp_path / "absent.csv")


def test_no_components_are_refused(base):
    with pytest.raises(InputError, match="0 components"):
        pair_components(base, load_pairs("gender").sentences, 0)


def test_leakage_is_chance_for_noise_and_whole_for_a_planted_side():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 16))
    sides = np.arange(200) % 2 == 0
    lost = leakage(noise, sides)
    assert 0.35 < lost.probe < 0.65
    assert 0.4 < lost.neighbours < 0.6
    told = leakage(noise + 6 * np.where(sides, 1.0, -1.0)[:, None] * np.eye(1, 16), sides)
    assert told.probe > 0.95
    assert told.neighbours > 0.95


def test_leaning_takes_the_ends():
    places, sides = leaning(np.arange(9.0))
    assert places.tolist() == [0, 1, 2, 6, 7, 8]
    assert sides.tolist() == [False] * 3 + [True] * 3
