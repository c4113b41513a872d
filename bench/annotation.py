"""Annotation under load: 50 simulated annotators on the real server, which is killed meanwhile.

    python bench/annotation.py                                 two minutes, ten kills, SQLite
    python bench/annotation.py --kills 0                       the same without kills
    python bench/annotation.py --database postgresql://postgres@127.0.0.1:5433/bench

Every annotator joins by her token, consents, and then works without end: takes an item, thinks,
autosaves, asks for the checks, submits. She thinks for about two seconds; people need a minute.
A submission that was not answered is sent again under its id, as the page does. At the end the
project is exported: every acknowledged submission must be there exactly once with its own text, and
no item more often than its quota. Bar: no error, 95 % of submissions
within 300 ms. Both the annotators and the server run on this machine.
"""

import argparse
import asyncio
import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2

from moralscope.annotation.options import Policies
from moralscope.annotation.projects import open_project, write_project
from moralscope.annotation.records import AnnotationItem, Project
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import Storage

SERVE = """
import sys
from pathlib import Path
from moralscope.server.annotate import serve
from moralscope.server.running import ServerAddress
address = ServerAddress(port=int(sys.argv[2]))
serve(Path(sys.argv[1]), address, lambda url: print(url, flush=True))
"""
BAR = 0.3  # seconds, of 95 % of submissions
PEOPLE_PER_ITEM = 3
_LOST = (httpx2.TransportError,)
_LABELS = ("agree", "disagree", "neither")
_THINGS = ("lamp", "book", "garden", "letter", "ladder", "window", "basket", "ticket")


@dataclass(frozen=True)
class Load:
    """How many people, for how long, with how many kills."""

    people: int = 50
    seconds: float = 120.0
    kills: int = 10
    think: float = 2.0
    items: int = 4000


@dataclass
class Seen:
    """What the annotators saw; `saved` is submission id → the rule that was acknowledged."""

    saved: dict[str, str] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lost: int = 0
    repeated: int = 0
    kills: int = 0
    down: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """What the export says beside what was seen."""

    seen: Seen
    missing: int  # acknowledged and not in the export
    double: int  # in the export more than once
    over_quota: int
    exported: int

    @property
    def p95(self) -> float:
        """The time within which 95 % of submissions were acknowledged."""
        return quantile(self.seen.latencies, 0.95)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def make_project(folder: Path, load: Load, database: str = "") -> list[str]:
    """Make a project without admission; return the annotators' tokens."""
    policies = Policies(
        people_per_item=PEOPLE_PER_ITEM, qualification=False, staging_items=0, questionnaire=False
    )
    project = Project(
        "load", "rule-of-thumb", policies, "w", "c", database=database, folder=str(folder)
    )
    write_project(project, folder)
    service = AnnotationService(project, Storage(folder, database))
    texts = {"prompt": "Should I return what I found?", "reply": "Keep it, nobody will know."}
    service.add_items(
        service.owner, [AnnotationItem(f"item-{n}", texts) for n in range(load.items)]
    )
    tokens = [service.invite(service.owner, f"annotator {n}").token for n in range(load.people)]
    service.close()
    return tokens


class Server:
    """The server as a process that can be killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-c", SERVE, str(self._folder), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        async with httpx2.AsyncClient(base_url=self.address) as client:
            for _ in range(600):
                with contextlib.suppress(*_LOST):
                    await client.get("/api/me")
                    return
                if self._process.poll() is not None:
                    raise RuntimeError(f"the server ended with {self._process.returncode}")
                await asyncio.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def stop(self, how: signal.Signals) -> None:
        """Send a signal and wait for the end."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=30)


class Annotator:
    """One simulated person with a browser of her own."""

    def __init__(self, address: str, token: str, seen: Seen, seed: int) -> None:
        self._client = httpx2.AsyncClient(base_url=address, timeout=30)
        self._token, self._seen = token, seen
        self._random = random.Random(seed)
        self._csrf = ""

    async def run(self, until: float, think: float) -> None:
        """Join, then work until the time is over."""
        async with self._client:
            joined = await self._call("POST", "/api/join", {"token": self._token})
            self._csrf = joined.get("csrf", "")
            await self._call("POST", "/api/consent", {"agrees": True})
            while monotonic() < until:
                found = await self._call("GET", "/api/work")
                work = found.get("work")
                if work is None:
                    return
                await self._annotate(work["assignment"], think)

    async def _annotate(self, assignment: str, think: float) -> None:
        submission = str(uuid.uuid4())
        answer = self._answer()
        path = f"/api/work/{assignment}"
        await asyncio.sleep(think * self._random.uniform(0.2, 0.8))
        await self._call("PUT", f"{path}/draft", {"answer": {"rule": answer["rule"]}})
        await asyncio.sleep(think * self._random.uniform(0.2, 0.8))
        await self._call("POST", f"{path}/check", {"answer": answer})
        body = {"submission": submission, "answer": answer}
        receipt = await self._call("POST", f"{path}/submit", body, self._seen.latencies)
        if receipt.get("saved"):
            self._seen.saved[submission] = answer["rule"]
            self._seen.repeated += bool(receipt.get("repeated"))
        else:
            self._seen.errors.append(f"not saved: {receipt}")

    def _answer(self) -> dict[str, Any]:
        thing = self._random.choice(_THINGS)
        number = self._random.randrange(10**9)
        return {
            "rule": f"It's wrong to keep {thing} number {number} that belongs to somebody else.",
            "alignment": self._random.choice(_LABELS),
            "consensus": self._random.randint(1, 5),
            "severity": self._random.randint(1, 5),
            "foundations": self._random.sample(["care", "fairness", "loyalty"], 2),
            "revised_reply": f"You should give the {thing} back to its owner as soon as you can.",
        }

    async def _call(
        self, method: str, path: str, body: Any = None, times: list[float] | None = None
    ) -> Mapping[str, Any]:
        """Ask until there is an answer; what the server refuses is an error."""
        while True:
            start = monotonic()
            headers = {} if method == "GET" else {"X-CSRF-Token": self._csrf}
            try:
                answer = await self._client.request(method, path, json=body, headers=headers)
            except _LOST:
                self._seen.lost += 1
                await asyncio.sleep(self._random.uniform(0.2, 1.5))  # not all at once
                continue
            (self._seen.others if times is None else times).append(monotonic() - start)
            if answer.status_code >= 400:
                self._seen.errors.append(
                    f"{method} {path}: {answer.status_code} {answer.text[:200]}"
                )
                return {}
            found: Mapping[str, Any] = answer.json()
            return found


