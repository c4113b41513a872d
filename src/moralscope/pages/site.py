"""A folder of reports to publish: an index, and each run's report and record. Plain files only."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.files import check_writable, write_whole
from moralscope.io.run_records import check_record, text
from moralscope.pages import report_html
from moralscope.pages.html import styles
from moralscope.runs.titles import title_of

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def write_site(records: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the reports of plain records, by name, with an index; return the files.

    What the page notes beside a record (what was asked, remarks of people) is not published.
    """
    if not records:
        raise InputError("there is no run to publish", "name run records, or run something first")
    if folder.is_file():
        raise InputError(f"{folder} is a file", "name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror})", "name another") from None
    check_writable(folder / "index.html")
    written, lines = [], []
    for name, record in records.items():
        path = folder / f"{name}.html"
        write_whole(path, [report_html({**record, "page": None}, name).encode()])
        written.append(path)
        plain = check_record(record, name)
        facts = (plain["job"], text(plain.get("created")), f"{len(plain['results']):,} results")
        lines.append(
            f'<li><a href="{escape(name)}.html">{escape(title_of(record))}</a>'
            f"<span>{escape(' · '.join(facts))}</span></li>\n"
        )
    index = folder / "index.html"
    parts = [
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
        '<meta name=viewport content="width=device-width, initial-scale=1">\n',
        f"<title>moralscope runs</title>\n<style>\n{styles()}</style>\n",
        "</head>\n<body>\n<header><p class=kicker>moralscope</p>",
        f"<h1>{len(lines):,} run{'' if len(lines) == 1 else 's'}</h1>\n",
        "<p class=lead>Scores describe a model; they are not moral advice.</p></header>\n",
        f"<main><ul class=index>\n{''.join(lines)}</ul></main>\n</body>\n</html>\n",
    ]
    write_whole(index, [part.encode() for part in parts])
    return [*written, index]
