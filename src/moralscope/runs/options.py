"""What comparing saved runs takes."""

from dataclasses import dataclass
from typing import Annotated

from moralscope.axes.compare_options import GateText
from moralscope.core.options import Option, Options, Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRunsOptions(Options):
    """How two saved runs are compared."""

    by: Annotated[
        str | None, Option("With --runs of audits: pair by prompt, exchange or id.", group="Input")
    ] = None
    strict: Annotated[
        bool, Option("With --runs: refuse different weights, rules or thresholds.", group="Input")
    ] = False
    gate: GateText = None
    seed: Seed = 0
