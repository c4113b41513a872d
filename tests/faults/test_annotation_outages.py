"""A real annotation server whose database is locked, hung or gone: it says so and comes back."""

import contextlib
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from json import dumps, loads
from pathlib import Path

import pytest
import uvicorn

from moralscope.annotation.engines import SQLITE_FILE, tls_context
from moralscope.annotation.records import AnnotationItem
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.server.running import ServerAddress, bind

from .. import annotation_databases as databases
from ..annotation_databases import OPEN, Clock, fresh_database, joined, make_service, new_id
from ..annotation_site import GOOD, ITEMS, Site

WAITS = "moralscope.annotation.storage.WRITE_SECONDS"  # 5 in real life


class Browser:
    """Talks to a real server over a socket, as one person."""

    def __init__(self, address, token):
        self.address, self.headers = address, {"content-type": "application/json"}
        status, answer, headers = self.ask("POST", "/api/join", {"token": token})
        assert status == 200, answer
        cookies = [value.split(";")[0] for name, value in headers if name.lower() == "set-cookie"]
        self.headers |= {"cookie": "; ".join(cookies), "x-csrf-token": loads(answer)["csrf"]}

    def ask(self, method, path, body=None):
        data = None if body is None else dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.getheaders()
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers.items()

    def timed(self, *asked):
        began = time.monotonic()
        return self.ask(*asked)[0], time.monotonic() - began


@contextlib.contextmanager
def serving(app):
    """Serve on a free port from a thread of this process."""
    bound = bind(ServerAddress(port=0))
    # Without a log_config of its own: its handlers would keep the stderr that pytest closes.
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        bound.close()


def working(site, address, name="Jo"):
    """Return a person with an item, and where she saves her draft."""
    person = Browser(address, site.invite(name))
    assert person.ask("POST", "/api/consent", {"agrees": True})[0] == 200
    work = loads(person.ask("GET", "/api/work")[1])["work"]
    return person, ("PUT", f"/api/work/{work['assignment']}/draft", {"answer": {"rule": "Be kind"}})


def test_a_foreign_write_lock_freezes_neither_reading_nor_health(tmp_path, monkeypatch):
    monkeypatch.setattr(WAITS, 2.5)
    site = Site(tmp_path)
    other = sqlite3.connect(tmp_path / SQLITE_FILE, isolation_level=None)
    with serving(site.app) as address, ThreadPoolExecutor(30) as pool:
        person, draft = working(site, address)
        other.execute("BEGIN IMMEDIATE")
        writes = [pool.submit(person.timed, *draft) for _ in range(24)]
        time.sleep(0.5)  # more writers wait than there are threads
        for path in ("/api/health", "/api/me", "/api/history", "/answers", "/join"):
            status, seconds = person.timed("GET", path)
            assert (status, seconds < 2) == (200, True), path
        for write in writes:
            status, seconds = write.result()
            assert (status, seconds < 15) == (503, True)
        other.execute("ROLLBACK")
        assert person.ask(*draft)[0] == 200
    other.close()
    site.service.close()


