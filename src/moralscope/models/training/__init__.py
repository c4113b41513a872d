"""Training: one loop, one trainer, and recipes that say what is learnt from what, and how.

`loop` steps and survives being killed; `classifier` and `generator` are what it can train; `recipe`
reads TOML; `trainer` puts a recipe and a subject's data source together and writes a folder.
Inference imports nothing from here.
"""
