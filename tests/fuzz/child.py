"""Fuzz one target in this process until it crashes or its time is up: `run` starts one of these.

Usage: python -m tests.fuzz.child TARGET FOLDER SCRATCH SECONDS INPUTS SEED

A native crash (a signal) ends the process, so that whoever started it sees it. Memory is held by
the operating system, time by a signal.
"""

import resource
import signal
import sys
from pathlib import Path

MEMORY = 3 << 30  # bytes of address space, of which Python and NumPy take the larger part
SLOWEST = 5  # seconds of the processor that one input may take
_LARGEST = 8192  # bytes of an input that fuzzing makes


def main(name: str, folder: Path, scratch: Path, seconds: int, inputs: int, seed: int) -> None:
    """Run libFuzzer on one target; `folder` gets its corpus and what crashed, `scratch` inputs."""
    import atheris

    from .seeds import HOSTILE, bombs, seeds
    from .targets import TARGETS

    target = TARGETS[name]
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    valid = seeds(target)
    for number, data in enumerate(valid):
        (corpus / f"{number:03}").write_bytes(data)
    words = folder / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in HOSTILE))
    with atheris.instrument_imports(include=["moralscope"]):
        target.run(valid[0], scratch)  # loads the parser, which is what is to be instrumented
    for data in bombs(target):  # too large to grow from
        target.run(data, scratch)
    options = [
        f"-max_total_time={seconds}",
        f"-runs={inputs}",
        "-timeout=50",  # seconds of the clock, for native code that hears no signal
        f"-artifact_prefix={folder}/",
        f"-dict={words}",
        f"-max_len={_LARGEST}",
        f"-seed={seed}",
        "-len_control=0",
        "-print_final_stats=1",
    ]

    def check(data: bytes) -> None:
        signal.setitimer(signal.ITIMER_PROF, SLOWEST)
        target.run(data, scratch)
        signal.setitimer(signal.ITIMER_PROF, 0)

    signal.signal(signal.SIGPROF, _too_slow)
    atheris.Setup([sys.argv[0], *options, str(corpus)], check)
    atheris.Fuzz()


def _too_slow(_signal: int, _frame: object) -> None:
    raise TimeoutError(f"one input took more than {SLOWEST} seconds of the processor")


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *map(int, sys.argv[4:7]))