def test_a_wait_for_a_foreign_lock_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(WAITS, 2)
    service = make_service(tmp_path, **OPEN)
    person = joined(service)
    other = sqlite3.connect(tmp_path / SQLITE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        for waiting in [pool.submit(service.pause, person) for _ in range(4)]:
            with pytest.raises(MoralscopeError, match=r"locked|busy"):
                waiting.result()
    assert time.monotonic() - began < 7, "one after the other would be 8 seconds"
    other.execute("ROLLBACK")
    other.close()
    assert service.pause(person).paused
    service.close()


@pytest.fixture
def postgres(monkeypatch):
    """A PostgreSQL of its own: its URL, and the server process."""
    started = []
    real = subprocess.Popen

    class Noted(real):
        def __init__(self, command, *more, **options):
            super().__init__(command, *more, **options)
            self.again = lambda: real(command, **options, start_new_session=True)
            if command[0] == "postgres":
                started.append(self)

    monkeypatch.delenv(databases.VARIABLE, raising=False)
    monkeypatch.setattr(subprocess, "Popen", Noted)
    with databases.private_postgres() as url:
        yield fresh_database(url), started[0]


@pytest.mark.slow
def test_postgres_lost_answers_503_without_a_storm_of_tracebacks(
    tmp_path, postgres, caplog, monkeypatch
):
    url, server = postgres
    site = Site(tmp_path, database=url)
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(logging.getLogger("moralscope"), "propagate", True)  # a command sets it
    with serving(site.app) as address, ThreadPoolExecutor(8) as pool:
        people = [working(site, address, f"P{n}") for n in range(4)]
        until = time.monotonic() + 4
        codes = set()

        def busy(person, draft):
            while time.monotonic() < until:
                codes.add(person.ask(*draft)[0])
                codes.add(person.ask("GET", "/api/me")[0])

        waiting = [pool.submit(busy, *one) for one in people]
        time.sleep(1.5)
        server.send_signal(signal.SIGINT)  # every connection is cut, most of them in their work
        for one in waiting:
            one.result()
        assert codes <= {200, 503, 429}, codes
        assert 503 in codes
        status, answer, _ = people[0][0].ask("GET", "/api/health")
        assert status == 503
        assert b"127.0.0.1" not in answer, "annotators need not know where the database lives"
    site.service.close()
    records = {id(record): record for record in caplog.records}  # two loggers may hand on one
    told = [record for record in records.values() if record.levelno >= logging.WARNING]
    assert [record.exc_info for record in told if record.exc_info] == []
    said = [record.message for record in told]
    assert len([line for line in said if "the database is lost" in line]) == 1, said
    assert len(said) == 1, said


@pytest.mark.slow
def test_postgres_that_hangs_is_not_waited_for_without_end(tmp_path, postgres, monkeypatch):
    url, server = postgres
    monkeypatch.setattr("moralscope.annotation.engines._REPLY_SECONDS", 3)
    site = Site(tmp_path, database=url)
    family = [server.pid, *map(int, children(server.pid))]
    with serving(site.app) as address:
        person, draft = working(site, address)
        family += [pid for pid in map(int, children(server.pid)) if pid not in family]
        for pid in family:
            os.kill(pid, signal.SIGSTOP)
        try:
            status, seconds = person.timed("GET", "/api/health")
            assert (status, seconds < 4) == (503, True)
            status, seconds = person.timed(*draft)
            assert (status, seconds < 20) == (503, True)
        finally:
            for pid in family:
                os.kill(pid, signal.SIGCONT)
        assert person.ask(*draft)[0] == 200, "it is back"
    site.service.close()


@pytest.mark.slow
def test_postgres_killed_in_the_work_loses_no_acknowledged_answer_and_doubles_none(
    tmp_path, postgres
):
    url, server = postgres
    start = server.again
    items = [AnnotationItem(f"i{n}", ITEMS[0].texts) for n in range(400)]
    site = Site(tmp_path, items=items, database=url, people_per_item=3)
    acknowledged, codes, ended = [], Counter(), threading.Event()

    def ask(person, *asked):
        """Ask until there is an answer, as browsers do."""
        while not ended.is_set():
            status, answer, _ = person.ask(*asked)
            codes[status] += 1
            if status == 200:
                return loads(answer)
            time.sleep(0.1)
        return None

    def work(person):
        while (assigned := ask(person, "GET", "/api/work")) is not None:
            name = assigned["work"]["assignment"]
            sent = {"submission": f"submission-{name}", "answer": GOOD}
            saved = ask(person, "POST", f"/api/work/{name}/submit", sent)
            if saved is not None:
                assert saved["saved"], saved
                acknowledged.append(name)

    with serving(site.app) as address, ThreadPoolExecutor(3) as pool:
        busy = [pool.submit(work, working(site, address, f"P{n}")[0]) for n in range(3)]
        try:
            for kill in (kill_backend, kill_all, kill_backend, kill_all):
                time.sleep(1.5)
                server = kill(server, start)
            before, until = len(acknowledged), time.monotonic() + 30
            while len(acknowledged) < before + 6 and time.monotonic() < until:
                time.sleep(0.1)
        finally:
            ended.set()
        for one in busy:
            one.result()
        assert len(acknowledged) >= before + 6, "it is back"
    assert set(codes) <= {200, 429, 503}, codes
    kept = [row.submission for row in site.service.answers(site.service.owner)]
    assert len(kept) == len(set(kept))
    assert set(acknowledged) <= set(kept)
    site.service.close()
    server.send_signal(signal.SIGINT)
    server.wait(30)


def kill_backend(server, _):
    """Kill one connection's process: the database cuts all others, and repairs itself."""
    names = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(server.pid)}
    os.kill(int(next(pid for pid, name in names.items() if b": tests t" in name)), signal.SIGKILL)
    return server


def kill_all(server, start):
    for pid in map(int, (server.pid, *children(server.pid))):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.wait(10)
    time.sleep(1)
    return start()


def children(pid):
    return subprocess.check_output(["ps", "-o", "pid=", "--ppid", str(pid)], text=True).split()


@pytest.mark.slow
def test_a_foreign_lock_in_postgres_is_bounded(tmp_path, postgres):
    url, _ = postgres
    service = make_service(tmp_path, url, **OPEN)
    person = joined(service)
    other = databases.connect(url)
    other.cursor().execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
    began = time.monotonic()
    with pytest.raises(MoralscopeError, match="lock timeout"):
        service.pause(person)
    assert time.monotonic() - began < 8
    other.rollback()
    other.close()
    assert service.pause(person).paused
    service.close()


@pytest.mark.slow
def test_tls_is_checked_by_authority_and_its_absence_says_what_to_write(tmp_path, postgres):
    url, _ = postgres
    with pytest.raises(MoralscopeError, match=r"refuses SSL.*write \?sslmode=require"):
        Storage(tmp_path, f"{url}?sslmode=verify-full")
    certificate = give_certificate(url)
    with pytest.raises(MoralscopeError, match=r"(?i)certificate.*sslrootcert=FILE"):
        Storage(tmp_path, f"{url}?sslmode=verify-full")
    Storage(tmp_path, f"{url}?sslmode=require").close()
    Storage(tmp_path, f"{url}?sslmode=verify-full&sslrootcert={certificate}").close()


