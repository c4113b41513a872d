"""Saved runs of any command: read, compared, held against a gate, and kept with a title."""
