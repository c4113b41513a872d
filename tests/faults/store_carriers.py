"""Tiny carriers for the store's tests: real wheels on a local package index that real pip reads.

The index counts what is downloaded and can be slow or stop half-way.
"""

import contextlib
import hashlib
import io
import json
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHUNK = 16 * 1024


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def make_zip(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def make_wheel(name, members):
    info = f"{name.replace('-', '_')}-1.0.dist-info"
    metadata = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    return make_zip({**members, **metadata})


def make_tgz(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, content in members.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def pinned(path, content, **more):
    return {"path": path, "sha256": sha256(content), "size": len(content), **more}


def carrier(name, archive, registry="pypi"):
    pin = {"sha256": sha256(archive), "size": len(archive)}
    return {"registry": registry, "name": name, "version": "1.0", **pin}


def write_catalogue(path, **table):
    """Write a catalogue with the one model `tiny`."""
    base = {"kind": "encoder", "about": "a test", "official": "test/tiny", "licence": "MIT"}
    lines = [f"{key} = {_toml(value)}" for key, value in {**base, **table}.items()]
    path.write_text("[tiny]\n" + "\n".join(lines) + "\n")
    return path


def _toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value)


class Index:
    """A package index on this machine; `served` lists the wheels asked for, in order."""

    def __init__(self):
        self.wheels = {}
        self.served = []
        self.cut_off = threading.Event()
        self.pace = 0.0
        self.held = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"

    def add(self, name, wheel):
        self.wheels[name] = wheel
        return carrier(name, wheel)

    def hold(self, name):
        """Stop half-way through `name` until the returned event is set."""
        self.held[name] = threading.Event()
        return self.held[name]

    def wait_until_asked(self, name, seconds=30):
        limit = time.monotonic() + seconds
        while name not in self.served:
            assert time.monotonic() < limit, f"{name} was never asked for"
            time.sleep(0.02)

    def close(self):
        for event in self.held.values():
            event.set()
        self._server.shutdown()
        self._server.server_close()

    def send(self, name, connection):
        self.served.append(name)
        wheel = self.wheels[name]
        try:
            for start in range(0, len(wheel), CHUNK):
                if name in self.held and start >= len(wheel) // 2:
                    self._wait(self.held[name], connection)
                connection.sendall(wheel[start : start + CHUNK])
                time.sleep(self.pace)
        except OSError:
            self.cut_off.set()

    @staticmethod
    def _wait(event, connection):
        """Wait for `event`; raise if the client goes away meanwhile."""
        connection.settimeout(0.05)
        while not event.is_set():
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    raise ConnectionError
        connection.settimeout(None)

    def _handler(index):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.rstrip("/").split("/")[2]
                if name not in index.wheels:
                    self.send_error(404)
                elif self.path.endswith(".whl"):
                    self._start("application/octet-stream", len(index.wheels[name]))
                    index.send(name, self.connection)
                else:
                    file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
                    page = f'<a href="/file/{name}/{file}">{file}</a>'.encode()
                    self._start("text/html", len(page))
                    self.wfile.write(page)

            def _start(self, kind, length):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(length))
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler
