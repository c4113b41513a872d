"""A deterministic generator without weights, for tests, documentation and dry runs.

Its sentences are drawn by hash from a few words; nothing it says has any meaning.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from moralscope.core.records import Candidate, Decoding, ModelRef, Usage
from moralscope.models.language.decoding import check_request

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

    Examples
    --------
    >>> generator = ScriptedGenerator({"Jo": ["smiles.", "waves. Then leaves."]})
    >>> [one.text for one in generator.generate(["Jo"], Decoding(count=3), [7])[0]]
    ['smiles.', 'waves. Then leaves.', 'smiles.']
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
