"""Kept runs: whole files, bounded in number, none of them trusted."""

import pytest

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.rules.labels import read_labels
from moralscope.rules.records import RuleOfThumb
from moralscope.rules.rulebook import Rulebook
from moralscope.runs import kept
from moralscope.runs.kept import NoSuchRun, Runs
from moralscope.runs.titles import ChosenLabel, PageNotes, Remark, notes_of, run_title

RECORD = {
    "schema": "moralscope.run/1",
    "job": "score",
    "config": {"axis": "choice", "encoder": "minilm"},
    "results": [{"action": "kill time", "score": 0.1}],
}


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "runs")


def test_a_long_text_is_kept_whole(runs):
    record = {**RECORD, "results": [{"action": "a" * 9000, "score": 0.1}]}
    assert runs.load(runs.save(record).id)["results"] == record["results"]


def test_a_number_that_is_none_is_kept_as_null(runs):
    record = {**RECORD, "results": [{"action": "a", "score": float("nan")}]}
    assert runs.load(runs.save(record).id)["results"][0]["score"] is None


def test_no_more_are_kept_than_the_limit(runs, monkeypatch):
    monkeypatch.setattr(kept, "MOST_RUNS", 2)
    runs.save(RECORD)
    runs.save(RECORD)
    with pytest.raises(InputError, match="2 runs are kept already; delete some"):
        runs.save(RECORD)


def test_a_damaged_file_is_left_out_of_the_list(runs):
    good, bad = runs.save(RECORD), runs.save(RECORD)
    (runs.folder / f"{bad.id}.json").write_text('{"schema": "moralscope.run/1", "jo')
    assert [line.id for line in runs.listed()] == [good.id]
    with pytest.raises(InputError, match="ends in the middle"):
        runs.load(bad.id)


def test_a_deleted_run_is_gone(runs):
    name = runs.save(RECORD).id
    runs.delete(name)
    with pytest.raises(NoSuchRun):
        runs.delete(name)


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(MoralscopeError, match="could not be kept"):
        Runs(tmp_path / "runs").save(RECORD)


def test_home_is_asked_at_every_use(tmp_path, monkeypatch):
    runs = Runs()
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "one"))
    runs.save(RECORD)
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "two"))
    assert runs.listed() == []


AUDIT = {
    "schema": "moralscope.run/1",
    "job": "audit",
    "config": {},
    "results": [
        {"prompt": "P", "reply": "R", "rules": [], "verdict": {"flag": n == 0, "score": 0.0}}
        for n in range(5)
    ],
}


def test_a_title_says_what_a_run_holds(runs):
    actions = [{"action": f"do {n}", "score": n / 10} for n in range(7)]
    assert (
        runs.save({**RECORD, "results": actions}).title == "7 actions, choice, minilm: do 0 … do 6"
    )
    assert runs.save(AUDIT, PageNotes(source="ex.csv")).title == "audit of ex.csv: 1 of 5 flagged"
    one = {**AUDIT, "results": AUDIT["results"][:1]}
    assert runs.save(one).title == "audit of “R”: flagged"


@pytest.mark.parametrize("results", [[], [{}], [{"verdict": None}], ["x"], [{"action": "a"}]])
@pytest.mark.parametrize("job", ["score", "audit", "chain", "compare", "other"])
def test_an_odd_record_has_a_title_too(job, results):
    assert run_title({"job": job, "config": {"axis": "choice"}, "results": results})


def test_a_run_is_renamed_and_gets_its_own_title_back(runs):
    name = runs.save(RECORD).id
    assert runs.rename(name, "  my   first \n run ").title == "my first run"
    assert runs.load(name)["results"] == RECORD["results"]
    assert runs.rename(name, "").title == "1 action, choice, minilm: kill time"


def test_a_remark_replaces_an_earlier_one_and_can_be_taken_back(runs):
    name = runs.save(AUDIT).id
    runs.remark(name, [Remark(1, "disagree", "first", [ChosenLabel("Do not lie.", True)])])
    assert runs.remark(name, [Remark(1, "disagree", "second")]).labels == 0
    assert runs.remark(name, [Remark(1)]).remarks == 0
    with pytest.raises(InputError, match="no such result"):
        runs.remark(name, [Remark(9, "agree")])


def test_only_labels_that_were_chosen_are_exported(runs):
    name = runs.save(AUDIT).id
    labels = [ChosenLabel("Do not lie.", True), ChosenLabel("Be kind.", False)]
    line = runs.remark(name, [Remark(0, "disagree"), Remark(1, "agree", "=1+1", labels)])
    assert (line.remarks, line.labels) == (2, 2)
    assert runs.labels_csv().decode().splitlines() == [
        "prompt,reply,rule,broken,note,id",
        f"P,R,Do not lie.,yes,'=1+1,{name}-1",
        f"P,R,Be kind.,no,'=1+1,{name}-1",
    ]


def test_rules_learn_reads_the_labels(runs, tmp_path):
    name = runs.save(AUDIT).id
    labels = [ChosenLabel("Do not lie.", True), ChosenLabel("Be kind.", False)]
    runs.remark(name, [Remark(1, labels=labels)])
    path = tmp_path / "labels.csv"
    path.write_bytes(runs.labels_csv())
    book = Rulebook("mine", (RuleOfThumb("Do not lie."), RuleOfThumb("Be kind.")))
    assert [(label.rule, label.broken) for label in read_labels(path, book).labels] == [
        ("Do not lie.", True),
        ("Be kind.", False),
    ]


def test_a_remark_of_an_older_version_keeps_its_status_and_loses_its_preset_label():
    old = {"result": 0, "verdict": "disagree", "rule": "R", "alignment": "agree", "comment": "c"}
    (remark,) = notes_of({"page": {"remarks": [old]}}).remarks
    assert remark == Remark(0, "disagree", "c")


def test_tags_are_few_short_and_listed(runs):
    name = runs.save(RECORD).id
    assert runs.tag(name, [" release  1 ", "", "release 1", "x" * 99]).tags == (
        "release 1",
        "x" * 40,
    )
    assert runs.listed()[0].tags == ("release 1", "x" * 40)
    assert runs.rename(name, "mine").tags == ("release 1", "x" * 40)
