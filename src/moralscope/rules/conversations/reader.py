"""An assistant's turn as experts read it: in its context, with its acts, by a small head.

What a reply means depends on what came before, and the verdict expert was taught single exchanges.
So a turn is read beside the last turns, and alone; a tool call is put into words, read alone and by
the story experts, and held against what was asked and what came back. A logistic head
(`data/turn_head.toml`, fitted by `bench/conversations.py --fit` on the written conversations) joins
these. A first reply without acts is read as `audit` reads any reply.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import numpy as np

from moralscope.core.protocols import ExpertSet, Matrix, Pair
from moralscope.rules.conversations.acts import (
    Act,
    Following,
    ToolRequest,
    delegates,
    following,
    read_act,
    requests,
)
from moralscope.rules.conversations.conversation import ASSISTANT, TOOL, USER, Conversation
from moralscope.rules.records import Exchange
from moralscope.rules.reply_reader import BAD, CLEARLY_FINE, VERDICT, ReplyReader, ReplyReading
from moralscope.rules.texts.sanitize import clean
from moralscope.rules.verdict import moved

CONTEXT = 3  # turns before one that are read with it
_PROMPT, _CONTEXT, _DID = 400, 300, 500  # characters of each that are read
_LEAST = 1e-4  # how near to zero or one a probability counts
_FOLLOWS = 0.3  # of an act's words and values that only a tool's result has
TEXT = ("beside_context", "alone")
ACT = (
    *("alone", "immoral", "against_request", "asked", "looks"),
    *("private", "sweeping", "covert", "weighs_unasked", "does_novel"),
)


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn of the assistant with what came before it."""

    index: int
    prompt: str
    """What the user said last."""
    context: str
    """The last turns of both."""
    text: str
    acts: tuple[Act, ...] = ()
    following: tuple[Following, ...] = ()
    """Of each act, whose wish it follows."""
    is_first: bool = False
    """Whether the assistant has not spoken or acted before."""

    @property
    def before(self) -> str:
        """What it is read beside: a first reply and an act beside the user's words alone."""
        return self.prompt if self.is_first or self.acts else self.context

    @property
    def reply(self) -> str:
        """Everything that it says and does, in words."""
        return " ".join(filter(None, (self.text.strip(), *(act.words for act in self.acts))))

    @property
    def follows(self) -> tuple[str | None, ...]:
        """Of each act, the request of a tool's result that it follows, not the user's."""
        return tuple(
            whose.instruction
            if whose.instruction and whose.novel + whose.values >= max(_FOLLOWS, whose.asked)
            else None
            for whose in self.following
        )


def turn_views(conversation: Conversation, only: int | None = None) -> list[TurnView]:
    """Return the assistant's turns, each with what came before; `only` one of them, where asked."""
    views = []
    said: list[str] = []
    asks: list[ToolRequest] = []
    talk: list[str] = []
    spoke = delegated = False
    for index, turn in enumerate(conversation.turns):
        if turn.role == USER:
            said.append(turn.text)
            delegated = delegated or delegates(turn.text)
        elif turn.role == TOOL and not delegated:  # else what a mail asks for is the user's wish
            asks += requests(turn.text)
        elif turn.role == ASSISTANT and only in (None, index):
            tools = conversation.tools
            views.append(
                TurnView(
                    index,
                    _short(said[-1] if said else "", _PROMPT),
                    _short(" ".join(talk[-CONTEXT:]), _CONTEXT),
                    turn.text,
                    tuple(read_act(call, tools.get(call.name, "")) for call in turn.calls),
                    tuple(following(c, () if delegated else asks, said) for c in turn.calls),
                    is_first=not spoke,
                )
            )
        spoke = spoke or turn.role == ASSISTANT
        if turn.role in (USER, ASSISTANT):
            talk.append(turn.text)
    return views


def _short(text: str, most: int) -> str:
    """Return the two ends of a text that is too long."""
    text = clean(text)
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


@dataclass(frozen=True, slots=True)
class TurnHead:
    """Weights of a logistic regression over named features, and the limit chosen on dev."""

    features: Mapping[str, float]
    intercept: float
    limit: float

    def probability(self, values: Mapping[str, float]) -> float:
        """Return the probability of bad."""
        logit = self.intercept + sum(w * values[name] for name, w in self.features.items())
        return float(1 / (1 + np.exp(-logit)))


@cache
def turn_heads() -> dict[str, TurnHead]:
    """Return the heads for turns that only speak (`text`) and for acts (`act`)."""
    file = resources.files("moralscope.rules").joinpath("data/turn_head.toml")
    return {name: TurnHead(**row) for name, row in tomllib.loads(file.read_text("utf-8")).items()}


