"""The text in chat messages, as other tools hand them on: a string, messages, or JSON of them."""

import json
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
    messages = _messages(value)
    if messages is None:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    said = [each.get("content") for each in messages if each.get("role") == role]
    return _text(said[-1]) if said else ""


def _messages(value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return value
    return None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
