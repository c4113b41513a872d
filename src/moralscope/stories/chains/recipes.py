"""Recipes: the steps of a chain as a few lines of TOML, read and checked. Nothing is run here.

Chain-of-Experts decoding (Emelin et al. 2021, section 4.4 and Table 19) is four kinds of steps:
`propose`, `rank`, `condition`, `refine`. Every mistake in a recipe is one line that names the
file and the step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.registry import require_known
from moralscope.io.documents import Document, recipe_document
from moralscope.stories.chains.flow import ChainRecipe, Step, check_flow, where

MAX_STEPS = 50
_SAMPLING = ("count", "p", "temperature", "strategy")
KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # needed, and allowed
    "propose": (("task",), ("read", *_SAMPLING)),
    "rank": (("expert",), ("from", "read", "label")),
    "condition": (("field",), ("from",)),
    "refine": (("task", "expert"), ("from", "read", *_SAMPLING)),
}
STRATEGIES = ("greedy", "beam", "nucleus")
_MOST = {"count": 1000, "p": 1, "temperature": 10}
_DOCS = "see docs/chains.md"


def load_recipe(name: str) -> ChainRecipe:
    """Read a recipe by name or from a .toml file of the user's, and check it."""
    document = recipe_document("moralscope.stories", "recipes", name, _DOCS)
    return parse_recipe(document.content, Path(name).stem, document.name)


def parse_recipe(text: str, name: str, origin: str) -> ChainRecipe:
    """Turn TOML into a checked recipe."""
    values = {"name": name, **Document(text, origin, _DOCS).toml_values()}
    recipe = decode(ChainRecipe, values, origin, remedy=_DOCS, exact=True)
    if not 1 <= len(recipe.steps) <= MAX_STEPS:
        raise InputError(f"{origin} has {len(recipe.steps)} steps", f"give 1 to {MAX_STEPS}")
    for step in recipe.steps:
        _check_step(step, where(origin, step))
    recipe = replace(recipe, steps=_linked(recipe.steps, origin))
    check_flow(recipe, origin)
    return recipe


def _check_step(step: Step, at: str) -> None:
    if not step.name.strip():
        raise InputError(f"{at} has no name", 'add name = "…"')
    require_known(step.do, KEYS, f"{at}: there is no step '{step.do}'")
    needed, optional = KEYS[step.do]
    allowed = ("name", "do", *needed, *optional)
    for key in step:
        require_known(key, allowed, f"{at} ({step.do}) has an unknown key '{key}'")
    for key in needed:
        if key not in step:
            raise InputError(f"{at}: {step.do} needs '{key}'", f'add {key} = "…"')
    for key, most in _MOST.items():
        if key in step and not 0 < step[key] <= most:
            what = f"{at}: '{key}' is {step[key]}"
            raise InputError(what, f"give more than 0 and at most {most}")
    if step.strategy is not None:
        require_known(step.strategy, STRATEGIES, f"{at}: there is no strategy '{step.strategy}'")


def _linked(steps: Sequence[Step], origin: str) -> tuple[Step, ...]:
    """Give every step that takes texts its source: the one named, or the last one before it."""
    names = [step.name for step in steps]
    linked: dict[str, Step] = {}
    for step in steps:
        at, source = where(origin, step), step.source
        if step.name in linked:
            raise InputError(f"{at} is there twice", "give steps different names")
        if step.do != "propose" and source is None:
            source = next((s.name for s in reversed(linked.values()) if s.makes_texts), None)
            if source is None:
                raise InputError(f"{at}: nothing to {step.do}", "put a propose step before it")
        if source is not None:
            require_known(source, names, f"{at}: 'from' names no step '{source}'")
        if source is not None and source not in linked:
            raise InputError(
                f"{at} takes texts from '{source}', which does not come before it",
                "take texts from an earlier step",
            )
        if source is not None and not linked[source].makes_texts:
            raise InputError(
                f"{at}: '{source}' makes no texts", "take them from a propose, rank or refine step"
            )
        linked[step.name] = replace(step, source=source)
    return tuple(linked.values())
