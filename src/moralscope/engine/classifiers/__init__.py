"""Classifiers: sets of experts over pairs of texts, trained, saved, loaded."""

from moralscope.engine.classifiers.experts import Experts
from moralscope.engine.classifiers.scripted import ScriptedExperts

__all__ = ["Experts", "ScriptedExperts"]
