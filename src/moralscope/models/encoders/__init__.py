"""Encoders by name: `load_encoder("minilm")`, a local folder, or a hub id."""

from moralscope.models.encoders.loading import load_encoder, load_encoders
from moralscope.models.encoders.pipeline import Backend, TextEncoder

__all__ = ["Backend", "TextEncoder", "load_encoder", "load_encoders"]
