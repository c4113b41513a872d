"""Classifiers: sets of experts over pairs of texts, trained, saved, loaded."""
