"""Experts for jobs: the shipped ones by their base, or a folder that `stories train` wrote."""

from pathlib import Path

from moralscope.core.errors import UnknownName
from moralscope.core.protocols import ExpertSet
from moralscope.core.registry import did_you_mean
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.store import Progress, Store, shipped_folder
from moralscope.stories.tasks import classification_tasks

BASES = ("mpnet", "minilm")
STORIES, RULES = "stories", "rules"  # what shipped experts are for: the folders are FAMILY-BASE


def prepare_experts(
    name: str,
    *,
    family: str = STORIES,
    eight_bits: float = 0.0,
    progress: Progress | None = None,
) -> ExpertSet:
    """Load the experts that `name` means: `mpnet`, `minilm`, `scripted`, or a folder.

    A base's name means the shipped experts of the `family`; `rules-mpnet` names them in full.
    `eight_bits` lets them compute in 8 bits where the CPU can: all layers of the body (True), or a
    share of them from the last one down.

    Examples
    --------
    >>> prepare_experts("scripted").expert("action").labels
    ('immoral', 'moral')
    """
    if name == "scripted":
        return ScriptedExperts({row.name: row.labels for row in classification_tasks().values()})
    path = Path(name).expanduser()
    full = f"{family}-{name}" if name in BASES else name
    if full in [f"{purpose}-{base}" for purpose in (STORIES, RULES) for base in BASES]:
        path = shipped_folder(full)
    elif not path.is_dir():
        raise UnknownName(
            f"there are no experts '{name}'",
            f"{did_you_mean(name, [*BASES, 'scripted'])}, or a folder that "
            "'moralscope stories train' wrote",
        )
    from moralscope.models.classifiers.experts import Experts
    from moralscope.models.classifiers.module import resolve_base
    from moralscope.models.classifiers.saved import read_settings

    settings = read_settings(path)
    label = path.resolve().name  # of the shipped ones: stories-mpnet, stories-minilm
    base, checksum = None, ""
    if not (path / "model").is_dir():  # there, every weight was trained: no base is needed
        base, checksum = resolve_base(settings.base, Store(), progress)
    experts = Experts(path, base, checksum, label)
    if eight_bits:
        experts.quantise(eight_bits)
    return experts
