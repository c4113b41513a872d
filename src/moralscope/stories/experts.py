"""Experts for jobs: the shipped ones by their base, or a folder that `stories train` wrote."""

from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import UnknownName
from moralscope.core.protocols import ExpertSet
from moralscope.core.records import ModelRef
from moralscope.core.registry import did_you_mean
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.options import AUDITORS, EXPERTS, LARGE
from moralscope.models.store import Progress, Store, shipped_folder
from moralscope.stories.tasks import classification_tasks

BASES = ("mpnet", "minilm")
STORIES, RULES = "stories", "rules"  # what shipped experts are for: the folders are FAMILY-NAME
_FOLDERS = (*(f"{family}-{name}" for family in (STORIES, RULES) for name in BASES), LARGE)


@dataclass(frozen=True, slots=True)
class ExpertFolder:
    """A set of experts that is known and not loaded: who has its answers need not wait for it."""

    path: Path
    eight_bits: float = 0.0  # the share of the body's layers that compute in 8 bits

    @property
    def ref(self) -> ModelRef:
        """The name of the set, and the checksum of everything that decides a probability."""
        from moralscope.models.classifiers.saved import folder_sha256

        # Of the shipped ones: stories-mpnet, stories-minilm.
        return ModelRef(self.path.resolve().name, folder_sha256(self.path))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks there is an expert for."""
        from moralscope.models.classifiers.saved import read_settings

        return tuple(read_settings(self.path).tasks)

    def fetch(self, progress: Progress | None = None) -> None:
        """Fetch the base, where it is one of the store's and not here; no content is read."""
        from moralscope.models.classifiers.saved import read_settings

        store, base = Store(), read_settings(self.path).base
        if not self._is_whole and base in [entry.name for entry in store.entries()]:
            store.fetch(base, progress)

    def load(self, progress: Progress | None = None) -> ExpertSet:
        """Read the weights of the experts and of their base."""
        from moralscope.models.classifiers.experts import Experts
        from moralscope.models.classifiers.module import resolve_base
        from moralscope.models.classifiers.saved import read_settings

        base, checksum = None, ""
        if not self._is_whole:
            base, checksum = resolve_base(read_settings(self.path).base, Store(), progress)
        experts = Experts(self.path, base, checksum, self.path.resolve().name)
        if self.eight_bits:
            experts.quantise(self.eight_bits)
        return experts

    @property
    def _is_whole(self) -> bool:
        """Whether every weight was trained: no base is needed then."""
        return (self.path / "model").is_dir()


def find_experts(
    name: str, *, family: str = STORIES, eight_bits: float = 0.0
) -> ExpertFolder | ScriptedExperts:
    """Return the experts that `name` means, not loaded: see `prepare_experts`."""
    if name == "scripted":
        return ScriptedExperts({row.name: row.labels for row in classification_tasks().values()})
    path = Path(name).expanduser()
    full = f"{family}-{name}" if name in BASES else name  # LARGE reads stories and rules
    if full in _FOLDERS:
        path = shipped_folder(full)
    elif not path.is_dir():
        known = EXPERTS if family == STORIES else AUDITORS
        raise UnknownName(
            f"there are no experts '{name}'",
            f"{did_you_mean(name, known)}, or a folder that 'moralscope "
            f"{'stories' if family == STORIES else 'rules'} train' wrote",
        )
    return ExpertFolder(path, eight_bits)


def prepare_experts(
    name: str, *, family: str = STORIES, eight_bits: float = 0.0, progress: Progress | None = None
) -> ExpertSet:
    """Load the experts that `name` means: a shipped set, `scripted`, or a folder.

    `mpnet` means the shipped experts on it of the `family`; `rules-mpnet` names them in full.
    `eight_bits` lets them compute in 8 bits where the CPU can: all layers of the body (True), or a
    share of them from the last one down.

    Examples
    --------
    >>> prepare_experts("scripted").expert("action").labels
    ('immoral', 'moral')
    """
    experts = find_experts(name, family=family, eight_bits=eight_bits)
    return experts.load(progress) if isinstance(experts, ExpertFolder) else experts
