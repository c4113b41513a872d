"""Set the axes beside people and write what was measured: `src/moralscope/axes/data/people.json`.

    MORALSCOPE_DATA=… python bench/judge_people.py [--judge [mpnet|minilm|large]] [--check]

For every axis on every stored encoder: Pearson's r with people's yes rates. For the judge besides

- its zeros, halfway through the best thresholds: of phrases between the published dos and don'ts
  (Jentzsch et al. 2019); of sentences and scenes between the moral and immoral actions of dev
  stories, and between our good and bad exceptions (the mean of both accuracies counts). People's
  ratings, test stories and held-out exceptions have no part in them;
- how a score becomes the share of people who would say yes: a logistic line through the rates of
  both populations, and a width for 90 % intervals. Its coverage is that of intervals for actions
  that had no part in line or width (leave one out, and inside it leave one out again).

The ratings stay where they are: the file gets a few numbers an axis. Run it whenever weights of
experts change: `--judge` measures the judge alone, on `mpnet` in a minute, on `large` on a GPU, and
keeps what is known of the others. `--check` writes nothing and fails where it would change.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

from moralscope.axes.build import build_axis
from moralscope.axes.judge import Judge, best_task
from moralscope.axes.measured import LEVEL, PeopleYes, people_split
from moralscope.axes.options import AxisOptions
from moralscope.axes.ratings import Ratings, read_ratings
from moralscope.axes.wordings import wordings
from moralscope.models.options import LARGE
from moralscope.models.store import data_file
from moralscope.stats.correlation import correlate
from moralscope.stories.degree_examples import exception_sets
from moralscope.stories.experts import BASES, ExpertFolder, ExpertSet, find_experts
from moralscope.stories.reading import load_stories
from moralscope.stories.splits import official_parts

PLACE = Path(__file__).parents[1] / "src/moralscope/axes/data/people.json"
ENCODERS = ("minilm", "mpnet", "use-lite")
ASKED = [
    *(AxisOptions(axis="judge", experts=base, wordings=1) for base in (*BASES, LARGE)),
    *(AxisOptions(axis="choice", encoder=name) for name in ENCODERS),
    *(
        AxisOptions(axis="direction", encoder=name, fit=fit)
        for name in ENCODERS
        for fit in ("pca", "labelled")
    ),
]
Floats = np.ndarray


def data(name: str) -> Path:
    path = data_file(name)
    if path is None:
        sys.exit(f"error: no {name} below MORALSCOPE_DATA")
    return path


def judge_logits(experts: ExpertSet, texts: list[str]) -> Floats:
    """Return what the judge's score is tanh(half of), before its zero is moved."""
    task = best_task({"action": texts[0]}, experts.tasks)
    found = experts.expert(task).probabilities([("", wordings(text, 1)[0]) for text in texts])
    log = np.log(found.astype(np.float64) + 1e-30)
    return np.asarray(log[:, 1] - log[:, 0])


def find_zero(sides: list[tuple[Floats, Floats]]) -> tuple[float, float]:
    """Return what is added to logits, and the mean accuracy over pairs of (good, bad) logits."""
    grid = np.arange(-6, 6.001, 0.01)
    right = np.mean(
        [
            [((good > limit).mean() + (bad < limit).mean()) / 2 for limit in grid]
            for good, bad in sides
        ],
        axis=0,
    )
    best = grid[right >= right.max() - 0.002]
    return -float(best.mean()), float(right.max())


def fit_line(logits: Floats, rates: Floats) -> tuple[float, float]:
    """Return intercept and slope of a logistic line through shares (Newton, lightly held in)."""
    table = np.column_stack([np.ones(len(logits)), logits])
    weights = np.zeros(2)
    for _ in range(25):
        share = 1 / (1 + np.exp(-table @ weights))
        pull = table.T @ (rates - share) - 1e-3 * weights
        curve = (table * (share * (1 - share))[:, None]).T @ table + 1e-3 * np.eye(2)
        weights = weights + np.linalg.solve(curve, pull)
    return float(weights[0]), float(max(0.0, weights[1]))


def errors(line: PeopleYes, logits: Floats, rates: Floats) -> Floats:
    """Return how far rates (actions x populations) lie from the line, in widths of one."""
    shares = [line.share(math.tanh(logit / 2)).value for logit in logits]
    unit = [math.sqrt(share * (1 - share) + 0.02) for share in shares]
    return np.asarray(np.abs(rates - np.array(shares)[:, None]) / np.array(unit)[:, None])


def fit_yes(logits: Floats, rates: Floats) -> PeopleYes:
    """Fit the line, and the width as the conformal quantile of leave-one-out errors."""
    places = np.arange(len(logits))
    left: list[float] = []
    for place in places:
        others = places != place
        line = PeopleYes(*fit_line(logits[others], rates[others].mean(axis=1)), width=0)
        left += errors(line, logits[[place]], rates[[place]]).ravel().tolist()
    rank = min(len(left), math.ceil((len(left) + 1) * LEVEL))
    return PeopleYes(*fit_line(logits, rates.mean(axis=1)), width=sorted(left)[rank - 1])


def coverage(logits: Floats, rates: Floats) -> float:
    """Return the share of rates inside the interval that all other actions give."""
    places, held = np.arange(len(logits)), []
    for place in places:
        found = fit_yes(logits[places != place], rates[places != place])
        span = found.share(math.tanh(logits[place] / 2))
        held += [span.low <= rate <= span.high for rate in rates[place].tolist()]
    return float(np.mean(held))


