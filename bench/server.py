"""How the server holds up: many clients at once against one request at a time; and its memory.

    python bench/server.py [--seconds 60] [--clients 32] [--encoder minilm] [--actions 1]
    python bench/server.py --memory [--rounds 3]

Starts `moralscope serve`, asks for scores one request after the other, then with all clients at
once, and ends the server with SIGTERM in the midst of the load. Wanted on two cores: at least twice
the requests a second of one at a time, no error, flat memory, and no accepted request lost. No two
actions are alike, so that no cache helps. Use `MORALSCOPE_HOME` of your own to keep them out of
your cache.

`--memory` uses everything there is instead, as somebody does who clicks through all pages: every
encoder, the judge and the audit on both bases, revised replies, a chain, a
language model.
Wanted: at most 2,200 MB resident with everything loaded, and less after the idle models went.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np

LAUNCH = "import typer; from moralscope.cli.serve import serve; typer.run(serve)"
VERBS = ("lend", "hide", "sell", "break", "paint", "carry", "borrow", "clean", "lose", "share")
THINGS = ("a bike", "the letter", "my old car", "some bread", "her keys", "a small boat")
SALT = time.time_ns() // 10**7 % 10**5  # another one in each run
_number = itertools.count()


@dataclass
class Tally:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0  # 429
    errors: list[str] = field(default_factory=list)
    dropped: int = 0  # connections that ended before an answer began: not accepted


def start(log: Path, *more: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a server on a free port; what it says goes into a file."""
    command = [sys.executable, "-c", LAUNCH, "--port", "0", *more]
    with log.open("wb") as file:
        server = subprocess.Popen(command, stderr=file)
    while server.poll() is None:
        if found := re.search(r"127\.0\.0\.1:(\d+)", log.read_text("utf-8")):
            return server, int(found[1])
        time.sleep(0.1)
    raise SystemExit(f"the server did not start: {log.read_text('utf-8')}")


def body(encoder: str, actions: int) -> bytes:
    """Return a request about actions that nobody has asked about before."""
    texts = [
        f"{VERBS[n % 10]} {THINGS[n // 10 % 6]} on day {n} of {SALT}"
        for n in (next(_number) for _ in range(actions))
    ]
    return json.dumps({"actions": texts, "axis": "choice", "encoder": encoder}).encode()


