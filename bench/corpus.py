"""A corpus of replies: time, memory, workers, Ray, and what people write today.

    python bench/corpus.py [--rows 200000] [--repeats 0.3] [--part 0.1] [--no-ray]

The corpus is made up: a share of its replies are repeats. On the direction axis a reply is asked
about with one prompt (`--template moral` has ten: ten times as long), so that it is one text.
The ideal time is the distinct texts over what two encoding processes reach without a runner, in the
same run. The smaller runs take `--part` of the rows. Only ratios mean anything.
"""

import argparse
import contextlib
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow.dataset as ds
import yaml

EXCHANGES = Path(__file__).parent.parent / "src" / "moralscope" / "integrity" / "data" / "exchanges"
TEMPLATE = """name: reply
prompts:
  - {question: "{}", positive: "Yes, that is good.", negative: "No, that is bad."}
"""
_LOOP = 1000  # replies of the loops that people write today


def written() -> list[str]:
    """Return the replies that were written for training: our own, of every length."""
    rows = [row for path in sorted(EXCHANGES.glob("*.yaml")) for row in yaml.safe_load(path.open())]
    return [row["reply"] for row in rows]


def replies(count: int, repeats: float) -> Iterator[str]:
    """Yield made-up replies; a share of them came before."""
    rng, base, seen = random.Random(0), written(), []
    for number in range(count):
        if seen and rng.random() < repeats:
            yield rng.choice(seen)
            continue
        text = f"{rng.choice(base)} {number}"
        if len(seen) < 100_000:
            seen.append(text)
        yield text


def write(path: Path, count: int, repeats: float) -> int:
    """Write a corpus and return how many of its texts differ."""
    distinct = set()
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(replies(count, repeats)):
            distinct.add(hash(text))
            file.write(json.dumps({"id": number, "bot": "a", "reply": text}) + "\n")
    return len(distinct)


def _encode(name: str, texts: list[str], gate: "multiprocessing.synchronize.Barrier") -> None:
    import torch

    torch.set_num_threads(1)
    from moralscope.models.encoders import load_encoder

    encoder = load_encoder(name, cached=False)
    encoder.encode(texts[:64])
    gate.wait()
    encoder.encode(texts)
    gate.wait()


def throughput(name: str, workers: int, count: int = 4000) -> float:
    """Return texts a second that processes of one thread each encode at once."""
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(workers + 1)
    texts = list(replies(count * workers, 0.0))
    parts = [texts[place::workers] for place in range(workers)]
    started = [context.Process(target=_encode, args=(name, part, gate)) for part in parts]
    for process in started:
        process.start()
    gate.wait()
    start = time.perf_counter()
    gate.wait()
    took = time.perf_counter() - start
    for process in started:
        process.join()
    return len(texts) / took


