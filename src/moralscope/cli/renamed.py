"""Flags that older versions had: what they are called now, told for one version.

By command, as it is typed ("stories train"); the value ends the sentence "--old is now …".
"""

RENAMED: dict[str, dict[str, str]] = {}
