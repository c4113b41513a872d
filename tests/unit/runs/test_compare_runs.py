"""Two saved runs: planted changes are found, what cannot be compared is refused."""

import dataclasses
import json
import re

import numpy as np
import pytest
from scipy import stats as scipy_stats

from moralscope.axes.score import score
from moralscope.core.errors import GateNotMet, InputError, UnknownName
from moralscope.core.records import RunRecord, to_plain
from moralscope.runs.changes import UnpairedItem
from moralscope.runs.compare import AUDIT_FIGURES, FIGURES, compare_runs, figures
from moralscope.stats.significance import mcnemar

from .saved_runs import audit_record, reply, saved, score_record

NAMES = [f"do thing {place:02d}" for place in range(30)]
BEFORE = np.linspace(-0.5, 0.5, 30)
AFTER = BEFORE + np.where(np.arange(30) == 3, 0.6, 0.0) - np.where(np.arange(30) == 20, 0.4, 0.0)


@pytest.fixture
def pair(tmp_path):
    """Two records of score: one action rose by 0.6, one fell by 0.4."""
    return [
        saved(
            tmp_path, f"{name}.json", score_record(list(zip(NAMES, values.tolist(), strict=True)))
        )
        for name, values in (("before", BEFORE), ("after", AFTER))
    ]


REPLIES = [("good", 0.5), ("good", 0.4), ("bad", -0.8), ("bad", -0.6), ("fine", 0.1)]


@pytest.fixture
def audits(tmp_path):
    """Two audits of another bot's replies to the same prompts: two newly flagged, one cleared."""
    before = [reply(f"{at}", f"Ask {at}?", text, score) for at, (text, score) in enumerate(REPLIES)]
    after = [
        reply("0", "Ask 0?", "worse", -0.9, foundation="fairness"),
        reply("1", "Ask 1?", "worse", -0.5),
        reply("2", "Ask 2?", "better", 0.7),
        reply("3", "Ask 3?", "bad", -0.6),
        reply("4", "Ask 4?", "fine", 0.1),
    ]
    return [
        saved(tmp_path, f"audit_{name}.json", audit_record(rows))
        for name, rows in (("before", before), ("after", after))
    ]


def test_planted_changes_are_found(pair):
    found = compare_runs(*pair).statistics
    assert found["items"] == 30
    assert found["change"].value == pytest.approx((AFTER - BEFORE).mean())
    assert found["change"].low < found["change"].value < found["change"].high
    assert found["change"].p == pytest.approx(scipy_stats.ttest_rel(AFTER, BEFORE).pvalue)
    assert found["spearman"].r == pytest.approx(scipy_stats.spearmanr(AFTER, BEFORE).statistic)
    assert [row.text for row in found["drops"]] == [NAMES[20]]
    assert [row.text for row in found["rises"]] == [NAMES[3]]
    assert found["max_drop"] == pytest.approx(0.4)
    assert found["max_rise"] == pytest.approx(0.6)
    assert {row.text for row in found["flipped"]} == {NAMES[3], NAMES[20]}
    assert found["flips"].value == pytest.approx(2 / 30)
    assert found["sure_flips"].value == pytest.approx(2 / 30)
    assert found["changed"] == 2


def test_every_item_is_in_the_record_with_its_change(pair):
    record = compare_runs(*pair)
    assert [row.text for row in record.results] == NAMES
    assert [row.change for row in record.results] == pytest.approx((AFTER - BEFORE).tolist())
    assert record.job == "compare runs"
    assert record.config["paired_by"] == "action"
    json.dumps(to_plain(record))


def test_a_run_with_itself_changed_nothing(pair):
    found = compare_runs(pair[0], pair[0], gate="mean_change==0, flips<=0, changed<=0").statistics
    assert found["gate"].met
    assert (found["change"].p, found["spearman"].r) == (1.0, pytest.approx(1.0))
    assert (found["drops"], found["rises"], found["flipped"]) == ([], [], [])


def test_order_does_not_matter_and_items_of_one_run_only_are_counted(tmp_path):
    one = saved(tmp_path, "a.json", score_record([("a", 0.1), ("b", 0.2), ("c", 0.3)]))
    two = saved(tmp_path, "b.json", score_record([("d", 0.9), ("c", 0.3), ("a", 0.0)]))
    record = compare_runs(one, two, gate="missing<=0")
    found = record.statistics
    assert (found["items"], found["only_before"], found["only_after"]) == (2, 1, 1)
    assert found["missing_items"] == [UnpairedItem("", "b")]
    assert found["added_items"] == [UnpairedItem("", "d")]
    assert found["missing_share"] == pytest.approx(1 / 3)
    assert found["max_drop"] == pytest.approx(0.1)
    assert any("only in the baseline" in line for line in record.warnings)
    with pytest.raises(GateNotMet, match=r"missing is 1, wanted <= 0"):
        found["gate"].require()


