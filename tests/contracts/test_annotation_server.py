"""The annotation server over both databases: the whole way, and forms that are sent again."""

import pytest

from ..faults import test_annotation_attacks as attacks
from ..unit.server import test_annotation as requests
from ..unit.server.annotation_site import Site


@pytest.fixture
def site_of(tmp_path, database):
    made = []

    def make(**policies):
        made.append(Site(tmp_path, database=database, **policies))
        return made[-1]

    yield make
    for site in made:
        site.service.close()


def test_from_the_link_to_the_export(site_of):
    site = site_of(staging=2, qualification=True, questionnaire=True)
    requests.test_the_whole_way_from_link_to_export(site)


def test_a_draft_comes_back(site_of):
    requests.test_a_draft_comes_back_in_the_form(site_of())


def test_a_replayed_form_adds_nothing(site_of):
    attacks.test_a_replayed_form_adds_nothing(site_of())


def test_another_persons_work_is_out_of_reach(site_of):
    attacks.test_another_persons_token_is_another_person(site_of())
