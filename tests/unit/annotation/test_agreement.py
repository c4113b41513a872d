"""`agreement` reads any shape of judgments into one record, which names no small group."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moralscope.annotation.agreement import agreement, agreement_so_far, parse_levels
from moralscope.annotation.options import Policies
from moralscope.annotation.projects import write_project
from moralscope.annotation.records import AnnotationItem, Project
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain

PEOPLE = {f"p{n}": "liberal" if n < 7 else "conservative" if n < 13 else "other" for n in range(14)}
FOUNDATIONS = ("care", "fairness")


def rows():
    rng = np.random.default_rng(4)
    for item in range(8):
        for person in PEOPLE:
            answer = {
                "rule": f"It's wrong to do thing {rng.integers(10**6)} to anybody.",
                "severity": int(rng.integers(1, 6)),
                "alignment": str(rng.choice(["agree", "disagree", "neither"])),
                "foundations": [name for name in FOUNDATIONS if rng.random() < 0.5],
            }
            yield str(item), person, answer


def write_exported(path):
    lines = [
        {"item": i, "person": p, "stage": "main", "texts": {"prompt": f"Is {i} ok?"}, "answer": a}
        for i, p, a in rows()
    ]
    lines.append({**lines[0], "person": "new", "stage": "staging"})
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")


def cell(value):
    return "|".join(value) if isinstance(value, list) else str(value)


def write_long(path):
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["item", "person", "field", "value", "leaning"])
        for item, person, answer in rows():
            for name, value in answer.items():
                out.writerow([item, person, name, cell(value), PEOPLE[person]])


def write_wide(path):
    table = [
        {"item": i, "person": p, "form": "f", "stage": "main", "seconds": 3.5, "text_prompt": "x"}
        | {name: cell(value) for name, value in a.items()}
        for i, p, a in rows()
    ]
    pq.write_table(pa.Table.from_pylist(table), path)


def write_people(path):
    lines = [
        {"person": who, "leaning": leaning, "foundations": {"care": 4.0, "fairness": 2.5}}
        for who, leaning in PEOPLE.items()
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


@pytest.fixture
def people(tmp_path):
    return write_people(tmp_path / "people.jsonl")


@pytest.fixture
def exported(tmp_path):
    write_exported(tmp_path / "a.jsonl")
    return tmp_path / "a.jsonl"


def test_every_shape_gives_the_same_figures(tmp_path, exported):
    write_long(tmp_path / "long.csv")
    write_wide(tmp_path / "wide.parquet")
    paths = [exported, tmp_path / "long.csv", tmp_path / "wide.parquet"]
    found = [agreement(path) for path in paths]
    first = found[0]
    assert first.config["levels"] == {
        "severity": "ordinal",
        "alignment": "nominal",
        "foundations: care": "nominal",
        "foundations: fairness": "nominal",
    }
    for other in found[1:]:
        assert other.config["levels"] == first.config["levels"]
        assert other.statistics["fields"] == first.statistics["fields"]
        assert list(other.results) == list(first.results)


def test_the_record_holds_distributions_and_says_what_was_left_out(exported):
    record = agreement(exported)
    row = next(row for row in record.results if row.field == "alignment")
    assert (row.item, sum(row.counts.values())) == ("0", 14)
    assert record.statistics["texts"][record.statistics["most_split"][0].item].startswith("Is ")
    assert "1 rows of staging rounds do not count" in record.warnings
    assert "free text is not compared: rule" in record.warnings
    json.dumps(to_plain(record), allow_nan=False)


def test_no_person_and_no_small_group_is_named(exported, people):
    record = agreement(exported, people=people)
    plain = json.dumps(to_plain(record))
    assert not any(f'"{person}"' in plain for person in PEOPLE)
    named = {row.leaning for row in record.statistics["leanings"]}
    assert named == {"liberal", "others"}  # the one other person takes the conservatives along
    assert record.statistics["field_splits"] == []
    assert {row.leaning for row in record.statistics["foundations"]} == {"liberal"}


def test_a_column_of_leanings_will_do(tmp_path):
    write_long(tmp_path / "long.csv")
    record = agreement(tmp_path / "long.csv", smallest_group=3)
    assert {row.leaning for row in record.statistics["leanings"]} == {"liberal", "others"}


def test_the_same_seed_gives_the_same_record(exported, people):
    assert agreement(exported, people=people, seed=3) == agreement(exported, people=people, seed=3)
    other = agreement(exported, people=people, seed=4)
    assert other.statistics["fields"] != agreement(exported, people=people).statistics["fields"]


def test_told_levels_win(exported):
    record = agreement(exported, levels={"severity": "interval", "alignment": "text"})
    assert record.config["levels"]["severity"] == "interval"
    assert "alignment" not in record.config["levels"]


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        ("item,person,field,value\n", {}, "holds no judgments"),
        ("item,field,value\n1,a,2\n", {}, "has no column 'person'"),
        (
            "item,person,field,value\n1,,a,2\n,p,a,2\n",
            {},
            "line 2 has no person, line 3 has no item",
        ),
        ("item,person,field,value\n1,p,a,2\n1,p,a,3\n", {}, "twice"),
        ("item,person,field,value\n1,p,a,2\n", {"levels": {"b": "ordinal"}}, "no field 'b'"),
        ("item,person,field,value\n1,p,a,2\n", {"smallest_group": 2}, "could name a person"),
    ],
)
def test_bad_tables_are_refused_in_one_line(tmp_path, content, options, problem):
    path = tmp_path / "a.csv"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=problem) as error:
        agreement(path, **options)
    assert "\n" not in str(error.value)


def test_a_field_s_name_tells_a_terminal_nothing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,person,field,value\n1,p,x\x1b[31m,2\n", "utf-8")
    assert not any("\x1b" in line for line in agreement(path).warnings)


def test_people_twice_are_refused(exported, people):
    people.write_text(people.read_text() + '\n{"person": "p0"}', "utf-8")
    with pytest.raises(InputError, match="names p0 twice"):
        agreement(exported, people=people)


def test_levels_are_parsed():
    assert parse_levels(None) == {}
    assert parse_levels("a=ordinal,b=ordinal") == {"a": "ordinal", "b": "ordinal"}
    with pytest.raises(InputError, match="--levels has 'severity'"):
        parse_levels("severity")


@pytest.fixture
def project(tmp_path):
    """A project of eight items, each answered by six people; all but one tell their leaning."""
    policies = Policies(people_per_item=6, qualification=False, staging_items=0, smallest_group=6)
    told = Project("p", "attributes", policies, "w", "c", folder=str(tmp_path))
    write_project(told, tmp_path)
    service = AnnotationService(told, Storage(tmp_path))
    items = [
        AnnotationItem(str(n), {"rule": f"Rule {n}", "prompt": "", "reply": ""}) for n in range(8)
    ]
    service.add_items(service.owner, items)
    for who in range(6):
        person = service.join(service.invite(service.owner, f"name {who}").token).person
        person = service.consent(person, True)
        service.answer_questionnaire(person, "liberal" if who else None, {}, agrees=True)
        while (work := service.next_item(person)) is not None:
            item = int(work.item.id)
            answer = {
                "alignment": "agree" if item % 2 else "disagree",
                "consensus": 1 + (item + who) % 5,
                "severity": 1 + item % 5,
                "foundations": ["care"] if who % 2 else [],
            }
            assert service.submit(person, work.assignment, f"{who}-{work.assignment}", answer).saved
    yield service
    service.close()


def test_a_project_is_read_with_its_levels_and_policies(project, tmp_path):
    record = agreement(tmp_path)
    assert record.config["levels"] == {
        "alignment": "nominal",
        "consensus": "ordinal",
        "severity": "ordinal",
        "foundations: care": "nominal",
    }
    found = {row.field: row for row in record.statistics["fields"]}
    assert found["severity"].alpha.value == pytest.approx(1.0)
    assert found["consensus"].alpha.value < 0.3
    assert len(found["severity"].icc) == 6  # all six people answered all items
    assert record.config["smallest_group"] == 6
    assert [row.leaning for row in record.statistics["leanings"]] == ["others"]
    assert any("no political leaning is shown" in line for line in record.warnings)
    assert "name 1" not in json.dumps(to_plain(record))


def test_the_lead_sees_agreement_so_far(project):
    found = agreement_so_far(project, project.owner, shown=3)
    assert [row.field for row in found.fields][:3] == ["alignment", "consensus", "severity"]
    assert len(found.items) == 3
    assert found.items[0].text.startswith("Rule ")


def test_a_project_without_answers_says_so(tmp_path):
    told = Project("p", "action-yes-no", Policies(), "w", "c", folder=str(tmp_path))
    write_project(told, tmp_path)
    with pytest.raises(InputError, match="no submitted answers yet"):
        agreement(tmp_path)


@pytest.mark.parametrize("shape", ["jsonl", "csv", "parquet"])
def test_an_export_gives_what_the_project_gives(project, tmp_path, shape):
    path = project.export_to(project.owner, "answers", shape)
    people = project.export_to(project.owner, "people", "people")
    levels = {"foundations": "several"}
    exported = agreement(path, levels=levels, people=people, smallest_group=6)
    whole = agreement(tmp_path)
    assert exported.statistics["fields"] == whole.statistics["fields"]
    assert exported.statistics["leanings"] == whole.statistics["leanings"]
    assert list(exported.results) == list(whole.results)
