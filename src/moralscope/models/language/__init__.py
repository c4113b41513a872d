"""Language models by name: a stored one, a folder, a hub id, an endpoint, `scripted`.

`load_generator` returns what writes; `load_language_model` what also scores and shows its states.
"""

from moralscope.models.language.endpoint import EndpointOptions
from moralscope.models.language.loading import generator_refs, load_generator, load_language_model
from moralscope.models.language.steering import load_steered, load_vector, steer_model

__all__ = [
    "EndpointOptions",
    "generator_refs",
    "load_generator",
    "load_language_model",
    "load_steered",
    "load_vector",
    "steer_model",
]
