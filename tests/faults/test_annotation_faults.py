"""Annotation when things go wrong: disks, locks, damaged and newer databases."""

import sqlite3

import pytest
from sqlalchemy import event

from moralscope.annotation.engines import SQLITE_FILE
from moralscope.annotation.records import NotSaved
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError, MoralscopeError

from ..annotation_databases import OPEN, RULE, joined, make_service, new_id


@pytest.fixture
def service(tmp_path):
    made = make_service(tmp_path, task="rule-of-thumb", items=3, **OPEN)
    yield made
    made.close()


def fill_disk(service):
    """Let the database grow no further: what SQLite says on a full disk."""
    engine = service._storage._engine
    engine.dispose()

    @event.listens_for(engine, "connect")
    def stop(connection, _record):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")


def test_a_full_disk_says_not_saved_and_later_the_same_submission_is_saved(service, tmp_path):
    person = joined(service)
    work = service.next_item(person)
    answer = {**RULE, "revised_reply": "\u0436\u0443\u043a \u043b\u0435\u0441 word " * 150}  # 12 kB
    name = new_id()
    fill_disk(service)
    for call in (
        lambda: service.save_draft(person, work.assignment, answer),
        lambda: service.submit(person, work.assignment, name, answer),
    ):
        with pytest.raises(NotSaved, match="full") as error:
            call()
        assert "keep the text" in error.value.remedy
        assert "word" not in str(error.value), "no answer in a message or a log"
    again = make_again(service, tmp_path)
    assert again.answers(again.owner) == ()
    assert again.submit(person, work.assignment, name, answer).saved
    again.close()


def make_again(service, folder):
    from moralscope.annotation.service import AnnotationService

    return AnnotationService(service.project, Storage(folder))


def test_a_read_only_database_says_not_saved(service):
    person = joined(service)
    work = service.next_item(person)
    engine = service._storage._engine
    engine.dispose()

    @event.listens_for(engine, "connect")
    def only_read(connection, _record):
        connection.execute("PRAGMA query_only=1")

    with pytest.raises(NotSaved):
        service.submit(person, work.assignment, new_id(), RULE)


def test_a_database_locked_by_somebody_else_says_not_saved(service, tmp_path, monkeypatch):
    person = joined(service)
    work = service.next_item(person)
    monkeypatch.setattr("moralscope.annotation.storage.WRITE_SECONDS", 0.05)
    other = sqlite3.connect(tmp_path / SQLITE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(NotSaved, match="locked"):
        service.submit(person, work.assignment, new_id(), RULE)
    assert service.history(person) == (), "reading goes on"
    other.execute("ROLLBACK")
    monkeypatch.undo()
    assert service.submit(person, work.assignment, new_id(), RULE).saved
    other.close()


def test_a_damaged_database_is_said_to_be(tmp_path):
    (tmp_path / SQLITE_FILE).write_bytes(b"not a database at all" * 100)
    with pytest.raises(MoralscopeError, match="database"):
        Storage(tmp_path)


def test_a_database_of_a_newer_version_is_refused(service, tmp_path):
    with sqlite3.connect(tmp_path / SQLITE_FILE) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    with pytest.raises(InputError, match="shape 99 of a newer moralscope"):
        Storage(tmp_path)


def test_no_folder(tmp_path):
    with pytest.raises(InputError, match="cannot be opened"):
        Storage(tmp_path / "missing")


def test_no_server_answers(tmp_path):
    with pytest.raises(MoralscopeError, match="database"):
        Storage(tmp_path, "postgresql://me:secret@127.0.0.1:1/x")


def test_the_password_is_in_no_message(tmp_path):
    with pytest.raises(MoralscopeError) as error:
        Storage(tmp_path, "postgresql://me:hunter2@127.0.0.1:1/x")
    assert "hunter2" not in str(error.value)


def test_settings_that_make_answers_durable(service):
    with service._storage.read() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_the_table_itself_refuses_more_than_the_quota(service, tmp_path):
    with (
        sqlite3.connect(tmp_path / SQLITE_FILE) as connection,
        pytest.raises(sqlite3.IntegrityError, match="quota_kept"),
    ):
        connection.execute("UPDATE items SET held = quota + 1")


def test_only_the_owner_reads_the_file(service, tmp_path):
    assert (tmp_path / SQLITE_FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("query", ["sslmode=maybe", "application_name=x", "options=-c%20a"])
def test_what_a_url_may_not_ask_for(tmp_path, query):
    with pytest.raises(InputError, match="write sslmode="):
        Storage(tmp_path, f"postgresql://me@127.0.0.1:1/x?{query}")
