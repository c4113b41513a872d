"""Annotations for jobs, and what a set of them is made of: `moralscope rules stats FILE`."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options
from moralscope.core.records import RunRecord
from moralscope.models.store import data_file
from moralscope.rules.options import StatsOptions
from moralscope.rules.paper import load_paper
from moralscope.rules.reading import AnnotationFile, read_annotations
from moralscope.rules.records import SCALES, Annotation
from moralscope.rules.splits import PARTS, split_annotations
from moralscope.rules.statistics import counts, distributions, reliability

MIC_FILE = "mic/MIC.csv"
CONTENT = "content warning: the texts may offend or upset"
_SHOWN = 5


def load_annotations(
    path: Path | None = None,
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    malformed: str = "stop",
) -> AnnotationFile:
    """Read `path`, or mic/MIC.csv below MORALSCOPE_DATA."""
    found = path.expanduser() if path is not None else data_file(MIC_FILE)
    if found is None:
        raise InputError(
            f"there are no annotations: no file was named, and no {MIC_FILE} is below "
            "MORALSCOPE_DATA",
            "'moralscope data where mic' says whom to ask for the corpus",
        )
    return read_annotations(found, kind=kind, columns=columns, malformed=malformed)


def stats(
    path: Path | None = None,
    options: StatsOptions | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    **given: Any,
) -> RunRecord:
    """Count and describe the annotations of a file (Figure 2 beside the paper's).

    Parameters
    ----------
    path
        MIC.csv, a SOCIAL-CHEM-101 file, or one like them; by default the user's MIC.csv.
    options
        `StatsOptions`, or its fields as keywords; the seed is that of intervals, and of the split
        where the file has none.
    columns
        Our name of a column → the file's.
    """
    chosen = chosen_options(StatsOptions, options, given)
    seed = chosen.seed
    file = load_annotations(path, kind=chosen.kind, columns=columns, malformed=chosen.malformed)
    rows = file.annotations
    same_rule = reliability(rows, unit="rule", seed=seed)
    own_rules = reliability(rows, unit="exchange", seed=seed)
    return RunRecord(
        "rules stats",
        seed=seed,
        config={"source": file.source, "kind": file.kind, "columns": dict(columns or {})},
        models=[],
        results=distributions(rows),
        statistics={
            "counts": counts(rows),
            "malformed_lines": len(file.problems),
            "bad_rules": file.bad_rules,
            "reliability_same_rule": [row for row in same_rule if row.units],
            "reliability_own_rules": [row for row in own_rules if row.units],
            "split": _parts(rows, seed),
            "paper": {
                "corpus": load_paper().corpus,
                "reliability": load_paper().figure2,
                "shares": load_paper().shares,
            },
        },
        warnings=[CONTENT, *source_warnings(file)],
    )


def source_warnings(file: AnnotationFile) -> list[str]:
    """Say what a reader of any figure about these annotations must know of their source."""
    found = [f"left out: {problem}" for problem in file.problems[:_SHOWN]]
    if len(file.problems) > len(found):
        found.append(f"left out: {len(file.problems) - len(found):,} more malformed lines")
    if file.absent:
        names = ", ".join(name.replace("_", " ") for name in file.absent)
        found.append(f"the file has no column for: {names}")
    if file.bad_rules:
        found.append(f"left out: {file.bad_rules:,} rules that annotators marked as no rule")
    for name in SCALES:
        values = {row.scales[name] for row in file.annotations} - {None}
        if len(values) == 1 and len(file.annotations) > 1:
            found.append(f"{name} is {values.pop():g} in every row: nothing can be learnt from it")
    return found


def _parts(rows: tuple[Annotation, ...], seed: int) -> dict[str, Any] | None:
    try:
        found = split_annotations(rows, seed=seed)
    except InputError:  # too few exchanges for three parts: no split, and no fault of the file
        return None
    sizes = Counter(found.parts)
    exchanges = {part: len({row.pair for row in found.of(rows, part)}) for part in PARTS}
    return {
        "official": found.official,
        "annotations": {part: sizes[part] for part in PARTS},
        "exchanges": exchanges,
        "unknown": sizes[None],
        "exchanges_in_two_parts": found.moved,
        "prompts_in_two_parts": found.shared_prompts,
    }
