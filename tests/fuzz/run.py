"""Fuzz the parsers for a bounded time: `python -m tests.fuzz.run --seconds 5`.

Each target runs in a process of its own. A crash, an input that takes more than ten seconds or
more memory than allowed, and a process that dies are failures: the input is kept and named, with
the command that repeats it. Without atheris nothing can be done, and that is said.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .targets import TARGETS

_INSTALL = "error: atheris is not installed; run 'pip install -c constraints.txt .[security]'"
_START = 60  # seconds for a process to start and to read its corpus


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz, or repeat one input; return the exit code."""
    asked = _parser().parse_args(arguments)
    unknown = [name for name in asked.targets if name not in TARGETS]
    if unknown:
        print(f"error: there is no target '{unknown[0]}'; known: {', '.join(TARGETS)}")
        return 2
    if asked.replay:
        return _replay(asked.targets, asked.replay)
    if importlib.util.find_spec("atheris") is None:
        print(_INSTALL)
        return 1
    kept = asked.keep or Path(tempfile.mkdtemp(prefix="moralscope-fuzz-"))
    names = asked.targets or list(TARGETS)
    with ThreadPoolExecutor(asked.jobs) as pool:
        told = list(pool.map(lambda name: _fuzz(name, kept / name, asked), names))
    failed = [name for name, sound in zip(names, told, strict=True) if not sound]
    print(f"{len(names) - len(failed)} of {len(names)} targets without a crash")
    if not failed and not asked.keep:
        shutil.rmtree(kept, ignore_errors=True)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"all by default: {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=5, help="for each target")
    parser.add_argument("--inputs", type=int, default=-1, help="at most, for each target")
    parser.add_argument("--seed", type=int, default=0, help="0 draws one, which is printed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    parser.add_argument("--keep", type=Path, help="folder for corpora and crashing inputs")
    parser.add_argument("--replay", type=Path, help="run one kept input on the one target named")
    return parser


def _fuzz(name: str, folder: Path, asked: argparse.Namespace) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # writing is most of the work
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        command = [sys.executable, "-m", "tests.fuzz.child", name, str(folder.resolve()), scratch]
        numbers = map(str, (asked.seconds, asked.inputs, asked.seed))
        code, log = _child([*command, *numbers], asked.seconds + _START)
    runs = re.findall(r"number_of_executed_units: (\d+)", log)
    if code == 0 and runs:
        print(f"{name:16} {int(runs[0]):>9,} inputs, no crash", flush=True)
        return True
    found = sorted(path for path in folder.iterdir() if path.name.startswith(_ARTIFACTS))
    print(f"{name:16} FAILED (exit {code})\n{_last_lines(log)}", flush=True)
    for path in found:
        print(f"  repeat it: python -m tests.fuzz.run {name} --replay {path}", flush=True)
    return False


def _child(command: Sequence[str], seconds: int) -> tuple[int, str]:
    """Return exit code and output of a process; -1 where it does not end."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=Path(__file__).parents[2],
            env=environment,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return -1, (late.stderr or b"").decode("utf-8", "replace") + "\nit did not end in time"
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


_ARTIFACTS = ("crash-", "timeout-", "oom-", "leak-", "slow-unit-")


def _last_lines(log: str, count: int = 25) -> str:
    """Return the traceback where there is one, else the end of the log."""
    _, found, trace = log.partition("Uncaught Python exception: ===")
    lines = (trace.partition("libFuzzer")[0] if found else log).strip().splitlines()
    return "\n".join(f"  {line}" for line in lines[-count:])


def _replay(names: Sequence[str], path: Path) -> int:
    if len(names) != 1:
        print("error: name the one target that the input is for")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        taken = TARGETS[names[0]].run(path.read_bytes(), Path(folder))
    print(f"{names[0]}: {'read' if taken else 'refused in one line'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
