"""moralscope measures, explains and steers the moral values that text models carry.

The public names are loaded when they are first used, so that importing costs nothing.
"""

from importlib import import_module
from typing import Any

from moralscope.version import __version__

# The one table of public names, by the module that each is loaded from.
_NAMES: dict[str, str] = {
    name: module
    for module, names in {
        "annotation.agreement": ["agreement"],
        "axes.choice": ["rank"],
        "axes.compare": ["compare"],
        "axes.correlate": ["correlate_words"],
        "axes.languages": ["compare_languages"],
        "axes.score": ["score"],
        "benchmarks.bench": ["bench"],
        "interop.reward": ["reward"],
        "io.files": ["write_record"],
        "models.encoders": ["load_encoder"],
        "models.encoders.loading": ["load_edited"],
        "models.language.loading": ["load_generator", "load_language_model"],
        "models.language.steering": ["load_vector"],
        "models.store": ["Store"],
        "papers.choice": ["reproduce_choice"],
        "papers.direction": ["reproduce_direction"],
        "papers.integrity": ["reproduce_integrity"],
        "papers.stories": ["reproduce_stories"],
        "pages": ["write_report"],
        "rules.audit": ["audit"],
        "rules.collect.collect": ["collect"],
        "rules.rulebooks.learn": ["learn_rules"],
        "rules.rulebooks.warrant": ["warrant"],
        "runs.compare": ["compare_runs"],
        "steer.check": ["check_vector"],
        "steer.edit": ["edit", "edited_encoder"],
        "steer.make": ["make_vector"],
        "steer.teach": ["teach"],
        "stories.chains.run": ["chain"],
        "stories.evaluate": ["evaluate"],
        "stories.experts": ["prepare_experts"],
        "stories.generate": ["generate"],
        "stories.reading": ["load_stories"],
        "stories.train": ["train_task"],
        "surveys.survey": ["survey"],
        "words.associate": ["associate", "associate_tests"],
        "words.compare": ["compare_corpora"],
        "words.extract": ["extract"],
    }.items()
    for name in names
}

__all__ = ["__version__", *sorted(_NAMES)]  # noqa: PLE0604 - all of them are texts


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'moralscope' has no attribute '{name}'")
    return getattr(import_module(f"moralscope.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
