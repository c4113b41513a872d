"""`moralscope export`: results for CI systems and pull requests, weights for Hugging Face's hub."""

import sys
from pathlib import Path

from moralscope.cli.declare import takes
from moralscope.cli.output import note
from moralscope.core.errors import InputError
from moralscope.interop.options import ExportOptions


@takes
def export(options: ExportOptions) -> None:
    """Export a run as JUnit XML, SARIF, a Markdown summary or labelling tasks; or weights.

    The run is an audit, or any run with a gate. Weights are exported for Hugging Face's hub.
    Nothing is sent anywhere.

    Example: moralscope export audit.json --to audit.xml
    """
    from moralscope.interop.exports import FORMATS, SUFFIXES

    source, target = Path(options.source).expanduser(), options.to
    by_suffix = SUFFIXES.get(target.suffix) if target is not None else None
    is_run = source.is_file() or source.suffix == ".json"
    form = options.format or by_suffix or ("markdown" if is_run else "hub")
    if form == "hub":
        from moralscope.interop.hub import write_hub_folder

        if target is None:
            raise InputError("weights go into a folder", "name one: --to DIR")
        for path in write_hub_folder(options.source, target):
            note(f"wrote {path}")
        return
    if options.format is None and by_suffix is None and target is not None:
        raise InputError(f"{target} could be of any format", "name one: --format junit")
    from moralscope.interop.exports import read_results
    from moralscope.interop.labelling import LABELLING
    from moralscope.io.files import check_writable, read_run, write_whole

    text = {**FORMATS, **LABELLING}[form](read_results(read_run(source), str(source)))
    if target is None:
        sys.stdout.write(text)
        return
    check_writable(target)
    write_whole(target, [text.encode()])
    note(f"{form}: {target}")
