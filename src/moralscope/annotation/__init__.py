"""Annotation: projects, forms, quality checks, storage, and how far people agree."""
