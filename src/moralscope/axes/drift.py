"""What fewer bits change: the same actions scored with the exact and with the lighter encoder.

Whoever computes in 8 bits gets other scores; how different is measured on the run's own actions
and told in its record. Nothing is corrected here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from moralscope.axes.build import AxisOptions, build_axis
from moralscope.axes.direction import load_paper
from moralscope.core.protocols import Encoder
from moralscope.core.records import RunRecord
from moralscope.io.actions import ActionList
from moralscope.stats import spearman

_MOST = 200  # actions that are scored both ways
_LEAST = 50  # with fewer, actions of the papers join them: two ranks tell nothing
EXACT = "float32"


@dataclass(frozen=True, slots=True)
class Drift:
    """How scores move when products are computed in fewer bits.

    `spread` is the standard deviation of the exact scores, to set the changes beside; `given` says
    how many of the actions are the run's own. `spearman` is None where all scores are equal.
    """

    arithmetic: str
    actions: int
    given: int
    max_change: float
    mean_change: float
    spread: float
    spearman: float | None

    def __str__(self) -> str:
        ranks = "undefined" if self.spearman is None else f"{self.spearman:.4f}"
        return (
            f"computed in {self.arithmetic}: over {self.actions} actions scores moved by "
            f"{self.mean_change:.4f} on average and {self.max_change:.4f} at most (their standard "
            f"deviation is {self.spread:.4f}), rank correlation with {EXACT} {ranks}"
        )


def arithmetic_of(encoder: Encoder) -> str:
    """Return what an encoder's products are computed in.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> arithmetic_of(load_encoder("scripted"))
    'float32'
    """
    return str(getattr(encoder, "arithmetic", EXACT))


def int8_drift(
    actions: Sequence[str], options: AxisOptions, exact: Encoder, light: Encoder
) -> Drift:
    """Score a sample of the actions with both encoders, each with an axis of its own.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> same = load_encoder("scripted")
    >>> found = int8_drift(["kill people", "kill time"], AxisOptions(), same, same)
    >>> found.given, found.actions, found.max_change, round(found.spearman, 6)
    (2, 50, 0.0, 1.0)
    """
    own, sample = _sample(actions, options.seed)
    before, after = (
        np.array([result.score for result in build_axis(options, encoder).score(sample)])
        for encoder in (exact, light)
    )
    change = np.abs(after - before)
    rho = spearman(before.tolist(), after.tolist(), seed=options.seed).r
    return Drift(
        arithmetic=arithmetic_of(light),
        actions=len(sample),
        given=own,
        max_change=float(change.max()),
        mean_change=float(change.mean()),
        spread=float(before.std()),
        spearman=None if rho is None or not np.isfinite(rho) else float(rho),
    )


def tell_drift(
    record: RunRecord,
    actions: Sequence[str] | ActionList,
    options: AxisOptions,
    exact: Encoder,
    light: Encoder,
) -> RunRecord:
    """Return the record of a run with `light`, with what that changed in it.

    Where the machine could not compute in fewer bits, the record says so, and nothing is measured.
    """
    arithmetic = arithmetic_of(light)
    config: dict[str, Any] = {**record.config, "arithmetic": arithmetic}
    if arithmetic == EXACT:
        said = f"'{light.name}' cannot be computed in 8 bits here: scores are those of {EXACT}"
        return replace(record, config=config, warnings=[*record.warnings, said])
    listed = actions.actions if isinstance(actions, ActionList) else actions
    drift = int8_drift(listed, options, exact, light)
    return replace(
        record,
        config=config,
        statistics={**record.statistics, "drift": drift},
        warnings=[*record.warnings, str(drift)],
    )


def _sample(actions: Sequence[str], seed: int) -> tuple[int, list[str]]:
    """Return how many actions of the run are in the sample, and the sample."""
    distinct = list(dict.fromkeys(actions))
    if len(distinct) > _MOST:
        places = np.random.default_rng(seed).choice(len(distinct), _MOST, replace=False)
        return _MOST, [distinct[place] for place in sorted(places)]
    paper = load_paper()
    others = [each for each in (*paper.atomic, *paper.contextual) if each not in distinct]
    return len(distinct), distinct + others[: max(0, _LEAST - len(distinct))]
