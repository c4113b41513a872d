"""Agreement: how fast, and the same as the `krippendorff` and `pingouin` packages.

    python bench/agreement.py

times every coefficient with its interval (1,000 resamples of the items) on 10,000 items x 50
raters. Both packages are GPL-3 and no part of moralscope: they run in an environment of their own,

    python -m venv others && others/bin/pip install krippendorff==0.9.0 pingouin==0.7.0
    python bench/agreement.py --against others/bin/python --out tests/golden/agreement_others.json

on random tables with missing ratings; alpha at all four levels and the six forms of the ICC with F,
p and intervals must agree to 1e-6. `--out` keeps tables and figures for the test without them.
"""

import argparse
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from moralscope.stats.agreement import (
    LEVELS,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from moralscope.stats.intraclass import intraclass_forms

ITEMS, RATERS = 10_000, 50
BAR = 1e-6
SECONDS = 10.0  # for all of them together
FIELDS = ("value", "f", "p", "low", "high")

OTHERS = """
import json, sys
from importlib.metadata import version
import krippendorff, numpy, pandas, pingouin
levels = ("nominal", "ordinal", "interval", "ratio")
names = ["ICC(1,1)", "ICC(1,k)", "ICC(A,1)", "ICC(A,k)", "ICC(C,1)", "ICC(C,k)"]
pingouin.options["round"] = None
pingouin.options["round.column.CI95"] = None
found = []
for table in json.load(sys.stdin):
    ratings = numpy.array(table, dtype=float)
    alpha = {level: krippendorff.alpha(ratings, level_of_measurement=level) for level in levels}
    rows = [(u, r, v) for r, row in enumerate(table) for u, v in enumerate(row) if v is not None]
    long = pandas.DataFrame(rows, columns=["unit", "rater", "value"])
    icc = pingouin.intraclass_corr(long, "unit", "rater", "value", nan_policy="omit")
    icc = icc.set_index("Type").loc[names]
    ends = [list(map(float, e)) for e in icc["CI95"]]
    forms = [dict(value=v, f=f, p=p, low=e[0], high=e[1])
             for v, f, p, e in zip(icc["ICC"], icc["F"], icc["pval"], ends)]
    found.append({"alpha": alpha, "icc": forms})
versions = {name: version(name) for name in ("krippendorff", "pingouin")}
print(json.dumps({"versions": versions, "found": found}))
"""


def tables(seed: int = 0) -> list[list[list[float | None]]]:
    """Draw small tables raters x units: agreement from none to much, ratings missing or not."""
    generator = np.random.default_rng(seed)
    found = []
    for raters, units, noise, missing in (
        (2, 12, 0.5, 0.0),
        (3, 20, 1.0, 0.1),
        (4, 15, 2.0, 0.0),
        (5, 30, 0.7, 0.05),
        (6, 25, 5.0, 0.02),
    ):
        truth = generator.uniform(1, 5, units)
        drawn = np.clip(np.rint(truth + generator.normal(0, noise, (raters, units))), 1, 5)
        gone = generator.random((raters, units)) < missing
        rows = [
            [None if g else float(v) for v, g in zip(*row, strict=True)]
            for row in zip(drawn, gone, strict=True)
        ]
        found.append(rows)
    return found


def complete(table: list[list[float | None]]) -> list[list[float | None]]:
    """Keep the units that all raters rated: pingouin's ICC knows no others."""
    units = [unit for unit in zip(*table, strict=True) if None not in unit]
    return [list(row) for row in zip(*units, strict=True)]


def differences(table: list[list[float | None]], theirs: dict[str, Any]) -> list[float]:
    found = [krippendorff_alpha(table, level) - theirs["alpha"][level] for level in LEVELS]
    for ours, other in zip(intraclass_forms(complete(table)), theirs["icc"], strict=True):
        found += [getattr(ours, name) - other[name] for name in FIELDS]
    return [abs(value) for value in found]


def against(python: str, out: Path | None) -> None:
    drawn = tables()
    done = subprocess.run(
        [python, "-c", OTHERS], input=json.dumps(drawn), capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    worst = 0.0
    for table, found in zip(drawn, theirs["found"], strict=True):
        largest = max(differences(table, found))
        worst = max(worst, largest)
        print(f"{len(table)} raters x {len(table[0])} units: largest difference {largest:.1e}")
    print(f"versions: {theirs['versions']}")
    print(f"largest difference {worst:.1e}, bar {BAR:.0e}: {'met' if worst <= BAR else 'MISSED'}")
    if out is not None:
        kept = [{"ratings": t, **f} for t, f in zip(drawn, theirs["found"], strict=True)]
        cases = ",\n".join(json.dumps(case) for case in kept)
        versions = json.dumps(theirs["versions"])
        out.write_text(f'{{"versions": {versions},\n"cases": [\n{cases}\n]}}\n', "utf-8")


def timed(name: str, work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    seconds = perf_counter() - start
    print(f"{name:28s} {seconds:6.2f} s")
    return seconds


def speed() -> None:
    generator = np.random.default_rng(0)
    truth = generator.integers(1, 6, ITEMS)
    ratings = np.where(
        generator.random((RATERS, ITEMS)) < 0.5, truth, generator.integers(1, 6, (RATERS, ITEMS))
    ).astype(float)
    ratings[generator.random((RATERS, ITEMS)) < 0.1] = np.nan
    full = np.nan_to_num(ratings, nan=3.0)
    print(f"{ITEMS:,} items x {RATERS} raters, 1,000 resamples")
    total = sum(
        timed(f"alpha, {level}", lambda level=level: agreement(ratings, level)) for level in LEVELS
    )
    total += timed("Fleiss' kappa", lambda: fleiss_kappa(ratings))
    total += timed("Cohen's kappa, quadratic", lambda: cohen_kappa(ratings[:2], "quadratic"))
    total += timed("percent agreement", lambda: percent_agreement(ratings))
    total += timed("six forms of the ICC", lambda: intraclass_forms(full))
    met = "met" if total <= SECONDS else "MISSED"
    print(f"together {total:.1f} s, bar {SECONDS:.0f} s: {met}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", metavar="PYTHON", help="one with krippendorff and pingouin")
    parser.add_argument("--out", type=Path, help="where to keep their figures (JSON)")
    told = parser.parse_args()
    if told.against:
        against(told.against, told.out)
    else:
        speed()


if __name__ == "__main__":
    main()
