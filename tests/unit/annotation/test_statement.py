"""The data statement: who annotated, in groups that name nobody, and how."""

import json
import re
from dataclasses import replace

import pytest

from moralscope.annotation.agreement_files import read_people
from moralscope.annotation.exporting import people_bytes
from moralscope.annotation.options import StatementTexts
from moralscope.annotation.projects import new_project, parse_project, project_text, write_project
from moralscope.annotation.records import PersonFacts
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.statement import data_statement
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError
from moralscope.pages import build_page

from ...annotation_databases import joined, make_service, new_id

OPEN = {"qualification": False, "staging_items": 0, "people_per_item": 20}
REGIONS = [*["europe"] * 7, *["canada"] * 5, "oceania"]  # 13 people, one of them alone


def project(folder, regions=REGIONS, answers=lambda place: 1):
    """Make a project whose people live in these regions (None: not said)."""
    service = make_service(folder, items=6, **OPEN)
    for place, region in enumerate(regions):
        person = joined(service, f"P{place}")
        if region is None:
            service.answer_questionnaire(person, None, {})
        else:
            told = {"region": region, "age": "30-39"}
            leaning = "liberal" if place % 2 else "moderate"
            service.answer_questionnaire(person, leaning, {}, told, agrees=True)
        for _ in range(answers(place)):
            work = service.next_item(person)
            service.submit(person, work.assignment, new_id(), {"ok": place % 2 == 0})
    write_project(service.project, folder)
    return service


def test_no_group_of_fewer_than_five_is_named_and_none_can_be_worked_out(tmp_path):
    project(tmp_path).close()
    record = data_statement(tmp_path)
    region = [row for row in record.statistics["groups"] if row.question == "region"]
    # The one of Oceania is alone; with the five of Canada it is a group that says nothing of it.
    assert [(row.group, row.people) for row in region] == [("europe", 7), ("others", 6)]
    folder = tmp_path / "exports"
    for name in ("statement.md", "demographics.csv"):
        text = (folder / name).read_text().lower()
        assert "oceania" not in text
        assert "pacific" not in text
        assert "canada" not in text
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    counts = re.findall(r"^[\w-]+,[\w -]+,(\d+),", (folder / "demographics.csv").read_text(), re.M)
    assert min(map(int, counts)) >= 5


def test_people_and_annotations_have_their_own_shares_as_in_the_papers_figure(tmp_path):
    regions = [*["europe"] * 5, *["canada"] * 5]
    project(tmp_path, regions, lambda place: 3 if place < 5 else 1).close()
    groups = data_statement(tmp_path).statistics["groups"]
    shares = {row.group: (row.share.value, row.annotation_share) for row in groups}
    assert shares["europe"] == (0.5, 0.75)
    assert shares["canada"] == (0.5, 0.25)
    leaning = [row for row in groups if row.question == "leaning"]
    assert {(row.label, row.people) for row in leaning} == {("Liberal", 5), ("Moderate", 5)}


def test_too_few_people_are_not_described_at_all(tmp_path):
    project(tmp_path, ["europe"] * 4).close()
    record = data_statement(tmp_path)
    assert record.statistics["groups"] == []
    (line,) = record.statistics["sections"]["D. Annotator demographic"]
    assert "No group is described: 4 people" in line


def test_the_statement_has_every_section_and_what_the_lead_said(tmp_path):
    service = project(tmp_path)
    rows = service.answers(service.owner)
    decision = service.reject(service.owner, rows[0].submission, "Too quick.")
    people = {line.person.id: line.person for line in service.overview(service.owner).people}
    service.appeal(people[rows[0].person], decision.id, "It was easy.")
    service.block(service.owner, rows[1].person, "Copied.", leave_out=True)
    service.close()
    path = tmp_path / "project.yaml"
    path.write_text(path.read_text().replace('language: ""', 'language: "Irish English"'))
    record = data_statement(tmp_path)
    text = (tmp_path / "exports/statement.md").read_text()
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert [title[3] for title in titles] == list("ABCDEFGHI")
    assert "Irish English" in text
    assert "1 answer of the main round was rejected" in text
    assert "1 person was blocked: the answers of 0 count, those of 1 do not." in text
    assert "There was 1 appeal, and 0 decisions were lifted." in text
    assert "11 answers of 11 people to 1 item count" in text
    assert set(record.statistics["sections"]) == {title[3:] for title in titles}


def test_the_report_draws_people_and_annotations_side_by_side(tmp_path):
    from moralscope.core.records import to_plain

    project(tmp_path).close()
    page = build_page(json.loads(json.dumps(to_plain(data_statement(tmp_path)))))
    who = page.sections[0]
    assert who.title == "Who the annotators are"
    assert [trace["name"] for trace in who.blocks[0].traces] == ["people", "annotations"]
    assert who.blocks[0].title == "Region"
    control = next(one for one in page.sections if one.title.startswith("H."))
    assert control.blocks[0].columns[0].title == "question"
    assert not any("|" in line or "**" in line for one in page.sections for line in one.prose)


def test_an_export_of_people_hides_small_leanings_and_holds_no_demographics(tmp_path):
    facts = [PersonFacts(f"p{n}", "liberal", {"care": 4.0}, {"age": "18-20"}) for n in range(6)]
    facts += [PersonFacts("q", "strongly-conservative", {}), PersonFacts("r", None, {"care": 1.0})]
    text = b"".join(people_bytes(facts, 5)).decode()
    assert "strongly-conservative" not in text
    assert "18-20" not in text
    path = tmp_path / "people.jsonl"
    path.write_text(text)
    assert {one.leaning for one in read_people(path)} <= {"liberal", "others", None}


def test_project_yaml_keeps_what_the_lead_says_and_names_a_wrong_key():
    said = replace(
        new_project("a", "filter"), statement=StatementTexts(language="Irish English: 'so'")
    )
    text = project_text(said)
    assert parse_project(text, "project.yaml").statement == said.statement
    older = re.sub(r"(?m)^# For the data.*\n|^statement:\n(?:  (?:rationale|language|speakers|"
                   r"situation|provenance).*\n)+", "", text)  # fmt: skip
    assert "rationale" not in older
    assert parse_project(older, "project.yaml").statement == StatementTexts()
    with pytest.raises(InputError, match=r"statement has an unknown key 'langage'.*'language'"):
        parse_project(text.replace("  language:", "  langage:"), "project.yaml")


def test_an_empty_project_has_a_statement_too(tmp_path):
    service = AnnotationService(new_project("a", "action-yes-no"), Storage(tmp_path))
    write_project(service.project, tmp_path)
    service.close()
    assert data_statement(tmp_path).statistics["answers"] == 0
