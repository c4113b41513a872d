"""The text in chat messages, as other tools hand them on: a string, messages, or JSON of them."""

import json
from contextlib import suppress
from typing import Any


def text_in(value: Any, role: str) -> str:
    """Return what `role` said last in messages; a plain text is returned as it is.

    Examples
    --------
    >>> said = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Ho!"}]
    >>> text_in(said, "user")
    'Hi!'
    >>> text_in('[{"role": "user", "content": [{"type": "text", "text": "Hi!"}]}]', "user")
    'Hi!'
    >>> text_in("Is [1] a list?", "user")
    'Is [1] a list?'
    """
    messages = value
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            messages = json.loads(value)
    if not (isinstance(messages, list) and messages and all(isinstance(m, dict) for m in messages)):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    said = [turn.get("content") for turn in messages if turn.get("role") == role]
    content = said[-1] if said else ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
