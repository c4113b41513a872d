"""What comparing saved runs takes."""

from dataclasses import dataclass
from typing import Annotated

from moralscope.axes.compare_options import GateText
from moralscope.core.options import Options, Seed, input_option


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRunsOptions(Options):
    """How two saved runs are compared."""

    by: Annotated[
        str | None, input_option("With --runs of audits: pair by prompt, exchange or id.")
    ] = None
    strict: Annotated[
        bool, input_option("With --runs: refuse different weights, rules or thresholds.")
    ] = False
    gate: GateText = None
    seed: Seed = 0
