"""The nouns of a chain: a step and a recipe. Reading them is `recipes`, running them `running`."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SAMPLING = ("count", "p", "temperature", "strategy")


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `source` is the step whose texts it takes (`from` in the file).

    `read` says which sentence of the row stands in for another: `{"action": "moral_action"}`.
    """

    name: str
    do: str
    task: str | None = None
    expert: str | None = None
    source: str | None = None
    field: str | None = None
    label: str | None = None
    read: Mapping[str, str] = dataclasses.field(default_factory=dict)
    count: int | None = None
    p: float | None = None
    temperature: float | None = None
    strategy: str | None = None

    @property
    def makes_texts(self) -> bool:
        """Whether later steps can take texts from this one."""
        return self.do != "condition"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A chain of steps with a name, what it is for, and where the paper has it."""

    name: str
    steps: tuple[Step, ...]
    about: str = ""
    paper: str = ""

    def step(self, name: str | None) -> Step:
        """Return a step by name."""
        return next(step for step in self.steps if step.name == name)


def recipe_plain(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the steps as plain data, without what is not set: for records and journals."""
    names = ("name", "do", "task", "expert", "source", "field", "label", "read", *SAMPLING)
    found = [{name: getattr(step, name) for name in names} for step in recipe.steps]
    return [
        {
            "from" if key == "source" else key: dict(value) if key == "read" else value
            for key, value in row.items()
            if value is not None and value != {}
        }
        for row in found
    ]


def where(origin: str, step: Step) -> str:
    """Say which step of which file a problem is about."""
    return f"{origin}, step '{step.name}'"
