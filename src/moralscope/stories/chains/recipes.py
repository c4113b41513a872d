"""Recipes: the steps of a chain as a few lines of TOML, read and checked. Nothing is run here.

Chain-of-Experts decoding (Emelin et al. 2021, section 4.4 and Table 19) is four kinds of steps:
`propose`, `rank`, `condition`, `refine`. Every mistake in a recipe is one line that names the
file and the step.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.io.documents import Document, read_document
from moralscope.stories.chains.flow import SAMPLING, Recipe, Step, check_flow, where

MAX_COUNT = 1000
MAX_STEPS = 50
KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "propose": (("task",), ("read", *SAMPLING)),
    "rank": (("expert",), ("from", "read", "label")),
    "condition": (("field",), ("from",)),
    "refine": (("task", "expert"), ("from", "read", *SAMPLING)),
}
STRATEGIES = ("greedy", "beam", "nucleus")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "task": (str,),
    "expert": (str,),
    "from": (str,),
    "field": (str,),
    "label": (str,),
    "strategy": (str,),
    "read": (dict,),
    "count": (int,),
    "p": (int, float),
    "temperature": (int, float),
}
_WORDS = {str: "text", dict: "a table", int: "a whole number", float: "a number"}


def recipe_names() -> tuple[str, ...]:
    """Return the names of the recipes that come with moralscope.

    Examples
    --------
    >>> [name for name in recipe_names() if name.startswith("action-")][:2]
    ['action-abduction', 'action-abduction-published']
    """
    folder = resources.files("moralscope.stories").joinpath("data/recipes")
    return tuple(sorted(item.name.removesuffix(".toml") for item in folder.iterdir()))


def load_recipe(name: str) -> Recipe:
    """Read a recipe by name or from a .toml file of the user's, and check it.

    Examples
    --------
    >>> [step.do for step in load_recipe("action-ranking").steps]
    ['propose', 'rank']
    """
    if name in recipe_names():
        place = resources.files("moralscope.stories").joinpath(f"data/recipes/{name}.toml")
        return parse_recipe(place.read_text("utf-8"), name, f"recipe {name}")
    path = Path(name).expanduser()
    if path.suffix != ".toml" and not path.is_file():
        known = did_you_mean(name, recipe_names())
        raise UnknownName(f"there is no recipe '{name}'", f"{known}; or give a .toml file")
    found = read_document(path, "recipe", "give a recipe's name or a .toml file")
    return parse_recipe(found.content, path.stem, str(path))


def parse_recipe(text: str, name: str, origin: str) -> Recipe:
    """Turn TOML into a checked recipe.

    Examples
    --------
    >>> text = 'steps = [{name = "a", do = "propose", task = "action|context"}]'
    >>> parse_recipe(text, "mine", "mine.toml").steps[0].task
    'action|context'
    """
    given = Document(text, origin, "see docs/chains.md").toml_values()
    _only(given, ("about", "paper", "steps"), origin)
    for key in ("about", "paper"):
        if not isinstance(given.get(key, ""), str):
            raise InputError(f"{origin}: '{key}' is not text", "put it in quotes")
    rows = given.get("steps")
    if not isinstance(rows, list) or not rows:
        raise InputError(
            f"{origin} has no steps", 'add steps = [{ name = "…", do = "propose", … }]'
        )
    if len(rows) > MAX_STEPS:
        raise InputError(f"{origin} has {len(rows)} steps", f"at most {MAX_STEPS}")
    steps = [_step(row, f"{origin}, step {place}") for place, row in enumerate(rows, 1)]
    recipe = Recipe(name, _linked(steps, origin), given.get("about", ""), given.get("paper", ""))
    check_flow(recipe, origin)
    return recipe


def _step(row: Any, place: str) -> Step:
    if not isinstance(row, dict):
        raise InputError(f"{place} is no table", 'write { name = "…", do = "propose", … }')
    name, do = row.get("name"), row.get("do")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{place} has no name", 'add name = "…"')
    place = f"{place.rpartition(', step ')[0]}, step '{name}'"
    if not isinstance(do, str):
        raise InputError(f"{place} does not say what it does", f'add do = "…": {", ".join(KEYS)}')
    if do not in KEYS:
        raise InputError(f"{place}: there is no step '{do}'", did_you_mean(do, KEYS))
    needed, optional = KEYS[do]
    _only(row, ("name", "do", *needed, *optional), f"{place} ({do})")
    for key in needed:
        if key not in row:
            raise InputError(f"{place}: {do} needs '{key}'", f'add {key} = "…"')
    values = {key: _typed(key, row[key], place) for key in row if key not in ("name", "do")}
    return Step(name, do, source=values.pop("from", None), **values)


def _typed(key: str, value: Any, place: str) -> Any:
    kinds = _TYPES[key]
    right = isinstance(value, kinds) and not isinstance(value, bool)
    if not right:
        raise InputError(f"{place}: '{key}' must be {_WORDS[kinds[-1]]}", f"it is {value!r}")
    if key == "read" and not all(isinstance(item, str) for item in value.values()):
        raise InputError(f"{place}: 'read' must hold texts", 'write { action = "moral_action" }')
    if key == "count" and not 1 <= value <= MAX_COUNT:
        raise InputError(f"{place}: 'count' is {value}", f"give 1 to {MAX_COUNT}")
    if key == "p" and not 0 < value <= 1:
        raise InputError(f"{place}: 'p' is {value}", "give more than 0 and at most 1")
    if key == "temperature" and not 0 < value <= 10:
        raise InputError(f"{place}: 'temperature' is {value}", "give more than 0 and at most 10")
    if key == "strategy" and value not in STRATEGIES:
        raise InputError(
            f"{place}: there is no strategy '{value}'", did_you_mean(value, STRATEGIES)
        )
    return value


def _linked(steps: list[Step], origin: str) -> tuple[Step, ...]:
    """Give every step that takes texts its source: the one named, or the last one before it."""
    names = [step.name for step in steps]
    linked: list[Step] = []
    for place, step in enumerate(steps):
        if names.index(step.name) != place:
            raise InputError(f"{where(origin, step)} is there twice", "give steps different names")
        source = step.source
        if step.do != "propose" and source is None:
            source = next((s.name for s in reversed(linked) if s.makes_texts), None)
            if source is None:
                raise InputError(
                    f"{where(origin, step)}: nothing to {step.do}", "put a propose step before it"
                )
        linked.append(replace(step, source=source))
    _check_order(linked, origin)
    return tuple(linked)


def _check_order(steps: list[Step], origin: str) -> None:
    """Refuse a step that takes texts from itself or a later one; a cycle is named as such."""
    sources = {step.name: step.source for step in steps}
    order = list(sources)
    for place, step in enumerate(steps):
        if step.source is None:
            continue
        if step.source not in sources:
            raise InputError(
                f"{where(origin, step)}: 'from' names no step '{step.source}'",
                did_you_mean(step.source, order),
            )
        if order.index(step.source) >= place:
            raise InputError(
                f"{where(origin, step)} {_why_not(step.name, sources)}",
                "take texts from an earlier step",
            )
        if not steps[order.index(step.source)].makes_texts:
            raise InputError(
                f"{where(origin, step)}: '{step.source}' makes no texts",
                "take them from a propose, rank or refine step",
            )


def _why_not(name: str, sources: Mapping[str, str | None]) -> str:
    """Tell a cycle from a step that merely stands too early."""
    walk, at = [name], sources[name]
    while at is not None and at not in walk:
        walk.append(at)
        at = sources.get(at)
    if at is not None:
        return f"is part of a cycle: {' ← '.join([*walk[walk.index(at) :], at])}"
    return f"takes texts from '{sources[name]}', which comes later"


def _only(given: Mapping[str, Any], allowed: tuple[str, ...], place: str) -> None:
    for key in given:
        if key not in allowed:
            raise InputError(f"{place} has an unknown key '{key}'", did_you_mean(key, allowed))
