"""What Emelin et al. 2021 print about the data and its classifiers: Tables 1-3 and 7-10.

Tables about generation are elsewhere. Settings bear the names of the task table.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TypeVar

T = TypeVar("T")
SPLITS = ("norm_distance", "lexical_bias", "minimal_pairs")
PARTS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class StoriesPaper:
    """The printed figures: `metrics[part][metric][task][split]`, `table1[split][part]`, ..."""

    metrics: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
    table1: Mapping[str, Mapping[str, float]]
    table7: Mapping[str, float]
    table10: Mapping[str, Mapping[str, int]]

    def printed(self, part: str, metric: str, task: str, split: str) -> float | None:
        """Return a cell of Tables 2, 3, 8 or 9, or None where the paper has none.

        Examples
        --------
        >>> load_paper().printed("test", "accuracy", "action+norm", "lexical_bias")
        0.88
        """
        return self.metrics.get(part, {}).get(metric, {}).get(task, {}).get(split)


@cache
def load_paper() -> StoriesPaper:
    """Return the printed figures.

    Examples
    --------
    >>> load_paper().table1["norm_distance"]["test"], load_paper().table10["action"]["train"]
    (0.16, 20000)
    """
    text = (resources.files(__package__) / "data" / "paper.toml").read_text("utf-8")
    data = tomllib.loads(text)
    return StoriesPaper(
        metrics={
            part: {
                metric: {task: _named(SPLITS, row) for task, row in table.items()}
                for metric, table in data[part].items()
            }
            for part in ("dev", "test")
        },
        table1={name: _named(PARTS, row) for name, row in data["table1"].items()},
        table7=data["table7"],
        table10={name: _named(PARTS, row) for name, row in data["table10"].items()},
    )


def _named(names: tuple[str, ...], values: list[T]) -> dict[str, T]:
    return dict(zip(names, values, strict=True))
