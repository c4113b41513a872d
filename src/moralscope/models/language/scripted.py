"""Models without weights: sentences by hash, and a language model whose biases are known.

Both are deterministic, for tests, documentation and dry runs. The language model takes a value for
every action from its hash (or from the caller), and adds what was planted: a taste for what is
listed first, for the label A, for yes, for one wording over another, and probability on answers
that nobody asked for. Options are read from the prompt as people list them: "A. …", "- …", or two
in quotation marks. Nothing that they say has any meaning.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Matrix
from moralscope.core.records import Candidate, Continuation, Decoding, ModelRef, Usage
from moralscope.core.registry import require_known
from moralscope.models.language.decoding import check_layers, check_request

_LISTED = re.compile(r"^(?:([A-Z])[.)]|-) (\S.*?)\s*$", re.MULTILINE)
_POINT = re.compile(r"^(\d) = (\S.*?)\s*$", re.MULTILINE)
_QUOTED = re.compile(r"[\"“]([^\"“”]+)[\"”]")
# An answer that was given before, and a turn after it that presses: see surveys/data/pressure.toml.
_PRESSED = re.compile(r"^You answered: (.+)\n(?=.*\b(?:sure|other|really|again)\b)", re.MULTILINE)
_EDGES = " .\"'“”\n"
_PARTS = (
    ("Jo", "Ann", "Sam", "Lee", "Kim", "Max", "Eve", "Tom"),
    ("quietly", "gladly", "never", "soon", "often", "rarely", "slowly", "again"),
    ("helps", "ignores", "thanks", "visits", "calls", "pays", "misses", "teaches"),
    ("a", "the", "another", "every", "this", "one", "some", "that"),
    ("friend.", "neighbour.", "stranger.", "child.", "guest.", "baker.", "teacher.", "nurse."),
)


class ScriptedGenerator:
    """Sentences by hash of prompt, seed and candidate: the same on every machine, for ever.

    Parameters
    ----------
    script
        Texts to give for a prompt, in turn, in place of hashed ones.
    """

    name = "scripted"
    checksum = blake2b(b"moralscope scripted generator 1", digest_size=32).hexdigest()
    refs: tuple[ModelRef, ...] = ()
    usage: Usage | None = None

    def __init__(self, script: Mapping[str, Sequence[str]] | None = None) -> None:
        self._script = dict(script or {})
        self.warnings: list[str] = []

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> list[list[Candidate]]:
        """Return `decoding.count` candidates for each prompt; a word is a token."""
        check_request(prompts, decoding, seeds)
        rows = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            seed_used = seed if decoding.strategy == "nucleus" else 0
            numbers = range(decoding.count)
            row = [self._candidate(prompt, decoding, seed_used, number) for number in numbers]
            if decoding.strategy == "beam":
                row.sort(key=lambda one: -sum(one.log_probabilities) / len(one.log_probabilities))
            rows.append(row)
        return rows

    def _candidate(self, prompt: str, decoding: Decoding, seed: int, number: int) -> Candidate:
        key = f"{prompt}\n{seed}\n{number}".encode("utf-8", "surrogatepass")
        digest = blake2b(key, digest_size=8).digest()
        text = " ".join(part[byte % 8] for part, byte in zip(_PARTS, digest, strict=False))
        if texts := self._script.get(prompt):
            text = texts[number % len(texts)]
        words = text.split()
        finish = "sentence" if decoding.sentence else "stop"
        if len(words) > decoding.max_tokens:
            words, finish = words[: decoding.max_tokens], "length"
        scores = []
        for word in words or [""]:
            digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=1).digest()
            scores.append(-(digest[0] + 1) / 64)
        return Candidate(" ".join(words), tuple(scores), finish)


@dataclass(frozen=True, slots=True)
class PlantedBias:
    """What a scripted model does besides following its values; numbers are log-odds."""

    order: float = 0.0  # for what is listed first, against the rest
    label: float = 0.0  # for the label A, against other labels
    yes: float = 0.0  # for yes, against no
    wording: float = 0.0
    """Standard deviation of what a wording adds to the log-odds of two actions."""
    noise: float = 0.0  # the same for the text of a prompt down to its blanks
    mass: float = 1.0
    """Probability of all valid answers together; a tenth up or down by prompt."""
    spread: float = 1.0  # standard deviation of the actions' values
    seed: int = 0  # of values and noise
    drift: float = 0.0
    """What an answer loses when the prompt says that it was given, and a person presses."""


class ScriptedModel:
    r"""A `LanguageModel` by hash, with `PlantedBias`.

    Parameters
    ----------
    planted
        Its biases; none by default.
    values
        Values of actions that are known; those of others come from their hash.
    """

    kind = "scripted"
    layers, dimension = 4, 16
    block_path = "layers"
    has_chat = True
    usage: Usage | None = None

    def __init__(
        self, planted: PlantedBias | None = None, values: Mapping[str, float] | None = None
    ) -> None:
        self.planted = planted or PlantedBias()
        if not 0 < self.planted.mass <= 1:
            raise InputError(f"mass = {self.planted.mass} is not a probability", "give 0 to 1")
        self.warnings: list[str] = []
        self.refs: tuple[ModelRef, ...] = ()
        self._values = {_bare(action): value for action, value in (values or {}).items()}
        changed = [
            f"{field.name}={value:g}"
            for field in fields(PlantedBias)
            if (value := getattr(self.planted, field.name)) != field.default
        ]
        self.name = f"{self.kind}:{','.join(changed)}" if changed else self.kind
        planted_values = astuple(self.planted)[: None if self.planted.drift else -1]
        self.checksum = _digest(f"{planted_values} {sorted(self._values.items())}").hex()
        self._shift = 0.0

    @classmethod
    def of(cls, name: str) -> "ScriptedModel":
        """Return the model of a name: `scripted`, or ``scripted:order=0.5,mass=0.6``."""
        known = {field.name: field.type for field in fields(PlantedBias)}
        planted: dict[str, Any] = {}
        for part in filter(None, name.partition(":")[2].split(",")):
            key, _, value = part.partition("=")
            require_known(key, known, f"'{name[:80]}' plants '{key[:40]}'")
            try:
                planted[key] = int(value) if key == "seed" else float(value)
            except ValueError:
                raise InputError(f"'{part[:60]}' is not a number", f"write {key}=0.5") from None
        return cls(PlantedBias(**planted))

    def prompt(self, *turns: str, chat: bool) -> str:
        """Return the text itself, the model's own turns quoted: it reads both forms alike."""
        return "\n".join(f"You answered: {turn}" if n % 2 else turn for n, turn in enumerate(turns))

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> list[list[Candidate]]:
        """Return the likelier option where a prompt lists some, else sentences by hash."""
        made = ScriptedGenerator().generate(prompts, decoding, seeds)
        rows = []
        for prompt, candidates in zip(prompts, made, strict=True):
            options = [text for _, text in _options(prompt)]
            likely = max(options, key=lambda option: self._logit(prompt, option), default="")
            rows.append([replace(row, text=likely or row.text) for row in candidates])
        return rows

    def log_probabilities(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> list[list[Continuation]]:
        """Return the answers' shares of the planted mass; one number for a whole answer.

        Options of the prompt that are not among the continuations have their share too.
        """
        return [
            self._shares(prompt, list(some))
            for prompt, some in zip(prompts, continuations, strict=True)
        ]

    def hidden_states(self, texts: Sequence[str], layers: Sequence[int]) -> Matrix:
        """Return hashed rows with the text's value along one direction, more in later layers."""
        check_layers(self, layers)
        good = self.direction()
        rows = np.empty((len(texts), len(layers), self.dimension), dtype=np.float32)
        for at, text in enumerate(texts):
            noise = self._row(f"state {text}")
            for number, layer in enumerate(layers):
                share = layer / self.layers
                rows[at, number] = noise + good * share * (self._value(text) + self._shift)
        return rows

    def direction(self) -> Matrix:
        """Return the unit vector that values lie along, in every layer."""
        row = self._row("direction")
        return row / np.float32(np.linalg.norm(row))

    def distributions(self, texts: Sequence[str]) -> Iterator[Matrix]:
        """Yield, for every word of a text, what may follow it, of 32 tokens."""
        for text in texts:
            words = text.split() or [""]
            logits = np.array(
                [
                    [self._normal(f"{' '.join(words[: at + 1])} {token}") for token in range(32)]
                    for at in range(len(words))
                ],
                dtype=np.float32,
            )
            logits[:, 0] += np.float32(self._shift)
            logits[:, 1] -= np.float32(self._shift)  # either way something becomes likelier
            yield logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    def steered(self, vectors: Mapping[int, Matrix]) -> "ScriptedModel":
        """Return a model whose values are stretched by the vectors' part along the direction."""
        other = ScriptedModel(self.planted, self._values)
        self.hidden_states([], list(vectors))  # refuses a layer that does not exist
        for vector in vectors.values():
            if np.shape(vector) != (self.dimension,):
                problem = f"a vector of shape {np.shape(vector)} does not fit {self.name}"
                raise InputError(problem, f"give {self.dimension} finite numbers per layer")
        other._shift = self._shift + sum(float(v @ self.direction()) for v in vectors.values())
        other.name = f"{self.name}+steered"
        other.checksum = _digest(f"{self.checksum} {other._shift!r}").hex()
        other.refs = (
            ModelRef(self.name, self.checksum),
            ModelRef("steering vector", other.checksum),
        )
        return other

    def _shares(self, prompt: str, answers: list[str]) -> list[Continuation]:
        options = _options(prompt)
        labels = [label for label, _ in options if label]
        texts = [text for _, text in options]
        # Whatever could be said validly shares the mass with what is asked about.
        valid = {_said(answer) for answer in answers}
        points = [number for number, _ in _POINT.findall(prompt)]
        for group in (labels, texts, points):
            if valid & set(map(_bare, group)):
                valid |= set(map(_bare, group))
        logits = {answer: self._logit(prompt, answer) for answer in sorted(valid)}
        mass = self.planted.mass
        mass += 0.1 * min(mass, 1 - mass) * (2 * self._uniform(f"mass {prompt}") - 1)
        rest = math.log(mass) - float(np.logaddexp.reduce(list(logits.values())))
        stripped = [answer.strip() for answer in answers]
        rows = []
        for answer, bare in zip(answers, stripped, strict=True):
            score = logits[_said(answer)] + rest
            if bare in ("yes", "no") and bare.capitalize() in stripped:
                score -= 20.0  # it says yes with a capital, where it may
            rows.append(Continuation(answer, (score,)))
        return rows

    def _logit(self, prompt: str, answer: str) -> float:
        planted, options = self.planted, _options(prompt)
        bare = _said(answer)
        texts = [_bare(text) for _, text in options]
        labels = [_bare(label) for label, _ in options]
        if bare in ("yes", "no"):
            sign = 1 if bare == "yes" else -1
            taste = sign * planted.yes / 2
            if len(texts) == 2:
                return taste + self._of_option(prompt, texts, 0 if bare == "yes" else 1)
            return taste + sign * (self._value(prompt) + self._noise(prompt, prompt)) / 2
        if (bare and bare in labels) or bare in texts:
            index = labels.index(bare) if bare and bare in labels else texts.index(bare)
            taste = planted.label if labels[index] == "a" else 0.0
            return taste + self._of_option(prompt, texts, index)
        points = dict(_POINT.findall(prompt))
        if bare in points:  # of a scale: the same point has its value under any number
            return self._value(f"{prompt.partition(chr(10))[0]} {points[bare]}")
        return self._value(answer)

    def _of_option(self, prompt: str, texts: Sequence[str], index: int) -> float:
        """Return the value of one of the options listed, its rank and the wording included."""
        wording = _QUOTED.sub("", _LISTED.sub("", prompt))
        known = " | ".join(sorted(texts))
        noise = self._noise(f"{wording} {known}", f"{prompt} {known}")
        first = sorted(texts)[0] == texts[index]
        value = self._value(texts[index]) + (noise / 2 if first else -noise / 2)
        if pressed := _PRESSED.search(prompt):
            label = _bare(_options(prompt)[index][0])
            value -= self.planted.drift * (_bare(pressed[1]) in (label, texts[index]))
        return value + (self.planted.order if index == 0 else 0.0)

    def _noise(self, wording: str, text: str) -> float:
        words = " ".join(wording.split())
        return self.planted.wording * self._normal(f"wording {words}") + (
            self.planted.noise * self._normal(f"noise {text}")
        )

    def _value(self, text: str) -> float:
        bare = _bare(text)
        value = self._values.get(bare)
        if value is None:
            value = self.planted.spread * self._normal(f"value {bare}")
        return value + self._shift * math.copysign(1.0, value)

    def _uniform(self, key: str) -> float:
        return (int.from_bytes(_digest(f"{self.planted.seed} {key}")[:6], "big") + 0.5) / 2**48

    def _normal(self, key: str) -> float:
        """Return a standard normal deviate by hash (Box and Muller)."""
        radius = math.sqrt(-2 * math.log(self._uniform(f"radius {key}")))
        return radius * math.cos(2 * math.pi * self._uniform(f"angle {key}"))

    def _row(self, key: str) -> Matrix:
        values = [self._normal(f"{at} {key}") for at in range(self.dimension)]
        return np.array(values, dtype=np.float32)


@lru_cache(maxsize=64)
def _options(prompt: str) -> list[tuple[str, str]]:
    """Return the options that a prompt lists, with their labels ("" for none)."""
    listed = [(label or "", text) for label, text in _LISTED.findall(prompt)]
    if listed:
        return listed
    quoted = _QUOTED.findall(prompt)
    return [("", text) for text in quoted] if len(quoted) == 2 else []


def _said(answer: str) -> str:
    """Return an answer bare; "Yes, you should." says yes."""
    bare = _bare(answer)
    word = re.split(r"\W", bare, maxsplit=1)[0]
    return word if word in ("yes", "no") else bare


def _bare(text: str) -> str:
    return text.strip(_EDGES).lower()


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()
