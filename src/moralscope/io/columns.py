"""What the columns of a user's table are called: `--columns`, for every command that has it."""

from collections.abc import Sequence

from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean


def parse_pairs(text: str | None, option: str, like: str) -> dict[str, str]:
    """Read an option of the form name=value, by commas; None has none.

    Examples
    --------
    >>> parse_pairs("severity=ordinal, rule=text", "--levels", "FIELD=LEVEL")
    {'severity': 'ordinal', 'rule': 'text'}
    """
    found: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        if found and not part.strip():
            continue  # a comma at the end
        name, sign, value = (word.strip() for word in part.partition("="))
        if not sign or not name or not value or name in found:
            raise InputError(f"{option} has '{part.strip()[:60]}'", f"write it like {like}")
        found[name] = value
    return found


def parse_columns(
    text: str | None, known: Sequence[str] = (), *, like: str = "prompt=Q,reply=A"
) -> dict[str, str]:
    """Read `--columns`: our name of a column and the file's; `known` are the names we have.

    Examples
    --------
    >>> parse_columns("prompt=Q, reply=bot says", ("prompt", "reply"))
    {'prompt': 'Q', 'reply': 'bot says'}
    """
    found = parse_pairs(text, "--columns", like)
    for ours in found:
        if known and ours not in known:
            raise InputError(f"--columns has '{ours[:60]}'", did_you_mean(ours, known))
    if len(set(found.values())) < len(found):
        raise InputError("--columns names a column twice", f"write it like {like}")
    return found