def splits(logits: Floats, rates: Floats) -> tuple[int, float, float]:
    """Return how many actions are marked as split (nested leave-one-out), and two shares.

    Of marked ones how many rates lie between 0.25 and 0.75, and of the others how many rates have
    their majority where it was expected.
    """
    places = np.arange(len(logits))
    near: list[bool] = []
    sided: list[bool] = []
    marked = 0
    for place in places:
        found = fit_yes(logits[places != place], rates[places != place])
        span = found.share(math.tanh(logits[place] / 2))
        split = people_split(span.low, span.high)
        marked += split
        for rate in rates[place].tolist():
            if split:
                near.append(0.25 <= rate <= 0.75)
            else:
                sided.append((rate > 0.5) == (span.value > 0.5))
    return marked, float(np.mean(near)), float(np.mean(sided))


def sides_of(experts: ExpertSet) -> dict[str, list[tuple[Floats, Floats]]]:
    """Return the logits of good and of bad texts that set each zero."""
    lists = json.loads(data("figures/mcm_dos_donts.json").read_text("utf-8"))
    words = [[row["word"] for row in lists[name]] for name in ("dos_100", "donts_100")]
    stories = load_stories().stories
    parts = official_parts(stories, "norm_distance", "action")
    dev = [story for story in stories if parts.get(story.id) == "dev"]
    actions = [[str(each.moral_action) for each in dev], [str(each.immoral_action) for each in dev]]
    taught = [row for at, (_, rows) in enumerate(exception_sets()) if at % 5 for row in rows]
    exceptions = [[text for text, grade in taught if side * grade > 0] for side in (1, -1)]
    return {
        name: [(judge_logits(experts, good), judge_logits(experts, bad)) for good, bad in sides]
        for name, sides in (("zero", [words]), ("sentence_zero", [actions, exceptions]))
    }


def agreement(scores: list[float], ratings: Ratings) -> dict[str, dict[str, float]]:
    found = {}
    for name, rates in rates_of(ratings).items():
        each = correlate(scores, rates.tolist())
        found[name] = {"value": each.r, "low": each.low, "high": each.high, "n": each.n}
    return found


def rates_of(ratings: Ratings) -> dict[str, Floats]:
    return {
        name: np.array([yes / (yes + no) for yes, no in (c[name] for c in ratings.counts.values())])
        for name in ratings.populations
    }


def judge_numbers(experts: ExpertSet, ratings: Ratings) -> dict[str, object]:
    zeros = {}
    for name, sides in sides_of(experts).items():
        zero, right = find_zero(sides)
        zeros[name] = round(zero, 2)
        print(f"  {name} {zero:+.2f}: {right:.3f} of the texts that set it on their side")
    logits = judge_logits(experts, list(ratings.counts)) + zeros["zero"]
    rates = np.column_stack(list(rates_of(ratings).values()))
    found = fit_yes(logits, rates)
    share = coverage(logits, rates)
    print(
        f"  share of yes: {found.intercept:+.2f} {found.slope:+.2f} · logit, coverage {share:.3f}"
    )
    numbers = {"intercept": found.intercept, "slope": found.slope, "width": found.width}
    return {
        "people": agreement(np.tanh(logits / 2).tolist(), ratings),
        **zeros,
        "people_yes": {**numbers, "coverage": share},
    }


def main() -> None:
    ratings = read_ratings(data("human/yes_no_visible_half.csv"))
    only = [name for name in (*BASES, LARGE) if name in sys.argv] or [*BASES, LARGE]
    known = json.loads(PLACE.read_text("utf-8"))["measured"] if "--judge" in sys.argv else []
    rows = {(row["axis"], row["model"], row.get("fit")): row for row in known}
    for options in ASKED:
        if known and (options.axis != "judge" or options.experts not in only):
            continue
        axis = build_axis(options)
        card = axis.card
        row = {
            "axis": axis.name,
            "model": card.models[0].name,
            "sha256": card.models[0].sha256,
            **({"fit": card.config["fit"]} if "fit" in card.config else {}),
            **({"fingerprint": card.fingerprint} if card.fingerprint else {}),
        }
        if isinstance(axis, Judge):  # its scores hang on the zero that is looked for here
            experts = find_experts(str(options.experts))
            loaded = experts.load() if isinstance(experts, ExpertFolder) else experts
            row |= judge_numbers(loaded, ratings)
        else:
            scores = [found.score for found in axis.score(list(ratings.counts))]
            row["people"] = agreement(scores, ratings)
        told = ", ".join(f"{name} {each['value']:.3f}" for name, each in row["people"].items())
        print(f"{axis.name} {row.get('fit', '')} {row['model']}: r {told}", flush=True)
        rows[row["axis"], row["model"], row.get("fit")] = row
    content = {
        "command": "MORALSCOPE_DATA=… python bench/judge_people.py",
        "ratings": f"{len(ratings.counts)} actions of Schramowski et al. 2022, 'is it ok to …?'",
        "measured": list(rows.values()),
    }
    text = json.dumps(_rounded(content), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv:
        sys.exit(0 if PLACE.read_text("utf-8") == text else f"error: {PLACE} is of other weights")
    PLACE.write_text(text, "utf-8")


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
