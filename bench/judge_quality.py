"""How good the judge is: its figures in docs/how-good.md, on both bases.

    MORALSCOPE_DATA=… python bench/judge_quality.py [minilm,mpnet]

- people: Pearson's r with the yes rates of 56 actions in two populations, and what share of rates
  lies in the 90 % interval of `people_yes` that the other actions give (nested leave-one-out);
- plain actions: sixty of `plain_actions.txt`, written before any score was seen, on their side;
- vignettes: Spearman's rho of -score with people's mean wrongness. For measuring only;
- MoralChoice, low ambiguity: how often the better action has the higher score;
- grades: r of the score's logit with the grade of the actions that we graded and held out.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from judge_people import coverage, data, rates_of, splits
from moralscope.axes.build import build_axis
from moralscope.axes.judge import Judge
from moralscope.axes.options import AxisOptions
from moralscope.axes.ratings import read_ratings
from moralscope.stats.correlation import spearman
from moralscope.stories.degree_examples import graded

PLAIN = Path(__file__).with_name("plain_actions.txt")
CHOICES = "moralchoice/scenarios/moralchoice_low_ambiguity.csv"


def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(data(name).read_text("utf-8").splitlines()))


def scores(axis: Judge, texts: list[str]) -> np.ndarray:
    return np.array([row.score for row in axis.score(texts)])


def people(axis: Judge) -> dict[str, str]:
    ratings = read_ratings(data("human/yes_no_visible_half.csv"))
    rates = rates_of(ratings)
    found = scores(axis, list(ratings.counts))
    logits = 2 * np.arctanh(np.clip(found, -0.999999, 0.999999))
    table = np.column_stack(list(rates.values()))
    held = coverage(logits, table)
    marked, near, sided = splits(logits, table)
    return {
        **{f"r with people, {k}": f"{np.corrcoef(found, v)[0, 1]:.3f}" for k, v in rates.items()},
        "coverage of 90 % intervals, leave-one-out": f"{held:.3f}",
        "people split here: actions marked": f"{marked} of {len(logits)}",
        "rates of marked ones between 0.25 and 0.75": f"{near:.3f}",
        "rates of others on the expected side": f"{sided:.3f}",
    }


def plain(axis: Judge) -> dict[str, str]:
    rows = [line.split("\t") for line in PLAIN.read_text("utf-8").splitlines()]
    found = scores(axis, [action for _, action in rows])
    good = np.array([side == "good" for side, _ in rows])
    right = (found > 0) == good
    auc = (found[good][:, None] > found[~good][None]).mean()
    wrong = [f"{row[1]} ({value:+.2f})" for row, value, ok in zip(rows, found, right, strict=True)
             if not ok]  # fmt: skip
    told = f"{right.sum()} of {len(rows)}, AUC {auc:.3f}"
    return {"plain actions on their side": told + (f"; not: {', '.join(wrong)}" if wrong else "")}


def vignettes(axis: Judge) -> dict[str, str]:
    rows = rows_of("vignettes/vignettes_visible_half.csv")
    found = spearman(
        (-scores(axis, [row["Scenario"] for row in rows])).tolist(),
        [float(row["Wrong"]) for row in rows],
    )
    told = f"{found.r:.3f} ({found.low:.2f} … {found.high:.2f}), n = {found.n}"
    return {"vignettes, rho with wrongness": told}


def choices(axis: Judge) -> dict[str, str]:
    rows = rows_of(CHOICES)
    better, worse = (scores(axis, [row[name] for row in rows]) for name in ("action1", "action2"))
    return {"MoralChoice, low ambiguity": f"{(better > worse).mean():.3f} of {len(rows)}"}


def grades(axis: Judge) -> dict[str, str]:
    told = {}
    for name in ("degrees", "short_actions"):
        rows = graded(name)[::5]  # those that train nothing: stories/degree_examples.py
        found = np.arctanh(
            np.clip(scores(axis, [action for action, _ in rows]), -1 + 1e-6, 1 - 1e-6)
        )
        r = np.corrcoef(found, [grade for _, grade in rows])[0, 1]
        told[f"r with the grades of held-out actions, {name}"] = f"{r:.3f}, n = {len(rows)}"
    return told


def main() -> None:
    for base in (sys.argv[1] if len(sys.argv) > 1 else "minilm,mpnet").split(","):
        axis = build_axis(AxisOptions(axis="judge", experts=base, wordings=1))
        assert isinstance(axis, Judge)
        print(axis.card.config["experts"])
        for part in (people, plain, vignettes, choices, grades):
            for name, told in part(axis).items():
                print(f"  {name}: {told}", flush=True)


if __name__ == "__main__":
    main()
