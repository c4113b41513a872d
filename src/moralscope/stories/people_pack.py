"""`stories people`: texts of saved runs given to people, blinded, and their ratings read back."""

from collections.abc import Sequence
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.core.records import RunRecord
from moralscope.stories.paper_generation import load_generation_paper
from moralscope.stories.people import StrategyOutput, read_pack, write_pack
from moralscope.stories.people_sheets import KEY_FILE, SHEETS, SUFFIXES
from moralscope.stories.saved_texts import TextRun, read_texts
from moralscope.stories.story import MoralStory

_TABLES = {"action": 4, "consequence": 5, "norm": 6}
_OPINIONS = "ratings are what a few people think of a model's texts, they are not moral advice"


def write_people(
    runs: Sequence[Path],
    folder: Path,
    stories: Sequence[MoralStory] | None = None,
    *,
    raters: int = 3,
    sample: int = 200,
    seed: int = 0,
) -> RunRecord:
    """Write a blinded pack from runs that generated the same kind of text.

    Parameters
    ----------
    runs
        Run records of `stories generate` and `stories chain`.
    folder
        A new folder: `sheets/` goes to the raters, `key.json` stays here.
    stories
        Where the context comes from; by default the records' own copies.
    raters, sample, seed
        How many people judge how many samples (story and target), and which.
    """
    read = read_texts(runs, stories)
    kinds = sorted({run.kind for run in read})
    if len(kinds) > 1:
        raise InputError(f"the runs mix {'s and '.join(kinds)}s", "write a pack for each kind")
    outputs = [output for run in read for output in _outputs(run)]
    pack = write_pack(outputs, kinds[0], folder, raters, sample, seed=seed)
    notes = []
    if pack.samples < sample:
        notes.append(f"the runs share {pack.samples:,} complete samples, {sample:,} were asked for")
    if raters < 2:
        notes.append("one rater cannot agree with anybody: Krippendorff's alpha needs two")
    return RunRecord(
        "stories people write",
        seed=seed,
        config={"runs": [str(path) for path in runs], "task": pack.task, "raters": raters},
        models=[],
        results=[],
        statistics={
            "pack": pack.name,
            "strategies": pack.strategies,
            "samples": pack.samples,
            "items": len(pack.items),
            "folder": str(folder),
            "sheets": [str(folder / SHEETS / f"{rater}.csv") for rater in pack.raters],
            "key": str(folder / KEY_FILE),
        },
        warnings=notes,
    )


def read_people(folder: Path, *, key: Path | None = None, seed: int = 0) -> RunRecord:
    """Read a pack's sheets back into the form of Tables 4-6, beside the paper's.

    `folder` is the one the pack was written into, or any folder of filled-in sheets; then `key`
    says where the key is.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "give the folder of the pack or sheets")
    place = folder / SHEETS if (folder / SHEETS).is_dir() else folder
    sheets = sorted(path for path in place.iterdir() if path.suffix.lower() in SUFFIXES)
    if not sheets:
        raise InputError(f"{place} holds no sheets", f"they end in {' or '.join(SUFFIXES)}")
    found = read_pack(sheets, key or folder / KEY_FILE, seed=seed)
    return RunRecord(
        "stories people",
        seed=seed,
        config={"folder": str(folder), "task": found.task, "pack": found.pack},
        models=[],
        results=found.rows,
        statistics={
            "agreement": found.agreement,
            "comparisons": found.comparisons,
            "raters": found.raters,
            "items": found.items,
            "samples": found.samples,
            "unanswered": found.unanswered,
            "paper": load_generation_paper().table(_TABLES[found.task]),
        },
        warnings=[_OPINIONS, *found.warnings],
    )


def _outputs(run: TextRun) -> list[StrategyOutput]:
    return [
        StrategyOutput(run.strategy, item.id, item.target, item.text, item.row)
        for item in run.items
    ]