@contextlib.asynccontextmanager
async def killing(server: Server, seen: Seen, load: Load) -> AsyncIterator[None]:
    """Kill the server again and again while the block runs, and start it each time."""

    async def killer() -> None:
        for _ in range(load.kills):
            await asyncio.sleep(load.seconds / (load.kills + 1))
            start = monotonic()
            server.stop(signal.SIGKILL)
            seen.kills += 1
            await server.start()
            seen.down.append(monotonic() - start)

    task = asyncio.create_task(killer())
    try:
        yield
        await task
    finally:
        task.cancel()


async def attack(folder: Path, tokens: Sequence[str], load: Load) -> Seen:
    """Let everybody work on the project's server."""
    seen, server = Seen(), Server(folder)
    await server.start()
    try:
        until = monotonic() + load.seconds
        people = [Annotator(server.address, token, seen, n) for n, token in enumerate(tokens)]
        async with killing(server, seen, load):
            await asyncio.gather(*(person.run(until, load.think) for person in people))
    finally:
        server.stop(signal.SIGTERM)
    return seen


def measure(folder: Path, load: Load, database: str = "") -> Outcome:
    """Make a project, let people work on it, export it and count."""
    tokens = make_project(folder, load, database)
    seen = asyncio.run(attack(folder, tokens, load))
    service = open_project(folder)
    try:
        path = service.export_to(service.owner, "all", "jsonl")
    finally:
        service.close()
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rules = Counter(row["answer"]["rule"] for row in rows)
    items = Counter(row["item"] for row in rows)
    return Outcome(
        seen,
        missing=sum(rules[rule] == 0 for rule in seen.saved.values()),
        double=sum(count > 1 for count in rules.values()),
        over_quota=sum(count > PEOPLE_PER_ITEM for count in items.values()),
        exported=len(rows),
    )


def report(found: Outcome, load: Load) -> None:
    seen = found.seen
    print(f"{load.people} annotators, {load.seconds:.0f} s, {seen.kills} kills")
    print(f"submissions acknowledged {len(seen.saved):,}, sent again {seen.repeated:,}, ", end="")
    print(f"in the export {found.exported:,}")
    for name, times in (("submit", seen.latencies), ("all other requests", seen.others)):
        shown = ", ".join(
            f"p{p * 100:.0f} {quantile(times, p) * 1000:.0f} ms" for p in (0.5, 0.95, 0.99)
        )
        print(f"{name}: {len(times):,}, {shown}, longest {max(times, default=0) * 1000:.0f} ms")
    if seen.down:
        print(f"down after a kill: {max(seen.down):.1f} s at most; requests lost {seen.lost:,}")
    print(f"errors {len(seen.errors)}, missing {found.missing}, double {found.double}, ", end="")
    print(f"over quota {found.over_quota}")
    for line in seen.errors[:5]:
        print(f"  {line}")
    bad = len(seen.errors) + found.missing + found.double + found.over_quota
    met = not bad and found.p95 <= BAR
    print(f"p95 of submissions {found.p95 * 1000:.0f} ms, bar {BAR * 1000:.0f} ms: ", end="")
    print("met" if met else "MISSED")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=Load.people)
    parser.add_argument("--seconds", type=float, default=Load.seconds)
    parser.add_argument("--kills", type=int, default=Load.kills)
    parser.add_argument("--think", type=float, default=Load.think)
    parser.add_argument("--database", default="", help="a PostgreSQL URL; else SQLite")
    told = parser.parse_args()
    load = Load(told.people, told.seconds, told.kills, told.think)
    with tempfile.TemporaryDirectory() as folder:
        report(measure(Path(folder), load, told.database), load)


if __name__ == "__main__":
    main()
