"""Figures and HTML drawn from run records alone. Built later."""
