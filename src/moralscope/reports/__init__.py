"""Figures drawn from run records alone, so that old runs can be redrawn. HTML comes later."""

from moralscope.reports.scatter import draw_scatter

__all__ = ["draw_scatter"]
