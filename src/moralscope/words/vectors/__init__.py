"""Word vectors by name or file: `load_vectors("googlenews-26k")`, `load_vectors("mine.vec")`."""

from moralscope.words.vectors.layout import save_vectors
from moralscope.words.vectors.loading import load_vectors
from moralscope.words.vectors.scripted import scripted_vectors
from moralscope.words.vectors.table import CASES, MissingWords, TableVectors

__all__ = [
    "CASES",
    "MissingWords",
    "TableVectors",
    "load_vectors",
    "save_vectors",
    "scripted_vectors",
]
