"""A server as a process of its own: announced, ended by a signal, started again."""

import signal
import subprocess
import sys

import httpx2
import pytest

from moralscope.annotation.projects import new_project, open_project, write_project
from moralscope.annotation.records import AnnotationItem
from moralscope.core.errors import InputError
from moralscope.server.security import FILE, kept_secret

SERVE = """
import sys
from pathlib import Path
from moralscope.server.annotate import serve
from moralscope.server.running import ServerAddress
serve(Path(sys.argv[1]), ServerAddress(port=0), lambda address: print(address, flush=True))
"""


@pytest.fixture
def project(tmp_path):
    write_project(new_project("ok", "action-yes-no"), tmp_path)
    service = open_project(tmp_path)
    service.add_items(service.owner, [AnnotationItem("1", {"action": "wave"})])
    token = service.invite(service.owner, "Jo").token
    service.close()
    return tmp_path, token


def started(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder)], stdout=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip()


def test_a_session_outlives_the_server(project):
    folder, token = project
    process, address = started(folder)
    with httpx2.Client() as client:
        joined = client.post(f"{address}/api/join", json={"token": token})
        assert joined.status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        process, address = started(folder)
        try:
            assert client.get(f"{address}/api/me").json()["person"]["name"] == "Jo"
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


def test_the_kept_secret_is_its_owners_alone(tmp_path):
    first = kept_secret(tmp_path)
    assert kept_secret(tmp_path) == first
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    (tmp_path / FILE).write_bytes(b"short")
    with pytest.raises(InputError, match="damaged"):
        kept_secret(tmp_path)
    with pytest.raises(InputError, match="cannot write"):
        kept_secret(tmp_path / "nowhere")