class Watch(threading.Thread):
    """The largest memory of a process and all below it, in MB."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.root, self.most = psutil.Process(pid), 0.0
        self.start()

    def run(self) -> None:
        while self.root.is_running():
            with contextlib.suppress(psutil.Error):
                family = [self.root, *self.root.children(recursive=True)]
                self.most = max(self.most, sum(each.memory_info().rss for each in family) / 1e6)
            time.sleep(0.2)


def run(corpus: Path, folder: Path, *more: str) -> tuple[float, float]:
    """Score a corpus from the command line; return seconds and the most memory in MB."""
    command = [sys.executable, "-m", "moralscope", "score", "--file", str(corpus)]
    command += ["--columns", "action=reply", "--out", str(folder), *more]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = Watch(process.pid)
    if process.wait():
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - start, watch.most


def encoding_loops(name: str) -> tuple[float, float]:
    """Return replies a second of two loops of today: encode all, and one by one."""
    from sentence_transformers import SentenceTransformer

    from moralscope.models.store import Store

    model = SentenceTransformer(str(Store().pull(name)))
    texts = list(replies(_LOOP, 0.3))
    model.encode(texts[:64])
    start = time.perf_counter()
    model.encode(texts)
    together = time.perf_counter() - start
    start = time.perf_counter()
    for text in texts[: _LOOP // 4]:
        model.encode(text)
    return _LOOP / together, _LOOP / 4 / (time.perf_counter() - start)


def classifier_loop(name: str) -> float:
    """Return replies a second of a classifier of that size asked row by row, as detoxify is."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from moralscope.models.store import Store

    folder = Store().pull(name)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    texts = list(replies(_LOOP // 4, 0.3))
    start = time.perf_counter()
    with torch.no_grad():
        for text in texts:
            inputs = tokenizer(text, return_tensors="pt", truncation=True, padding=True)
            torch.sigmoid(model(**inputs)[0])[0].numpy()
    return len(texts) / (time.perf_counter() - start)


def whole(options: argparse.Namespace, folder: Path) -> None:
    """Time, memory and growth of the whole corpus."""
    rows = options.rows
    distinct = write(folder / "whole.jsonl", rows, options.repeats)
    ideal = distinct / throughput(options.encoder, 2)
    asked = (*options.axis, "--workers", "2")
    took, memory = run(folder / "whole.jsonl", folder / "whole", *asked)
    found = ds.dataset(folder / "whole", format="parquet").count_rows()
    print(f"{found:,} of {rows:,} rows ({distinct:,} distinct) in {took:.0f} s, "
          f"{found / took:.0f} a second; ideal {ideal:.0f} s: {took / ideal:.2f} times (bar 1.15); "
          f"{memory:.0f} MB (bar 1,500)", flush=True)  # fmt: skip
    write(folder / "quarter.jsonl", rows // 4, options.repeats)
    less, _ = run(folder / "quarter.jsonl", folder / "quarter", *asked)
    print(f"four times the rows take {took / less:.2f} times the time (bar 4.2)", flush=True)


def engines(options: argparse.Namespace, folder: Path) -> None:
    """One worker, two workers, two Ray actors, and the loops of today, on a part of the rows."""
    rows, corpus = int(options.rows * options.part), folder / "part.jsonl"
    write(corpus, rows, options.repeats)
    one, _ = run(corpus, folder / "one", *options.axis, "--workers", "1")
    two, _ = run(corpus, folder / "two", *options.axis, "--workers", "2")
    print(f"{rows:,} rows: two workers are {one / two:.2f} times one (bar 1.6)", flush=True)
    if not options.no_ray:
        more = ("--engine", "ray", "--workers", "2")
        ray, _ = run(corpus, folder / "ray", *options.axis, *more)
        same = table(folder / "ray").equals(table(folder / "two"))
        print(f"Ray takes {ray / two:.2f} times local (bar 1.25); same output: {same}", flush=True)
    plain, single = encoding_loops(options.encoder)
    ours = rows / two
    print(f"ours {ours:.0f} replies a second; SentenceTransformer.encode of all {plain:.0f} "
          f"({ours / plain:.1f} times), row by row {single:.0f} ({ours / single:.1f} times)",
          flush=True)  # fmt: skip
    judge = ("--axis", "judge", "--encoder", options.encoder, "--workers", "2")
    took, _ = run(corpus, folder / "judge", *judge)
    ours, loop = rows / took, classifier_loop(options.encoder)
    print(f"judge: ours {ours:.0f} replies a second; a classifier asked row by row {loop:.0f} "
          f"({ours / loop:.1f} times)", flush=True)  # fmt: skip


def table(folder: Path):  # noqa: ANN201 (a pyarrow table)
    return ds.dataset(folder, format="parquet").to_table().sort_by("_row")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=float, default=0.3)
    parser.add_argument("--part", type=float, default=0.1)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--template", default="")
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--only", choices=("whole", "engines"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not options.template:
            (folder / "reply.yaml").write_text(TEMPLATE)
            options.template = str(folder / "reply.yaml")
        options.axis = ("--axis", "direction", "--encoder", options.encoder)
        options.axis += ("--template", options.template)
        if options.only != "engines":
            whole(options, folder)
        if options.only != "whole":
            engines(options, folder)


if __name__ == "__main__":
    main()