def give_certificate(url):
    """Switch TLS on with a certificate that only the server itself vouches for."""
    connection = databases.connect(url)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("SHOW data_directory")
    data = Path(cursor.fetchone()[0])
    key, certificate = data / "server.key", data / "server.crt"
    made = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
    ]
    made += ["subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *made], check=True, capture_output=True)
    for path in (key, certificate):
        shutil.chown(path, data.stat().st_uid, data.stat().st_gid)
        path.chmod(0o600)
    cursor.execute("ALTER SYSTEM SET ssl = on")
    cursor.execute("SELECT pg_reload_conf()")
    connection.close()
    time.sleep(1)
    return certificate


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("postgresql://me@localhost/p", None),
        ("postgresql:///p", None),
        ("postgresql://me@db.example.org/p", "verified"),
        ("postgresql://me@db.example.org/p?sslmode=require", "any"),
        ("postgresql://me@db.example.org/p?sslmode=disable", None),
        ("postgresql://me@localhost/p?sslmode=verify-full", "verified"),
    ],
)
def test_the_way_to_another_machine_is_encrypted_unless_told_otherwise(url, mode):
    import ssl

    import sqlalchemy as sa

    context = tls_context(sa.make_url(url))
    found = context and {ssl.CERT_REQUIRED: "verified", ssl.CERT_NONE: "any"}[context.verify_mode]
    assert found == mode
    assert context is None or context.check_hostname == (mode == "verified")


def test_an_authority_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(InputError, match=r"sslrootcert=/nowhere.pem cannot be read"):
        Storage(tmp_path, "postgresql://me@db.example.org/p?sslrootcert=/nowhere.pem")


def test_a_clock_that_jumps_changes_no_duration(tmp_path):
    wall, steady = Clock(), Clock()
    service = make_service(tmp_path, clock=wall, monotonic=steady, **OPEN)
    person = joined(service)
    for jump in (86_400, -90_000):
        work = service.next_item(person)
        steady.now += 42
        wall.now += jump
        assert service.submit(person, work.assignment, new_id(), {"ok": True}).saved
    assert [row.seconds for row in service.answers(service.owner)] == [42.0, 42.0]
    work = service.next_item(person)
    service.close()
    from moralscope.annotation.service import AnnotationService

    wall.now -= 1_000  # set back while the server was down: how long it took is not known
    again = AnnotationService(service.project, Storage(tmp_path), wall)
    assert again.submit(person, work.assignment, new_id(), {"ok": True}).saved
    assert again.answers(again.owner)[-1].seconds is None
    again.close()


def test_what_began_under_a_wrong_clock_does_not_last_longer(tmp_path):
    wall = Clock()
    service = make_service(tmp_path, items=1, clock=wall, people_per_item=1, **OPEN)
    links = [service.invite(service.owner, name).token for name in ("Jo", "Al")]
    wall.now += 10 * 365 * 86_400
    session = service.join(links[0])
    held = service.next_item(service.consent(session.person, True))
    assert service.who(session.secret)
    wall.now -= 10 * 365 * 86_400  # the clock is put right
    with pytest.raises(MoralscopeError, match="session has ended"):
        service.who(session.secret)
    al = service.consent(service.join(links[1]).person, True)
    assert service.next_item(al).item == held.item, "an item is not lost for ten years"
    jo = service.join(links[0])
    wall.now -= 3600  # an hour back, as a clock that is set by hand
    assert service.who(jo.secret)
    wall.now += 31 * 86_400
    with pytest.raises(MoralscopeError, match="session has ended"):
        service.who(jo.secret)
    service.close()


def test_a_clock_that_jumps_ahead_and_back_loses_no_work(tmp_path):
    wall = Clock()
    service = make_service(tmp_path, clock=wall, **OPEN)
    person = joined(service)
    work = service.next_item(person)
    service.save_draft(person, work.assignment, {"ok": True})
    wall.now += 365 * 86_400
    joined(service, "Al")  # sees to leases and sessions
    service.next_item(joined(service, "Bo"))
    wall.now -= 365 * 86_400
    assert service.next_item(person).draft == {"ok": True}
    assert service.submit(person, work.assignment, new_id(), {"ok": True}).saved
    service.close()


def test_exports_can_be_read_by_their_owner_only(tmp_path):
    service = make_service(tmp_path, **OPEN)
    person = joined(service)
    work = service.next_item(person)
    assert service.submit(person, work.assignment, new_id(), {"ok": True}).saved
    for shape in ("jsonl", "people", "human"):
        path = service.export_to(service.owner, f"all-{shape}", shape)
        assert path.stat().st_mode & 0o777 == 0o600, shape
    service.close()
