from dataclasses import replace

import pytest

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.direction.axis import build_direction
from moralscope.axes.direction.labelled import read_labelled
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.options import AxisOptions
from moralscope.axes.score import score
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.records import to_plain
from moralscope.models.encoders import load_encoder
from moralscope.papers.direction import reproduce_direction

DIRECTION = AxisOptions(axis="direction")


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("scripted")


@pytest.fixture(scope="module")
def models(encoder):
    return LocalModels(encoder)


@pytest.fixture
def labelled_file(tmp_path):
    path = tmp_path / "mine.csv"
    rows = [f"help {n} people,good" for n in range(8)] + [f"hurt {n} people,bad" for n in range(8)]
    path.write_text("\n".join(["action,label", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"axis": "direktion"}, "did you mean 'direction'"),
        ({"axis": "direction", "fit": "labeled"}, "did you mean 'labelled'"),
    ],
)
def test_unknown_names_get_a_hint(options, hint):
    with pytest.raises(UnknownName, match=hint):
        AxisOptions(**options)


@pytest.mark.parametrize(
    "change", [{"fit": "labelled"}, {"axis_file": "x"}, {"fit_actions": "x"}, {"save_axis": "x"}]
)
def test_the_choice_axis_refuses_what_only_a_direction_has(change):
    (name,) = change
    message = f"choice axis has no option '{name}'; leave it out, or use the direction axis"
    with pytest.raises(InputError, match=message):
        AxisOptions(axis="choice", **change)


@pytest.mark.parametrize(
    ("given", "axes"), [({"norm": "Be kind."}, "judge"), ({"eight_bits": True}, "choice or direc")]
)
def test_an_axis_refuses_what_another_one_reads_and_names_it(given, axes):
    axis = "direction" if "norm" in given else "judge"
    with pytest.raises(InputError, match=f"{axis} axis has no option .* use the {axes}"):
        AxisOptions(axis=axis, **given)


def test_a_direction_is_fitted_on_table_5_or_on_the_papers_labels(models):
    pca = build_direction(DIRECTION, models).direction
    labelled = build_direction(replace(DIRECTION, fit="labelled"), models).direction
    assert pca.actions == load_paper().atomic
    assert set(pca.anchors.good + pca.anchors.bad) <= set(pca.actions)
    assert len(labelled.anchors.good) == len(labelled.anchors.bad) == 50


def test_a_list_of_ones_own_is_fitted_on(labelled_file, models):
    options = replace(DIRECTION, fit_actions=labelled_file)
    pca = build_direction(options, models).direction
    assert pca.anchors.good[0] == "help 0 people"  # the labels are the anchors
    assert len(pca.actions) == 16
    labelled = build_direction(replace(options, fit="labelled"), models).direction
    assert labelled.anchors == pca.anchors
    assert labelled.vector.tolist() != pca.vector.tolist()


def test_the_fingerprint_changes_with_the_template():
    from moralscope.axes.templates import load_template

    moral = load_template("moral")
    assert moral.fingerprint == replace(moral, about="x").fingerprint
    others = [
        load_template("gender"),
        replace(moral, with_article=True),
        replace(moral, prompts=moral.prompts[:9]),
    ]
    prints = {template.fingerprint for template in [moral, *others]}
    assert len(prints) == 4


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("action,label\nhelp,good\nkill,\n", "line 3 has no label"),
        ("action,label\nhelp,good\nkill,evil\n", "line 3 has the label 'evil'"),
        ("action\nhelp\nkill\n", "has no labels"),
        ("action,label\nhelp,good\nlove,good\n", "only 0 of the labelled actions are bad"),
        ("action,label\nhelp,good\nlove,good\nhelp,bad\nkill,bad\n", "labelled good and bad"),
    ],
)
def test_bad_labels_are_refused(text, problem, tmp_path, models):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        build_axis(AxisOptions(axis="direction", fit="labelled", fit_actions=path), models)


def test_labels_on_one_side_cannot_fix_the_sign(tmp_path, models):
    path = tmp_path / "mine.csv"
    rows = "".join(f"buy {number} apples,\n" for number in range(20))
    path.write_text(f"action,label\nhelp,good\n{rows}")
    with pytest.raises(InputError, match="labels no action bad"):
        build_axis(replace(DIRECTION, fit_actions=path), models)


