"""moralscope measures, explains and steers the moral values that text models carry.

The public names are loaded when they are first used, so that importing costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from moralscope.version import __version__

if TYPE_CHECKING:
    from moralscope.axes.choice import rank
    from moralscope.axes.compare import compare
    from moralscope.axes.correlate import correlate_words
    from moralscope.axes.languages import compare_languages
    from moralscope.axes.score import score
    from moralscope.interop.reward import reward
    from moralscope.io.files import write_record
    from moralscope.models.encoders import load_encoder
    from moralscope.models.encoders.loading import load_edited
    from moralscope.models.language import load_generator, load_language_model
    from moralscope.models.language.steering import load_vector
    from moralscope.models.store import Store
    from moralscope.pages import write_report
    from moralscope.papers.choice import reproduce_choice
    from moralscope.papers.direction import reproduce_direction
    from moralscope.papers.stories import reproduce_stories
    from moralscope.runs.compare import compare_runs
    from moralscope.steer.check import check_vector
    from moralscope.steer.edit import edit, edited_encoder
    from moralscope.steer.make import make_vector
    from moralscope.steer.teach import teach
    from moralscope.stories.chains.run import chain
    from moralscope.stories.evaluate import evaluate
    from moralscope.stories.experts import prepare_experts
    from moralscope.stories.generate import generate
    from moralscope.stories.reading import load_stories
    from moralscope.stories.train import train_task
    from moralscope.surveys.survey import survey
    from moralscope.words.associate import associate, associate_tests
    from moralscope.words.compare import compare_corpora
    from moralscope.words.extract import extract

_HOMES = {
    "Store": "moralscope.models.store",
    "associate": "moralscope.words.associate",
    "associate_tests": "moralscope.words.associate",
    "chain": "moralscope.stories.chains.run",
    "check_vector": "moralscope.steer.check",
    "compare": "moralscope.axes.compare",
    "compare_corpora": "moralscope.words.compare",
    "compare_languages": "moralscope.axes.languages",
    "compare_runs": "moralscope.runs.compare",
    "correlate_words": "moralscope.axes.correlate",
    "edit": "moralscope.steer.edit",
    "edited_encoder": "moralscope.steer.edit",
    "evaluate": "moralscope.stories.evaluate",
    "extract": "moralscope.words.extract",
    "generate": "moralscope.stories.generate",
    "load_edited": "moralscope.models.encoders.loading",
    "load_encoder": "moralscope.models.encoders",
    "load_stories": "moralscope.stories.reading",
    "prepare_experts": "moralscope.stories.experts",
    "load_generator": "moralscope.models.language.loading",
    "load_language_model": "moralscope.models.language.loading",
    "load_vector": "moralscope.models.language.steering",
    "make_vector": "moralscope.steer.make",
    "rank": "moralscope.axes.choice",
    "reproduce_choice": "moralscope.papers.choice",
    "reproduce_direction": "moralscope.papers.direction",
    "reproduce_stories": "moralscope.papers.stories",
    "reward": "moralscope.interop.reward",
    "score": "moralscope.axes.score",
    "survey": "moralscope.surveys.survey",
    "teach": "moralscope.steer.teach",
    "train_task": "moralscope.stories.train",
    "write_record": "moralscope.io.files",
    "write_report": "moralscope.pages",
}

__all__ = [
    "Store",
    "__version__",
    "associate",
    "associate_tests",
    "chain",
    "check_vector",
    "compare",
    "compare_corpora",
    "compare_languages",
    "compare_runs",
    "correlate_words",
    "edit",
    "edited_encoder",
    "evaluate",
    "extract",
    "generate",
    "load_edited",
    "load_encoder",
    "load_generator",
    "load_language_model",
    "load_stories",
    "load_vector",
    "make_vector",
    "prepare_experts",
    "rank",
    "reproduce_choice",
    "reproduce_direction",
    "reproduce_stories",
    "reward",
    "score",
    "survey",
    "teach",
    "train_task",
    "write_record",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'moralscope' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
