"""The room of the Moral Choice Machine (Jentzsch et al. 2019): question/answer bias, ranking."""

from moralscope.axes.choice.machine import ChoiceMachine
from moralscope.axes.choice.ranking import rank_answers
from moralscope.axes.choice.templates import Prompt, Template, load_template
from moralscope.words.paper import load_paper

__all__ = ["ChoiceMachine", "Prompt", "Template", "load_paper", "load_template", "rank_answers"]
