"""An endpoint as a `LanguageModel`: what can be known of answers from outside.

A server that gives log-probabilities says how likely the first token of an answer is; its numbers
are checked before they are believed. Where they are missing, impossible or cannot tell the answers
apart, replies are drawn and counted, and a share comes with Wilson's interval. Answers are kept on
disk by a hash of what was asked, so that a run that was stopped goes on without paying twice.
"""

import json
import logging
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.protocols import LanguageModel, Matrix
from moralscope.core.records import Continuation, Decoding
from moralscope.models.language.decoding import Talk
from moralscope.models.language.endpoint import EndpointError, EndpointGenerator, EndpointOptions
from moralscope.models.store import Store

log = logging.getLogger(__name__)

_TOP = 20  # tokens that servers list at most
_TOKEN_ID = re.compile(r"token_id:\d+")  # vLLM with --return-tokens-as-token-ids
_EDGES = " \t\n.\"'“”*"


class EndpointModel(EndpointGenerator):
    """Replies of one model at one address, and how probable they are."""

    has_chat = True  # always: the server applies its own template
    layers, dimension = 0, 0  # nothing inside can be seen
    block_path = ""

    def __init__(self, name: str, options: EndpointOptions, *, store: Store | None = None) -> None:
        store = store or Store()
        super().__init__(name, options, offline=store.offline)
        path = store.home / "cache" / "answers" / f"{self.checksum[:24]}-{options.samples}.jsonl"
        self._kept = KeptAnswers(path, options.samples)
        self._tells = options.log_probabilities and self._dialect.has_log_probabilities
        self._asked = 0
        if not self._dialect.has_log_probabilities:
            self._warn("gives no log-probabilities")

    def prompt(self, *turns: str, chat: bool) -> str:
        """Return the turns as one text: an endpoint is always asked in its chat form."""
        if not chat:
            raise InputError(f"'{self.name}' is asked through its chat form", "use --form chat")
        return Talk(json.dumps(turns)) if turns[1:] else turns[0]

    def log_probabilities(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> list[list[Continuation]]:
        """Return how likely each answer is: by the first token where told, else by drawing.

        What was answered is kept when the endpoint fails, or the budget of requests is used up.
        Spellings of one answer ("Yes", "yes") are asked about as one, and share its probability.
        """
        pairs = []
        for prompt, answers in zip(prompts, continuations, strict=True):
            spellings = {_bare(answer): answer for answer in answers}  # one of each answer
            pairs.append((prompt, tuple(spellings.values())))
        with self._lock:
            missing = [pair for pair in dict.fromkeys(pairs) if self._kept.get(*pair) is None]
            if missing:
                log.warning("%s: %s", self.name, self.estimate(missing))
                self._ask(missing)
        return [
            _by_spelling(self._kept.get(*pair) or (), some)
            for pair, some in zip(pairs, continuations, strict=True)
        ]

    def estimate(self, pairs: Sequence[tuple[str, tuple[str, ...]]]) -> str:
        """Say what asking these questions takes: requests, tokens (four letters each) and cost."""
        options = self._options
        drawn = sum(not (self._tells and _told_apart(answers)) for _, answers in pairs)
        read = sum(len(prompt) // 4 + 10 for prompt, _ in pairs)
        written = len(pairs) - drawn + drawn * options.samples * 20
        requests = len(pairs)
        if not self._dialect.has_log_probabilities:  # nor several replies to one request
            requests, read = requests * options.samples, read * options.samples
        line = f"{requests:,} requests to come, about {read:,} tokens read and {written:,} written"
        if drawn < len(pairs):
            line += f"; up to {options.samples} times as many written without log-probabilities"
        if (options.input_price, options.output_price) != (None, None):
            cost = read * (options.input_price or 0) + written * (options.output_price or 0)
            line += f"; about {cost / 1e6:.4g} in all"
        return line

    def hidden_states(self, texts: Sequence[str], layers: Sequence[int]) -> Matrix:
        """Refuse: nothing inside an endpoint can be seen."""
        raise InputError(
            "an endpoint does not show its hidden states", "use the choice axis, or a local model"
        )

    def distributions(self, texts: Sequence[str]) -> Iterator[Matrix]:
        """Refuse: an endpoint tells of few tokens."""
        raise InputError("an endpoint does not give its whole distribution", "use a local model")

    def steered(self, vectors: Mapping[int, Matrix]) -> LanguageModel:
        """Refuse: nothing can be added inside an endpoint."""
        raise InputError("an endpoint cannot be steered", "use a local model")

    def _ask(self, pairs: Sequence[tuple[str, tuple[str, ...]]]) -> None:
        failures: list[EndpointError] = []

        async def one(client: Any, prompt: str, answers: tuple[str, ...]) -> None:
            if failures:
                return
            try:
                likely = await self._first_tokens(client, prompt, answers)
                if likely:
                    self._kept.put(prompt, answers, likely)
                else:
                    await self._draw(client, prompt, answers)
            except EndpointError as error:  # requests that are out are paid: await them
                failures.append(error)

        self._gather(one, pairs)
        if failures:
            raise failures[0]

    async def _first_tokens(
        self, client: Any, prompt: str, answers: tuple[str, ...]
    ) -> list[Continuation] | None:
        """Return what the server says of the first token, or None where that is of no use."""
        if not self._tells:
            return None
        if not _told_apart(answers):
            self._warn("cannot tell answers apart that begin alike by their first token")
            return None
        body = self._body(prompt, Decoding("greedy", max_tokens=1, sentence=False), 0)
        answer = await self._answer(client, {**body, "logprobs": True, "top_logprobs": _TOP})
        rows, wrong = first_token_scores(answer["choices"][0])
        if wrong:
            self._tells = False
            self._warn(wrong)
            return None
        return [Continuation(text, (_first_score(text, rows),)) for text in answers]

    def _warn(self, wrong: str) -> None:
        line = f"{self.name} {wrong}: replies are drawn and counted instead"
        if line not in self.warnings:
            self.warnings.append(line)
            log.warning(line)

    async def _draw(self, client: Any, prompt: str, answers: tuple[str, ...]) -> None:
        """Draw replies and count those that begin with each answer; each request's are kept."""
        samples = self._options.samples
        longest = max(len(answer) for answer in answers)
        wanted = Decoding("nucleus", p=1.0, max_tokens=8 + longest // 2, sentence=False)
        begun = self._kept.begun(prompt, answers)
        hits = [answer.hits for answer in begun] or [0] * len(answers)
        drawn = begun[0].samples if begun else 0
        while drawn < samples:
            decoding = replace(wanted, count=samples - drawn)
            for reply in await self._some(client, prompt, decoding, drawn):
                drawn += 1
                index = said_answer(reply.text, answers)
                if index is not None:
                    hits[index] += 1
            shares = [
                # Half a hit more (Krichevsky and Trofimov 1981): what was never drawn is unlikely.
                Continuation(text, (math.log((hit + 0.5) / (drawn + 1)),), hit, drawn)
                for text, hit in zip(answers, hits, strict=True)
            ]
            self._kept.put(prompt, answers, shares)

    async def _answer(self, client: Any, body: Mapping[str, Any]) -> dict[str, Any]:
        most = self._options.max_requests
        if most is not None and self._asked >= most:
            raise EndpointError(
                f"the budget of {most:,} requests is used up",
                "raise --max-requests and run the same command again: answers are kept",
            )
        self._asked += 1
        return await super()._answer(client, body)


class KeptAnswers:
    """Answers of an endpoint on disk, a line each; neither prompts nor replies are written.

    A line that was cut off in the middle is asked again. Of `samples` replies to a question those
    that were drawn are kept, so that a small budget of requests gets on, too.
    """

    def __init__(self, path: Path, samples: int) -> None:
        self._path, self._samples = path, samples
        self._rows: dict[str, list[list[float]]] = {}
        if path.is_file():
            for line in path.read_bytes().splitlines():
                with suppress(ValueError, TypeError, KeyError, RecursionError):
                    row = json.loads(line)
                    rows = [[float(number) for number in answer] for answer in row["answers"]]
                    self._rows[str(row["asked"])] = rows

    def get(self, prompt: str, answers: tuple[str, ...]) -> list[Continuation] | None:
        """Return what was answered, or None where that is not all."""
        kept = self.begun(prompt, answers)
        is_whole = all(answer.samples in (0, self._samples) for answer in kept)
        return kept if kept and is_whole else None

    def begun(self, prompt: str, answers: tuple[str, ...]) -> list[Continuation]:
        """Return what was answered so far, maybe with fewer replies than are to be drawn."""
        rows = self._rows.get(_key(prompt, answers), [])
        if len(rows) != len(answers):
            return []
        return [
            Continuation(text, (row[0],), int(row[1]), int(row[2]))
            for text, row in zip(answers, rows, strict=True)
        ]

    def put(self, prompt: str, answers: tuple[str, ...], scores: Sequence[Continuation]) -> None:
        """Keep an answer; it is on disk when this returns, where the disk lets it."""
        key = _key(prompt, answers)
        self._rows[key] = [[row.total, row.hits, row.samples] for row in scores]
        line = json.dumps({"asked": key, "answers": self._rows[key]}) + "\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            log.warning("%s cannot be written (%s): answers are not kept", self._path, error)


def first_token_scores(choice: Mapping[str, Any]) -> tuple[list[tuple[str, float]], str]:
    """Return the tokens that a server lists for the first place, or what is wrong with them.

    The answer was greedy: the token that came must be the likeliest, and shares sum to one at most.
    """
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    top = first.get("top_logprobs") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(top, list) or not top:
        return [], "gives no log-probabilities"
    rows = []
    for row in top:
        token = row.get("token") if isinstance(row, dict) else None
        score = row.get("logprob") if isinstance(row, dict) else None
        if not isinstance(token, str) or isinstance(score, bool):
            return [], "gives log-probabilities of another shape"
        if not isinstance(score, int | float) or math.isnan(score) or score > 1e-6:
            return [], "gives log-probabilities that no probability has"
        rows.append((token, float(score)))
    if all(_TOKEN_ID.fullmatch(token) for token, _ in rows):
        return [], "gives the numbers of tokens in place of tokens"
    total = sum(math.exp(score) for _, score in rows)
    if total > 1.001:
        return [], f"gives probabilities that sum to {total:.3g}"
    chosen = first.get("logprob")
    if not isinstance(chosen, int | float) or chosen < max(score for _, score in rows) - 1e-3:
        return [], "gives log-probabilities that its own answer contradicts"
    return rows, ""


def _by_spelling(known: Sequence[Continuation], answers: Sequence[str]) -> list[Continuation]:
    """Share each answer's probability among its spellings; its first one has the replies counted.

    Examples
    --------
    >>> [one.total for one in _by_spelling([Continuation("Yes", (0.0,))], ["Yes", "yes"])]
    [-0.6931471805599453, -0.6931471805599453]
    """
    rows = {_bare(row.text): row for row in known}
    bare = [_bare(answer) for answer in answers]
    return [
        Continuation(
            text,
            (rows[name].total - math.log(bare.count(name)),),
            rows[name].hits if bare.index(name) == at else 0,
            rows[name].samples,
        )
        for at, (text, name) in enumerate(zip(answers, bare, strict=True))
    ]


def _first_score(text: str, rows: Sequence[tuple[str, float]]) -> float:
    """Add up the tokens that an answer may begin with; one that is not listed is rarer than all."""
    bare = _bare(text)
    heads = ((_bare(token), score) for token, score in rows)
    scores = [score for head, score in heads if head and bare.startswith(head)]
    if scores:
        return min(0.0, math.log(sum(map(math.exp, scores))))
    left = max(1e-9, 1 - sum(math.exp(score) for _, score in rows))
    return min(*(score for _, score in rows), math.log(left))


def _told_apart(answers: Sequence[str]) -> bool:
    """Say whether a first token can tell the answers apart: their first words differ from others'.

    Examples
    --------
    >>> _told_apart(("Yes", "No")), _told_apart(("I help.", "I leave."))
    (True, False)
    """
    words = [(_bare(answer).split() or [""])[0] for answer in answers]
    return all(
        one and not other.startswith(one)
        for index, one in enumerate(words)
        for at, other in enumerate(words)
        if index != at
    )


def said_answer(reply: str, answers: Sequence[str]) -> int | None:
    """Return which answer a reply begins with, the longest where several do; None for no one.

    Examples
    --------
    >>> said_answer("B. I leave.", ["A", "B"]), said_answer("Maybe", ["Yes", "No"])
    (1, None)
    """
    said = " ".join(_bare(reply).split())
    matches: list[tuple[int, int]] = []
    for index, answer in enumerate(answers):
        bare = " ".join(_bare(answer).split())
        rest = said[len(bare) :]
        if bare and said.startswith(bare) and not rest[:1].isalnum():
            matches.append((len(bare), index))
    return max(matches)[1] if matches else None


def _bare(text: str) -> str:
    return text.strip(_EDGES).lower()


def _key(prompt: str, answers: tuple[str, ...]) -> str:
    return blake2b(json.dumps([prompt, answers]).encode(), digest_size=16).hexdigest()
