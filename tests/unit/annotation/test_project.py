"""project.yaml: written readable, read strictly."""

from dataclasses import replace

import pytest

from moralscope.annotation.options import Policies
from moralscope.annotation.projects import (
    new_project,
    parse_project,
    project_text,
    read_project,
    write_project,
)
from moralscope.core.errors import InputError


def test_what_is_written_is_read_back(tmp_path):
    project = new_project('a "quoted": name # x', "rule-of-thumb", "postgresql://me@db/x")
    project = replace(project, policies=Policies(people_per_item=5, retakes=0), warning="Öl\nzwei")
    write_project(project, tmp_path / "new")
    assert read_project(tmp_path / "new") == replace(project, folder=str(tmp_path / "new"))
    with pytest.raises(InputError, match="already"):
        write_project(project, tmp_path / "new")


def test_every_policy_is_explained():
    text = project_text(new_project("a", "filter"))
    for name in Policies.__slots__:
        (line,) = [line for line in text.splitlines() if line.startswith(f"  {name}:")]
        assert "  # " in line


def test_defaults_are_the_papers():
    policies = new_project("a", "rule-of-thumb").policies
    assert (policies.people_per_item, policies.questions, policies.pass_mark) == (3, 7, 6)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nmae: a\ntask: filter", "unknown key 'nmae'; did you mean 'name'"),
        ("task: filter", "has no 'name'"),
        ("name: a\ntask: filter\npolices: {}", "unknown key 'polices'; did you mean 'policies'"),
        (
            "name: a\ntask: filter\npolicies: {people_per_itm: 2}",
            "unknown key 'people_per_itm'; did you mean 'people_per_item'",
        ),
        ("name: a\ntask: filtre", "no task 'filtre'; did you mean 'filter'"),
        ("name: a\ntask: story-check", "no task 'story-check'"),
        (
            "name: a\ntask: filter\npolicies: {people_per_item: many}",
            "people_per_item is 'many', not a whole number",
        ),
        (
            "name: a\ntask: filter\npolicies: {people_per_item: 0}",
            "people_per_item is 0; give 1 to",
        ),
        ("name: a\ntask: filter\npolicies: {qualification: 1}", "true or false"),
        ("name: a\ntask: filter\npolicies: {pass_mark: 8}", "lower pass_mark"),
        ("name: a\ntask: filter\nversion: 2\nmood: good", "newer moralscope"),
        ("name: a\ntask: filter\nversion: one", "version is 'one', not a whole number"),
        ("name: a\ntask: filter\nrulebooks: moralscope", "rulebooks is 'moralscope', not a list"),
        ("name: &a x\ntask: filter", "alias or an anchor"),
        ("name: !!python/object:os.system x\ntask: filter", "has a tag"),
        ("name: [\n", "is not YAML"),
        ("- a", "needs keys and values"),
        ("", "needs keys and values"),
        ("name: ''\ntask: filter", "0 characters of name"),
        ("a: " + "[" * 40, "nested too deep"),
    ],
)
def test_what_is_wrong_is_named(text, problem):
    with pytest.raises(InputError) as error:
        parse_project(text, "project.yaml")
    assert problem in str(error.value)


def test_a_folder_without_a_project(tmp_path):
    with pytest.raises(InputError, match=r"holds no project\.yaml"):
        read_project(tmp_path)
