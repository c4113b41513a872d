"""Projects as jobs: made, filled, exported into what the other rooms read."""

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from moralscope.annotation.projects import (
    InitOptions,
    add_items,
    export_project,
    init_project,
    lead_link,
    new_project,
    open_project,
    project_status,
)
from moralscope.axes.ratings import read_ratings
from moralscope.core.errors import InputError, MissingExtra
from moralscope.rules.annotations.reading import read_annotations
from moralscope.rules.rulebooks.show import RuleSearch
from moralscope.stories.reading import read_stories

from ...annotation_databases import GOOD, RULE, STORY, joined, new_id

BARE = InitOptions(staging=0)


def project(tmp_path, task, rows, options=BARE):
    """Make a project whose people need no test, and open it."""
    items = tmp_path / "items.jsonl"
    items.write_text("\n".join(map(json.dumps, rows)))
    folder = tmp_path / "project"
    init_project(folder, task, items, options)
    path = folder / "project.yaml"
    path.write_text(path.read_text().replace("qualification: true", "qualification: false"))
    return folder


def answered(folder, answers, people=1):
    """Have people answer everything they are given."""
    service = open_project(folder)
    for number in range(people):
        person = joined(service, f"Person {number}")
        while (work := service.next_item(person)) is not None:
            receipt = service.submit(person, work.assignment, new_id(), answers(work, number))
            assert receipt.saved, receipt.findings
    service.close()


def rows_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


EXCHANGES = [
    {"id": f"x{n}", "prompt": f"May I, {n}?", "reply": "Sure.", "chatbot": "bot"} for n in range(2)
]


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    folder = project(tmp_path_factory.mktemp("rules"), "rule-of-thumb", EXCHANGES)
    answered(folder, lambda work, number: {**RULE, "severity": 1 + number}, people=3)
    return folder


