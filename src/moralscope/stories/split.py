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
from moralscope.core.records import RunRecord
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
    """Count the held-out stories whose norm, action or consequence crosses the parts of a split.

    Examples
    --------
    >>> stories = [MoralStory("1", "Be kind."), MoralStory("2", "be  kind")]
    >>> parts = {"mine": {"1": "train", "2": "test"}}
    >>> audit_leaks(stories, "norm", parts)[0]
    Leak(split='mine', field='norm', part='test', into='train', stories=1, exact=1, near=1)
    """
    texts = {  # the plain form of each text, by story and sentence
        (story.id, name): plain(text)
        for story in stories
        for name in FIELDS[field]
        if (text := story.sentences[name])
    }
    unique = sorted(set(texts.values()), key=lambda text: (len(text), text))
    place = {text: number for number, text in enumerate(unique)}
    own = np.zeros(len(unique), dtype=np.uint64)  # one bit for each split and part
    for (story, _), text in texts.items():
        own[place[text]] |= np.uint64(_bits(story, splits))
    near = own | _neighbours(unique, own, threshold)
    found = []
    for number, (split, parts) in enumerate(splits.items()):
        for part, into in CROSSINGS:
            bit = np.uint64(1 << (number * len(PARTS) + PARTS.index(into)))
            held = [
                (story, place[text])
                for (story, _), text in texts.items()
                if parts.get(story) == part
            ]
            exact = {story for story, at in held if own[at] & bit}
            close = {story for story, at in held if near[at] & bit}
            size = len({story for story, _ in held})
            found.append(Leak(split, field, part, into, size, len(exact), len(close)))
    return found


def _bits(story: str, splits: Mapping[str, Mapping[str, str]]) -> int:
    found = 0
    for number, parts in enumerate(splits.values()):
        if story in parts:
            found |= 1 << (number * len(PARTS) + PARTS.index(parts[story]))
    return found


def _neighbours(
    texts: Sequence[str], own: NDArray[np.uint64], threshold: float
) -> NDArray[np.uint64]:
    """Gather the bits of every text's near twins. `texts` go from short to long.

    A text can only be near one of at most (2 - threshold) / threshold times its length.
    """
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cdist

    lengths = [len(text) for text in texts]
    found = np.zeros_like(own)
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
        np.bitwise_or.at(found, start + first, own[start + second])
        np.bitwise_or.at(found, start + second, own[start + first])
    return found


SAMPLES = {"action": 2, "consequence": 4}  # a story's samples in Table 10
OFFICIAL = "official "
Step = Callable[[int, int], None]


def stories_split(
    file: StoryFile,
    options: SplitOptions | None = None,
    *,
    encoder: Encoder,
    progress: Step | None = None,
    **given: Any,
) -> RunRecord:
    """Share the stories out, for actions and for consequences, in all three ways.

    `options` are `SplitOptions`, or its fields as keywords. Nothing here is random: the seed is
    kept in the record for the sake of its form.
    """
    chosen = chosen_options(SplitOptions, options, given)
    threshold = chosen.threshold
    step = progress or (lambda done, total: None)
    built, problems = _build(file, encoder, step)
    official = {key: official_parts(file.stories, *key) for key in built}
    leaks = _leaks(file, built, official, threshold)
    step(1, 1)
    return RunRecord(
        "stories split",
        seed=chosen.seed,
        config={
            "source": file.source,
            "encoder": encoder.name,
            "near_duplicate": f"similarity of characters >= {threshold}",
            "options": plain_options(chosen),
        },
        models=model_refs([encoder]),
        results=_memberships(file, built),
        statistics={
            "parts": [row for key, split in built.items() for row in _rows(split, official[key])],
            "leaks": leaks,
            "biased_lemmas": {
                split.kind: [
                    {"lemma": word, "moral": moral, "immoral": immoral}
                    for word, (moral, immoral) in split.biased.items()
                ]
                for split in built.values()
                if split.biased
            },
            "norm_clusters": built["norm_distance", "action"].clusters,
        },
        warnings=[*source_warnings(file), *problems, *_notes(file)],
    )


