"""Where the store lives and what it may reach, as the environment says. Touches no file."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def home_folder() -> Path:
    """Return the store's folder: ``$MORALSCOPE_HOME``, or the user's cache folder."""
    named = os.environ.get("MORALSCOPE_HOME")
    return Path(named).expanduser().absolute() if named else user_cache_path("moralscope")


def is_offline() -> bool:
    """Tell whether ``$MORALSCOPE_OFFLINE`` forbids the network."""
    return _says("MORALSCOPE_OFFLINE", "1", "true", "yes", "on")


def may_use_hub() -> bool:
    """Tell whether the official hub may be asked."""
    switched_off = _says("MORALSCOPE_HUB", "0", "false", "no", "off")
    return not switched_off and not _says("HF_HUB_OFFLINE", "1", "true", "yes", "on")


def _says(variable: str, *words: str) -> bool:
    return os.environ.get(variable, "").strip().lower() in words