class TurnReader(ReplyReader):
    """Reads turns as a `ReplyReader` reads replies: exchanges that carry a turn's id are turns.

    Parameters
    ----------
    reader
        What reads replies.
    stories
        Experts for what people do; None where there are no acts.
    limit
        The probability from which a reply is bad: what the heads say is moved to it.
    turns
        Views by the ids of their exchanges.
    """

    def __init__(
        self,
        reader: ReplyReader,
        stories: ExpertSet | None,
        limit: float,
        turns: Mapping[str, TurnView],
    ) -> None:
        super().__init__(reader.experts, reader.fine)
        self._stories, self._limit, self._turns = stories, limit, turns

    def read(self, exchanges: Sequence[Exchange]) -> list[ReplyReading]:
        """Return what is made of each turn, in order."""
        readings = super().read(exchanges)
        if not self.gives_verdicts:
            return readings
        chosen = []
        for at, exchange in enumerate(exchanges):
            view = self._turns.get(exchange.id)
            if view is not None and view.acts:
                chosen.append((at, view))
            elif view is not None and not view.is_first:
                chosen.append((at, replace(view, text=exchange.reply)))  # without some words, say
        heads = turn_heads()
        every = self.features([view for _, view in chosen], [readings[at] for at, _ in chosen])
        for (at, _), parts in zip(chosen, every, strict=True):
            worst = max(
                (
                    moved(heads[name].probability(row), heads[name].limit, self._limit)
                    for name, row in parts
                ),
                default=0.0,
            )
            windows = [worst] * len(readings[at].windows)
            readings[at] = replace(readings[at], bad=worst, window_bad=windows)
        return readings

    def features(
        self, views: Sequence[TurnView], readings: Sequence[ReplyReading]
    ) -> list[list[tuple[str, dict[str, float]]]]:
        """Return what the heads read of each turn: of its words, and of each of its acts.

        Of a turn that only speaks the reading says already how bad it is in its context.
        """
        parts: list[tuple[int, str, str, Act | None, Following | None]] = []
        for at, view in enumerate(views):
            if view.text.strip():
                parts.append((at, "text", _short(view.text, _DID), None, None))
            parts += [
                (at, "act", _short(act.words, _DID), act, whose)
                for act, whose in zip(view.acts, view.following, strict=True)
            ]
        pairs: list[Pair] = []
        known: dict[Pair, float] = {}
        for at, name, did, _, _ in parts:
            view = views[at]
            pairs += [("", did)] if name == "act" else [(view.context, did), ("", did)]
            if not view.acts:
                (known[view.context, did],) = _log_odds(np.array([readings[at].bad]))
                if (readings[at].bad or 0.0) <= CLEARLY_FINE:  # alone it would be, too
                    known["", did] = known[view.context, did]
        bad = self._bad(pairs, known)
        acts = [(at, did) for at, name, did, _, _ in parts if name == "act"]
        immoral, against = self._as_stories(
            [did for _, did in acts], [views[at].prompt for at, _ in acts]
        )
        stories = iter(zip(immoral, against, strict=True))
        rows: list[list[tuple[str, dict[str, float]]]] = [[] for _ in views]
        for at, name, did, act, whose in parts:
            view = views[at]
            row = {"alone": bad["", did]}
            if act is None or whose is None:
                row["beside_context"] = bad[view.context, did]
            else:
                row["immoral"], row["against_request"] = next(stories)
                row |= _act_features(act, whose)
            rows[at].append((name, row))
        return rows

    def _bad(self, pairs: Sequence[Pair], known: Mapping[Pair, float]) -> dict[Pair, float]:
        """Return the log-odds of bad of each pair, each read once."""
        once = sorted({*pairs} - known.keys(), key=lambda pair: len(pair[0]) + len(pair[1]))
        if not once:
            return dict(known)
        columns, _ = self.experts.read(once)
        at = self.experts.labels(VERDICT).index(BAD)
        values = _log_odds(self.experts.told(VERDICT, columns)[:, at])
        return {**known, **dict(zip(once, values, strict=True))}

    def _as_stories(
        self, did: Sequence[str], asked: Sequence[str]
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Return the log-odds that acts are immoral, and that they go against the request."""
        if self._stories is None or not did:
            return [0.0] * len(did), [0.0] * len(did)
        immoral = self._stories.expert("action")
        breaks = self._stories.expert("action+norm")
        wishes = [f"The user asks: {prompt}"[:300] for prompt in asked]
        alone = immoral.probabilities([("", act) for act in did])
        beside = breaks.probabilities(list(zip(wishes, did, strict=True)))
        return (
            _log_odds(alone[:, immoral.labels.index("immoral")]),
            _log_odds(beside[:, breaks.labels.index("breaks")]),
        )


def _act_features(act: Act, whose: Following) -> dict[str, float]:
    signs = ("private", "sweeping", "covert")
    return {name: float(name in (*act.weighs, *act.signs)) for name in signs} | {
        "asked": whose.asked,
        "looks": float(act.looks),
        "weighs_unasked": bool(act.weighs) * (1 - whose.asked),
        "does_novel": float(whose.novel > 0 and not act.looks),
    }


def _log_odds(values: Matrix) -> list[float]:
    inside = np.clip(np.asarray(values, np.float64), _LEAST, 1 - _LEAST)
    return [float(x) for x in np.log(inside / (1 - inside))]
