"""Texts of saved runs given to people, blinded, and their ratings read back.

Emelin et al. 2021, section 4: a fixed set of 200 random test samples a task, the same for every
strategy, three raters each. Files are `people_sheets.py`'s, figures `people_tables.py`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unicodedata import category

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.stories.options import PeopleWriteOptions
from moralscope.stories.paper import load_generation_paper
from moralscope.stories.people_sheets import (
    KEY_FILE,
    SHEETS,
    SUFFIXES,
    Pack,
    PackItem,
    read_key,
    read_sheets,
    salted,
    shuffled,
    write_files,
)
from moralscope.stories.people_tables import RatedTable, rated_table
from moralscope.stories.saved_texts import read_texts
from moralscope.stories.story import ORIENTATIONS, MoralStory

MAX_RATERS = 50
# The paper's criteria (sections 4.1-4.3), as questions that are answered with yes or no.
CRITERIA: Mapping[str, Mapping[str, str]] = {
    "action": {
        "coherence": "Is the text coherent: one sensible sentence that describes an action?",
        "intention": "Does the action fulfil the intention?",
        "norm": "Does the action do with the norm what is asked (follow it, or violate it)?",
    },
    "consequence": {
        "coherence": "Is the text coherent: one sensible sentence that describes a consequence?",
        "plausibility": "Can the consequence plausibly follow the action?",
    },
    "norm": {
        "coherence": "Is the text coherent: one sensible sentence that states a norm?",
        "relevance": "Does the norm explain why one action is moral and the other is not?",
    },
}
SHOWN: Mapping[str, tuple[str, ...]] = {
    "action": ("norm", "situation", "intention"),
    "consequence": ("norm", "situation", "intention", "action"),
    "norm": ("situation", "intention", "moral_action", "immoral_action"),
}
Sample = tuple[str, str | None]  # story and target
_ASKED = {"moral": "follow the norm", "immoral": "violate the norm"}


@dataclass(frozen=True, slots=True)
class StrategyOutput:
    """A text that a strategy gave for one story and target (None for norms), with its context.

    `context` holds the story's sentences by name, as in `path_row`.
    """

    strategy: str
    id: str
    target: str | None
    text: str
    context: Mapping[str, str | None]


def make_pack(
    outputs: Sequence[StrategyOutput], task: str, *, raters: int = 3, sample: int = 200, seed: int
) -> Pack:
    """Choose the samples and hide the strategies.

    A sample is chosen by a hash of seed, task, story and target, half of the samples for each
    target, among those that every strategy has: more strategies later get the same samples. Equal
    texts of several strategies are judged once and count for each.

    Examples
    --------
    >>> context = {"norm": "Be fair.", "situation": "A game.", "intention": "Jo wants to win."}
    >>> texts = [("plain", "Jo plays."), ("chain", "Jo plays by the rules.")]
    >>> outputs = [StrategyOutput(name, "1", "moral", text, context) for name, text in texts]
    >>> pack = make_pack(outputs, "action", seed=0)
    >>> len(pack.items), pack.items[0].context["asked"], pack.raters
    (2, 'follow the norm', ('rater-1', 'rater-2', 'rater-3'))
    """
    _check(outputs, task, raters, sample)
    by_sample = _by_sample(outputs, task)
    chosen = _chosen(by_sample, {output.strategy for output in outputs}, task, sample, seed)
    items = []
    for key in chosen:
        texts: dict[str, list[str]] = {}
        for strategy, output in by_sample[key].items():
            texts.setdefault(_one_line(output.text), []).append(strategy)
        context = _context(next(iter(by_sample[key].values())), task)
        for text, names in texts.items():
            items.append(PackItem("", *key, tuple(sorted(names)), text, context))
    mixed = shuffled(items, f"{seed}\0{task}")
    numbered = [replace(item, item=f"item-{place:04d}") for place, item in enumerate(mixed, 1)]
    people = tuple(f"rater-{number}" for number in range(1, raters + 1))
    return Pack(task, tuple(CRITERIA[task].items()), people, tuple(numbered), len(chosen), seed)


def write_pack(
    outputs: Sequence[StrategyOutput],
    task: str,
    path: Path,
    raters: int = 3,
    sample: int = 200,
    *,
    seed: int = 0,
) -> Pack:
    """Write a pack into a new folder: `sheets/` for the raters, `key.json` for you."""
    pack = make_pack(outputs, task, raters=raters, sample=sample, seed=seed)
    write_files(pack, path)
    return pack


def read_pack(sheets: Sequence[Path], key: Path, *, seed: int = 0) -> RatedTable:
    """Read sheets back and put them into the form of Tables 4-6, with agreement and intervals."""
    pack = read_key(key)
    return rated_table(pack, read_sheets(sheets, pack), seed=seed)


def _check(outputs: Sequence[StrategyOutput], task: str, raters: int, sample: int) -> None:
    if task not in CRITERIA:
        raise InputError(f"people do not judge '{task}'", did_you_mean(task, CRITERIA))
    if not outputs:
        raise InputError("there are no texts to judge", "give the outputs of one strategy or more")
    if not 1 <= raters <= MAX_RATERS:
        raise InputError(f"{raters} raters are asked for", f"give 1 to {MAX_RATERS}")
    if sample < 1:
        raise InputError(f"{sample} samples are asked for", "give 1 or more")


def _by_sample(
    outputs: Sequence[StrategyOutput], task: str
) -> dict[Sample, dict[str, StrategyOutput]]:
    """Return sample → strategy → output; a strategy that answers twice is refused."""
    found: dict[Sample, dict[str, StrategyOutput]] = {}
    wanted = (None,) if task == "norm" else ORIENTATIONS
    for output in outputs:
        if output.target not in wanted:
            raise InputError(
                f"'{output.strategy}' has target '{output.target}' for story '{output.id}'",
                f"{task}s have {'no target' if task == 'norm' else 'moral or immoral'}",
            )
        given = found.setdefault((output.id, output.target), {})
        if output.strategy in given:
            raise InputError(
                f"'{output.strategy}' has two texts for story '{output.id}', {output.target}",
                "give each run its own name",
            )
        given[output.strategy] = output
    return found


def _chosen(
    by_sample: Mapping[Sample, Mapping[str, StrategyOutput]],
    strategies: set[str],
    task: str,
    sample: int,
    seed: int,
) -> list[Sample]:
    shared = [
        key
        for key, given in by_sample.items()
        if set(given) == strategies
        and all(next(iter(given.values())).context.get(name) for name in SHOWN[task])
    ]
    if not shared:
        raise InputError(
            f"no story has a text of every strategy ({', '.join(sorted(strategies))}) and the "
            f"sentences that raters need ({', '.join(SHOWN[task])})",
            "run the strategies on the same complete stories",
        )
    shared.sort(key=lambda key: salted(f"{seed}\0{task}", *map(str, key)))
    sides = [[key for key in shared if key[1] == side] for side in (*ORIENTATIONS, None)]
    sides = [side for side in sides if side]
    quota = -(-sample // len(sides))
    chosen = [key for side in sides for key in side[:quota]]
    return sorted(chosen, key=shared.index)[:sample]


def _context(output: StrategyOutput, task: str) -> dict[str, str]:
    shown = {name: _one_line(str(output.context[name])) for name in SHOWN[task]}
    # Raters must know which of the two was asked for (footnote 11 of the paper).
    return {**shown, "asked": _ASKED[str(output.target)]} if task == "action" else shown


def _one_line(text: str) -> str:
    """Return a text as a cell can hold it: one line, no control characters, never empty."""
    joined = " ".join(text.split())
    kept = ("\ufffd" if category(char) in ("Cc", "Cs") else char for char in joined)
    return "".join(kept) or "(no text)"


_TABLES = {"action": 4, "consequence": 5, "norm": 6}
_OPINIONS = "ratings are what a few people think of a model's texts, they are not moral advice"


def write_people(
    runs: Sequence[Path],
    folder: Path,
    stories: Sequence[MoralStory] | None = None,
    options: PeopleWriteOptions | None = None,
    **given: Any,
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
    options
        `PeopleWriteOptions`, or its fields as keywords: raters, sample, seed.
    """
    chosen = chosen_options(PeopleWriteOptions, options, given)
    raters, sample, seed = chosen.raters, chosen.sample, chosen.seed
    read = read_texts(runs, stories)
    kinds = sorted({run.kind for run in read})
    if len(kinds) > 1:
        raise InputError(f"the runs mix {'s and '.join(kinds)}s", "write a pack for each kind")
    outputs = [
        StrategyOutput(run.strategy, item.id, item.target, item.text, item.row)
        for run in read
        for item in run.items
    ]
    pack = write_pack(outputs, kinds[0], folder, raters, sample, seed=seed)
    notes = []
    if pack.samples < sample:
        notes.append(f"the runs share {pack.samples:,} complete samples, {sample:,} were asked for")
    if raters < 2:
        notes.append("one rater cannot agree with anybody: Krippendorff's alpha needs two")
    return RunRecord(
        "stories people write",
        seed=seed,
        config={
            "runs": [str(path) for path in runs],
            "task": pack.task,
            "raters": raters,
            "options": plain_options(chosen),
        },
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
