"""Word vectors by name or file: `load_vectors("googlenews-26k")`, `load_vectors("mine.vec")`."""

from moralscope.words.vectors.loading import load_vectors, save_vectors
from moralscope.words.vectors.table import MissingWords, TableVectors, scripted_vectors

__all__ = ["MissingWords", "TableVectors", "load_vectors", "save_vectors", "scripted_vectors"]
