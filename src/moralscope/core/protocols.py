"""The seams: what a subject may ask of a model or an axis, and nothing about how it is done.

Every implementation of a seam passes the contract suite of that seam in `tests/contracts`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from moralscope.core.records import ActionScore, Candidate, Continuation, Decoding, ModelRef, Usage

Matrix = NDArray[np.float32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Report = Callable[[int, int], None]  # told (done, total) as work goes on
Row = Mapping[str, str]  # texts by column
Paraphrases = Sequence[Sequence[str]] | None  # other wordings of each action
Pair = tuple[str, str]  # a grounding and a target; of a bare text the first is ""


class NamedWeights(Protocol):
    """What every model says of itself: `checksum` names what decides its rows."""

    @property
    def name(self) -> str: ...

    @property
    def checksum(self) -> str: ...


@runtime_checkable
class Encoder(NamedWeights, Protocol):
    """Texts in, one row of float32 per text out, in the order given.

    A text's row does not depend on its neighbours, its batch or the calling thread.
    `arithmetic` is what products are computed in: float32, int8, and on a GPU bfloat16 or float16.
    """

    @property
    def dimension(self) -> int: ...

    @property
    def arithmetic(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Matrix: ...


@runtime_checkable
class CountsUnread(Protocol):
    """An encoder that knows how many tokens of each text its rows do not read."""

    def unread(self, texts: Sequence[str]) -> list[int]: ...


@runtime_checkable
class WordVectors(NamedWeights, Protocol):
    """Words in, one row of float32 per known word out; missing words are always reported."""

    @property
    def dimension(self) -> int: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def case(self) -> str:
        """`exact`, or `lower`: words are looked up in lower case."""
        ...

    @property
    def duplicates(self) -> int:
        """How many rows are never used, because their word has one already."""
        ...

    def __contains__(self, word: object) -> bool: ...

    def vectors(self, words: Sequence[str]) -> Matrix: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisCard:
    """What a run record says of an axis.

    `warnings` say how any score on it is to be read, `doubts` why this one should be trusted less.
    `statistics` is what was found when it was fitted; `own_unit` says that scores of two models
    can be compared as they are; `fingerprint` changes with what is asked.
    """

    config: Mapping[str, Any]
    models: Sequence[ModelRef]
    statistics: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    doubts: Sequence[str] = ()
    own_unit: bool = False
    arithmetic: str = "float32"
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRun:
    """Scores of rows, and what the record of this run adds to the axis's card."""

    results: Sequence[ActionScore]
    config: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()


