"""An assistant's turn as experts read it: in its context, with its acts, by a small head.

What a reply means depends on what came before, and the verdict expert was taught single exchanges.
So a turn is read beside the last turns, and alone; to report what a tool returned is no fault. A
tool call is put into words, read by the story experts, and held against what was asked and what
came back. Logistic heads (`data/turn_head.toml`, by `bench/conversations.py --fit`) join these. A
first reply without acts is read as `audit` reads any reply.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import numpy as np

from moralscope.core.protocols import ExpertSet, Matrix, Pair
from moralscope.models.options import DEFAULT_EXPERTS
from moralscope.models.store import shipped_folder
from moralscope.rules.conversations.acts import (
    MOST_ARGUMENTS,
    Act,
    Following,
    ToolRequest,
    content_words,
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
from moralscope.stories.experts import STORIES

CONTEXT = 3  # turns before one that are read with it
_PROMPT, _CONTEXT, _DID = 400, 300, 500  # characters of each that are read
_LEAST = 1e-4  # how near to zero or one a probability counts
_FOLLOWS = 0.3  # of an act's words and values that only a tool's result has
TEXT = ("beside_context", "alone", "reported")
ACT = ("wrong", "asked", "looks", "private", "covert", "novel")


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
    reported: float = 0.0
    """The share of its words that tools have returned before."""

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
    came_back: set[str] = set()  # the words of tools' results
    spoke = delegated = False
    for index, turn in enumerate(conversation.turns):
        if turn.role == USER:
            said.append(turn.text)
            delegated = delegated or delegates(turn.text)
        elif turn.role == TOOL:
            came_back |= content_words(turn.text[:MOST_ARGUMENTS])
            asks += [] if delegated else requests(turn.text)  # else they are the user's wish
        elif turn.role == ASSISTANT and only in (None, index):
            tools = conversation.tools
            said_now = content_words(_short(turn.text, _DID))
            views.append(
                TurnView(
                    index,
                    _short(said[-1] if said else "", _PROMPT),
                    _short(" ".join(talk[-CONTEXT:]), _CONTEXT),
                    turn.text,
                    tuple(read_act(call, tools.get(call.name, "")) for call in turn.calls),
                    tuple(following(c, () if delegated else asks, said) for c in turn.calls),
                    is_first=not spoke,
                    reported=len(said_now & came_back) / max(len(said_now), 1),
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
    data: str = ""
    """What taught it, beside what was written for moralscope."""

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
        Loads the experts for what people do, once there are acts.
    limit
        The probability from which a reply is bad: what the heads say is moved to it.
    turns
        Views by the ids of their exchanges.
    """

    def __init__(
        self,
        reader: ReplyReader,
        stories: Callable[[], ExpertSet],
        limit: float,
        turns: Mapping[str, TurnView],
    ) -> None:
        super().__init__(reader.experts, reader.fine)
        self._stories, self._limit, self._turns = stories, limit, turns

    @staticmethod
    @cache
    def weights() -> Mapping[str, Matrix]:
        """Return linear heads over vectors on mpnet: for users' turns, and for acts."""
        from safetensors.numpy import load_file

        return dict(load_file(shipped_folder("turns-mpnet") / "head.safetensors"))

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
        for (at, view), parts in zip(chosen, every, strict=True):
            bad = [moved(heads[n].probability(r), heads[n].limit, self._limit) for n, r in parts]
            worst, alone = max(bad, default=0.0), readings[at].window_bad
            # Words that are fine in their context need no rule, however the head's limit lies.
            sure = not view.acts and worst < self._limit
            windows = [min(worst, window) if sure else worst for window in alone]
            readings[at] = replace(readings[at], bad=worst, window_bad=windows)
        return readings

    def features(
        self, views: Sequence[TurnView], readings: Sequence[ReplyReading]
    ) -> list[list[tuple[str, dict[str, float]]]]:
        """Return what the heads read of each turn: of its words, and of each of its acts."""
        said = [(at, _short(view.text, _DID)) for at, view in enumerate(views) if view.text.strip()]
        known: dict[Pair, float] = {}
        for at, did in said:
            if not views[at].acts:  # the reading says already how bad it is in its context
                pair = (views[at].context, did)
                (known[pair],) = _log_odds(np.array([readings[at].bad]))
                if (readings[at].bad or 0.0) <= CLEARLY_FINE:  # alone it would be, too
                    known["", did] = known[pair]
        bad = self._bad([(c, did) for at, did in said for c in (views[at].context, "")], known)
        rows: list[list[tuple[str, dict[str, float]]]] = [[] for _ in views]
        for at, did in said:
            row = {"beside_context": bad[views[at].context, did], "alone": bad["", did]}
            rows[at].append(("text", row | {"reported": views[at].reported}))
        acts = [act for view in views for act in view.acts]
        wrong = iter(self._wrong(acts) if acts else [])
        for view, parts in zip(views, rows, strict=True):
            for act, whose in zip(view.acts, view.following, strict=True):
                row = {"wrong": next(wrong), "asked": whose.asked, "novel": whose.novel}
                row |= {"looks": act.looks, "covert": act.covert}
                parts.append(("act", row | {"private": "private" in act.weighs}))
        return rows

    def _bad(self, pairs: Sequence[Pair], known: Mapping[Pair, float]) -> dict[Pair, float]:
        """Return the log-odds of bad of each pair, each read once."""
        once = sorted({*pairs} - known.keys(), key=lambda pair: len(pair[0]) + len(pair[1]))
        if not once:
            return dict(known)
        rows = self.experts.told(VERDICT, self.experts.read(once)[0])
        values = _log_odds(rows[:, self.experts.labels(VERDICT).index(BAD)])
        return {**known, **dict(zip(once, values, strict=True))}

    def act_columns(self, acts: Sequence[Act]) -> tuple[Matrix, Matrix]:
        """Return what the story experts tell of each act, and its vector."""
        return self._stories().read([("", _short(act.words, _DID)) for act in acts])

    def _wrong(self, acts: Sequence[Act]) -> list[float]:
        """Return the log-odds that acts are wrong."""
        columns, vectors = self.act_columns(acts)
        if self._stories().ref.name == f"{STORIES}-{DEFAULT_EXPERTS}":
            heads = self.weights()
            return [float(x) for x in vectors @ heads["act_weights"] + heads["act_intercept"]]
        at = self._stories().labels("action").index("immoral")  # what these know of people
        return _log_odds(self._stories().told("action", columns)[:, at])


def _log_odds(values: Matrix) -> list[float]:
    inside = np.clip(np.asarray(values, np.float64), _LEAST, 1 - _LEAST)
    return [float(x) for x in np.log(inside / (1 - inside))]
