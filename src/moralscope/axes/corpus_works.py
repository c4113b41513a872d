"""What a worker of a corpus run does: one class a job, loaded once, called with batches of rows.

A work gets the columns of a batch and returns columns of the same length. The same class serves a
process of this machine and an actor of Ray, and it gives the numbers of the one-file path, because
it calls the same axes, auditor and filters. Rows that cannot be worked on are told by their places
(`RowErrors`): they become dead letters and the others go on. Files and progress are not its matter.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.options import AXES, ScoreOptions
from moralscope.batch.working import RowErrors
from moralscope.core.protocols import Encoder
from moralscope.io.actions import wrong_text
from moralscope.io.arrow import arrow_schema
from moralscope.models.encoders import TextEncoder
from moralscope.rules.audit import load_auditor
from moralscope.rules.audit_rows import audit_columns
from moralscope.rules.collect.chatbots import (
    MAX_PROMPT,
    CollectedExchange,
    Prompt,
    prepare_bot,
    seed_of,
)
from moralscope.rules.collect.collect import heard_reply, prepare
from moralscope.rules.options import AuditOptions, CollectOptions
from moralscope.rules.records import Exchange
from moralscope.rules.rulebook import Rulebook
from moralscope.rules.verdict import Thresholds

Batch = Mapping[str, list[Any]]
Cell = TypeVar("Cell")
Found = TypeVar("Found")
Columns = Mapping[str, str]  # ours → theirs

COLLECTED = arrow_schema(CollectedExchange, ("id", "prompt"))
NOT_ASKED = "prompt without a keyword"  # what `dropped` says of a prompt that no bot was asked
_NOT_A_NUMBER = "nan"  # how a missing cell looks when a table of numbers wrote it


@dataclass(frozen=True, slots=True)
class WorkerModels(LocalModels):
    """Models of a worker: nothing is kept on disk, and batches have the size that was measured."""

    cached: bool = False
    batch_tokens: int | None = None

    def encoder(self, name: str, *, eight_bits: bool = False) -> Encoder:
        """Return the encoder."""
        model = LocalModels.encoder(self, name, eight_bits=eight_bits)
        if self.batch_tokens is not None and isinstance(model, TextEncoder):
            model.set_batch_size(self.batch_tokens)
        return model


def scored_schema(axis: str) -> pa.Schema:
    """Return the columns that a corpus gets on an axis."""
    kinds = {"verdict": pa.string()}
    return pa.schema([(name, kinds.get(name, pa.float64())) for name in AXES[axis].writes])


class ScoreWork:
    """Scores the rows of a corpus on any axis.

    Parameters
    ----------
    options
        The axis, and how its texts are encoded.
    state
        What was read and fitted when the run began: a file that changes meanwhile changes
        nothing, and no other machine needs it.
    columns
        What the columns that the axis reads are called.

    Examples
    --------
    >>> work = ScoreWork(ScoreOptions(encoder="scripted"), columns={"action": "reply"})
    >>> sorted(work({"reply": ["kill time", "kill people"]}))
    ['high', 'low', 'score']
    """

    def __init__(
        self, options: ScoreOptions, state: Any = None, columns: Columns | None = None
    ) -> None:
        models = WorkerModels(batch_tokens=options.batch_tokens)
        kind = AXES[options.axis]
        self._axis = build_axis(options, models, state=state, many=True)
        self._names = {name: (columns or {}).get(name, name) for name in kind.columns}
        self._writes = kind.writes

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Score the rows of a batch."""
        there = {ours: batch[theirs] for ours, theirs in self._names.items() if theirs in batch}
        others = there.pop("paraphrases", None)
        cells = [
            dict(zip(there, values, strict=True)) for values in zip(*there.values(), strict=True)
        ]
        rows = _each(cells, lambda row: _sentences(row, self._names))
        wordings = _each(others, _paraphrases) if others is not None else None
        results = self._axis.score_rows(rows, wordings).results
        return {name: [_cell(getattr(row, name)) for row in results] for name in self._writes}


