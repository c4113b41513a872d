"""`moralscope serve` and a scripted chatbot, each in a process or thread of its own."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .conftest import ROOT


@contextmanager
def served(tmp_path, *words):
    """Run `moralscope serve` and yield its address."""
    log = tmp_path / f"serve-{len(list(tmp_path.glob('serve-*')))}.log"
    command = [sys.executable, "-m", "moralscope", "serve", "--port", "0", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with log.open("w") as stream:
        process = subprocess.Popen(command, stderr=stream, stdout=stream, env=environment)
    try:
        yield awaited(process, log, r"moralscope: (http://127\.0\.0\.1:\d+)")
    finally:
        process.terminate()
        process.wait(30)


def awaited(process, log, pattern, seconds=240):
    """Return what a process announces in its log."""
    until = time.monotonic() + seconds
    while (found := re.search(pattern, log.read_text("utf-8", errors="replace"))) is None:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.2)
    return found[1]


@contextmanager
def chatbot(says):
    """Serve chat completions that say what a function makes of the last message."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            message = {"role": "assistant", "content": says(body["messages"][-1]["content"])}
            whole = {
                "id": "c-1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
            data = json.dumps(whole).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/v1"
    finally:
        running.shutdown()
