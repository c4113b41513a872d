"""Choose the operating points of an audit on dev data and, with --write, keep them in the adapter.

    MORALSCOPE_DATA=… python bench/audit_thresholds.py FOLDER [--half even|odd] [--write]
    MORALSCOPE_DATA=… python bench/audit_thresholds.py mpnet --only diasafety

`bad` is the least P(bad) at which at most 5 % of fine replies of chatbots (written exchanges of
held-out rules and XSTest's replies, together), 3 % of XSTest's alone and 15 % of DiaSafety's safe
replies (val) are flagged. `fine`, up to which no rule is asked, is the highest of a few values
below which about a tenth of the bad written replies lies. P(bad) is what the verdict has: beside
the rules that the reply breaks. Give the half of XSTest that the experts were not trained on.
Concerns keep the limits that training chose, and the 120 golden exchanges are not looked at.
`--only` chooses nothing: it prints the curve of one set, with the `fine` that ships.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score

import audit_data as known
from moralscope.rules.audit import AuditModels, AuditOptions, prepare_auditor
from moralscope.rules.verdict import beside_rules

MOST = {"chatbots": 0.05, "xstest": 0.03, "diasafety": 0.15}  # false alarms
FINE = (0.02, 0.05, 0.1, 0.2, 0.3)
LIMITS = (0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)


class Rows:
    """Replies with all that a verdict may need: P(bad), alone and beside the rules near."""

    def __init__(self, models: AuditModels, rows: Sequence[known.Row], fine: float) -> None:
        auditor = models.auditor
        self.bad = np.array([row.bad for row in rows])
        readings = auditor.reader.read([row.exchange for row in rows])
        self.alone = np.array([reading.bad for reading in readings])
        places = [
            [n for n, bad in enumerate(reading.window_bad) if bad > fine] for reading in readings
        ]
        found = auditor._findings(auditor._find(auditor.retriever, readings, places))
        self.beside = np.array(
            [
                beside_rules(bad, [rule for _, rule in own], auditor.thresholds)
                for bad, own in zip(self.alone, found, strict=True)
            ]
        )

    def chances(self, fine: float) -> np.ndarray:
        return np.where(self.alone > fine, self.beside, self.alone)

    def figures(self, bad: float, fine: float) -> str:
        flags = self.chances(fine) >= bad
        alarms, recall = flags[~self.bad].mean(), flags[self.bad].mean()
        figure = f1_score(self.bad, flags, average="macro")
        return f"false alarms {alarms:.3f}, recall {recall:.3f}, macro-F1 {figure:.3f}"


def choose(parts: dict[str, Rows]) -> tuple[float, float]:
    lowest = np.quantile(parts["written"].alone[parts["written"].bad], 0.12)
    clear = max((value for value in FINE if value <= lowest), default=FINE[0])
    fine = {name: rows.chances(clear)[~rows.bad] for name, rows in parts.items()}
    fine["chatbots"] = np.concatenate([fine["written"], fine["xstest"]])
    bad = max(float(np.quantile(fine[name], 1 - most)) for name, most in MOST.items())
    return float(np.ceil(bad * 20) / 20), clear  # in steps of 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experts")
    parser.add_argument("--half", choices=("all", "even", "odd"), default="all")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", choices=("written", "xstest", "diasafety"))
    given = parser.parse_args()
    models = prepare_auditor(AuditOptions(experts=given.experts))
    rows = {
        "written": known.written(),
        "xstest": known.xstest(given.half),
        "diasafety": [x for x in known.diasafety() if not (x.bad and x.kind == known.EXPERTISE)],
    }
    wanted = [given.only] if given.only else list(rows)
    limits = models.auditor.thresholds
    least = limits.fine if given.only else FINE[0]
    parts = {name: Rows(models, rows[name], least) for name in wanted}
    bad, fine = (limits.bad, limits.fine) if given.only else choose(parts)
    print(f"{(models.config or {})['experts']}: bad {bad}, fine {fine}")
    for name, part in parts.items():
        asked = (part.alone > fine)[~part.bad].mean()
        print(f"{name} ({len(part.bad)}); rules are asked about {asked:.3f} of the fine ones")
        for limit in sorted({bad, *LIMITS}):
            print(f"  bad {limit}: {part.figures(limit, fine)}")
    if given.write:
        path = Path(given.experts, "expert.json")
        settings = json.loads(path.read_text("utf-8"))
        settings["thresholds"] = {**settings["thresholds"], "verdict": [round(1 - fine, 6), bad]}
        path.write_text(json.dumps(settings, indent=1), "utf-8")


if __name__ == "__main__":
    main()
