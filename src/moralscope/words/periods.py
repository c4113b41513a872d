"""Text files with a year, put into periods of equal width.

The year is the last four-digit number (1000-2099) in the file's name, or what a two-column index
(file, year) says; only an index can hold earlier years. Nothing is guessed from the text.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.words.corpora import corpus_files

_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)")
_MAX_INDEX_BYTES = 10_000_000
_COLUMNS = "give one file,year line a file, e.g. speeches/first.txt,1862"


@dataclass(frozen=True, slots=True)
class Period:
    """The files of the years from `start` to `end`, both included."""

    start: int
    end: int
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Return the period as people write it.

        Examples
        --------
        >>> Period(1850, 1874, ()).name, Period(1850, 1850, ()).name
        ('1850-1874', '1850')
        """
        return str(self.start) if self.start == self.end else f"{self.start}-{self.end}"


def year_in(name: str) -> int | None:
    """Return the year in a file's name, if there is one.

    Examples
    --------
    >>> year_in("abraham_lincoln-december_1-1862.txt"), year_in("lincoln.txt")
    (1862, None)
    """
    found = _YEAR.findall(Path(name).stem)
    return int(found[-1]) if found else None


def dated_files(path: Path, index: Path | None = None) -> dict[Path, int]:
    """Return the text files below a folder with their years."""
    files = corpus_files(path)
    if index is not None:
        files = [found for found in files if found.resolve() != index.resolve()]
        return _from_index(path, files, index)
    years = {found: year_in(found.name) for found in files}
    bare = [found for found, year in years.items() if year is None]
    if bare:
        raise InputError(
            f"{bare[0]} has no year in its name"
            + (f" (nor have {len(bare) - 1} others)" * (len(bare) > 1)),
            "put a year such as 1862 in the names, or give --index FILE with file,year lines",
        )
    return {found: year for found, year in years.items() if year is not None}


def periods(years: Mapping[Path, int], width: int) -> list[Period]:
    """Group files into periods of `width` years that start at multiples of it.

    Examples
    --------
    >>> [p.name for p in periods({Path("a"): 1862, Path("b"): 1874, Path("c"): 1901}, 25)]
    ['1850-1874', '1900-1924']
    """
    starts = sorted({year // width * width for year in years.values()})
    return [
        Period(
            start,
            start + width - 1,
            tuple(found for found, year in years.items() if year // width * width == start),
        )
        for start in starts
    ]


def _from_index(path: Path, files: list[Path], index: Path) -> dict[Path, int]:
    folder = path if path.is_dir() else path.parent
    known = {str(found.relative_to(folder)): found for found in files}
    years: dict[Path, int] = {}
    for line, cells in _index_rows(index):
        where = f"{index} line {line}"
        if len(cells) != 2:
            raise InputError(f"{where} has {len(cells)} columns, not two", _COLUMNS)
        name, year = (cell.strip() for cell in cells)
        if line == 1 and not re.fullmatch(r"-?\d{1,4}", year) and name not in known:
            continue  # a header
        if not re.fullmatch(r"-?\d{1,4}", year):
            raise InputError(f"{where} has no year ('{year[:40]}')", _COLUMNS)
        if name not in known:
            raise InputError(f"{where} names '{name[:80]}', which is not in {path}", _COLUMNS)
        if known[name] in years:
            raise InputError(f"{where} names '{name[:80]}' again", _COLUMNS)
        years[known[name]] = int(year)
    if not years:
        raise InputError(f"{index} names no files", _COLUMNS)
    return years


def _index_rows(index: Path) -> list[tuple[int, list[str]]]:
    try:
        if index.stat().st_size > _MAX_INDEX_BYTES:
            raise InputError(f"{index} is larger than 10 MB", _COLUMNS)
        lines = index.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{index} cannot be read ({error.strerror})", _COLUMNS) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{index} is not valid UTF-8", "save the file as UTF-8") from error
    split = "\t" if lines and "\t" in lines[0] else ","
    rows = ((n, next(csv.reader([line], delimiter=split), [])) for n, line in enumerate(lines, 1))
    return [(number, cells) for number, cells in rows if cells]
