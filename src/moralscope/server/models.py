"""Models of a server: shared by all requests, one thread each, in memory while they are used.

Each wrapper has the seam of what it wraps and hands everything to a `Batcher`, so a job gets the
numbers that it gets alone. Only names of the catalogue are known here: what a request names must
never be read as a path or fetched from a hub.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import numpy as np

from moralscope.axes.options import AxisOptions
from moralscope.core.errors import StoreError, UnknownName
from moralscope.core.protocols import (
    Classifier,
    Encoder,
    ExpertSet,
    Generator,
    LanguageModel,
    Matrix,
)
from moralscope.core.records import Candidate, Decoding, Usage
from moralscope.core.registry import did_you_mean
from moralscope.models.batching import BatchCounts, Batcher, Cancelled, OutOfTime, check_patience
from moralscope.models.encoders import TextEncoder, load_encoder
from moralscope.models.language import generator_refs, load_generator, load_language_model
from moralscope.models.options import AUDITORS, ENCODERS, EXPERTS, GENERATORS, SPEAKERS
from moralscope.models.store import Store
from moralscope.models.windows import Pair, unread_tokens
from moralscope.rules.experts import prepare_rule_experts
from moralscope.server.memory import Memory, Resident
from moralscope.stories.experts import RULES, STORIES, prepare_experts

SCRIPTED = "scripted"
_STEP = 0.2  # seconds between two looks at whether who asked still waits
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = ParamSpec("P")


_told: ContextVar[Callable[[str], None] | None] = ContextVar("told", default=None)
# What experts said of pairs before, and what this thread uses of it.
Readings = dict[Hashable, Any]
_readings: ContextVar[tuple[Readings, Readings] | None] = ContextVar("readings", default=None)


@contextmanager
def remembering(readings: Readings) -> Iterator[None]:
    """Let experts read nothing again, in this thread, that is in `readings`.

    Afterwards these hold what was used: of a reply that grows, the windows that it has now.
    """
    used: Readings = {}
    before = _readings.set((readings, used))
    try:
        yield
    finally:
        _readings.reset(before)
    readings.clear()
    readings.update(used)


@contextmanager
def loading(tell: Callable[[str], None]) -> Iterator[None]:
    """Let `tell` hear which weights this thread loads, while it does."""
    before = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(before)


def _say_loading(name: str) -> None:
    tell = _told.get()
    if tell is not None:
        tell(f"loading {name}")


class NotHere(StoreError):
    """The weights are not on this machine, and a request fetches none."""


class SingleFlightCache(Generic[K, V]):
    """The last few things that were made; each is made once, however many ask for it at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._slots: OrderedDict[K, Future[V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return what is kept under the key, or make and keep it; a failure is not kept."""
        while True:
            # The lock is held to look and to reserve, never to make: loading takes seconds, and
            # who asks for something else must not wait for it.
            with self._lock:
                slot = self._slots.get(key)
                is_mine = slot is None
                if slot is None:
                    slot = self._slots[key] = Future()
                self._slots.move_to_end(key)
                while len(self._slots) > self._most:
                    self._slots.popitem(last=False)
            if is_mine:
                try:
                    slot.set_result(make())
                except BaseException as error:
                    with self._lock:  # it may have been dropped for room, and made anew by another
                        if self._slots.get(key) is slot:
                            del self._slots[key]
                    slot.set_exception(error)
            try:
                return _result(slot)
            except (OutOfTime, Cancelled):
                if is_mine:
                    raise
                check_patience()  # who made it gave up; who waits may have time left

    def values(self) -> list[V]:
        """Return what is ready, the longest unused first."""
        with self._lock:
            slots = list(self._slots.values())
        return [slot.result() for slot in slots if slot.done() and slot.exception() is None]


def _result(slot: "Future[V]") -> V:
    while True:
        try:
            return slot.result(_STEP)
        except TimeoutError:
            if slot.done():  # its own, not ours
                raise
            check_patience()


def _held(method: Callable[Concatenate[Any, P], V]) -> Callable[Concatenate[Any, P], V]:
    """Return a method of a model's seam that asks the model itself, in memory meanwhile."""

    @wraps(method)
    def ask(self: Any, /, *args: P.args, **options: P.kwargs) -> V:
        with self.held.use() as model:
            return cast("V", getattr(model, method.__name__)(*args, **options))

    return ask


class SharedEncoder:
    """An `Encoder` that many threads share."""

    def __init__(self, held: Resident[Encoder], memory: Memory) -> None:
        self.held = held
        with held.use() as encoder:
            self.name, self.checksum = encoder.name, encoder.checksum
            self.dimension, self.arithmetic = encoder.dimension, encoder.arithmetic

        def work(_: None, texts: list[str]) -> Matrix:
            with held.use() as encoder:
                if isinstance(encoder, TextEncoder) and not encoder.is_loaded:
                    memory.make_room()
                return encoder.encode(texts)

        self.batcher = Batcher(self.name, work)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return one row a text, in order."""
        parts = self.batcher.submit(list(texts))
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def unread(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens of each text no row reads."""
        with self.held.use() as encoder:
            return unread_tokens(encoder, texts)


class SharedExperts:
    """A set of experts that many threads share."""

    def __init__(self, held: Resident[ExpertSet]) -> None:
        self.held = held
        with held.use() as experts:
            self.ref, self.card, self.tasks = experts.ref, experts.card, experts.tasks
            self.bits, self.retrieval = experts.bits, experts.retrieval
            self.operating_points = experts.operating_points

        def work(task: str | bool, pairs: list[Pair]) -> list[tuple[Matrix, ...]]:
            with held.use() as experts:
                if isinstance(task, bool):
                    return list(zip(*experts.read(pairs, middle=task), strict=True))
                return list(zip(experts.expert(task).probabilities(pairs), strict=True))

        self.batcher = Batcher(self.ref.name, work)

    def rows(self, pairs: Sequence[Pair], task: str | bool) -> list[tuple[Matrix, ...]]:
        """Return of each pair a task's probabilities; or what `read` says, with its `middle`."""
        before, used = _readings.get() or ({}, {})
        keys: dict[Pair, Hashable] = {pair: (self.ref, task, pair) for pair in pairs}
        used |= {key: before[key] for key in keys.values() if key in before}
        new = [pair for pair, key in keys.items() if key not in used]
        some = (row for part in self.batcher.submit(new, task) for row in part)
        # Copies: a row would keep the whole batch that it was computed in.
        used |= {keys[pair]: tuple(map(np.array, row)) for pair, row in zip(new, some, strict=True)}
        return [used[keys[pair]] for pair in pairs]

    def expert(self, task: str) -> Classifier:
        """Return the expert for one task."""
        with self.held.use() as experts:
            return _SharedClassifier(experts.expert(task), task, self)

    labels = _held(ExpertSet.labels)
    thresholds = _held(ExpertSet.thresholds)
    windows = _held(ExpertSet.windows)

    def told(self, task: str, columns: Matrix) -> Matrix:
        """Return what a task tells by the columns of `read`."""
        with self.held.use() as experts:
            return experts.told(task, columns)

    def read(self, pairs: Sequence[Pair], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the columns of every task, and vectors of length one."""
        if not pairs:
            with self.held.use() as experts:
                return experts.read([])
        columns, vectors = zip(*self.rows(pairs, middle), strict=True)
        return np.stack(columns), np.stack(vectors)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return vectors of single texts, of length one."""
        return self.read([("", text) for text in texts])[1]


class _SharedClassifier:
    """One task of a shared set: a `Classifier`."""

    def __init__(self, classifier: Classifier, task: str, experts: SharedExperts) -> None:
        self.name, self.checksum = classifier.name, classifier.checksum
        self.labels = classifier.labels
        self._task, self._experts = task, experts

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        rows = self._experts.rows(pairs, self._task)
        return np.concatenate(rows) if rows else np.empty((0, len(self.labels)), np.float32)


class SharedGenerator:
    """A `Generator` that many threads share; only requests with the same decoding meet."""

    def __init__(self, held: Resident[Generator]) -> None:
        self.held = held
        with held.use() as generator:
            self.name, self.checksum = generator.name, generator.checksum
            self.refs, self.usage = generator_refs(generator), None
        self.warnings: Sequence[str] = ()  # many share it: nobody knows whose they would be

        def write(decoding: Decoding, asked: list[tuple[str, int]]) -> Any:
            prompts, seeds = [prompt for prompt, _ in asked], [seed for _, seed in asked]
            with held.use() as generator:
                return generator.generate(prompts, decoding, seeds)

        self.batcher = Batcher(self.name, write, most=32, share=12)

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> Sequence[Sequence[Candidate]]:
        """Return `decoding.count` candidates for each prompt."""
        parts = self.batcher.submit(list(zip(prompts, seeds, strict=True)), decoding)
        return [candidates for part in parts for candidates in part]


class SharedLanguageModel:
    """A `LanguageModel` that is released when it is idle; one thread computes at a time."""

    def __init__(self, held: Resident[LanguageModel]) -> None:
        self.held = held
        with held.use() as model:
            self.name, self.checksum, self.refs = model.name, model.checksum, model.refs
            self.has_chat, self.layers = model.has_chat, model.layers
            self.dimension, self.block_path = model.dimension, model.block_path
        self.warnings: Sequence[str] = ()
        self.usage: Usage | None = None

    generate = _held(LanguageModel.generate)
    prompt = _held(LanguageModel.prompt)
    log_probabilities = _held(LanguageModel.log_probabilities)
    hidden_states = _held(LanguageModel.hidden_states)
    steered = _held(LanguageModel.steered)  # it stays in memory as long as somebody has it

    def distributions(self, texts: Sequence[str]) -> Iterator[Matrix]:
        """Yield log-probabilities of what follows each token, text by text."""
        with self.held.use() as model:
            yield from model.distributions(texts)


class Models:
    """Encoders, experts and generators by name, loaded at the first use."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        # Large enough that nothing is ever dropped: who holds a model may still use it.
        self._encoders = SingleFlightCache[tuple[str, bool], SharedEncoder](2 * len(ENCODERS))
        self._experts = SingleFlightCache[tuple[str, str, float], SharedExperts](4 * len(AUDITORS))
        self._generators = SingleFlightCache[str, SharedGenerator](len(GENERATORS))
        self._languages = SingleFlightCache[str, SharedLanguageModel](len(SPEAKERS))

    def encoder(self, name: str, *, eight_bits: bool = False) -> SharedEncoder:
        """Return an encoder."""

        def load() -> SharedEncoder:
            known = checked(name, ENCODERS, "encoder")
            _say_loading(known)
            held = self.memory.hold(partial(load_encoder, known, eight_bits=eight_bits))
            return SharedEncoder(held, self.memory)

        return self._encoders.get((name, eight_bits), load)

    def experts(
        self, name: str, *, family: str = STORIES, eight_bits: float = 0.0
    ) -> SharedExperts:
        """Return the experts on a base."""

        def load() -> SharedExperts:
            known = checked(name, AUDITORS if family == RULES else EXPERTS, "set of experts")
            _say_loading(f"{known}'s experts")
            if family == RULES:
                rules = partial(prepare_rule_experts, known, eight_bits=bool(eight_bits))
                return SharedExperts(self.memory.hold(rules))
            made = partial(prepare_experts, known, family=family, eight_bits=eight_bits)
            return SharedExperts(self.memory.hold(made))

        return self._experts.get((name, family, eight_bits), load)

    def generator(self, name: str) -> SharedGenerator:
        """Return a generator."""

        def load() -> SharedGenerator:
            known = checked(name, GENERATORS, "generator")
            if known == SCRIPTED:
                return self.held_generator(known)
            return SharedGenerator(self._language(known).held)  # the same weights

        return self._generators.get(name, load)

    def held_generator(self, name: str) -> SharedGenerator:
        """Return any generator, which the caller keeps."""
        _say_loading(name)
        return SharedGenerator(self.memory.hold(partial(load_generator, name)))

    def loaded(self) -> set[str]:
        """Return the names of the models that are in memory now."""
        experts = {one.ref.name for one in self._experts.values() if one.held.is_loaded}
        others: list[SharedEncoder | SharedLanguageModel | SharedGenerator] = [
            *self._encoders.values(),
            *self._languages.values(),
            *self._generators.values(),
        ]
        return experts | {model.name for model in others if model.held.is_loaded}

    def language(self, options: AxisOptions) -> LanguageModel:
        """Return the language model of an axis."""
        return self.speaker(options.model or "")

    def speaker(self, name: str) -> LanguageModel:
        """Return a language model; it lets one thread compute at a time."""
        return self._language(checked(name, SPEAKERS, "language model"))

    def _language(self, name: str) -> SharedLanguageModel:
        def load() -> SharedLanguageModel:
            _say_loading(name)
            return SharedLanguageModel(self.memory.hold(partial(load_language_model, name)))

        return self._languages.get(name, load)

    def counts(self) -> Mapping[tuple[str, str], BatchCounts]:
        """Return what each model did, by its kind and name."""
        return {key: batcher.counts() for key, batcher in self._batchers().items()}

    def close(self) -> None:
        """Finish what was handed in and end the threads."""
        for batcher in self._batchers().values():
            batcher.close()
        self.memory.close()

    def _batchers(self) -> dict[tuple[str, str], Batcher]:
        return {
            **{("encoder", model.name): model.batcher for model in self._encoders.values()},
            **{("experts", model.ref.name): model.batcher for model in self._experts.values()},
            **{("generator", model.name): model.batcher for model in self._generators.values()},
        }


def checked(name: str, known: Sequence[str], what: str) -> str:
    """Return a name of the catalogue whose weights are here."""
    if name not in known:
        raise UnknownName(f"there is no {what} '{name[:60]}'", did_you_mean(name[:60], known))
    if name != SCRIPTED and not Store().is_present(name):
        raise NotHere(
            f"the model '{name}' is not on this machine", f"run 'moralscope models pull {name}'"
        )
    return name
