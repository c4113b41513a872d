"""Consent to licences that ask for it, remembered in the store's home. Judges no licence."""

from pathlib import Path

from moralscope.core.errors import LicenceNotAccepted
from moralscope.models.store._entries import ModelEntry


def remember_consent(entry: ModelEntry, home: Path) -> None:
    """Write down that the user accepted the licence of `entry`."""
    if entry.licence_opt_in and not _has_consent(entry, home):
        note = _note(entry, home)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{entry.licence_url}\n", encoding="utf-8")


def require_consent(entry: ModelEntry, home: Path) -> None:
    """Raise `LicenceNotAccepted` if `entry` asks for consent that was not given."""
    if entry.licence_opt_in and not _has_consent(entry, home):
        raise LicenceNotAccepted(
            f"{entry.name} is under the {entry.licence} licence, which asks for your consent",
            f"read {entry.licence_url}, then run "
            f"'moralscope models pull {entry.name} --accept-licence'",
        )


def _has_consent(entry: ModelEntry, home: Path) -> bool:
    try:
        return _note(entry, home).read_text(encoding="utf-8").strip() == entry.licence_url
    except OSError:
        return False


def _note(entry: ModelEntry, home: Path) -> Path:
    return home / "licences" / entry.name
