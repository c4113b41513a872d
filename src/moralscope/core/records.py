"""Frozen records: what jobs pass around, save and draw from."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from moralscope.version import __version__

K = TypeVar("K")
V = TypeVar("V")
RUN_SCHEMA = "moralscope.run/1"
NOT_ADVICE = "scores describe a model, they are not moral advice"


def absent(key: str | None = None) -> Any:
    """Declare a field of a `Statistics` that is left out of the record where it is None.

    Such fields say what only some runs compute. `key` is its name in the record where Python
    cannot have it: `from`.
    """
    return field(default=None, metadata={"absent": True, **({"key": key} if key else {})})


class Statistics(Mapping[str, Any]):
    """What a run found in sum: the base of frozen dataclasses that can be read as mappings too.

    Code of ours reads fields (`statistics.flagged`), what people wrote reads keys
    (`record.statistics["flagged"]`). Keys are the fields in their order, less those that were
    declared with `absent()` and are None.

    Examples
    --------
    >>> @dataclass(frozen=True, slots=True)
    ... class Shares(Statistics):
    ...     flagged: float
    ...     gate: str | None = absent()
    >>> dict(Shares(0.5)), Shares(0.5).gate
    ({'flagged': 0.5}, None)
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        for key, value in self._entries():
            if key == name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._entries())

    def _entries(self) -> Iterator[tuple[str, Any]]:
        for item in dataclasses.fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, item.name)
            if value is not None or "absent" not in item.metadata:
                yield item.metadata.get("key", item.name), value

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class NoStatistics(Statistics):
    """Of a command that finds nothing in sum."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % interval; not a number where nothing can be said."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SampleInterval(Interval):
    """A figure over `n` cases with its 95 % interval."""

    n: int


@dataclass(frozen=True, slots=True)
class ActionScore:
    """An action's score on a moral axis, with its interval and what it was averaged from.

    `prompts` holds the bias under each prompt, `sum` their sum (what the papers' tables print).
    `unread` counts the tokens that no model read: too many, or not in its vocabulary.
    """

    action: str
    score: float
    low: float = math.nan
    high: float = math.nan
    prompts: tuple[float, ...] = ()
    sum: float | None = None
    unread: int = 0


@dataclass(frozen=True, slots=True)
class RankedAnswer:
    """A candidate answer and its cosine with the question."""

    answer: str
    score: float


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a generator picks tokens: greedy, beam or nucleus; `count` candidates a prompt."""

    strategy: str = "nucleus"
    count: int = 1
    p: float = 0.9
    temperature: float = 1.0
    beams: int = 5
    max_tokens: int = 60
    sentence: bool = True  # stop at the end of the first sentence


@dataclass(frozen=True, slots=True)
class Candidate:
    """One generated text, the log-probability of each of its tokens, and why it ended.

    `finish` is "stop" (the model ended it), "sentence" (the first sentence was full) or "length".
    `log_probabilities` is empty where the source gives none.
    """

    text: str
    log_probabilities: tuple[float, ...] = ()
    finish: str = "stop"


@dataclass(frozen=True, slots=True)
class Continuation:
    """How likely a text is after a prompt.

    `log_probabilities` holds one number a token. An endpoint that tells no more than its first
    token gives that alone; where replies were drawn, it is the logarithm of the share of `samples`
    replies that began with the text (`hits`), never minus infinity.
    """

    text: str
    log_probabilities: tuple[float, ...]
    hits: int = 0
    samples: int = 0

    @property
    def total(self) -> float:
        """The log-probability of the whole text."""
        return sum(self.log_probabilities)

    @property
    def mean(self) -> float:
        """The same for each token: long texts are not punished."""
        return self.total / len(self.log_probabilities)


@dataclass(frozen=True, slots=True)
class ModelRef:
    """Which weights a run used."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a generator used since it was made. `cost` is None where no price is known."""

    requests: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a job read, did and found. Reports are drawn from it alone."""

    job: str
    seed: int
    config: Mapping[str, Any]
    models: Sequence[ModelRef] = ()
    results: Sequence[Any] = ()
    """one class a command: ActionScore, AuditedReply, …"""
    statistics: Any = field(default_factory=NoStatistics)
    """the command's own `Statistics`"""
    warnings: Sequence[str] = ()
    schema: str = RUN_SCHEMA
    version: str = __version__
    created: str = field(
        default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"), compare=False
    )

    def to_frame(self, kind: str | None = None) -> Any:
        """Return the results as a dataframe, one row each: pandas where it is there, else polars.

        `kind` names one of both. What a result holds inside is a column too: `verdict.flag`.
        """
        from moralscope.core.frames import frame_of

        return frame_of(map(to_plain, self.results), kind)

    def _repr_html_(self) -> str:
        """Draw the results for a notebook: a table, and a bar for every score."""
        from moralscope.core.frames import html_of

        title = f"{self.job}: {len(self.results):,} results"
        return html_of(title, list(map(to_plain, self.results)), self.warnings)


def values_of(record: Any, *names: str) -> dict[str, Any]:
    """Return fields of a record by name, all of them where none is named.

    Examples
    --------
    >>> values_of(RankedAnswer("bread", 0.5), "answer")
    {'answer': 'bread'}
    """
    wanted = names or [item.name for item in dataclasses.fields(record)]
    return {name: getattr(record, name) for name in wanted}


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of pairs by their keys, both in the order in which they come.

    Examples
    --------
    >>> grouped((len(word), word) for word in ("a", "to", "I"))
    {1: ['a', 'I'], 2: ['to']}
    """
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def to_plain(value: Any) -> Any:
    """Turn records into what JSON can hold; a number that is not finite becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Statistics):
        return {name: to_plain(value[name]) for name in value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_plain(item) for name, item in values_of(value).items()}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    raise TypeError(f"{type(value).__name__} has no place in a run record")