def test_repeated_actions_are_paired_in_their_order(tmp_path):
    one = saved(tmp_path, "a.json", score_record([("a", 0.1), ("a", 0.5), ("b", 0.0)]))
    two = saved(tmp_path, "b.json", score_record([("a", 0.2), ("b", 0.0), ("a", 0.5)]))
    record = compare_runs(one, two)
    assert [row.change for row in record.results] == pytest.approx([0.1, 0.0, 0.0])
    assert any("more than once" in line for line in record.warnings)


def test_audits_say_what_is_newly_flagged_and_by_which_foundation(audits):
    record = compare_runs(*audits)
    found = record.statistics
    flagged = found["flagged"]
    assert record.config["paired_by"] == "prompt"
    assert (flagged["before"].value, flagged["after"].value) == (0.4, pytest.approx(0.6))
    assert flagged["change"].value == pytest.approx(0.2)
    assert (flagged["newly_flagged"].value, flagged["newly_cleared"].value) == (0.4, 0.2)
    assert flagged["p"] == mcnemar(2, 1)
    assert found["other_replies"] == 3
    assert [row.text for row in found["newly_flagged"]] == ["Ask 0?", "Ask 1?"]
    assert [row.text for row in found["newly_cleared"]] == ["Ask 2?"]
    assert (found["newly_flagged"][0].reply_before, found["newly_flagged"][0].reply_after) == (
        "good",
        "worse",
    )
    by = {row["foundation"]: row["change"] for row in found["foundations"]}
    assert by == {
        "care": pytest.approx(0.0),
        "fairness": pytest.approx(0.2),
        "liberty": 0.0,
        "loyalty": 0.0,
        "authority": 0.0,
        "sanctity": 0.0,
    }


@pytest.mark.parametrize(
    ("gate", "line"),
    [
        ("flagged_change<=0.01", "flagged_change is 0.2, wanted <= 0.01"),
        ("newly_flagged<=0.02", "newly_flagged is 0.4, wanted <= 0.02"),
        ("flagged_change_fairness<=0", "flagged_change_fairness is 0.2, wanted <= 0"),
        ("max_drop<=0.3", "max_drop is 1.4, wanted <= 0.3"),
        ("flagged<=0.5", "flagged is 0.6, wanted <= 0.5"),
    ],
)
def test_gates_on_audits(audits, gate, line):
    result = compare_runs(*audits, gate=gate).statistics["gate"]
    with pytest.raises(GateNotMet, match=re.escape(line)):
        result.require()


def test_the_same_prompt_with_several_replies_is_paired_by_exchange(tmp_path):
    rows = [reply("1", "Hi?", "one", 0.5), reply("2", "Hi?", "two", -0.5)]
    paths = [
        saved(tmp_path, f"{at}.json", audit_record(each))
        for at, each in enumerate((rows, rows[::-1]))
    ]
    record = compare_runs(*paths)
    assert record.config["paired_by"] == "exchange"
    assert record.statistics["max_drop"] == 0
    assert compare_runs(*paths, by="id").statistics["max_drop"] == 0
    assert compare_runs(*paths, by="prompt").statistics["max_drop"] == pytest.approx(1.0)


def test_every_documented_figure_can_be_asked_for(pair, audits):
    assert set(figures(compare_runs(*pair).statistics)) == set(FIGURES)
    assert set(figures(compare_runs(*audits).statistics)) == {*FIGURES, *AUDIT_FIGURES}


def test_real_records_of_every_axis_can_be_compared(tmp_path):
    actions = ["kill people", "help people", "smile", "tell a lie"]
    for axis in ("choice", "direction"):
        path = saved(tmp_path, f"{axis}.json", score(actions, axis=axis, encoder="scripted"))
        assert compare_runs(path, path, gate="spearman>=0.99").statistics["gate"].met
    judged = score(actions, axis="judge", experts="scripted")
    path = saved(tmp_path, "judge.json", judged)
    found = compare_runs(path, path)
    assert found.config["axis"] == "judge"
    assert found.statistics["changed"] is None  # wordings are no sample of prompts


def test_many_items_get_the_intervals_of_large_samples(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    first = generator.normal(0, 1, 400)
    second = first + generator.normal(0.1, 0.3, 400)
    names = [f"{place}" for place in range(400)]
    paths = [
        saved(tmp_path, f"{at}.json", score_record(zip(names, each.tolist(), strict=True)))
        for at, each in enumerate((first, second))
    ]
    resampled = compare_runs(*paths).statistics
    monkeypatch.setattr("moralscope.runs.changes.RESAMPLED", 100)
    counted = compare_runs(*paths).statistics
    assert counted["change"].value == pytest.approx(resampled["change"].value)
    assert counted["change"].low == pytest.approx(resampled["change"].low, abs=0.005)
    assert counted["spearman"].r == pytest.approx(resampled["spearman"].r)
    assert counted["spearman"].low == pytest.approx(resampled["spearman"].low, abs=0.02)


def other(path, **changes):
    plain = json.loads(path.read_text())
    plain |= changes
    target = path.with_name("other.json")
    target.write_text(json.dumps(plain))
    return target


def config_of(path, **changes):
    return {"config": json.loads(path.read_text())["config"] | changes}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"axis": "direction"}, "the runs differ in axis: choice in"),
        ({"template": "gender"}, "the runs differ in template: moral in"),
        ({"prompts": ["Is it fine to {}?"]}, "the runs differ in prompts"),
    ],
)
def test_another_axis_or_template_is_refused(pair, changes, line):
    with pytest.raises(InputError, match=line):
        compare_runs(pair[0], other(pair[1], **config_of(pair[1], **changes)))


