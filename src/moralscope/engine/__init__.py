"""The workshop: encoders, the model store, the cache, statistics. It knows nothing of morals."""
