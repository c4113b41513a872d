"""Exports of a project into its own folder `exports`; a name never leads anywhere else."""

import re
from pathlib import Path

from moralscope.annotation.desk_lead import LeadDesk
from moralscope.annotation.exporting import (
    SUFFIXES,
    Plain,
    check_shape,
    export_bytes,
    people_bytes,
)
from moralscope.annotation.records import Person
from moralscope.annotation.yaml_files import one_of
from moralscope.core.errors import InputError
from moralscope.io.files import write_whole

FOLDER = "exports"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}(\.[a-z]{1,8})?")


class ExportDesk(LeadDesk):
    """Exports for leads."""

    escape: Plain = str

    def export_to(self, lead: Person, name: str, shape: str, stage: str = "main") -> Path:
        """Write an export under a plain file name; return where it is.

        The suffix may be left out. An export of the same name is replaced, whole.
        """
        self._lead(lead)
        one_of(shape, SUFFIXES, "shape")
        check_shape(self.project, shape)
        path = self.export_place(name, shape)
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{path.parent} cannot be made ({error.strerror})", "see the project's folder"
            ) from error
        if shape == "people":
            write_whole(path, people_bytes(self.facts(lead)))
        else:
            rows = self.answers(lead, stage)
            if not rows:
                raise InputError("nobody has submitted an answer yet", "export again later")
            write_whole(path, export_bytes(shape, self.project, rows, self.escape))
        with self._storage.write() as connection:
            self._log(connection, lead.id, f"export {shape}", path.name)
        return path

    def export_place(self, name: str, shape: str) -> Path:
        """Return where an export of this name goes; a name with a path in it is refused."""
        suffix = SUFFIXES[shape]
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(
                "the export's name is no plain file name", "letters, digits, - and _, at most 64"
            )
        stem, dot, given = name.partition(".")
        if dot and f".{given}" != suffix:
            raise InputError(f"an export as {shape} ends in {suffix}", f"call it {stem}{suffix}")
        return Path(self.project.folder or ".") / FOLDER / f"{stem}{suffix}"
