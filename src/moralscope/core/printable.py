"""The one cleaner of what reaches a terminal or a log: names and texts of strangers among it.

A terminal obeys some characters: ESC and its kind write the clipboard (OSC 52), move the cursor or
hide a line, and marks of direction turn round what stands beside them.
"""

_JOINERS = "\u200c\u200d"  # parts of words in Persian and Hindi, of emoji everywhere


def printable(text: str, keep: str = "") -> str:
    r"""Return a text without what does not print: blanks for blanks, a sign for the rest.

    Examples
    --------
    >>> printable("a\x1b]52;c;eA==\x07b\tc")
    'a�]52;c;eA==�b c'
    """
    if text.isprintable():
        return text
    kept = _JOINERS + keep
    return "".join(
        char if char.isprintable() or char in kept else " " if char.isspace() else "\ufffd"
        for char in text
    )
