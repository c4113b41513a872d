"""Server-sent events, read as WHATWG's HTML standard says (section 9.2.6).

A line ends at CR LF, LF or CR and at nothing else: U+2028 and U+0085 are letters of a text. Several
`data` lines of an event are one text of several lines. Knows nothing of what the events hold.
"""

import re
from collections.abc import Iterator

_LINE_END = re.compile(r"\r\n|\n|\r")
_MARK = "\ufeff"  # a stream may begin with a byte order mark


def read_events(data: bytes) -> Iterator[tuple[str, str]]:
    r"""Yield the type and the text of each event; bytes that are no UTF-8 are a `ValueError`.

    A last event that no blank line ends is yielded too: servers that close after `[DONE]` mean it,
    and half a JSON document is told by whoever reads it.
    """
    event, lines = "", list[str]()
    for line in (*_LINE_END.split(data.decode("utf-8").removeprefix(_MARK)), ""):
        if not line:
            if lines:
                yield event or "message", "\n".join(lines)
            event, lines = "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            lines.append(value)
        elif name == "event":
            event = value
