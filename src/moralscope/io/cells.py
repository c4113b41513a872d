"""Cells of spreadsheets: texts that a spreadsheet would run as a formula, made harmless."""

import re

SHEET_SCHEMA = "moralscope.sheet/1"
# A spreadsheet runs a cell that begins so as a formula; the full-width forms too.
_FORMULA = re.compile("^'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")


def escape_cell(text: str) -> str:
    """Keep a spreadsheet from running a text: an apostrophe goes before = + - @.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("Jo waits."), restore_cell(escape_cell("'=1+1"))
    ("'=1+1", 'Jo waits.', "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def restore_cell(text: str) -> str:
    """Undo `escape_cell`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
