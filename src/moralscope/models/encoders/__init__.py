"""Encoders by name: `load_encoder("minilm")`, a local folder, or a hub id."""

from moralscope.models.encoders.loading import load_encoder, load_encoders
from moralscope.models.encoders.pipeline import TextEncoder

__all__ = ["TextEncoder", "load_encoder", "load_encoders"]
