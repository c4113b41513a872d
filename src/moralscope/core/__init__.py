"""Nouns and seams: records, protocols, errors, registry.

Nothing here knows how a thing is computed. No torch, no file access, no import of ours.
"""
