"""The tables of docs/bench.md, from saved records of `moralscope bench`.

    moralscope bench moderation hatecheck --model mpnet --out mpnet.json
    python bench/public_sets.py mpnet.json minilm.json --write docs/bench.md

Without --write the tables are printed. Nothing is measured here.
"""

import argparse
import re
from pathlib import Path

from moralscope.benchmarks.bench import BenchResult
from moralscope.io.files import read_run
from moralscope.pages import read_record
from moralscope.pages.page import Column

MARKS = ("<!-- begin: bench/public_sets.py -->", "<!-- end -->")
FIGURE, SHARE = Column("", "interval", 2), Column("", "share interval", 0)


def tables(paths: list[Path]) -> str:
    records = [read_record(read_run(path), str(path)) for path in paths]
    rows = [row for record in records for row in record.results]
    rows.sort(key=lambda row: (row.title, row.model))
    files = {file.set: file for record in records for file in record.statistics.sets}
    others = {
        name: "; ".join(f"{one.model} {one.figure} {one.value:.3f}" for one in file.published)
        for name, file in files.items()
    }
    lines = [
        "| set | model | cases | F1 | tuned F1 | AUC | recall | false alarms | seen in training |",
        "|---|---|---:|---|---|---|---|---|---|",
        *(quality(row) for row in rows if row.f1 is not None),
        "",
        "| choices between two actions | model | cases | right | seen in training |",
        "|---|---|---:|---|---|",
        *(
            f"| {row.title} | {row.model} | {row.cases:,} | {FIGURE.write(row.accuracy)} "
            f"| {row.seen or 'no'} |"
            for row in rows
            if row.f1 is None
        ),
        "",
        "| set | published by others (not measured here) | source | read on |",
        "|---|---|---|---|",
        *(
            f"| {files[name].title} | {text} | {files[name].published[0].source} "
            f"| {files[name].published[0].date} |"
            for name, text in sorted(others.items())
            if text
        ),
    ]
    return "\n".join(lines)


def quality(row: BenchResult) -> str:
    figures = [FIGURE.write(value) for value in (row.f1, row.tuned, row.auc)]
    shares = [SHARE.write(value) for value in (row.recall, row.false_alarms)]
    cells = [row.title, row.model, f"{row.cases:,}", *figures, *shares, row.seen or "no"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    text = tables(chosen.records)
    if chosen.write is None:
        print(text)
        return
    page = chosen.write.read_text("utf-8")
    start, end = map(re.escape, MARKS)
    inside = f"{MARKS[0]}\n{text}\n{MARKS[1]}"
    chosen.write.write_text(
        re.sub(rf"{start}.*?{end}", lambda _: inside, page, flags=re.S), "utf-8"
    )


if __name__ == "__main__":
    main()