class AuditWork:
    """Audits replies: flag, score, reason and the rules behind them; a revised reply where asked.

    Parameters
    ----------
    options
        Experts, encoder, generators, limits of the search.
    book, limits
        Rules and thresholds as they were read when the run began: a file that changes meanwhile
        changes nothing, and no other machine needs it.
    columns
        What `prompt` and `reply` are called.

    Examples
    --------
    >>> from moralscope.rules.rulebook import shipped_rulebook
    >>> work = AuditWork(AuditOptions(experts="scripted"), shipped_rulebook(), Thresholds())
    >>> found = work({"prompt": ["Hi!"], "reply": ["😀"]})
    >>> found["flag"], found["reason"]
    ([False], ['abstained: the reply holds no words'])
    """

    def __init__(
        self,
        options: AuditOptions,
        book: Rulebook,
        limits: Thresholds,
        columns: Columns | None = None,
    ) -> None:
        self._auditor = load_auditor(options, book, limits, cached=False).auditor
        self._names = {name: (columns or {}).get(name, name) for name in ("prompt", "reply")}
        self._revises = options.revise

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Audit the exchanges of a batch."""
        prompts, replies = (batch[theirs] for theirs in self._names.values())
        pairs = list(zip(prompts, replies, strict=True))
        exchanges = _each(pairs, lambda pair: _exchange(pair, self._names))
        audits = self._auditor.audit(exchanges)
        return audit_columns(audits, revised=self._revises)


class CollectWork:
    """Asks a chatbot and filters what it replies; what is dropped stays, with the reason.

    Parameters
    ----------
    options
        One chatbot, its form and decoding, the filters.
    columns
        What `prompt` is called.

    Examples
    --------
    >>> work = CollectWork(CollectOptions(("scripted",), filters="none", lexicons=()))
    >>> work({"prompt": ["Do you steal?"]})["dropped"]
    [None]
    """

    def __init__(self, options: CollectOptions, columns: Columns | None = None) -> None:
        self._options = options
        self._filters = prepare(options, cached=False)
        (name,) = options.bots
        self._bot = prepare_bot(name, options)
        self._column = (columns or {}).get("prompt", "prompt")

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Ask the prompts of a batch; those without a word of the prompts' lexicons are not."""
        texts = _each(batch[self._column], lambda value: _prompt(value, self._column))
        lexicons = self._filters.prompt_lexicons
        places = [at for at, text in enumerate(texts) if all(some.find(text) for some in lexicons)]
        heard = self._ask([Prompt(texts[at], "") for at in places])
        sifted = dict(zip(places, self._filters.sieve.sift(heard), strict=True))
        rows = [_collected(sifted.get(at), self._bot.name) for at in range(len(texts))]
        return {name: [row[name] for row in rows] for name in COLLECTED.names}

    def _ask(self, prompts: Sequence[Prompt]) -> list[CollectedExchange]:
        if not prompts:
            return []
        asked = [self._bot.ask(prompt.text) for prompt in prompts]
        seeds = [seed_of(prompt.text, self._options.seed) for prompt in prompts]
        made = self._bot.generator.generate(
            [each.text for each in asked], self._options.decoding, seeds
        )
        return [
            heard_reply(self._bot, prompt, given, some[0].text, some[0].finish)
            for prompt, given, some in zip(prompts, asked, made, strict=True)
        ]


def _each(values: Sequence[Cell], read: Callable[[Cell], Found]) -> list[Found]:
    """Read every value; those that cannot be read are raised together, by their places."""
    found: list[Found] = []
    wrong: dict[int, str] = {}
    for place, value in enumerate(values):
        try:
            found.append(read(value))
        except ValueError as error:
            wrong[place] = str(error)
    if wrong:
        raise RowErrors(wrong)
    return found


def _text(value: Any, column: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no text under '{column[:60]}'")
    wrong = wrong_text(value.strip())
    if wrong is not None:
        raise ValueError(f"'{column[:60]}' {wrong[0]}")
    return value.strip()


def _paraphrases(value: Any) -> tuple[str, ...]:
    """Read other wordings: a list, or by bars in one text."""
    given = value.split("|") if isinstance(value, str) else value or ()
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise ValueError("paraphrases that are no list of texts")
    return tuple(_text(each, "paraphrases") for each in given if each.strip())


def _sentences(cells: Mapping[str, Any], names: Columns) -> dict[str, str]:
    """Return the sentences of a row; an empty cell is a sentence not given."""
    found = {}
    for name, value in cells.items():
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        if not isinstance(value, str) or value.strip().lower() == _NOT_A_NUMBER:
            raise ValueError(f"no text under '{names[name][:60]}'")
        found[name] = _text(value, names[name])
    if "action" not in found:
        raise ValueError(f"no text under '{names['action'][:60]}'")
    return found


def _exchange(pair: tuple[Any, Any], names: Columns) -> Exchange:
    for value, theirs in zip(pair, names.values(), strict=True):
        if not isinstance(value, str):
            raise ValueError(f"no text under '{theirs[:60]}'")
    return Exchange(*pair)


def _prompt(value: Any, column: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no text under '{column[:60]}'")
    if len(value.strip()) > MAX_PROMPT:
        raise ValueError(f"'{column[:60]}' has more than {MAX_PROMPT:,} characters")
    return value.strip()


def _collected(row: CollectedExchange | None, bot: str) -> dict[str, Any]:
    if row is None:
        return {**dict.fromkeys(COLLECTED.names), "chatbot": bot, "dropped": NOT_ASKED}
    return {name: getattr(row, name) for name in COLLECTED.names}


def _cell(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
