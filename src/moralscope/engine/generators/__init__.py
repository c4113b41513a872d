"""Generators by name: `load_generator("smollm2")`, a folder, a hub id, an endpoint, `scripted`."""

from moralscope.engine.generators.conversion import base_folder
from moralscope.engine.generators.endpoint import EndpointOptions, Usage
from moralscope.engine.generators.loading import load_generator
from moralscope.engine.generators.scripted import ScriptedGenerator

__all__ = ["EndpointOptions", "ScriptedGenerator", "Usage", "base_folder", "load_generator"]
