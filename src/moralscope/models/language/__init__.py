"""Generators by name: `load_generator("smollm2")`, a folder, a hub id, an endpoint, `scripted`."""

from moralscope.models.language.conversion import base_folder
from moralscope.models.language.endpoint import EndpointOptions
from moralscope.models.language.loading import generator_refs, load_generator
from moralscope.models.language.scripted import ScriptedGenerator

__all__ = [
    "EndpointOptions",
    "ScriptedGenerator",
    "base_folder",
    "generator_refs",
    "load_generator",
]
