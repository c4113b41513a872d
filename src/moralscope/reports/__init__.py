"""Reports and figures, drawn from run records alone, so that old runs can be redrawn.

`report_html` makes the interactive page, `figure_bytes` a static figure for a paper. Both take the
plain form of a record (what JSON holds) and compute nothing new.
"""

from typing import Any

FIGURES = (".svg", ".png", ".pdf")

__all__ = ["FIGURES", "figure_bytes", "report_html"]


def report_html(plain: Any, name: str = "the run record") -> str:
    """Return the report of a plain run record as one HTML document.

    Examples
    --------
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {},
    ...           "results": [{"action": "<b>", "score": 0.1}]}
    >>> report_html(record).startswith("<!doctype html>")
    True
    """
    from moralscope.reports.build import build_page
    from moralscope.reports.html import render

    return render(build_page(plain, name))


def figure_bytes(plain: Any, suffix: str, name: str = "the run record") -> bytes:
    """Return a static figure (.svg, .png or .pdf); the same record gives the same SVG."""
    from moralscope.reports.figures import draw

    return draw(plain, suffix, name)
