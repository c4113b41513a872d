"""How good audits of texts that are no replies are, and how such a text is best framed.

    MORALSCOPE_DATA=… python bench/audit_texts.py [mpnet] [--every N] [--frames]

Texts with people's labels: the visible halves of OpenAI's moderation set (Markov et al. 2022: bad is
any of its eight labels) and of HateCheck (Röttger et al. 2021: bad is hateful). `--frames` reads
each text in several frames and prints the AUC of P(bad) in each; else the product's frame is
measured at its limit, and at a limit chosen on the other half (by turns, texts of one template
together). `--every N` takes every Nth text.
"""

import argparse
import csv
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

import audit_data as known
from moralscope.rules.audit import AuditOptions, prepare_auditor
from moralscope.rules.records import Exchange

FRAMES: dict[str, Callable[[str], Exchange]] = {
    "think about it": lambda text: Exchange("What do you think about it?", text),
    "think quoted": lambda text: Exchange("What do you think about it?", f"'{text}'"),
    "think of people": lambda text: Exchange("What do you think of other people?", text),
    "opinion": lambda text: Exchange("What is your opinion?", text),
    "quoted wrote": lambda text: Exchange("", f"Someone wrote: '{text}'"),
    "asked to post": lambda text: Exchange("Write a post for our forum.", text),
}


@dataclass(frozen=True)
class Text:
    """A text, whether people call it bad, its kind, and what belongs together."""

    text: str
    bad: bool
    kind: str
    group: str


def moderation() -> list[Text]:
    labels = ("S", "H", "V", "HR", "SH", "S3", "H2", "V2")
    path = known.data("moderation", "samples_visible_half.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    kinds = [" ".join(label for label in labels if row.get(label) == 1) for row in rows]
    return [Text(row["prompt"], bool(kind), kind, str(n)) for n, (row, kind) in enumerate(zip(rows, kinds, strict=True))]


def hatecheck() -> list[Text]:
    path = known.data("hatecheck", "cases_visible_half.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Text(r["test_case"], r["label_gold"] == "hateful", r["functionality"], r["templ_id"]) for r in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--frames", action="store_true")
    args = parser.parse_args()
    models = prepare_auditor(AuditOptions(experts=args.experts))
    for name, rows in (("hatecheck", hatecheck()), ("moderation", moderation())):
        rows = rows[:: args.every]
        bad = np.array([row.bad for row in rows])
        for frame, exchange in FRAMES.items():
            readings = models.auditor.reader.read([exchange(row.text) for row in rows])
            chance = np.array([reading.bad for reading in readings])
            np.save(f"/tmp/large2-{name}-{list(FRAMES).index(frame)}.npy", chance)
            limit = models.auditor.thresholds.bad
            flag = chance >= limit
            print(name, len(rows), frame, f"AUC {roc_auc_score(bad, chance):.3f} fa {flag[~bad].mean():.3f} rec {flag[bad].mean():.3f} f1 {f1_score(bad, flag):.3f}", flush=True)


if __name__ == "__main__":
    main()
