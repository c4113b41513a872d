"""`moralscope export`: results for CI systems and pull requests, weights for Hugging Face's hub."""

import sys
from pathlib import Path

from moralscope.cli.declare import takes
from moralscope.cli.output import note
from moralscope.core.errors import InputError
from moralscope.interop.options import ExportOptions


@takes
def export(options: ExportOptions) -> None:
    """Export a run as JUnit XML, SARIF or a Markdown summary; or weights for Hugging Face's hub.

    A run is one of an audit, or any with a gate. Nothing is sent anywhere.

    Example: moralscope export audit.json --to audit.xml
    """
    from moralscope.interop.exports import FORMATS, SUFFIXES

    source, place = Path(options.source).expanduser(), options.to
    told = SUFFIXES.get(place.suffix) if place is not None else None
    is_run = source.is_file() or source.suffix == ".json"
    form = options.format or told or ("markdown" if is_run else "hub")
    if form == "hub":
        from moralscope.interop.hub import write_hub_folder

        if place is None:
            raise InputError("weights go into a folder", "name one: --to DIR")
        for path in write_hub_folder(options.source, place):
            note(f"wrote {path}")
        return
    if options.format is None and told is None and place is not None:
        raise InputError(f"{place} could be of any format", "name one: --format junit")
    from moralscope.interop.exports import results_of
    from moralscope.io.files import check_writable, read_run, write_whole

    text = FORMATS[form](results_of(read_run(source), str(source)))
    if place is None:
        sys.stdout.write(text)
        return
    check_writable(place)
    write_whole(place, [text.encode()])
    note(f"{form}: {place}")