def test_labels_are_read_from_jsonl_and_by_other_names(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(
        '{"action": " help ", "label": "Do"}\n\n{"action": "kill", "label": "don\\u2019t"}\n'
        '{"action": "go", "label": null}\n{"action": "lie", "label": 0}\n'
    )
    found = read_labelled(path, all_labelled=False)
    assert (found.good, found.bad) == (("help",), ("kill", "lie"))
    assert found.actions == ("help", "kill", "go", "lie")


def test_a_short_list_names_the_number(tmp_path, models):
    path = tmp_path / "mine.txt"
    path.write_text("help\nkill\n")
    with pytest.raises(InputError, match="more than 10 different actions, not 2"):
        build_axis(replace(DIRECTION, fit_actions=path), models)


def test_a_saved_axis_scores_as_before_and_only_with_its_template(tmp_path, encoder, models):
    path = tmp_path / "axis.safetensors"
    first = score(["kill time"], axis="direction", encoder=encoder, save_axis=path)
    again = score(["kill time"], axis="direction", axis_file=path, encoder=encoder)
    assert again.results == first.results
    assert to_plain(again.statistics) == to_plain(first.statistics)
    other = replace(DIRECTION, axis_file=path, template="gender")
    with pytest.raises(InputError, match="another template"):
        build_axis(other, models)
    with pytest.raises(InputError, match="give one of them"):
        replace(DIRECTION, axis_file=path, fit_actions=path)


def test_only_a_direction_can_be_saved(tmp_path, encoder):
    place = tmp_path / "axis.safetensors"
    with pytest.raises(InputError, match="choice axis has no option 'save_axis'"):
        score(["kill time"], axis="choice", encoder=encoder, save_axis=place)


def test_the_record_says_what_the_direction_is(encoder):
    record = score(["kill time", "help"], axis="direction", fit="labelled", encoder=encoder)
    plain = to_plain(record)
    found, placed = plain["statistics"]["direction"], plain["statistics"]["map"]
    assert plain["config"]["fit"] == found["fit"] == "labelled"
    assert len(found["explained_variance"]) == len(found["explained_variance_differences"]) == 10
    assert found["stability"]["bootstrap_degrees_p95"] > 0
    assert [x for x, _ in placed["points"]] == [row["score"] for row in plain["results"]]
    assert len(placed["fitting"]) == found["fitted_on"] == 100
    assert "paper_sums" not in plain["statistics"]


def test_a_component_without_meaning_is_warned_about(encoder):
    warnings = " ".join(score(["help"], axis="direction", encoder=encoder).warnings)
    assert "does not stand out" in warnings
    assert "may not be moral" in warnings
    assert "unstable" in warnings


def test_people_stand_beside_any_axis(tmp_path, encoder):
    path = tmp_path / "people.csv"
    path.write_text("action,yes,no\nhelp,9,1\nkill,1,9\nlie,3,7\ngo,8,2\n")
    for axis in ("choice", "direction"):
        record = score(["help", "kill", "lie", "go"], axis=axis, encoder=encoder, human=path)
        assert record.statistics["human"].rows


def test_ratings_that_cannot_be_read_stop_before_any_work(tmp_path):
    class Refusing:
        arithmetic = "float32"
        name, checksum, dimension = "refusing", "0" * 64, 4

        def encode(self, texts):
            raise AssertionError("asked to encode")

    with pytest.raises(InputError):
        score(["help"], encoder=Refusing(), human=tmp_path / "nowhere.csv")


def test_reproduction_turns_the_papers_sign(encoder):
    (result,) = reproduce_direction(["scripted"]).results
    pca = result.fits[0]
    ours = {row.action: row.ours for row in pca.atomic}
    printed = load_paper().table9["bert"].atomic
    from scipy.stats import spearmanr

    expected = -spearmanr([ours[a] for a in printed], list(printed.values())).statistic
    assert pca.agreement["bert atomic"].r == pytest.approx(expected)
    assert [len(pca.atomic), len(pca.contextual)] == [65, 56]
    first, *_, last = result.table7.dos
    assert first.ours >= last.ours > result.table7.donts[0].ours
    assert result.table7.agreement["bert"].n == 20
