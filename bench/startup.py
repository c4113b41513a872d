"""How long one command takes from nothing, as a multiple of `python -c "import torch"`.

    python bench/startup.py [--rounds 5] [--experts minilm]

Every command is a process of its own; the commands take turns, and a figure is the median over the
rounds of the ratio inside one round, so that a busy machine, which slows all of a round, disturbs
little. Beside the wall time stands the ratio of processor time, which other programs hardly touch.
"Cold" means an empty cache: weights are read and texts computed; "cached" means that every row of
an encoder and every answer of the experts is on disk, so that nothing needs torch. Modules are
those of ours that `score` imports. Exit code 1 where a bar is missed.
"""

import argparse
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from moralscope.models.store import home_folder

SCORE = ("score", "kill time", "kill people")  # by the judge on mpnet, the default
CHOICE = (*SCORE, "--axis", "choice")
NUMBER = "{number}"  # another one each time: a reply that nobody audited before
AUDIT = ("audit", "--prompt", "May I lie to my friend?", "--reply", f"Sure, lie {NUMBER} times.")
MAX_MODULES = 90
MAX_HELP = 0.35  # seconds
_NO_BYTE_CODE = "PYTHONDONTWRITEBYTECODE"
_numbers = itertools.count(2)
_COUNT = """
import contextlib, io, sys
from moralscope.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(sum(name.split(".")[0] == "moralscope" for name in sys.modules))
heavy = {"torch", "transformers", "peft", "scipy", "pandas", "pyarrow", "sklearn", "matplotlib"}
print(", ".join(sorted(heavy & set(sys.modules))) or "none")
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A command, whether its cache of rows is emptied before, and the bar for its ratio."""

    name: str
    command: tuple[str, ...]
    bar: float | None
    cold: bool = False


def cases(experts: str) -> list[Case]:
    """Return what is measured; the first is the yardstick."""
    judge = (*SCORE, "--axis", "judge", "--experts", experts)
    python = (sys.executable, "-c", "import torch")
    return [
        Case("import torch", python, None),
        Case("judge two actions, cold", ours(*SCORE), 2.0, cold=True),
        Case("judge two actions, cached", ours(*SCORE), 0.6),
        Case("encode two actions, cold", ours(*CHOICE), 2.0, cold=True),
        Case("encode two actions, cached", ours(*CHOICE), 0.6),
        Case(f"judge two actions ({experts}), cold", ours(*judge), 2.5, cold=True),
        Case(f"audit a new reply ({experts})", ours(*AUDIT, "--experts", experts), 3.0),
        Case("the same, rulebook read anew", ours(*AUDIT, "--experts", experts), None, cold=True),
        Case("--help", ours("--help"), None),
    ]


def ours(*arguments: str) -> tuple[str, ...]:
    """Return the command line of moralscope in this interpreter."""
    return (sys.executable, "-m", "moralscope", *arguments)


def timed(case: Case, home: Path) -> tuple[float, float]:
    """Run a case; return its wall and processor seconds."""
    home = home / ("cold" if case.cold else "warm")
    if case.cold:
        shutil.rmtree(home / "cache", ignore_errors=True)
    command = [word.replace(NUMBER, str(next(_numbers))) for word in case.command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment(home))
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a command: our store, and byte code kept as of an installation."""
    kept = {name: value for name, value in os.environ.items() if name != _NO_BYTE_CODE}
    return kept | {"MORALSCOPE_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home.parent / "code")}


def scratch_homes(folder: Path) -> Path:
    """Make two stores with the models of the user's own: one whose cache is emptied, one not."""
    for name in ("cold", "warm"):
        (folder / name).mkdir()
        (folder / name / "models").symlink_to(home_folder() / "models", target_is_directory=True)
    return folder


def main() -> int:
    """Print the table; return 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--experts", default="minilm")
    options = parser.parse_args()
    chosen = cases(options.experts)
    with tempfile.TemporaryDirectory() as folder:
        home = scratch_homes(Path(folder))
        for case in chosen:  # once untimed: files come into memory, rows into the cache
            timed(case, home)
        found = [[timed(case, home) for case in chosen] for _ in range(options.rounds)]
        command = (sys.executable, "-c", _COUNT, *SCORE)
        said = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment(home / "warm")
        )
    modules, heavy = said.stdout.split("\n")[:2]
    missed = []
    print(f"{'':36}{'seconds':>9}{'times torch':>13}{'in CPU time':>13}{'bar':>7}")
    for place, case in enumerate(chosen):
        wall, spent = (median(row[place][kind] / row[0][kind] for row in found) for kind in (0, 1))
        seconds = median(row[place][0] for row in found)
        bar = f"{case.bar:.1f}" if case.bar else ""
        print(f"{case.name:36}{seconds:9.2f}{wall:13.2f}{spent:13.2f}{bar:>7}")
        if case.bar and wall > case.bar:
            missed.append(case.name)
        if case.name == "--help" and seconds > MAX_HELP:
            missed.append(f"--help above {MAX_HELP} s")
    print(f"modules of ours for 'score a b', cached: {modules} (bar {MAX_MODULES}); heavy: {heavy}")
    if int(modules) > MAX_MODULES:
        missed.append("modules")
    if "torch" in heavy:
        missed.append("torch is imported for answers that are on disk")
    print(f"missed: {', '.join(missed)}" if missed else "every bar is met")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
