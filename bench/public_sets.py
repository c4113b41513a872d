"""The tables of docs/bench.md, from saved records of `moralscope bench`.

    moralscope bench moderation hatecheck --model mpnet --out mpnet.json
    python bench/public_sets.py mpnet.json minilm.json --write docs/bench.md

Without --write the tables are printed. With it, rows that no record replaces stay as they are.
--busy writes no latency: the machine did other work.
Nothing is measured here.
"""

import argparse
import itertools
import re
from pathlib import Path

from moralscope.benchmarks.bench import BenchResult, SetFile
from moralscope.io.files import read_run
from moralscope.pages import read_record
from moralscope.pages.page import Column

MARKS = ("<!-- begin: bench/public_sets.py -->", "<!-- end -->")
FIGURE, SHARE = Column("", "interval", 2), Column("", "share interval", 0)
QUALITY = (
    "| set | model | cases | F1 | tuned F1 | AUC | recall | false alarms | ms per case "
    "| seen in training |"
)
CHOICES = "| choices between two actions | model | cases | right | ms per case | seen in training |"
PUBLISHED = "| set | published by others (not measured here) | source | read on |"


def tables(paths: list[Path], page: str, *, busy: bool) -> str:
    records = [read_record(read_run(path), str(path)) for path in paths]
    rows = [row for record in records for row in record.results]
    files = {file.set: file for record in records for file in record.statistics.sets}
    others = [published(file) for file in files.values() if file.published]
    parts = [
        merged(page, QUALITY, [written(row, busy) for row in rows if row.f1 is not None], 2),
        merged(page, CHOICES, [written(row, busy) for row in rows if row.f1 is None], 2),
        merged(page, PUBLISHED, others, 1),
    ]
    return "\n\n".join(parts)


def published(file: SetFile) -> str:
    figures = "; ".join(f"{row.model} {row.figure} {row.value:.3f}" for row in file.published)
    return f"| {file.title} | {figures} | {file.published[0].source} | {file.published[0].date} |"


def written(row: BenchResult, busy: bool) -> str:
    if row.f1 is None:
        cells = [FIGURE.write(row.accuracy)]
    else:
        cells = [FIGURE.write(value) for value in (row.f1, row.tuned, row.auc)]
        cells += [SHARE.write(value) for value in (row.recall, row.false_alarms)]
    cells = [row.title, row.model, f"{row.cases:,}", *cells]
    cells.append("\N{EN DASH}" if busy else f"{1000 * row.speed.latency:.1f}")
    return f"| {' | '.join(cells)} | {row.seen or 'no'} |"


def merged(page: str, head: str, lines: list[str], key: int) -> str:
    """Return a table of the page with new lines in place of those of the same first cells."""
    _, _, rest = page.partition(head)
    old = itertools.takewhile(lambda line: line.startswith("|"), rest.splitlines()[1:])
    rows = {tuple(line.split(" | ")[:key]): line for line in [*old, *lines] if "---" not in line}
    rule = "|---" * head.count(" |") + "|"
    return "\n".join([head, rule, *(rows[name] for name in sorted(rows))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--busy", action="store_true")
    chosen = parser.parse_args()
    page = chosen.write.read_text("utf-8") if chosen.write else ""
    text = tables(chosen.records, page, busy=chosen.busy)
    if chosen.write is None:
        print(text)
        return
    start, end = map(re.escape, MARKS)
    inside = f"{MARKS[0]}\n{text}\n{MARKS[1]}"
    chosen.write.write_text(
        re.sub(rf"{start}.*?{end}", lambda _: inside, page, flags=re.S), "utf-8"
    )


if __name__ == "__main__":
    main()
