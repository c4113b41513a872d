"""The version, in one place: the package, its build and every run record read it here."""

__version__ = "0.15.0"
