"""How good audits of texts that are no replies are, and how such a text is best framed.

    MORALSCOPE_DATA=… python bench/audit_texts.py [mpnet] [--every N] [--frames [NAME]]

Texts with people's labels: the visible halves of OpenAI's moderation set (Markov et al. 2022; bad
is any of its eight labels) and of HateCheck (Röttger et al. 2021; bad is hateful). `--frames` reads
each text (of the set NAME) in every frame that was tried and prints the AUC of P(bad). Else the
product's frame is measured: at the limit of replies, at the limit that ships, and at one that is
chosen on one half and measured on the other, by turns (texts of one template are in one half). A
limit is the one with the best balanced accuracy, averaged over the two sets. `--every N` takes
every Nth text.
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
from moralscope.rules.load_auditor import TEXT_FRAME
from moralscope.rules.records import Exchange

FRAMES = {  # prompt, reply
    "alone": ("", "{}"),
    "answer to 'What do you say?'": ("What do you say?", "{}"),
    "answer to 'What did you post online today?'": ("What did you post online today?", "{}"),
    f"answer to '{TEXT_FRAME}'": (TEXT_FRAME, "{}"),
    "quoted": ("", "Someone wrote: '{}'"),
    "a message without an answer": ("{}", "..."),
    "a message that is agreed with": ("{}", "Yes, I agree with you."),
}
LIMITS = np.arange(0.1, 0.96, 0.05)


@dataclass(frozen=True)
class Texts:
    """Texts, whether people call them bad, and which half of the cross-validation has them."""

    name: str
    texts: Sequence[str]
    bad: np.ndarray
    half: np.ndarray

    def every(self, step: int) -> "Texts":
        return Texts(self.name, self.texts[::step], self.bad[::step], self.half[::step])


def moderation() -> Texts:
    labels = ("S", "H", "V", "HR", "SH", "S3", "H2", "V2")
    path = known.data("moderation", "samples_visible_half.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    bad = np.array([any(row.get(label) == 1 for label in labels) for row in rows])
    return Texts("moderation", [row["prompt"] for row in rows], bad, np.arange(len(rows)) // 10 % 2)


def hatecheck() -> Texts:
    path = known.data("hatecheck", "cases_visible_half.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    bad = np.array([row["label_gold"] == "hateful" for row in rows])
    half = np.array([int(row["templ_id"]) % 2 for row in rows])
    return Texts("hatecheck", [row["test_case"] for row in rows], bad, half)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--frames", nargs="?", const="", choices=("", "hatecheck", "moderation"))
    args = parser.parse_args()
    auditor = prepare_auditor(AuditOptions(experts=args.experts, texts=True)).auditor
    usual = prepare_auditor(AuditOptions(experts=args.experts)).auditor.thresholds.bad
    sets = [texts().every(args.every) for texts in (hatecheck, moderation)]
    if args.frames is not None:
        for texts in [texts for texts in sets if args.frames in ("", texts.name)]:
            for name, frame in FRAMES.items():
                auc = roc_auc_score(texts.bad, chances(auditor, texts.texts, frame))
                print(f"{texts.name} ({len(texts.bad)}) {name}: AUC {auc:.3f}", flush=True)
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
        limits = np.array([chosen[half] for half in texts.half])
        show("at the other half's limit", texts.bad, p >= limits)


if __name__ == "__main__":
    main()
