"""Many streams through the guard at once: who is answered, how late, and who is sent away.

    python bench/guard_load.py [--streams 200] [--rounds 3] [--experts minilm] [--queue 64]
        [--hold reply|sentences|both] [--pause 0]

A scripted chatbot streams a reply of some 60 words, no two alike; `moralscope serve --guard` stands
before it and blocks what is flagged. All streams start at the same moment. Wanted: every request is
answered or gets 429 at once, no error, and those that are answered are answered within --timeout.
A client that got 429 comes back after `Retry-After` until it is served (`came back`). For the time
to the first words run `--streams 1 --rounds 10 --pause 0.5 --hold both`: two guards, with and
without `--stream-hold sentences`, are asked in turn, and the chatbot takes half a second for each
of its sentences of ten words.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import httpx2
import numpy as np

TEXT = (
    "the train to the coast leaves at nine and the tickets are cheaper on a weekday so bring a "
    "book some water and a warm coat because the wind is strong near the harbour in the morning"
)
WORDS = TEXT.split(" ")


class Chatbot(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        text = random.sample(WORDS, len(WORDS)) + random.sample(WORDS, 30)
        for start in range(0, len(text), 10):
            time.sleep(self.server.pause)
            self.chunk({"content": " ".join(text[start : start + 10]).capitalize() + ". "}, None)
        self.chunk({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def chunk(self, delta: dict[str, str], end: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "bot"}
        self.wfile.write(f"data: {json.dumps({**body, 'choices': [choice]})}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    pause = 0.0  # seconds that it takes for a sentence
    request_queue_size = 512
    daemon_threads = True


async def stream(
    client: httpx2.AsyncClient, url: str, seen: Counter[str]
) -> tuple[float, float, float]:
    """Ask until served; return the seconds of the last try, of all, and to the first words."""
    body = {"model": "bot", "stream": True, "messages": [{"role": "user", "content": "Hello?"}]}
    began = time.perf_counter()
    tries = 0
    while True:
        started = time.perf_counter()
        tries += 1
        text, first = "", 0.0
        try:
            async with client.stream("POST", url, json=body) as answer:
                async for part in answer.aiter_text():
                    text += part
                    if not first and re.search(r'"content": "[^"]', text):
                        first = time.perf_counter() - started
        except httpx2.HTTPError as error:
            seen[type(error).__name__] += 1
            return time.perf_counter() - started, time.perf_counter() - began, first
        if answer.status_code == 429:
            seen["429"] += 1
            await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
            continue
        whole = answer.status_code == 200 and "[DONE]" in text
        seen["served" if whole else f"status {answer.status_code}"] += 1
        seen["came back"] += whole and tries > 1
        return time.perf_counter() - started, time.perf_counter() - began, first


async def measure(urls: dict[str, str], streams: int, rounds: int) -> None:
    limits = httpx2.Limits(max_connections=streams)
    firsts: dict[str, list[float]] = {hold: [] for hold in urls}
    async with httpx2.AsyncClient(timeout=600, limits=limits, trust_env=False) as client:
        for url in urls.values():
            await stream(client, url, Counter())  # loads the models
        for number, (hold, url) in product(range(rounds), urls.items()):
            seen: Counter[str] = Counter()
            began = time.perf_counter()
            pairs = await asyncio.gather(*(stream(client, url, seen) for _ in range(streams)))
            seconds = time.perf_counter() - began
            last, whole, first = (
                np.quantile(column, [0.5, 0.95, 1]) for column in zip(*pairs, strict=True)
            )
            firsts[hold].append(first[0])
            print(
                f"round {number + 1}, {hold}: {streams} streams in {seconds:.1f} s "
                f"({seen['served'] / seconds:.1f} a second): {dict(seen)}; "
                f"a request p50 {last[0]:.2f} s, p95 {last[1]:.2f} s, max {last[2]:.2f} s; "
                f"first words p50 {first[0]:.2f} s; "
                f"with all tries p50 {whole[0]:.1f} s, p95 {whole[1]:.1f} s",
                flush=True,
            )
    if len(firsts) > 1:
        early, late = np.median(firsts["sentences"]), np.median(firsts["reply"])
        print(
            f"first words: {early:.2f} s by sentence, {late:.2f} s held; ratio {early / late:.2f}"
        )


@contextmanager
def served(log: Path, words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Run a guard; yield its address and the number of its process."""
    with log.open("w") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "moralscope", "serve", *words], stderr=file, stdout=file
        )
    try:
        while not (said := re.search(r"http://127\.0\.0\.1:\d+", log.read_text())):
            if server.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.2)
        yield f"{said[0]}/v1/chat/completions", server.pid
    finally:
        server.terminate()
        server.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--experts", default="minilm")
    parser.add_argument("--queue", type=int, default=64)
    parser.add_argument("--hold", choices=("reply", "sentences", "both"), default="reply")
    parser.add_argument("--pause", type=float, default=0.0)
    chosen = parser.parse_args()
    bot = Server(("127.0.0.1", 0), Chatbot)
    bot.pause = chosen.pause
    threading.Thread(target=bot.serve_forever, daemon=True).start()
    words = ["--guard", f"http://127.0.0.1:{bot.server_port}/v1", "--guard-action", "block"]
    words += ["--experts", chosen.experts, "--queue", str(chosen.queue), "--port", "0"]
    holds = ("reply", "sentences") if chosen.hold == "both" else (chosen.hold,)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        guards = {
            hold: stack.enter_context(served(Path(folder, hold), [*words, "--stream-hold", hold]))
            for hold in holds
        }
        urls = {hold: url for hold, (url, _) in guards.items()}
        asyncio.run(measure(urls, chosen.streams, chosen.rounds))
        for hold, (_, process) in guards.items():
            status = Path(f"/proc/{process}/status").read_text()
            print(
                f"{hold}: memory {int(status.split('VmHWM:')[1].split()[0]) / 1024:.0f} MB at most"
            )
        print(f"load of the machine {os.getloadavg()[0]:.1f}")
    bot.shutdown()


if __name__ == "__main__":
    main()