async def ask(port: int, until: float, make: tuple[str, int], tally: Tally) -> None:
    """Ask until the time is over, on one connection."""
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            tally.dropped += 1
            return
        with contextlib.closing(writer):
            while time.monotonic() < until:
                began = time.perf_counter()
                if not await exchange(reader, writer, body(*make), tally):
                    break
                tally.seconds.append(time.perf_counter() - began)


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes, tally: Tally
) -> bool:
    """Send one request and read its answer; say whether it came."""
    head = (
        "POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    try:
        writer.write(head.encode() + data)
        await writer.drain()
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (OSError, asyncio.IncompleteReadError):
        tally.dropped += 1
        return False
    status = int(answer.split(" ", 2)[1])
    length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
    try:
        text = await reader.readexactly(int(length[1]) if length else 0)
    except (OSError, asyncio.IncompleteReadError):
        tally.errors.append("an answer was cut off")
        return False
    if status == 429:
        tally.refused += 1
    elif status != 200 or not text.rstrip().endswith(b"}"):
        tally.errors.append(f"{status}: {text[:200]!r}")
    return status == 200


async def load(port: int, clients: int, seconds: float, make: tuple[str, int]) -> Tally:
    """Let clients ask at once."""
    tally, until = Tally(), time.monotonic() + seconds
    await asyncio.gather(*(ask(port, until, make, tally) for _ in range(clients)))
    return tally


def megabytes(pid: int) -> float:
    """Return the memory that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def requests(number: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (name, path, body) of requests that use every model there is."""
    actions = [
        f"{VERBS[n % 10]} {THINGS[n // 10 % 6]} on day {number} of {SALT}" for n in range(12)
    ]
    for encoder in ("minilm", "mpnet", "use-lite"):
        for axis in ("choice", "direction"):
            asked = {"actions": actions, "axis": axis, "encoder": encoder}
            yield f"{axis} {encoder}", "v1/score", asked
    for base in ("minilm", "mpnet"):
        yield f"judge {base}", "v1/score", {"actions": actions, "axis": "judge", "encoder": base}
    text = "First I went home. " * 20
    exchanges = [
        {"prompt": f"How do I {action}?", "reply": f"{text} I would steal it and lie about it."}
        for action in actions[:4]
    ]
    for base in ("minilm", "mpnet"):
        yield f"audit {base}", "v1/audit", {"exchanges": exchanges, "experts": base}
    revised = {"exchanges": exchanges[:1], "experts": "mpnet", "revise": True}
    yield "audit mpnet, revised", "v1/audit", revised
    story = {
        "norm": "It's rude to be late.",
        "situation": "Sam has to meet Jo at noon.",
        "intention": "Sam wants to finish a game first.",
    }
    yield "chain", "api/site/jobs", {"kind": "chain", "request": story}
    asked = {"actions": actions[:4], "axis": "choice", "model": "smollm2"}
    yield "choice smollm2", "v1/score", asked


def post(port: int, path: str, asked: dict[str, Any]) -> None:
    """Ask, and read the answer; a job of the page is followed to its end."""
    head, address = {"Content-Type": "application/json"}, f"http://127.0.0.1:{port}/{path}"
    with urlopen(Request(address, json.dumps(asked).encode(), head), timeout=600) as answer:
        told = json.load(answer)
    if path.endswith("/jobs"):
        with urlopen(f"{address}/{told['id']}", timeout=600) as lines:
            lines.read()


def memory(rounds: int) -> None:
    """Use everything and print what is held; then let a model idle until it is released."""
    log = Path(tempfile.mkdtemp(), "server.log")
    server, port = start(log, "--timeout", "600")
    most = 0.0
    for number in range(rounds):
        for name, path, asked in requests(number):
            post(port, path, asked)
            held = megabytes(server.pid)
            most = max(most, held)
            print(f"round {number + 1}  {name:<24} {held:7,.0f} MB", flush=True)
    server.send_signal(signal.SIGTERM)
    server.wait()
    server, port = start(log, "--keep-minutes", "0.2")
    post(port, "v1/score", {"actions": ["hide a letter"], "axis": "judge", "encoder": "mpnet"})
    before = megabytes(server.pid)
    time.sleep(20)
    after = megabytes(server.pid)
    print(f"most {most:,.0f} MB; idle: {before:,.0f} MB before, {after:,.0f} MB after its release")
    server.send_signal(signal.SIGTERM)
    server.wait()


def told(name: str, tally: Tally, seconds: float) -> float:
    """Print one phase; return its requests a second."""
    rate = len(tally.seconds) / seconds
    took = 1000 * np.array(tally.seconds or [float("nan")])
    p50, p95 = np.percentile(took, [50, 95])
    print(
        f"{name:<14} {rate:8.1f} requests/s   p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   "
        f"{len(tally.seconds):,} answered, {tally.refused} refused, {len(tally.errors)} errors"
    )
    for line in tally.errors[:3]:
        print(f"  {line}")
    return rate


async def in_the_midst(
    server: subprocess.Popen[bytes], port: int, clients: int, make: tuple[str, int]
) -> Tally:
    """End the server with SIGTERM while all clients ask."""
    work = asyncio.create_task(load(port, clients, 6, make))
    await asyncio.sleep(3)
    server.send_signal(signal.SIGTERM)
    return await work


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--actions", type=int, default=1)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.memory:
        memory(given.rounds)
        return
    make = (given.encoder, given.actions)
    log = Path(tempfile.mkdtemp(), "server.log")
    server, port = start(log)
    asyncio.run(load(port, 1, 2, make))  # loads the model
    asyncio.run(load(port, given.clients, 2, make))
    alone = told(
        "one at a time",
        asyncio.run(load(port, 1, given.seconds / 3, make)),
        given.seconds / 3,
    )
    before = megabytes(server.pid)
    many = told(
        f"{given.clients} clients",
        asyncio.run(load(port, given.clients, given.seconds, make)),
        given.seconds,
    )
    after = megabytes(server.pid)
    print(f"{many / alone:.2f} times as many; memory {before:.0f} MB before, {after:.0f} MB after")
    last = asyncio.run(in_the_midst(server, port, given.clients, make))
    code = server.wait()
    print(
        f"SIGTERM: {len(last.seconds)} answered, {len(last.errors)} cut off or failed, "
        f"exit {code}; the server says: {log.read_text('utf-8').splitlines()[-1]}"
    )


if __name__ == "__main__":
    main()
