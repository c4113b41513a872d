"""The room of the Moral Choice Machine (Jentzsch et al. 2019): question/answer bias, ranking."""

from moralscope.choice.machine import ChoiceMachine
from moralscope.choice.paper import load_paper
from moralscope.choice.ranking import rank_answers
from moralscope.choice.templates import Prompt, Template, load_template

__all__ = ["ChoiceMachine", "Prompt", "Template", "load_paper", "load_template", "rank_answers"]
