"""moralscope measures, explains and steers the moral values that text models carry.

The public names are loaded when they are first used, so that importing costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from moralscope.version import __version__

if TYPE_CHECKING:
    from moralscope.engine.encoders import load_encoder
    from moralscope.engine.store import Store
    from moralscope.jobs.associate import associate, associate_tests
    from moralscope.jobs.compare import compare
    from moralscope.jobs.compare_corpora import compare_corpora
    from moralscope.jobs.compare_runs import compare_runs
    from moralscope.jobs.correlate import correlate_words
    from moralscope.jobs.edit import edit, edited_encoder, load_edited
    from moralscope.jobs.experts import prepare_experts
    from moralscope.jobs.extract import extract
    from moralscope.jobs.generators import prepare_generator
    from moralscope.jobs.judge import judge
    from moralscope.jobs.rank import rank
    from moralscope.jobs.records import write_record
    from moralscope.jobs.report import write_report
    from moralscope.jobs.reproduce import reproduce_choice
    from moralscope.jobs.reproduce_direction import reproduce_direction
    from moralscope.jobs.reproduce_stories import reproduce_stories
    from moralscope.jobs.score import score
    from moralscope.jobs.stories_chain import chain
    from moralscope.jobs.stories_data import load_stories
    from moralscope.jobs.stories_evaluate import evaluate
    from moralscope.jobs.stories_generate import generate
    from moralscope.jobs.stories_train import train_task
    from moralscope.jobs.teach import teach

_HOMES = {
    "Store": "moralscope.engine.store",
    "associate": "moralscope.jobs.associate",
    "associate_tests": "moralscope.jobs.associate",
    "chain": "moralscope.jobs.stories_chain",
    "compare": "moralscope.jobs.compare",
    "compare_corpora": "moralscope.jobs.compare_corpora",
    "compare_runs": "moralscope.jobs.compare_runs",
    "correlate_words": "moralscope.jobs.correlate",
    "edit": "moralscope.jobs.edit",
    "edited_encoder": "moralscope.jobs.edit",
    "evaluate": "moralscope.jobs.stories_evaluate",
    "extract": "moralscope.jobs.extract",
    "generate": "moralscope.jobs.stories_generate",
    "judge": "moralscope.jobs.judge",
    "load_edited": "moralscope.jobs.edit",
    "load_encoder": "moralscope.engine.encoders",
    "load_stories": "moralscope.jobs.stories_data",
    "prepare_experts": "moralscope.jobs.experts",
    "prepare_generator": "moralscope.jobs.generators",
    "rank": "moralscope.jobs.rank",
    "reproduce_choice": "moralscope.jobs.reproduce",
    "reproduce_direction": "moralscope.jobs.reproduce_direction",
    "reproduce_stories": "moralscope.jobs.reproduce_stories",
    "score": "moralscope.jobs.score",
    "teach": "moralscope.jobs.teach",
    "train_task": "moralscope.jobs.stories_train",
    "write_record": "moralscope.jobs.records",
    "write_report": "moralscope.jobs.report",
}

__all__ = [
    "Store",
    "__version__",
    "associate",
    "associate_tests",
    "chain",
    "compare",
    "compare_corpora",
    "compare_runs",
    "correlate_words",
    "edit",
    "edited_encoder",
    "evaluate",
    "extract",
    "generate",
    "judge",
    "load_edited",
    "load_encoder",
    "load_stories",
    "prepare_experts",
    "prepare_generator",
    "rank",
    "reproduce_choice",
    "reproduce_direction",
    "reproduce_stories",
    "score",
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
