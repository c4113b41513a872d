"""Commands that start fast: a process that has imported the heavy libraries forks for each.

Only libraries are imported before the fork, nothing of moralscope, so that what a command imports
itself is still tested. Standard streams, folder, environment and exit code are the caller's. A
signal to the caller does not reach the command: what must be stopped is started the usual way.
"""

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

LIBRARIES = (
    *("numpy", "scipy.stats", "scipy.optimize", "sklearn.linear_model", "sklearn.cluster"),
    *("yaml", "jinja2", "rich.console", "typer", "httpx2", "sqlalchemy", "pyarrow", "torch"),
    *("huggingface_hub", "transformers.modeling_utils", "sentence_transformers", "peft"),
    "transformers.models.auto.modeling_auto",
)
_LONGEST = 1 << 20  # characters of a request


class Starter:
    """Starts Python code in a fork of a process that lives as long as this block."""

    def __init__(self, place: Path) -> None:
        self._address = str(place / "fork")
        self._process = subprocess.Popen([sys.executable, __file__, self._address])
        self.bin = place / "bin"

    def __enter__(self) -> "Starter":
        self.bin.mkdir()
        usual = Path(sys.executable).with_name("moralscope")
        ask = shlex.join([sys.executable, "-I", "-S", __file__, self._address, "moralscope"])
        line = f'case "$1" in serve) exec {shlex.quote(str(usual))} "$@";; esac\nexec {ask} "$@"\n'
        (self.bin / "moralscope").write_text(f"#!/bin/sh\n{line}")
        (self.bin / "moralscope").chmod(0o755)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(30)

    def run(self, code: str, **options) -> subprocess.CompletedProcess:
        """Run Python code as `python -c` would; takes what subprocess.run takes."""
        ask = [sys.executable, "-I", "-S", __file__, self._address, "python", code]
        return subprocess.run(ask, check=False, **options)


def ask(address: str, words: list[str]) -> int:
    """Let the process behind `address` run the words on our streams; return the exit code."""
    import time

    with socket.socket(socket.AF_UNIX) as line:
        for _ in range(1200):
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                line.connect(address)
                break
            time.sleep(0.1)
        request = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
        data = json.dumps(request).encode("ascii")
        socket.send_fds(line, [len(data).to_bytes(4, "big")], [0, 1, 2])
        line.sendall(data)
        told = line.recv(1)  # nothing where the command was killed
        return told[0] if told else 1


def serve(address: str) -> None:
    """Fork for every request until killed."""
    import importlib
    import signal

    for name in LIBRARIES:
        importlib.import_module(name)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address + ".new")
        door.listen(16)
        os.rename(address + ".new", address)  # whoever finds it is answered
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            line, _ = door.accept()
            if os.fork() == 0:
                door.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(line)
            line.close()


def _answer(line: socket.socket) -> None:
    import atexit
    import threading

    size, streams, _, _ = socket.recv_fds(line, 4, 3)
    data = b""
    while len(data) < int.from_bytes(size, "big"):
        data += line.recv(_LONGEST)
    request = json.loads(data)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Python's own streams remember what the first ones were (a file, say, that can be sought in).
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    code = _run(request["words"])
    threading._shutdown()
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    line.sendall(bytes([code & 255]))
    os._exit(0)


def _run(words: list[str]) -> int:
    import traceback

    kind, *rest = words
    sys.path[:1] = [""] if kind == "python" else []  # was this file's folder
    try:
        if kind == "moralscope":
            sys.argv = words
            from moralscope.cli import main

            main()
        else:
            sys.argv = ["-c"]
            names = {"__name__": "__main__"}
            exec(compile(rest[0], "<string>", "exec"), names)
    except SystemExit as end:
        return int(end.code or 0) if isinstance(end.code, int | None) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[2:]:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    serve(sys.argv[1])
