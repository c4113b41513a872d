"""Whether the folder of a run still holds what the run wrote, and its inputs what it read.

Reads only: a run may be going on in the folder meanwhile.
"""

from dataclasses import dataclass
from pathlib import Path

from moralscope.batch.files import file_sha256, find_files, reason
from moralscope.batch.folder import InputFile, RunFolder, numbered_parts, part_problem
from moralscope.core.errors import InputError, MoralscopeError


@dataclass(frozen=True, slots=True)
class FolderCheck:
    """What was compared, and what is wrong: nothing, if `problems` is empty.

    `finished` says whether the run came to its end; `inputs` and `hashed_inputs` are how many
    input files were compared, and how many of them by their content.
    """

    folder: str
    finished: bool
    parts: int
    rows: int
    failed: int
    inputs: int
    hashed_inputs: int
    problems: list[str]


def verify_folder(folder: str | Path, *, inputs: bool = False) -> FolderCheck:
    """Compare the parts of a run, and its inputs where asked, with what was kept of them.

    Parameters
    ----------
    folder
        The `--out` of a corpus run.
    inputs
        Whether the input files are compared too: by content if the run had `--hash-inputs`, else
        by size and time.
    """
    run = RunFolder(Path(folder), resume=True)
    if not run.inner.is_dir() or (manifest := run.manifest()) is None:
        raise InputError(f"{folder} holds no corpus run", "give the --out DIR of one")
    paths = numbered_parts(run.path)  # before the checksums: a run in there keeps those first
    known = run.written()
    letters = run.letter_checksums()
    checked = [part_problem(path, known.get(n), letters.get(n, "")) for n, path in paths]
    problems = [problem for problem in checked if problem]
    present = {number for number, _ in paths}
    if manifest.parts is not None:
        problems += [f"{known[n].name} is gone" for n in sorted(known) if n not in present]
    files = manifest.inputs if inputs else []
    problems += [problem for file in files if (problem := _input_problem(file))]
    whole = [known[number] for number in present if number in known]
    return FolderCheck(
        str(folder),
        finished=manifest.parts is not None,
        parts=len(paths),
        rows=sum(part.rows for part in whole),
        failed=sum(part.failed for part in whole),
        inputs=len(files),
        hashed_inputs=sum(1 for file in files if file.sha256),
        problems=problems,
    )


def _input_problem(before: InputFile) -> str:
    name = before.name
    try:
        (now,) = find_files([name])
        if now.bytes != before.bytes:
            return f"{name} has {now.bytes:,} bytes, {before.bytes:,} when it was read"
        if before.sha256:
            same = file_sha256(name) == before.sha256
            return "" if same else f"{name} has another content than when it was read"
        return "" if now.stamp == before.stamp else f"{name} was written again since it was read"
    except MoralscopeError as error:
        return error.problem
    except OSError as error:
        return f"{name} cannot be read ({reason(error)})"
