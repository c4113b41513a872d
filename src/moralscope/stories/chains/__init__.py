"""Chains of experts (Emelin et al. 2021, section 4.4): recipes as data, one small engine.

Public names only; the modules behind them may move.
"""

from moralscope.stories.chains.explain import explain
from moralscope.stories.chains.flow import (
    Recipe,
    Step,
    by_target,
    recipe_plain,
    story_fields,
    text_task,
)
from moralscope.stories.chains.recipes import STRATEGIES, load_recipe, parse_recipe, recipe_names
from moralscope.stories.chains.running import (
    BLOCK,
    Block,
    Item,
    Skipped,
    Tally,
    items_of,
    run_chain,
)
from moralscope.stories.chains.steps import ExpertShelf, Plan, seed_of

__all__ = [
    "BLOCK",
    "STRATEGIES",
    "Block",
    "ExpertShelf",
    "Item",
    "Plan",
    "Recipe",
    "Skipped",
    "Step",
    "Tally",
    "by_target",
    "explain",
    "items_of",
    "load_recipe",
    "parse_recipe",
    "recipe_names",
    "recipe_plain",
    "run_chain",
    "seed_of",
    "story_fields",
    "text_task",
]
