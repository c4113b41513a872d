"""Experts for jobs: the shipped ones by their base, or a folder that `stories train` wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from moralscope.core.errors import UnknownName
from moralscope.core.protocols import Classifier
from moralscope.core.records import ModelRef
from moralscope.core.registry import did_you_mean
from moralscope.engine.classifiers import Experts, ScriptedExperts
from moralscope.engine.classifiers.bases import resolve_base
from moralscope.engine.classifiers.saved import read_settings
from moralscope.engine.shipped import shipped_folder
from moralscope.engine.store import Progress, Store
from moralscope.stories.tasks import classification_tasks

SHIPPED = {"mpnet": "stories-mpnet", "minilm": "stories-minilm"}


class ExpertSet(Protocol):
    """Experts by task, as jobs use them."""

    @property
    def ref(self) -> ModelRef: ...

    @property
    def card(self) -> Mapping[str, Any]: ...

    @property
    def tasks(self) -> tuple[str, ...]: ...

    def expert(self, task: str) -> Classifier: ...


def prepare_experts(name: str, *, progress: Progress | None = None) -> ExpertSet:
    """Load the experts that `name` means: `mpnet`, `minilm`, `scripted`, or a folder.

    Examples
    --------
    >>> prepare_experts("scripted").expert("action").labels
    ('immoral', 'moral')
    """
    if name == "scripted":
        return ScriptedExperts({row.name: row.labels for row in classification_tasks().values()})
    path = Path(name).expanduser()
    if name in SHIPPED or name in SHIPPED.values():
        path = shipped_folder(SHIPPED.get(name, name))
    elif not path.is_dir():
        raise UnknownName(
            f"there are no experts '{name}'",
            f"{did_you_mean(name, [*SHIPPED, 'scripted'])}, or a folder that "
            "'moralscope stories train' wrote",
        )
    settings = read_settings(path)
    label = path.resolve().name  # of the shipped ones: stories-mpnet, stories-minilm
    if (path / "model").is_dir():  # every weight was trained: no base is needed
        return Experts(path, None, "", label)
    base, checksum = resolve_base(settings.base, Store(), progress)
    return Experts(path, base, checksum, label)
