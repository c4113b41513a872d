"""What fewer bits change: the same actions scored with the exact and with the lighter encoder.

Whoever computes in 8 bits gets other scores; how different is measured on the run's own actions
and told in its record. Nothing is corrected here.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from moralscope.axes.direction.paper import load_paper
from moralscope.axes.records import EXACT, Drift
from moralscope.core.protocols import Axis
from moralscope.core.records import RunRecord
from moralscope.stats.correlation import spearman

_MOST = 200  # actions that are scored both ways
_LEAST = 50  # with fewer, actions of the papers join them: two ranks tell nothing


def int8_drift(actions: Sequence[str], exact: Axis, light: Axis, seed: int = 0) -> Drift:
    """Score a sample of the actions on the axis of the exact and on that of the lighter encoder."""
    sample = list(dict.fromkeys(actions))
    of_the_run = min(len(sample), _MOST)
    if len(sample) > _MOST:
        indices = np.random.default_rng(seed).choice(len(sample), _MOST, replace=False)
        sample = [sample[index] for index in sorted(indices)]
    elif of_the_run < _LEAST:
        paper = load_paper()
        others = [name for name in (*paper.atomic, *paper.contextual) if name not in sample]
        sample += others[: _LEAST - of_the_run]
    before, after = (
        np.array([result.score for result in axis.score(sample)]) for axis in (exact, light)
    )
    change = np.abs(after - before)
    rho = spearman(before.tolist(), after.tolist(), seed=seed).r
    return Drift(
        arithmetic=light.card.arithmetic,
        actions=len(sample),
        given=of_the_run,
        max_change=float(change.max()),
        mean_change=float(change.mean()),
        spread=float(before.std()),
        spearman=None if rho is None or not np.isfinite(rho) else float(rho),
    )


def tell_drift(record: RunRecord, actions: Sequence[str], exact: Axis, light: Axis) -> RunRecord:
    """Return the record of a run on `light`, with what that changed in it.

    Where the machine could not compute in fewer bits, the record says so, and nothing is measured.
    """
    config: dict[str, Any] = {**record.config, "arithmetic": light.card.arithmetic}
    if light.card.arithmetic == EXACT:
        name = light.card.models[0].name
        said = f"'{name}' cannot be computed in 8 bits here: scores are those of {EXACT}"
        return replace(record, config=config, warnings=[*record.warnings, said])
    drift = int8_drift(actions, exact, light, record.seed)
    return replace(
        record,
        config=config,
        statistics=replace(record.statistics, drift=drift),
        warnings=[*record.warnings, str(drift)],
    )
