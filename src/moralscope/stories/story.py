"""The `MoralStory` record: seven sentences about one norm. It reads and judges nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from moralscope.core.records import values_of

ORIENTATIONS = ("moral", "immoral")
SENTENCES = (
    "norm",
    "situation",
    "intention",
    "moral_action",
    "moral_consequence",
    "immoral_action",
    "immoral_consequence",
)


@dataclass(frozen=True, slots=True)
class MoralStory:
    """One story; a sentence that the source does not give is None.

    `splits` holds the official membership where the source gives it:
    `{"action": {"norm_distance": "train", ...}, "consequence": {...}}`.
    """

    id: str
    norm: str | None = None
    situation: str | None = None
    intention: str | None = None
    moral_action: str | None = None
    moral_consequence: str | None = None
    immoral_action: str | None = None
    immoral_consequence: str | None = None
    splits: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict, compare=False)

    def action(self, orientation: str) -> str | None:
        """Return the action of the moral or the immoral path."""
        return self.moral_action if orientation == "moral" else self.immoral_action

    def consequence(self, orientation: str) -> str | None:
        """Return the consequence of the moral or the immoral path."""
        return self.moral_consequence if orientation == "moral" else self.immoral_consequence

    @property
    def sentences(self) -> dict[str, str | None]:
        """The seven sentences by name, in story order."""
        return values_of(self, *SENTENCES)

    @property
    def missing(self) -> tuple[str, ...]:
        """The sentences that are not there, in story order."""
        return tuple(name for name, text in self.sentences.items() if not text)

    def official(self, kind: str, split: str) -> str | None:
        """Return train, dev or test where the source says so (`kind` is action or consequence)."""
        return self.splits.get(kind, {}).get(split)


assert set(SENTENCES) < {item.name for item in fields(MoralStory)}  # noqa: S101
