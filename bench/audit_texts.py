"""How good audits of texts that are no replies are, and how such a text is best framed.

    MORALSCOPE_DATA=… python bench/audit_texts.py [mpnet] [--every N] [--frames [NAME]]

Texts with people's labels: the visible halves of OpenAI's moderation set (Markov et al. 2022; bad
is any of its eight labels), of HateCheck (Röttger et al. 2021; bad is hateful), and the prompts of
XSTest's (Röttger et al. 2024; bad are the contrasts, which are truly unsafe). `--frames` reads each
text (of the set NAME) in every frame that was tried and prints the AUC of P(bad), also of its mean
with P(bad) of the text alone. Else the product's reading is measured: at the limit of replies, at
the limit that ships, and at one that is chosen on one half and measured on the other, by turns
(texts of one template are in one half). A limit is the one with the best balanced accuracy,
averaged over the sets. `--every N` takes every Nth text (of XSTest all).
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
from moralscope.rules.load_auditor import TEXT_FRAMES
from moralscope.rules.records import Exchange

FRAMES = {  # prompt, reply
    "alone": ("", "{}"),
    "answer to 'What do you say?'": ("What do you say?", "{}"),
    "answer to 'What did you post online today?'": ("What did you post online today?", "{}"),
    f"answer to '{TEXT_FRAMES['mpnet']}'": (TEXT_FRAMES["mpnet"], "{}"),
    "quoted": ("", "Someone wrote: '{}'"),
    "a message without an answer": ("{}", "..."),
    "a message that is agreed with": ("{}", "Yes, I agree with you."),
}
LIMITS = np.arange(0.1, 0.96, 0.05)
SHOWN = (0.3, 0.35, 0.4, 0.45, 0.5)


@dataclass(frozen=True)
class Texts:
    """Texts, whether people call them bad, their kinds, and their halves of the validation."""

    name: str
    texts: Sequence[str]
    bad: np.ndarray
    kinds: np.ndarray
    half: np.ndarray

    def every(self, step: int) -> "Texts":
        arrays = (array[::step] for array in (self.bad, self.kinds, self.half))
        return Texts(self.name, self.texts[::step], *arrays)


def moderation() -> Texts:
    labels = ("S", "H", "V", "HR", "SH", "S3", "H2", "V2")
    path = known.data("moderation", "samples_visible_half.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    bad = np.array([any(row.get(label) == 1 for label in labels) for row in rows])
    kinds, half = np.where(bad, "any label", "no label"), np.arange(len(rows)) // 10 % 2
    return Texts("moderation", [row["prompt"] for row in rows], bad, kinds, half)


def hatecheck() -> Texts:
    path = known.data("hatecheck", "cases_visible_half.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    bad = np.array([row["label_gold"] == "hateful" for row in rows])
    half = np.array([int(row["templ_id"]) % 2 for row in rows])
    kinds = np.array([row["functionality"] for row in rows])
    return Texts("hatecheck", [row["test_case"] for row in rows], bad, kinds, half)


def xstest() -> Texts:
    path = known.data("xstest", "replies_visible_half.csv")
    with path.open(encoding="utf-8", newline="") as file:
        kinds = {row["prompt"]: row["type"] for row in csv.DictReader(file)}
    bad = np.array([kind.startswith("contrast") for kind in kinds.values()])
    half = np.arange(len(bad)) // 4 % 2
    return Texts("xstest", list(kinds), bad, np.where(bad, "unsafe", "only looks unsafe"), half)


def chances(auditor: Auditor, texts: Sequence[str], frame: tuple[str, str]) -> np.ndarray:
    """Return P(bad) of each text in a frame."""
    framed = [Exchange(*(part.replace("{}", text) for part in frame)) for text in texts]
    return np.array([reading.bad for reading in auditor.reader.read(framed)])


def balanced(bad: np.ndarray, flag: np.ndarray) -> float:
    return float(flag[bad].mean() + (~flag[~bad]).mean()) / 2


def best(sets: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the limit with the best balanced accuracy, averaged over sets (bad, P(bad))."""
    scores = [np.mean([balanced(bad, p >= limit) for bad, p in sets]) for limit in LIMITS]
    return float(LIMITS[int(np.argmax(scores))])


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
    parser.add_argument("--frames", nargs="?", const="", choices=("", *SETS))
    args = parser.parse_args()
    auditor = prepare_auditor(AuditOptions(experts=args.experts, texts=True)).auditor
    usual = prepare_auditor(AuditOptions(experts=args.experts)).auditor.thresholds.bad
    sets = [SETS[name]().every(args.every if name != "xstest" else 1) for name in SETS]
    if args.frames is not None:
        for texts in [texts for texts in sets if args.frames in ("", texts.name)]:
            auditor.reader.alone = False
            alone = chances(auditor, texts.texts, ("", "{}"))
            for name, frame in FRAMES.items():
                p = chances(auditor, texts.texts, frame)
                one, both = (roc_auc_score(texts.bad, some) for some in (p, (p + alone) / 2))
                title = f"{texts.name} ({len(p)}) {name}"
                print(f"{title}: AUC {one:.3f}, with the text alone {both:.3f}", flush=True)
        return
    read = [chances(auditor, texts.texts, (auditor.policy.frame, "{}")) for texts in sets]
    chosen = {
        half: best(
            [(t.bad[t.half != half], p[t.half != half]) for t, p in zip(sets, read, strict=True)]
        )
        for half in (0, 1)
    }
    print(
        "best limit, of each half: "
        + ", ".join(f"{chosen[half]:.2f}" for half in chosen)
        + f"; of all {best([(t.bad, p) for t, p in zip(sets, read, strict=True)]):.2f}"
    )
    for texts, p in zip(sets, read, strict=True):
        print(f"{texts.name} ({len(p)}): AUC {roc_auc_score(texts.bad, p):.3f}")
        show(f"at the limit of replies, {usual:.2f}", texts.bad, p >= usual)
        ships = auditor.thresholds.bad
        show(f"at the limit that ships, {ships:.2f}", texts.bad, p >= ships)
        for limit in SHOWN:
            show(f"at {limit:.2f}", texts.bad, p >= limit)
        limits = np.array([chosen[half] for half in texts.half])
        show("at the other half's limit", texts.bad, p >= limits)
        for kind in dict.fromkeys(texts.kinds):
            print(f"    {kind}: {(p >= ships)[texts.kinds == kind].mean():.3f} flagged at {ships}")


if __name__ == "__main__":
    main()
