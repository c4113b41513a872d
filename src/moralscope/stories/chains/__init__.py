"""Chains of experts (Emelin et al. 2021, section 4.4): recipes as data, one small engine.

Public names only; the modules behind them may move.
"""

from moralscope.stories.chains.engine import BLOCK, ChainBlock, ChainItem, items_of, run_chain
from moralscope.stories.chains.explain import explain
from moralscope.stories.chains.flow import ChainRecipe, Step, by_target, story_fields, text_task
from moralscope.stories.chains.recipes import STRATEGIES, load_recipe, parse_recipe, recipe_names
from moralscope.stories.chains.records import ChainResult, ChainStatistics, SkippedStory, StepTally
from moralscope.stories.chains.steps import ChainPlan, seed_of

__all__ = [
    "BLOCK",
    "STRATEGIES",
    "ChainBlock",
    "ChainItem",
    "ChainPlan",
    "ChainRecipe",
    "ChainResult",
    "ChainStatistics",
    "SkippedStory",
    "Step",
    "StepTally",
    "by_target",
    "explain",
    "items_of",
    "load_recipe",
    "parse_recipe",
    "recipe_names",
    "run_chain",
    "seed_of",
    "story_fields",
    "text_task",
]
