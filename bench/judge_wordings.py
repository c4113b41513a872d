"""Choose the sentence a bare phrase is judged in, without people's answers.

    MORALSCOPE_DATA=… python bench/judge_wordings.py [mpnet,minilm]

A wording is chosen by how well the judge tells the published dos from the don'ts (Jentzsch et al.
2019: the chance that a do scores above a don't, and the standardised difference), and by how often
it sees that a behaviour falls under the shipped rule that judges it. Beside them, what the
people's yes rates say of each wording: told, not chosen by.
"""

import csv
import json
import sys

import numpy as np

from moralscope.axes.judge import BREAKS, KEEPS
from moralscope.models.store import data_file
from moralscope.rules.judgments import read_judgment
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.stories.experts import ExpertSet, prepare_experts

FORMS = (
    "{}",
    "to {}",
    "I {}.",
    "I want to {}.",
    "I decide to {}.",
    "You {}.",
    "We {}.",
    "They {}.",
    "They want to {}.",
    "People {}.",
    "Someone wants to {}.",
    "Someone decides to {}.",
    "Is it okay to {}?",
)


def data(name: str) -> str:
    path = data_file(name)
    if path is None:
        sys.exit(f"error: no {name} below MORALSCOPE_DATA")
    return path.read_text("utf-8")


def behaviours() -> list[tuple[str, str, str]]:
    """Return shipped rules, the bare behaviour that each judges, and the right verdict."""
    found = []
    for rule in shipped_rulebook().rules:
        judged = read_judgment(rule.text)
        words = judged.behaviour.split()
        if words[:1] == ["to"] and judged.polarity and len(words) > 1:
            verdict = KEEPS if judged.polarity > 0 else BREAKS
            found.append((rule.text, " ".join(words[1:]), verdict))
    return found


def table(experts: ExpertSet) -> None:
    lists = json.loads(data("figures/mcm_dos_donts.json"))
    dos, donts = ([each["word"] for each in lists[name]] for name in ("dos_100", "donts_100"))
    people = list(csv.DictReader(data("human/yes_no_visible_half.csv").splitlines()))
    groups = ("amt", "regional")
    yes = {
        name: [int(row[f"{name}_yes"]) / (int(row[f"{name}_yes"]) + int(row[f"{name}_no"]))
               for row in people]
        for name in groups
    }  # fmt: skip
    alone, ruled, known = experts.expert("action"), experts.expert("action+norm"), behaviours()

    def scores(form: str, actions: list[str]) -> np.ndarray:
        column = alone.labels.index("moral")
        return alone.probabilities([("", form.format(each)) for each in actions])[:, column]

    print(f"{'wording':24} AUC    d     verdicts ({len(known)})   r people")
    for form in FORMS:
        one, other = scores(form, dos), scores(form, donts)
        auc = (one[:, None] > other).mean()
        gap = (one.mean() - other.mean()) / np.sqrt((one.var() + other.var()) / 2)
        asked = [(rule, form.format(behaviour)) for rule, behaviour, _ in known]
        chosen = ruled.probabilities(asked).argmax(axis=1)
        right = np.mean(
            [ruled.labels[place] == row[2] for place, row in zip(chosen, known, strict=True)]
        )
        said = scores(form, [row["action"] for row in people])
        r = " ".join(f"{np.corrcoef(said, yes[name])[0, 1]:.3f}" for name in groups)
        print(f"{form:24} {auc:.3f}  {gap:.2f}  {right:.3f}            {r}", flush=True)


if __name__ == "__main__":
    for name in (sys.argv[1] if len(sys.argv) > 1 else "mpnet,minilm").split(","):
        print(name)
        table(prepare_experts(name))
