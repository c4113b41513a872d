"""Encoders by name: `load_encoder("minilm")`, a local folder, or a hub id."""

from moralscope.engine.encoders.loading import load_encoder
from moralscope.engine.encoders.pipeline import Backend, TextEncoder

__all__ = ["Backend", "TextEncoder", "load_encoder"]
