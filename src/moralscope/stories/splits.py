"""Which part of a split each story is in: as the data says, or else as section 3.1 builds it.

Norm distance: stories of the most isolated norm clusters are held out, cluster by cluster. Lexical
bias and minimal pairs: stories with the lowest scores are held out. Test comes before dev.
Sizes are those of Table 10, one story in twelve for dev and for test, scaled to the file.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.registry import did_you_mean
from moralscope.stories.reading import KINDS, PARTS, SPLITS
from moralscope.stories.split_scores import (
    NormClusters,
    bias_scores,
    biased_lemmas,
    cluster_norms,
    pair_distances,
)
from moralscope.stories.story import MoralStory

_SHARE = 12  # one story in so many is dev, and as many are test (Table 10)
_FEWEST = 3  # stories that can be shared out among three parts


@dataclass(frozen=True, slots=True)
class Split:
    """The part and the score of each story, by ID; a story without its sentences has neither.

    `biased` holds the biased lemmas of lexical bias, `clusters` the number of norm clusters.
    """

    name: str
    kind: str
    parts: Mapping[str, str]
    scores: Mapping[str, float]
    biased: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    clusters: int = 0

    def means(self, parts: Mapping[str, str] | None = None) -> dict[str, float | None]:
        """Return the mean score per part (Table 1), of these parts or of others."""
        of = self.parts if parts is None else parts
        found: dict[str, list[float]] = {part: [] for part in PARTS}
        for story, score in self.scores.items():
            if story in of:
                found[of[story]].append(score)
        return {part: fmean(values) if values else None for part, values in found.items()}


def part_of(
    stories: Sequence[MoralStory],
    split: str,
    kind: str = "action",
    *,
    encoder: Encoder | None = None,
) -> dict[str, str]:
    """Return train, dev or test by story ID; a story whose part nobody knows is left out.

    The membership that the data gives comes first. Where it gives none, ours is built (norm
    distance needs an encoder for that).

    Examples
    --------
    >>> known = {"action": {"norm_distance": "test"}}
    >>> part_of([MoralStory("1", "Be kind.", splits=known)], "norm_distance", "consequence")
    {'1': 'test'}
    """
    known = official_parts(stories, split, kind)
    return known or dict(build_split(stories, split, kind, encoder=encoder).parts)


def official_parts(stories: Sequence[MoralStory], split: str, kind: str) -> dict[str, str]:
    """Return the membership that the data itself gives, which may be none.

    Norm distance is a property of the norm, so both kinds share it. Where the data names dev and
    test but no train (the published consequence files lack theirs), the rest is train: the three
    parts share out the stories.
    """
    _check(split, kind)
    kinds = KINDS if split == "norm_distance" else (kind,)
    known = {
        story.id: part
        for story in stories
        if (part := next(filter(None, (story.official(of, split) for of in kinds)), None))
    }
    if set(known.values()) == {"dev", "test"}:
        return {story.id: known.get(story.id, "train") for story in stories}
    return known


def build_split(
    stories: Sequence[MoralStory],
    split: str,
    kind: str = "action",
    *,
    encoder: Encoder | None = None,
) -> Split:
    """Build a split from the stories alone.

    Ties are broken by story ID, so the order of the file does not matter. The consequence
    splits share out the stories that have both consequences.

    Examples
    --------
    >>> texts = ["pays Al", "pays Al now", "runs off and hides"]
    >>> stories = [
    ...     MoralStory(str(n), moral_action="Jo pays Al", immoral_action=f"Jo {text}")
    ...     for n, text in enumerate(texts)
    ... ]
    >>> build_split(stories, "minimal_pairs").parts
    {'0': 'test', '1': 'dev', '2': 'train'}
    """
    _check(split, kind)
    if split == "norm_distance":
        if encoder is None:
            raise InputError(
                "these stories have no norm-distance membership",
                "make one: moralscope stories split --membership FILE",
            )
        clusters = cluster_norms(stories, encoder)
        _enough(clusters.of, split, kind)
        parts = _by_cluster(clusters, _held_out(len(stories), len(clusters.of)))
        count = len(clusters.isolation)
        return Split(split, kind, parts, clusters.scores, clusters=count)
    biased = biased_lemmas(stories, kind) if split == "lexical_bias" else {}
    if split == "lexical_bias":
        scores = bias_scores(stories, kind, biased)
    else:
        scores = pair_distances(stories, kind)
    _enough(scores, split, kind)
    return Split(
        split, kind, _by_score(scores, _held_out(len(stories), len(scores))), scores, biased
    )


def overlap(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, int]:
    """Return how many stories both memberships put in the same part, by part.

    Examples
    --------
    >>> overlap({"1": "test", "2": "dev"}, {"1": "test", "2": "train"})
    {'train': 0, 'dev': 0, 'test': 1}
    """
    same = Counter(part for story, part in ours.items() if theirs.get(story) == part)
    return {part: same[part] for part in PARTS}


def _held_out(stories: int, measured: int) -> int:
    """One in twelve of the whole file, but a train part always stays the largest."""
    return max(1, min(round(stories / _SHARE), measured // 4))


def _by_score(scores: Mapping[str, float], size: int) -> dict[str, str]:
    order = sorted(scores, key=lambda story: (scores[story], story))
    chosen = {**dict.fromkeys(order[:size], "test"), **dict.fromkeys(order[size : 2 * size], "dev")}
    return {story: chosen.get(story, "train") for story in scores}


def _by_cluster(clusters: NormClusters, size: int) -> dict[str, str]:
    """Hold out whole clusters, the most isolated first; one that no longer fits is passed over.

    Only where no whole cluster fits what is left is the most isolated one cut.
    """
    members: dict[int, list[str]] = {}
    for story in sorted(clusters.of):
        members.setdefault(clusters.of[story], []).append(story)
    left = sorted(members, key=lambda place: (-clusters.isolation[place], members[place][0]))
    chosen: dict[str, str] = {}
    for part in ("test", "dev"):
        room = size
        for place in list(left):
            if len(members[place]) <= room:
                chosen.update(dict.fromkeys(members[place], part))
                room -= len(members[place])
                left.remove(place)
        if room:
            chosen.update(dict.fromkeys(_cut(members[left[0]], room), part))
    return {story: chosen.get(story, "train") for story in clusters.of}


def _cut(members: list[str], room: int) -> list[str]:
    """Take `room` stories out of a cluster; those that stay are its later ones."""
    taken = members[:room]
    del members[:room]
    return taken


def _check(split: str, kind: str) -> None:
    if split not in SPLITS:
        raise InputError(f"there is no split '{split}'", did_you_mean(split, SPLITS))
    if kind not in KINDS:
        raise InputError(f"there is no split of '{kind}'", did_you_mean(kind, KINDS))


def _enough(scored: Mapping[str, object], split: str, kind: str) -> None:
    if len(scored) < _FEWEST:
        raise InputError(
            f"only {len(scored)} stories have what {split} of {kind}s looks at",
            "a split shares out three stories or more",
        )
