"""Annotation on both databases: SQLite always, PostgreSQL with -m slow."""

import pytest

from ..annotation_databases import Clock, fresh_database, make_service, private_postgres


@pytest.fixture(scope="session")
def postgres_server():
    with private_postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def database(request):
    """The URL of an empty database; empty itself for SQLite in the project's folder."""
    if request.param == "sqlite":
        return ""
    return fresh_database(request.getfixturevalue("postgres_server"))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def services(database, tmp_path, clock):
    """Make services over one database; all are closed at the end."""
    made = []

    def make(**options):
        made.append(make_service(tmp_path, database, clock=clock, **options))
        return made[-1]

    yield make
    for service in made:
        service.close()
