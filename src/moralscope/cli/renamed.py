"""Flags that older versions had: what they are called now, told for one version.

By command, as it is typed ("stories train"); the value ends the sentence "--old is now …".
"""

RENAMED: dict[str, dict[str, str]] = {
    "score": {
        "--max-actions": "gone: a list in one record has at most 200,000 actions; use --out DIR "
        "for longer ones",
    },
}
