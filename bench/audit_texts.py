"""How good audits of texts that are no replies are.

    MORALSCOPE_DATA=… python bench/audit_texts.py [mpnet|large] [--every N]

Texts with people's labels: of the visible halves of OpenAI's moderation set (Markov et al. 2022;
bad is any of its eight labels) and of HateCheck (Röttger et al. 2021; bad is hateful) that part
which taught nothing (no template of HateCheck is in both), and the prompts of XSTest's visible half
(Röttger et al. 2024; bad are the contrasts, which are truly unsafe; the experts know replies to
them). Each set's figures are printed at several limits and at the one that ships, which was chosen
here. `--every N` takes every Nth text.
"""

import argparse
import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

import audit_data as known
from moralscope.rules.audit import AuditOptions, prepare_auditor
from moralscope.rules.auditor import Auditor
from moralscope.rules.records import Exchange

LIMITS = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)


@dataclass(frozen=True)
class Texts:
    """Texts, whether people call them bad, and their kinds."""

    name: str
    texts: Sequence[str]
    bad: np.ndarray
    kinds: np.ndarray

    def every(self, step: int) -> "Texts":
        arrays = (array[::step] for array in (self.bad, self.kinds))
        return Texts(self.name, self.texts[::step], *arrays)


def moderation() -> Texts:
    labels = ("S", "H", "V", "HR", "SH", "S3", "H2", "V2")
    path = known.data("moderation", "samples_visible_half.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [row for index, row in enumerate(rows) if index // 10 % 2]  # as moderation_examples
    bad = np.array([any(row.get(label) == 1 for label in labels) for row in rows])
    kinds = np.where(bad, "any label", "no label")
    return Texts("moderation", [row["prompt"] for row in rows], bad, kinds)


def hatecheck() -> Texts:
    path = known.data("hatecheck", "cases_visible_half.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["templ_id"]) % 2]
    bad = np.array([row["label_gold"] == "hateful" for row in rows])
    kinds = np.array([row["functionality"] for row in rows])
    return Texts("hatecheck", [row["test_case"] for row in rows], bad, kinds)


def xstest() -> Texts:
    path = known.data("xstest", "replies_visible_half.csv")
    with path.open(encoding="utf-8", newline="") as file:
        kinds = {row["prompt"]: row["type"] for row in csv.DictReader(file)}
    bad = np.array([kind.startswith("contrast") for kind in kinds.values()])
    return Texts("xstest", list(kinds), bad, np.where(bad, "unsafe", "only looks unsafe"))


def chances(auditor: Auditor, texts: Sequence[str]) -> np.ndarray:
    """Return P(bad) of each text."""
    return np.array([row.bad for row in auditor.reader.read([Exchange("", x) for x in texts])])


def show(name: str, bad: np.ndarray, flag: np.ndarray) -> None:
    print(
        f"  {name}: flagged of the bad {flag[bad].mean():.3f}, of the others "
        f"{flag[~bad].mean():.3f}, F1 {f1_score(bad, flag):.3f}",
        flush=True,
    )


SETS = {"hatecheck": hatecheck, "moderation": moderation, "xstest": xstest}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    auditor = prepare_auditor(AuditOptions(experts=args.experts, texts=True)).auditor
    ships = auditor.thresholds.bad
    for texts in (one.every(args.every) for one in (hatecheck(), moderation(), xstest())):
        p = chances(auditor, texts.texts)
        print(f"{texts.name} ({len(p)}): AUC {roc_auc_score(texts.bad, p):.3f}")
        for limit in sorted({*LIMITS, ships}):
            mark = ", which ships" if limit == ships else ""
            show(f"at {limit:.2f}{mark}", texts.bad, p >= limit)
        for kind in dict.fromkeys(texts.kinds):
            print(f"    {kind}: {(p >= ships)[texts.kinds == kind].mean():.3f} flagged at {ships}")


if __name__ == "__main__":
    main()