def write_membership(record: RunRecord, file: StoryFile, path: Path) -> None:
    """Write the stories again with our membership under `splits`, in the shape that is read."""
    check_writable(path)
    membership = {row["id"]: row for row in record.results}
    lines = (
        json.dumps(
            {"ID": story.id}
            | story.sentences
            | {"splits": {kind: membership[story.id][kind] for kind in KINDS}},
            ensure_ascii=False,
        )
        for story in file.stories
    )
    write_whole(path, (f"{line}\n".encode() for line in lines))


Key = tuple[str, str]


def _notes(file: StoryFile) -> list[str]:
    found = [
        "isolation depends on the encoder: compare parts with each other; the paper's figures are "
        "of an older Sentence-BERT, whose cosines are higher",
    ]
    both = sum(bool(s.moral_consequence and s.immoral_consequence) for s in file.stories)
    if 0 < both < len(file.stories):
        found.append(
            f"the consequence splits share out the {both:,} stories that have both consequences; "
            "dev and test are as large as with all, train is smaller"
        )
    return found


def _build(file: StoryFile, encoder: Encoder, step: Step) -> tuple[dict[Key, Split], list[str]]:
    """Build every split that the sentences allow; norm distance serves both kinds."""
    built: dict[Key, Split] = {}
    problems: list[str] = []
    keys = [(SPLITS[0], "action"), *((split, kind) for split in SPLITS[1:] for kind in KINDS)]
    for number, (split, kind) in enumerate(keys):
        step(number, len(keys) + 1)
        try:
            built[split, kind] = build_split(file.stories, split, kind, encoder=encoder)
        except InputError as error:
            if kind == "action":
                raise
            problems.append(f"{split} of {kind}s was not built: {error.problem}")
        else:
            problems += built[split, kind].notes
    return built, problems


def _rows(split: Split, official: Mapping[str, str]) -> list[dict[str, Any]]:
    table = load_paper().table1
    printed = table.get(split.name) or table[f"{split.name} {split.kind}"]
    ours, theirs = split.means(), split.means(official)
    same = overlap(split.parts, official)
    members = list(split.parts.values())
    return [
        {
            "split": split.name,
            "kind": "both" if split.name == SPLITS[0] else split.kind,
            "part": part,
            "stories": members.count(part),
            "samples": members.count(part) * SAMPLES[split.kind],
            "mean": ours[part],
            "paper": printed[part],
            "official_mean": theirs[part],
            "official_overlap": same[part] if official else None,
        }
        for part in PARTS
    ]


def _leaks(
    file: StoryFile,
    built: Mapping[Key, Split],
    official: Mapping[Key, Mapping[str, str]],
    threshold: float,
) -> list[Leak]:
    """Audit norms in every split, and the sentences that a split is about."""
    found = []
    for field in FIELDS:
        splits: dict[str, Mapping[str, str]] = {}
        for key, split in built.items():
            if field == "norm" or key[0] == SPLITS[0] or key[1] == field:
                name = key[0] if key[0] == SPLITS[0] else " ".join(key)
                splits[name] = split.parts
                if official[key]:
                    splits[OFFICIAL + name] = official[key]
        found += audit_leaks(file.stories, field, splits, threshold)
    return [leak for leak in found if leak.stories]


def _memberships(file: StoryFile, built: Mapping[Key, Split]) -> list[dict[str, Any]]:
    parts: dict[Key, Mapping[str, str]] = {}
    for split, kind in product(SPLITS, KINDS):
        found = built.get((split, "action" if split == SPLITS[0] else kind))
        parts[split, kind] = found.parts if found else {}
    return [
        {
            "id": story.id,
            **{
                kind: {split: parts[split, kind].get(story.id) for split in SPLITS}
                for kind in KINDS
            },
        }
        for story in file.stories
    ]
