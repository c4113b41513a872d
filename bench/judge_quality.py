"""How good the judge is: its figures in docs/how-good.md, on both bases.

    MORALSCOPE_DATA=… python bench/judge_quality.py [minilm,mpnet] [PART …] [--every N]

Parts (`norms` only where it is named; `--every` takes every Nth pair of it):

- people: Pearson's r with the yes rates of 56 actions in two populations, and what share of rates
  lies in the 90 % interval of `people_yes` that the other actions give (nested leave-one-out);
- plain actions: sixty of `plain_actions.txt`, written before any score was seen, on their side;
- vignettes: Spearman's rho of -score with people's mean wrongness. For measuring only;
- MoralChoice, low ambiguity: how often the better action has the higher score;
- grades: r of the score's logit with the grade of the actions that we graded and held out;
- wordings: of the rated and the plain actions, the mean range of scores over the four wordings, and
  what the mean over them would gain: r with people, plain actions on their side;
- norms: accuracy under a norm, and when the answer under the norm's first reversal is subtracted
  (log-odds; a norm that cannot be reversed is asked once). The odd half of the norms that others
  reversed is the one `large` did not learn; mpnet and minilm learnt both, and so the dev stories.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from judge_people import coverage, data, rates_of, splits
from moralscope.axes.build import build_axis
from moralscope.axes.judge import Judge
from moralscope.axes.options import MAX_WORDINGS, AxisOptions
from moralscope.axes.ratings import read_ratings
from moralscope.core.protocols import Pair
from moralscope.stats.correlation import spearman
from moralscope.stories.degree_examples import HALVES, contrastive_examples, graded
from moralscope.stories.experts import prepare_experts
from moralscope.stories.norms.reversal import reverse_norm
from moralscope.stories.reading import load_stories
from moralscope.stories.splits import official_parts
from moralscope.stories.tasks import classification_task, samples

PLAIN = Path(__file__).with_name("plain_actions.txt")
FORMS = {"first wording": lambda table: table[:, 0], "mean of four": lambda table: table.mean(1)}
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


def wordings(axis: Judge) -> dict[str, str]:
    ratings = read_ratings(data("human/yes_no_visible_half.csv"))
    rows = [line.split("\t") for line in PLAIN.read_text("utf-8").splitlines()]
    good = np.array([side == "good" for side, _ in rows])
    axis.wordings = MAX_WORDINGS
    tables = {
        name: np.array([row.prompts for row in axis.score(actions)])
        for name, actions in (("rated", list(ratings.counts)), ("plain", [row[1] for row in rows]))
    }
    axis.wordings = 1
    told = {}
    for name, table in tables.items():
        span, crossed = np.ptp(table, axis=1), (table.max(1) > 0) & (table.min(1) < 0)
        told[f"range over four wordings, {name} actions"] = (
            f"mean {span.mean():.3f}, median {np.median(span):.3f}; over zero {crossed.mean():.3f}"
        )
    for form, reduce in FORMS.items():
        values = reduce(tables["rated"])
        r = [np.corrcoef(values, rates)[0, 1] for rates in rates_of(ratings).values()]
        right = ((reduce(tables["plain"]) > 0) == good).sum()
        told[form] = f"r with people {r[0]:.3f} / {r[1]:.3f}; plain actions {right} of {len(rows)}"
    return told


def norm_pairs(every: int) -> dict[str, list[tuple[Pair, int]]]:
    """Return (norm, action) and whether the action keeps the norm, by where they come from."""
    task = classification_task("action+norm")
    stories = load_stories().stories
    parts = official_parts(stories, "norm_distance", task.split)
    found = defaultdict(list)
    for row in samples(task, [story for story in stories if parts[story.id] != "train"]):
        found[f"norm distance, {parts[row.id]}"].append(((row.grounding, row.target), row.label))
    for half in ("odd", "even"):
        for row in contrastive_examples(task.name, (0, 1), 1, HALVES[f"-{half}"]):
            found[f"{row.group}, {half} half"].append((row.pair, row.label))
    return {name: rows[::every] for name, rows in found.items()}


def norms(base: str, every: int) -> Iterator[tuple[str, str]]:
    expert = prepare_experts(base, eight_bits=True).expert("action+norm")
    for name, rows in norm_pairs(every).items():
        pairs, keeps = [pair for pair, _ in rows], np.array([label for _, label in rows]) == 1
        opposite = [(reverse_norm(norm), action) for norm, action in pairs]
        read = np.array([norm is not None for norm, _ in opposite])
        table = expert.probabilities([*pairs, *((norm, to) for norm, to in opposite if norm)])
        once, turned = np.split(np.log(table[:, 1] / table[:, 0]), [len(pairs)])
        twice = once.copy()
        twice[read] -= turned
        first, second = (once > 0) == keeps, (twice > 0) == keeps
        yield (
            f"{name}: {len(rows)}, of which {read.mean():.2f} can be reversed",
            f"{first.mean():.3f}, both asked {second.mean():.3f}; "
            f"gained {(second & ~first).sum()}, lost {(first & ~second).sum()}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experts", nargs="?", default="minilm,mpnet")
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    for base in args.experts.split(","):
        axis = build_axis(AxisOptions(axis="judge", experts=base, wordings=1))
        assert isinstance(axis, Judge)
        print(axis.card.config["experts"])
        for part in args.parts:
            rows = norms(base, args.every) if part == "norms" else PARTS[part](axis).items()
            for name, told in rows:
                print(f"  {name}: {told}", flush=True)


PARTS = {
    "people": people,
    "plain": plain,
    "vignettes": vignettes,
    "choices": choices,
    "grades": grades,
    "wordings": wordings,
}

if __name__ == "__main__":
    main()
