"""Replies audited or judged for another tool: models stay loaded, equal texts are read once."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from moralscope.core.options import build_options
from moralscope.core.records import to_plain
from moralscope.interop.findings import Finding, finding_of, limit_of
from moralscope.rules.audit_options import AuditOptions

Pair = tuple[str, str]  # a prompt and a reply
_REMEMBERED = 20_000  # answers that are kept


class Remembered:
    """A function over many pairs that is asked about each pair once.

    Examples
    --------
    >>> asked = []
    >>> lengths = Remembered(lambda pairs: [asked.append(p) or len(p[1]) for p in pairs])
    >>> lengths([("", "Yes."), ("", "Yes.")]), len(asked)
    ([4, 4], 1)
    """

    def __init__(self, answer: Callable[[list[Pair]], Sequence[Any]]) -> None:
        self._answer = answer
        self._known: dict[Pair, Any] = {}

    def __call__(self, pairs: Sequence[Pair]) -> list[Any]:
        """Return one answer a pair, in order."""
        if len(self._known) > _REMEMBERED:
            self.forget()
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            self._known.update(zip(new, self._answer(new), strict=True))
        return [self._known[pair] for pair in pairs]

    def forget(self) -> None:
        """Forget every answer; models stay loaded."""
        self._known.clear()


def audit_options(rulebook: str | Sequence[str] | None = None, **given: Any) -> AuditOptions:
    """Return the options of an audit; `rulebook` is one file or several, later over earlier.

    What can be wrong without a model is refused here: options, names, the rulebooks themselves.
    """
    from moralscope.rules.rulebook import load_layers

    books = () if rulebook is None else (rulebook,) if isinstance(rulebook, str) else rulebook
    options = build_options(AuditOptions, {**given, "rulebooks": tuple(books)})
    load_layers(options.rulebooks)
    return options


@cache
def reply_auditor(options: AuditOptions) -> Remembered:
    """Return what audits replies with these options; the models are loaded at the first reply."""
    from moralscope.rules.audit import AuditModels, audit, prepare_auditor
    from moralscope.rules.records import Exchange

    models: list[AuditModels] = []

    def answer(pairs: list[Pair]) -> list[Finding]:
        if not models:
            models.append(prepare_auditor(options))
        record = audit([Exchange(*pair) for pair in pairs], options, models=models[0])
        limit = limit_of(to_plain(record.config))
        return [finding_of(row, limit) for row in to_plain(record.results)]

    return Remembered(answer)


@cache
def reply_judge(encoder: str | None = None) -> Remembered:
    """Return what judges replies alone, as actions: from -1 (bad) to +1 (good).

    A reply that is no action (too long, no text) gets no number (nan): the others do not suffer.
    """
    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.options import ScoreOptions
    from moralscope.axes.score import score
    from moralscope.core.protocols import Axis
    from moralscope.io.actions import wrong_text

    named = {"encoder": encoder} if encoder else {}
    options = build_options(ScoreOptions, {"axis": "judge", **named})
    built: list[Axis] = []

    def answer(pairs: list[Pair]) -> list[float]:
        if not built:
            built.append(build_axis(options, LocalModels(None)))
        replies = [reply for _, reply in pairs]
        sound = [reply for reply in replies if wrong_text(reply) is None and reply.strip()]
        found = score(sound, options, built=built[0]).results if sound else []
        scores = dict(zip(sound, (row.score for row in found), strict=True))
        return [scores.get(reply, math.nan) for reply in replies]

    return Remembered(answer)
