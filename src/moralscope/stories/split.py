"""Build the adversarial splits of a set of stories and return a run record.

Each split's own metric stands beside the paper's (Table 1), our membership beside the one that the
data gives, and the leak audit says how many held-out stories have a twin in another part. Exact
twins are equal but for case, punctuation and spaces. Near twins have a similarity of at least
`threshold`: 1 - (insertions and deletions) / (characters of both), over characters.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import RunRecord, Statistics
from moralscope.io.files import check_writable, model_refs, write_whole
from moralscope.stories.options import PARTS, SPLITS, SplitOptions
from moralscope.stories.paper import load_paper
from moralscope.stories.reading import KINDS, StoryFile
from moralscope.stories.splits import Split, build_split, official_parts, overlap
from moralscope.stories.stats import plain, source_warnings
from moralscope.stories.story import MoralStory

THRESHOLD = 0.9
FIELDS: Mapping[str, tuple[str, ...]] = {
    "norm": ("norm",),
    "action": ("moral_action", "immoral_action"),
    "consequence": ("moral_consequence", "immoral_consequence"),
}
CROSSINGS = (("test", "train"), ("dev", "train"), ("test", "dev"))
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Leak:
    """How many stories of `part` have a twin in `into`; `near` counts exact twins too."""

    split: str
    field: str
    part: str
    into: str
    stories: int
    exact: int
    near: int


def audit_leaks(
    stories: Sequence[MoralStory],
    field: str,
    splits: Mapping[str, Mapping[str, str]],
    threshold: float = THRESHOLD,
) -> list[Leak]:
    """Count the held-out stories whose norm, action or consequence crosses the parts of a split."""
    texts = {  # the plain form of each text, by story and sentence
        (story.id, name): plain(text)
        for story in stories
        for name in FIELDS[field]
        if (text := story.sentences[name])
    }
    unique = sorted(set(texts.values()), key=lambda text: (len(text), text))
    index = {text: number for number, text in enumerate(unique)}
    bits = {  # one bit for each split and part
        (split, part): np.uint64(1 << bit)
        for bit, (split, part) in enumerate(product(splits, PARTS))
    }
    exact = np.zeros(len(unique), dtype=np.uint64)
    for (story, _), text in texts.items():
        for split, parts in splits.items():
            if story in parts:
                exact[index[text]] |= bits[split, parts[story]]
    near = exact | _neighbours(unique, exact, threshold)
    leaks = []
    for split, (part, into) in product(splits, CROSSINGS):
        held = [
            (story, index[text])
            for (story, _), text in texts.items()
            if splits[split].get(story) == part
        ]
        twins = [
            len({story for story, at in held if table[at] & bits[split, into]})
            for table in (exact, near)
        ]
        leaks.append(Leak(split, field, part, into, len({story for story, _ in held}), *twins))
    return leaks


def _neighbours(
    texts: Sequence[str], bits: NDArray[np.uint64], threshold: float
) -> NDArray[np.uint64]:
    """Gather the bits of every text's near twins. `texts` go from short to long.

    A text can only be near one of at most (2 - threshold) / threshold times its length.
    """
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cdist

    lengths = [len(text) for text in texts]
    gathered = np.zeros_like(bits)
    for start in range(0, len(texts), _BLOCK):
        stop = min(start + _BLOCK, len(texts))
        end = bisect_right(lengths, lengths[stop - 1] * (2 - threshold) / threshold)
        scores = cdist(
            texts[start:stop],
            texts[start:end],
            scorer=ratio,
            score_cutoff=100 * threshold,
            dtype=np.uint8,
            workers=-1,
        )
        first, second = np.nonzero(scores)
        np.bitwise_or.at(gathered, start + first, bits[start + second])
        np.bitwise_or.at(gathered, start + second, bits[start + first])
    return gathered


SAMPLES = {"action": 2, "consequence": 4}  # a story's samples in Table 10
OFFICIAL = "official "
Key = tuple[str, str]  # split and kind


@dataclass(frozen=True, slots=True)
class StoryMembership:
    """The part of a story in each split, None where it has none: by actions, by consequences."""

    id: str
    action: Mapping[str, str | None]
    consequence: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPart(Statistics):
    """A part of a split, its metric beside Table 1 and the official membership."""

    split: str
    kind: str  # action, consequence, or both
    part: str
    stories: int
    samples: int
    mean: float | None  # of the split's own metric
    paper: float
    official_mean: float | None  # the same metric over the membership that the data gives
    official_overlap: int | None  # stories that are in this part there too


@dataclass(frozen=True, slots=True)
class BiasedLemma(Statistics):
    """A word and how often it is in moral and in immoral texts."""

    lemma: str
    moral: int
    immoral: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitStatistics(Statistics):
    """What `stories split` found in sum."""

    parts: tuple[SplitPart, ...]
    leaks: tuple[Leak, ...]
    biased_lemmas: Mapping[str, tuple[BiasedLemma, ...]]  # by kind
    norm_clusters: int


def stories_split(
    file: StoryFile,
    options: SplitOptions | None = None,
    *,
    encoder: Encoder,
    progress: Callable[[int, int], None] | None = None,
    **fields: Any,
) -> RunRecord:
    """Share the stories out, for actions and for consequences, in all three ways.

    `options` are `SplitOptions`, or its fields as keywords. Nothing here is random: the seed is
    kept in the record for the sake of its form.
    """
    chosen = chosen_options(SplitOptions, options, fields)
    built: dict[Key, Split] = {}
    problems: list[str] = []
    # Norm distance serves both kinds.
    keys = [(SPLITS[0], "action"), *product(SPLITS[1:], KINDS)]
    for number, (name, kind) in enumerate(keys):
        if progress:
            progress(number, len(keys) + 1)
        try:
            built[name, kind] = build_split(file.stories, name, kind, encoder=encoder)
        except InputError as error:
            if kind == "action":
                raise
            problems.append(f"{name} of {kind}s was not built: {error.problem}")
        else:
            problems += built[name, kind].notes
    official = {key: official_parts(file.stories, *key) for key in built}
    statistics = SplitStatistics(
        parts=tuple(
            row for key, split in built.items() for row in _split_parts(split, official[key])
        ),
        leaks=_leaks(file, built, official, chosen.threshold),
        biased_lemmas={
            split.kind: tuple(BiasedLemma(word, *counts) for word, counts in split.biased.items())
            for split in built.values()
            if split.biased
        },
        norm_clusters=built[SPLITS[0], "action"].clusters,
    )
    members = {  # the parts by kind, then by split
        kind: {
            name: split.parts
            for name in SPLITS
            if (split := built.get((name, "action" if name == SPLITS[0] else kind)))
        }
        for kind in KINDS
    }
    if progress:
        progress(1, 1)
    return RunRecord(
        "stories split",
        seed=chosen.seed,
        config={
            "source": file.source,
            "encoder": encoder.name,
            "near_duplicate": f"similarity of characters >= {chosen.threshold}",
            "options": plain_options(chosen),
        },
        models=model_refs([encoder]),
        results=[
            StoryMembership(
                story.id,
                *(
                    {name: members[kind].get(name, {}).get(story.id) for name in SPLITS}
                    for kind in KINDS
                ),
            )
            for story in file.stories
        ],
        statistics=statistics,
        warnings=[*source_warnings(file), *problems, *_notes(file)],
    )


def write_membership(record: RunRecord, file: StoryFile, path: Path) -> None:
    """Write the stories again with our membership under `splits`, in the shape that is read."""
    check_writable(path)
    membership = {
        row.id: {"action": row.action, "consequence": row.consequence} for row in record.results
    }
    lines = (
        json.dumps(
            {"ID": story.id} | story.sentences | {"splits": membership[story.id]},
            ensure_ascii=False,
        )
        for story in file.stories
    )
    write_whole(path, (f"{line}\n".encode() for line in lines))


def _notes(file: StoryFile) -> list[str]:
    lines = [
        "isolation depends on the encoder: compare parts with each other; the paper's figures are "
        "of an older Sentence-BERT, whose cosines are higher",
    ]
    both = sum(bool(s.moral_consequence and s.immoral_consequence) for s in file.stories)
    if 0 < both < len(file.stories):
        lines.append(
            f"the consequence splits share out the {both:,} stories that have both consequences; "
            "dev and test are as large as with all, train is smaller"
        )
    return lines


def _split_parts(split: Split, official: Mapping[str, str]) -> list[SplitPart]:
    table = load_paper().table1
    printed = table.get(split.name) or table[f"{split.name} {split.kind}"]
    ours, theirs = split.means(), split.means(official)
    same = overlap(split.parts, official)
    members = list(split.parts.values())
    return [
        SplitPart(
            split=split.name,
            kind="both" if split.name == SPLITS[0] else split.kind,
            part=part,
            stories=members.count(part),
            samples=members.count(part) * SAMPLES[split.kind],
            mean=ours[part],
            paper=printed[part],
            official_mean=theirs[part],
            official_overlap=same[part] if official else None,
        )
        for part in PARTS
    ]


def _leaks(
    file: StoryFile,
    built: Mapping[Key, Split],
    official: Mapping[Key, Mapping[str, str]],
    threshold: float,
) -> tuple[Leak, ...]:
    """Audit norms in every split, and the sentences that a split is about."""
    leaks: list[Leak] = []
    for field in FIELDS:
        splits: dict[str, Mapping[str, str]] = {}
        for key, split in built.items():
            if field == "norm" or key[0] == SPLITS[0] or key[1] == field:
                name = key[0] if key[0] == SPLITS[0] else " ".join(key)
                splits[name] = split.parts
                if official[key]:
                    splits[OFFICIAL + name] = official[key]
        leaks += audit_leaks(file.stories, field, splits, threshold)
    return tuple(leak for leak in leaks if leak.stories)