def test_init_writes_one_yaml_and_a_lead(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("action\nwave\nsmile\n")
    record, lead = init_project(tmp_path / "new", "action-yes-no", items)
    assert record.statistics["items"] == 2
    service = open_project(tmp_path / "new")
    assert service.join(lead.token).person.role == "lead"
    service.close()
    assert (
        lead.token
        not in json.dumps(dict(record.statistics)) + (tmp_path / "new/project.yaml").read_text()
    )
    with pytest.raises(InputError, match="already"):
        init_project(tmp_path / "new", "action-yes-no", items)
    assert lead_link(tmp_path / "new").person.role == "lead"


def test_init_with_bad_items_writes_nothing(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("action\nwave\nwave\n")
    with pytest.raises(InputError, match="again"):
        init_project(tmp_path / "new", "action-yes-no", items)
    assert not (tmp_path / "new").exists()


def test_too_few_items_for_the_staging_round(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("prompt,reply\nHi?,No.\n")
    with pytest.raises(InputError, match="staging"):
        init_project(tmp_path / "new", "rule-of-thumb", items)


@pytest.mark.parametrize("database", ["mysql://a/b", "nonsense", "sqlite:///x.db"])
def test_other_databases_are_refused(tmp_path, database):
    items = tmp_path / "items.csv"
    items.write_text("action\nwave\n")
    with pytest.raises(InputError, match="database"):
        init_project(tmp_path / "new", "action-yes-no", items, InitOptions(database=database))


def test_a_database_named_by_a_variable(tmp_path, monkeypatch):
    items = tmp_path / "items.csv"
    items.write_text("action\nwave\n")
    monkeypatch.delenv("MY_DATABASE", raising=False)
    with pytest.raises(InputError, match="set MY_DATABASE"):
        init_project(
            tmp_path / "a", "action-yes-no", items, InitOptions(database="env:MY_DATABASE")
        )


def test_a_missing_driver_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pg8000", None)
    items = tmp_path / "items.csv"
    items.write_text("action\nwave\n")
    options = InitOptions(database="postgresql://me@127.0.0.1:1/x")
    with pytest.raises(MissingExtra, match="postgres"):
        init_project(tmp_path / "a", "action-yes-no", items, options)


def test_import_adds_and_refuses_what_is_there(tmp_path):
    folder = project(tmp_path, "action-yes-no", [{"action": "wave"}])
    more = tmp_path / "more.csv"
    more.write_text("action\nsmile\n")
    assert add_items(folder, more).statistics["added"] == 1
    more.write_text("action\nnod\nsmile\n")
    with pytest.raises(InputError, match="already"):
        add_items(folder, more)
    assert project_status(folder).statistics["items"] == 2, "all or none"


def test_mic_opens_in_the_integrity_room_unchanged(rules):
    path = rules / "exports" / "MIC.csv"
    assert export_project(rules, shape="mic").statistics["file"] == str(path)
    read = read_annotations(path)
    assert len(read.annotations) == 6
    assert not read.problems
    first = read.annotations[0]
    assert (first.rule, first.alignment, first.consensus) == (RULE["rule"], "disagree", 4.0)
    assert first.foundations == ("loyalty",)
    assert first.revised_reply == RULE["revised_reply"]
    assert first.exchange.prompt == "May I, 0?"
    assert first.chatbot == "bot"
    assert Counter(one.severity for one in read.annotations) == {1.0: 2, 2.0: 2, 3.0: 2}
    assert len({one.worker for one in read.annotations}) == 3
    assert len({one.id for one in read.annotations}) == 6


def test_exports_know_random_ids_and_no_names(rules):
    shapes = ("jsonl", "csv", "parquet", "mic", "people")
    files = [Path(export_project(rules, shape=shape).statistics["file"]) for shape in shapes]
    texts = [path.read_bytes() for path in files]
    assert not any(b"Person 0" in text for text in texts)
    first = rows_of(rules / "exports" / "answers.jsonl")
    export_project(rules, shape="jsonl", name="again")
    assert first == rows_of(rules / "exports" / "again.jsonl"), "ids are stable"
    assert all(row["person"].startswith("p-") for row in first)


def test_tables_hold_the_same_as_jsonl(rules):
    for shape in ("jsonl", "csv", "parquet"):
        export_project(rules, shape=shape)
    whole = rows_of(rules / "exports" / "answers.jsonl")
    with (rules / "exports" / "answers.csv").open(newline="") as stream:
        cells = list(csv.DictReader(stream))
    columns = pq.read_table(rules / "exports" / "answers.parquet").to_pylist()
    assert len(whole) == len(cells) == len(columns) == 6
    for row, cell, column in zip(whole, cells, columns, strict=True):
        assert row["item"] == cell["item"] == column["item"]
        assert row["answer"]["severity"] == int(cell["severity"]) == column["severity"]
        assert cell["foundations"] == "loyalty"
        assert cell["text_prompt"] == row["texts"]["prompt"]


def test_a_spreadsheet_does_not_run_an_answer(tmp_path):
    folder = project(tmp_path, "rule-of-thumb", EXCHANGES[:1])
    rule = '=HYPERLINK("http://x") is so bad'
    answered(folder, lambda work, number: {**RULE, "rule": rule})
    export_project(folder, shape="csv")
    with (folder / "exports" / "answers.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["rule"] == f"'{rule}"
    export_project(folder, shape="mic")
    assert read_annotations(folder / "exports" / "MIC.csv").annotations[0].rule == rule


def test_yes_and_no_feed_score_human(tmp_path):
    folder = project(tmp_path, "action-yes-no", [{"action": "wave"}, {"action": "kill, slowly"}])
    answered(
        folder, lambda work, n: {"ok": work.item.texts["action"] == "wave" or n == 0}, people=3
    )
    export_project(folder, shape="human")
    found = read_ratings(folder / "exports" / "human.csv")
    assert found.counts == {"wave": {"people": (3, 0)}, "kill, slowly": {"people": (1, 2)}}


def test_stories_that_were_validated_open_in_the_stories_room(tmp_path):
    norms = {"norm_1": "norm_1 0", "norm_2": "b", "norm_3": "c"}
    folder = project(tmp_path, "story-writing", [norms])
    answered(folder, lambda work, n: STORY if work.form.name == "story-writing" else GOOD, people=3)
    export_project(folder, shape="stories")
    (story,) = read_stories(folder / "exports" / "stories.jsonl").stories
    assert not story.missing
    assert (story.norm, story.immoral_action) == ("norm_1 0", STORY["immoral_action"])


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "/etc/x", "..", "a\\b", ".hidden", "a" * 80, "a.csv", "ü"]
)
def test_names_of_exports_lead_nowhere_else(rules, name):
    with pytest.raises(InputError):
        export_project(rules, shape="jsonl", name=name)
    assert not list(rules.parent.glob("*.jsonl.jsonl"))


def test_shapes_belong_to_tasks(rules):
    with pytest.raises(InputError, match="is of the task 'story-writing'"):
        export_project(rules, shape="stories")
    with pytest.raises(InputError, match="did you mean 'parquet'"):
        export_project(rules, shape="parqet")
    with pytest.raises(InputError, match="stage is 'last'"):
        export_project(rules, shape="jsonl", stage="last")


def test_nothing_to_export_is_said(tmp_path):
    folder = project(tmp_path, "action-yes-no", [{"action": "wave"}])
    with pytest.raises(InputError, match="nobody has submitted"):
        export_project(folder, shape="csv")


def test_status_counts(rules):
    found = project_status(rules)
    assert found.statistics["submitted"] == found.statistics["wanted"] == 6
    assert found.statistics["complete"] == 2
    assert [row.submitted for row in found.results] == [0, 2, 2, 2]


def test_the_search_box_finds_by_words_as_they_are_typed(rules):
    service = open_project(rules)
    search = RuleSearch(service.project)
    service.close()
    assert all("promise" in one.text.lower() for one in search.search("promis", 3))
    assert search.search("promise", 3)
    assert search.search("", 3) == search.search("zzzzqqq", 3) == []
    assert len(search.search("to", 1000)) <= 50


def test_the_search_box_reads_the_projects_own_rulebook(tmp_path):
    (tmp_path / "house.csv").write_text("text\nIt's rude to frobnicate in public.\n")
    ours = replace(new_project("a", "filter"), rulebooks=("house.csv",), folder=str(tmp_path))
    found = RuleSearch(ours).search("frobnicating")
    assert [one.text for one in found] == ["It's rude to frobnicate in public."]
