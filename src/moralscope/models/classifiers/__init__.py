"""Classifiers: sets of experts over pairs of texts, trained, saved, loaded."""

from moralscope.models.classifiers.experts import Experts
from moralscope.models.classifiers.scripted import ScriptedExperts

__all__ = ["Experts", "ScriptedExperts"]