@runtime_checkable
class Axis(Protocol):
    """Actions in, scores with intervals out. Positive is good, negative is bad, always.

    `score` takes actions and their paraphrases. `score_rows` takes rows with an `action` and
    whatever other columns the axis reads, and returns what a run record needs besides. `state` is
    what was read and fitted when the axis was built; it can be pickled, and `build_axis` makes the
    same axis of it on another machine.
    """

    @property
    def name(self) -> str: ...

    @property
    def card(self) -> AxisCard: ...

    @property
    def state(self) -> Any: ...

    def score(
        self, actions: Sequence[str], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> list[ActionScore]: ...

    def score_rows(
        self, rows: Sequence[Row], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> AxisRun:
        """Score the actions of rows; by default other columns are not read."""
        return AxisRun(results=self.score([row["action"] for row in rows], paraphrases, report))


@runtime_checkable
class Classifier(NamedWeights, Protocol):
    """Pairs (grounding, target) in, one calibrated probability per label out.

    A bare text has the grounding "". A row does not depend on its neighbours or its batch.
    """

    @property
    def labels(self) -> tuple[str, ...]: ...

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix: ...


@dataclass(frozen=True, slots=True)
class Windows:
    """The pairs that are read in place of one pair, and what none of them holds."""

    pairs: tuple[Pair, ...]
    dropped: int = 0  # tokens that are in no window
    unknown: int = 0  # words that the vocabulary lacks

    @property
    def unread(self) -> int:
        """How many tokens the model does not see."""
        return self.dropped + self.unknown


class ExpertSet(Protocol):
    """Classifiers that share one body, by task: moral stories, rules, replies of chatbots.

    `bits` is what their products are computed in. One pass of `read` serves every task (`told`
    takes its columns apart) and gives vectors by which texts are found.
    """

    bits: int

    @property
    def ref(self) -> ModelRef: ...

    @property
    def card(self) -> Mapping[str, Any]: ...

    @property
    def tasks(self) -> tuple[str, ...]: ...

    @property
    def retrieval(self) -> bool:
        """Whether the vectors were trained to find rules."""
        ...

    @property
    def operating_points(self) -> Mapping[str, tuple[float, ...]]:
        """The least probability of each label, of the tasks for which one was chosen."""
        ...

    def expert(self, task: str) -> Classifier: ...

    def labels(self, task: str) -> tuple[str, ...]: ...

    def thresholds(self, task: str) -> tuple[float, ...]:
        """Return the least probability of each label of a task: chosen, else one half."""
        ...

    def windows(
        self, pairs: Sequence[Pair], spare: int = 0, most: int | None = None
    ) -> list[Windows]:
        """Return what is read instead of each pair, with `spare` tokens of a window left empty."""
        ...

    def read(self, pairs: Sequence[Pair], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the raw columns of all tasks, and vectors of length one, of the same pass.

        Those of the `middle` are for learning what no task asked for.
        """
        ...

    def told(self, task: str, columns: Matrix) -> Matrix:
        """Return the values of one task, of the columns that `read` returned."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix: ...


@runtime_checkable
class Generator(NamedWeights, Protocol):
    """Prompts in, `decoding.count` candidates each out, in the order given.

    `seeds` has one number a prompt: a prompt with the same seed gets the same candidates in any
    batch and in any order. `refs` are the weights it consists of (none: its own name and checksum),
    `warnings` what a run should say about its answers so far, `usage` what they cost, if anything.
    """

    @property
    def refs(self) -> tuple[ModelRef, ...]: ...

    @property
    def warnings(self) -> Sequence[str]: ...

    @property
    def usage(self) -> Usage | None: ...

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> Sequence[Sequence[Candidate]]: ...


@runtime_checkable
class LanguageModel(Generator, Protocol):
    """A generator that also says how likely given texts are and, on this machine, shows its states.

    Texts go in as the model reads them: `prompt` makes turns, a person's and the model's in turn,
    into such a text, through its chat template (`has_chat`); plainly it takes one turn. Layers
    count from 1, the output of the first block, to `layers`. 0 layers: its states cannot be seen,
    and `hidden_states`, `distributions` and `steered` refuse with an `InputError`.
    """

    @property
    def has_chat(self) -> bool: ...

    @property
    def layers(self) -> int: ...

    @property
    def dimension(self) -> int: ...

    @property
    def block_path(self) -> str:
        """Where transformers keeps the layers ("layers"): other tools name them by it."""
        ...

    def prompt(self, *turns: str, chat: bool) -> str: ...

    def log_probabilities(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[Continuation]]:
        """Return how likely each prompt's continuations are, in the order given.

        A continuation is joined to its prompt as it stands: it brings its own blank.
        """
        ...

    def hidden_states(self, texts: Sequence[str], layers: Sequence[int]) -> Matrix:
        """Return (texts, layers, dimension): the residual stream at the last token of each text."""
        ...

    def distributions(self, texts: Sequence[str]) -> Iterator[Matrix]:
        """Yield, text by text, (tokens, vocabulary): log-probabilities of what follows each."""
        ...

    def steered(self, vectors: Mapping[int, Matrix]) -> "LanguageModel":
        """Return this model with a vector added to the output of each of some layers.

        It is added at every token, in generation, scoring and hidden states alike. The other model
        shares the weights and has a name and a checksum of its own.
        """
        ...