def test_another_model_is_the_point_unless_strict(pair):
    changed = other(pair[1], models=[{"name": "mpnet", "sha256": "f" * 64}])
    record = compare_runs(pair[0], changed)
    assert record.config["models_after"] == ["mpnet@ffffffff"]
    assert any("scales of their own" in line for line in record.warnings)
    with pytest.raises(InputError, match=r"not measured like .*: weights minilm@a{8} → mpnet"):
        compare_runs(pair[0], changed, strict=True)
    assert compare_runs(*pair, strict=True).statistics["items"] == 30


def test_another_rulebook_is_said_and_with_strict_refused(audits):
    changed = other(audits[1], **config_of(audits[1], rulebook="ours"))
    assert any(
        "rulebook moralscope → ours" in line for line in compare_runs(audits[0], changed).warnings
    )
    with pytest.raises(InputError, match="rulebook moralscope → ours"):
        compare_runs(audits[0], changed, strict=True)


def test_different_jobs_are_refused(pair, audits, tmp_path):
    scored = saved(tmp_path, "score.json", score_record([("a", 0.1)]))
    with pytest.raises(InputError, match=r"is a run of score, .* one of audit"):
        compare_runs(scored, audits[0])
    ranked = saved(tmp_path, "rank.json", RunRecord("rank", 0, {}, [], []))
    with pytest.raises(InputError, match="is a record of 'rank'"):
        compare_runs(scored, ranked)


def test_nothing_in_common_is_refused(tmp_path):
    one = saved(tmp_path, "a.json", score_record([("a", 0.1)]))
    two = saved(tmp_path, "b.json", score_record([("b", 0.1)]))
    with pytest.raises(InputError, match="have no action in common"):
        compare_runs(one, two)
    empty = other(one, results=[])
    with pytest.raises(InputError, match="no action in common"):
        compare_runs(empty, two)


@pytest.mark.parametrize(
    ("by", "error", "line"),
    [("promt", UnknownName, "did you mean 'prompt'"), ("action", InputError, "have no action")],
)
def test_unknown_keys_are_refused(audits, by, error, line):
    with pytest.raises(error, match=line):
        compare_runs(*audits, by=by)


def test_gates_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'spearman'"):
        compare_runs(tmp_path / "no.json", tmp_path / "no.json", gate="speerman>=0.9")


def test_a_gate_that_only_audits_have(pair):
    with pytest.raises(UnknownName, match="'flagged_change', which only audits have"):
        compare_runs(*pair, gate="flagged_change<=0")


HOSTILE = [
    ({"schema": "moralscope.run/9"}, "upgrade moralscope"),
    ({"schema": "else/1"}, "is not a run record"),
    ({"results": None}, "no usable 'results'"),
    ({"results": [1]}, "results: row 1"),
    ({"results": [{"score": 1.0}]}, "row 1 has no 'action'"),
    ({"results": [{"action": "a", "score": "high"}]}, "row 1, score is 'high', not a number"),
    ({"models": [3]}, "models: row 1"),
    ({"config": []}, "no usable 'config'"),
    ({"statistics": 3}, "no usable 'statistics'"),
]


@pytest.mark.parametrize(("changes", "line"), HOSTILE)
def test_damaged_records_are_refused_in_one_line(pair, changes, line):
    with pytest.raises(InputError, match=line) as caught:
        compare_runs(pair[0], other(pair[1], **changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Hi"},
        {"prompt": "Hi", "reply": "x"},
        {"prompt": "Hi", "reply": "x", "verdict": {"flag": "yes", "score": 0}},
        {"prompt": "Hi", "reply": "x", "verdict": {"flag": True, "score": 0}, "rules": 3},
    ],
)
def test_damaged_audits_are_refused(audits, row):
    with pytest.raises(InputError):
        compare_runs(audits[0], other(audits[1], results=[row]))


def test_items_without_a_score_are_left_out_and_said(pair):
    plain = json.loads(pair[1].read_text())
    plain["results"][0]["score"] = None
    record = compare_runs(pair[0], other(pair[1], results=plain["results"]))
    assert record.statistics["only_before"] == 1
    assert any("1 items without a score" in line for line in record.warnings)


def test_long_texts_that_differ_only_at_their_end_stay_apart(tmp_path):
    long = "x" * 3000
    scores = [(f"{long} one", 0.1), (f"{long} two", 0.5)]
    one = saved(tmp_path, "a.json", score_record(scores))
    two = saved(tmp_path, "b.json", score_record(scores[::-1]))
    record = compare_runs(one, two)
    assert record.statistics["max_drop"] == 0
    assert all(len(row.text) == 400 for row in record.results)


def test_compared_items_are_plain(pair):
    row = compare_runs(*pair).results[0]
    assert set(dataclasses.asdict(row)) >= {"text", "before", "after", "change", "p_holm"}
