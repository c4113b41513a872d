"""Which part of a split each story is in: as the data says, or else as section 3.1 builds it.

Norm distance: stories of the most isolated norm clusters are held out, cluster by cluster. Lexical
bias and minimal pairs compare the two actions, or the two consequences, of a story; those with the
lowest scores are held out. Test comes before dev. Sizes are those of Table 10, one story in twelve
for dev and for test, scaled to the file.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.records import grouped
from moralscope.core.registry import require_known
from moralscope.stories.options import PARTS, SPLITS
from moralscope.stories.reading import KINDS
from moralscope.stories.stats import split_lemmas, tokens
from moralscope.stories.story import ORIENTATIONS, MoralStory

BIASED_LEMMAS = 100
CLUSTERS, CLUSTERED = 1_000, 12_000  # the paper's clusters, and the stories it had
FEWEST_CLUSTERS = 24
MAX_NORMS = 20_000  # two triangles of distances in float64: 3.2 GB


@dataclass(frozen=True, slots=True)
class NormClusters:
    """The cluster of each story's norm, by story ID, and each cluster's degree of isolation."""

    of: Mapping[str, int]
    isolation: Sequence[float]

    @property
    def scores(self) -> dict[str, float]:
        """The degree of isolation of each story's norm."""
        return {story: self.isolation[cluster] for story, cluster in self.of.items()}


def sides(story: MoralStory, kind: str) -> tuple[str, str] | None:
    """Return both actions, or both consequences, of a story that has them."""
    read = story.action if kind == "action" else story.consequence
    moral, immoral = (read(orientation) for orientation in ORIENTATIONS)
    return (moral, immoral) if moral and immoral else None


def pair_distances(stories: Sequence[MoralStory], kind: str) -> dict[str, float]:
    """Return the Damerau-Levenshtein distance over words, divided by the longer text's words."""
    from rapidfuzz.distance import DamerauLevenshtein

    return {
        story.id: DamerauLevenshtein.normalized_distance(tokens(pair[0]), tokens(pair[1]))
        for story in stories
        if (pair := sides(story, kind))
    }


def biased_lemmas(stories: Sequence[MoralStory], kind: str) -> dict[str, tuple[int, int]]:
    """Return the lemmas whose counts in moral and immoral texts differ most, with both counts.

    Function words are left out.
    """
    counts = (Counter[str](), Counter[str]())
    for story in stories:
        for counter, text in zip(counts, sides(story, kind) or (), strict=False):
            counter.update(split_lemmas(text))
    both = {word: (counts[0][word], counts[1][word]) for word in counts[0] | counts[1]}
    uneven = [word for word, (moral, immoral) in both.items() if moral != immoral]
    uneven.sort(key=lambda word: (-abs(both[word][0] - both[word][1]), word))
    return {word: both[word] for word in uneven[:BIASED_LEMMAS]}


def bias_scores(
    stories: Sequence[MoralStory], kind: str, biased: Mapping[str, tuple[int, int]]
) -> dict[str, float]:
    """Return how many biased lemmas stand in both actions (or consequences) together.

    A lemma counts once, and only in the text to which it is biased, as in the authors' release.
    """
    sided = (
        {word for word, (moral, immoral) in biased.items() if moral > immoral},
        {word for word, (moral, immoral) in biased.items() if moral < immoral},
    )
    return {
        story.id: float(
            sum(
                len(words & set(split_lemmas(text)))
                for words, text in zip(sided, pair, strict=True)
            )
        )
        for story in stories
        if (pair := sides(story, kind))
    }


def cluster_norms(stories: Sequence[MoralStory], encoder: Encoder) -> NormClusters:
    """Cluster the norms and measure how far each cluster is from its neighbour.

    DoI(c) = 1 - max over c' != c of cos(centroid(c), centroid(c')). Agglomerative clustering of
    scikit-learn, average linkage over cosine distance: 1,000 clusters for 12,000 stories, and as
    many in proportion for another number.
    """
    norms = sorted({story.norm for story in stories if story.norm})
    if not norms:
        raise InputError("no story has a norm", "norm distance needs norms")
    if len(norms) > MAX_NORMS:
        raise InputError(
            f"{len(norms):,} different norms are too many to cluster", f"at most {MAX_NORMS:,}"
        )
    rows = np.asarray(encoder.encode(norms), dtype=np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    wanted = max(FEWEST_CLUSTERS, round(len(stories) * CLUSTERS / CLUSTERED))
    count = min(wanted, len(norms))
    labels = np.arange(count)
    if count < len(norms):
        from sklearn.cluster import AgglomerativeClustering

        model = AgglomerativeClustering(n_clusters=count, linkage="average", metric="cosine")
        labels = np.asarray(model.fit_predict(rows), dtype=np.int64)
    cluster = dict(zip(norms, labels.tolist(), strict=True))
    of = {story.id: cluster[story.norm] for story in stories if story.norm}
    if count == 1:
        return NormClusters(of, [0.0])
    centroids = np.zeros((count, rows.shape[1]))
    np.add.at(centroids, labels, rows)
    centroids /= np.maximum(np.linalg.norm(centroids, axis=1, keepdims=True), 1e-12)
    cosines = centroids @ centroids.T
    np.fill_diagonal(cosines, -1.0)
    return NormClusters(of, (1.0 - cosines.max(axis=1)).tolist())


_SHARE = 12  # one story in so many is dev, and as many are test (Table 10)
_FEWEST = 3  # stories that can be shared out among three parts


@dataclass(frozen=True, slots=True)
class Split:
    """The part and the score of each story, by ID; a story without its sentences has neither."""

    name: str
    kind: str
    parts: Mapping[str, str]
    scores: Mapping[str, float]
    # The biased lemmas of lexical bias, with their counts in moral and immoral texts.
    biased: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    clusters: int = 0  # of norms
    notes: Sequence[str] = ()  # what could not be as it should

    def means(self, parts: Mapping[str, str] | None = None) -> dict[str, float | None]:
        """Return the mean score per part (Table 1), of these parts or of others."""
        of = self.parts if parts is None else parts
        scores: dict[str, list[float]] = {part: [] for part in PARTS}
        for story, score in self.scores.items():
            if story in of:
                scores[of[story]].append(score)
        return {part: fmean(values) if values else None for part, values in scores.items()}


def part_of(stories: Sequence[MoralStory], split: str, kind: str = "action") -> dict[str, str]:
    """Return train, dev or test by story ID; a story whose part nobody knows is left out.

    The membership that the data gives comes first. Where it gives none, ours is built (but for
    norm distance, which needs an encoder).
    """
    return official_parts(stories, split, kind) or dict(build_split(stories, split, kind).parts)


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
        size = _held_out(len(stories), len(clusters.of))
        parts = _by_cluster(clusters, size)
        counts = Counter(parts.values())
        notes = [
            f"norm_distance: {part} holds {counts[part]:,} stories instead of {size:,}: norms are "
            "held out whole, and there are few of them"
            for part in ("test", "dev")
            if abs(counts[part] - size) > max(1, size // 10)
        ]
        count = len(clusters.isolation)
        return Split(split, kind, parts, clusters.scores, clusters=count, notes=notes)
    biased = biased_lemmas(stories, kind) if split == "lexical_bias" else {}
    if split == "lexical_bias":
        scores = bias_scores(stories, kind, biased)
    else:
        scores = pair_distances(stories, kind)
    _enough(scores, split, kind)
    size = _held_out(len(stories), len(scores))
    order = sorted(scores, key=lambda story: (scores[story], story))
    held = dict.fromkeys(order[:size], "test") | dict.fromkeys(order[size : 2 * size], "dev")
    parts = {story: held.get(story, "train") for story in scores}
    return Split(split, kind, parts, scores, biased)


def overlap(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, int]:
    """Return how many stories both memberships put in the same part, by part."""
    same = Counter(part for story, part in ours.items() if theirs.get(story) == part)
    return {part: same[part] for part in PARTS}


def _held_out(stories: int, measured: int) -> int:
    """One in twelve of the whole file, but a train part always stays the largest."""
    return max(1, min(round(stories / _SHARE), measured // 4))


def _by_cluster(clusters: NormClusters, size: int) -> dict[str, str]:
    """Hold out whole clusters, the most isolated first; one that no longer fits is passed over.

    A cluster is never cut: a norm that stands in two parts would be known from training. Where
    none fits, the smallest is held out whole; where fewer than three are left for three parts,
    dev, then test, stays empty.
    """
    members = grouped((clusters.of[story], story) for story in sorted(clusters.of))
    left = sorted(members, key=lambda index: (-clusters.isolation[index], members[index][0]))
    chosen: dict[str, str] = {}
    for part in ("test", "dev"):
        room = size
        for cluster in list(left):
            if len(members[cluster]) <= room and len(left) > 1:
                chosen.update(dict.fromkeys(members[cluster], part))
                room -= len(members[cluster])
                left.remove(cluster)
        if room == size and len(left) > 1:
            smallest = min(left, key=lambda cluster: len(members[cluster]))
            chosen.update(dict.fromkeys(members[smallest], part))
            left.remove(smallest)
    return {story: chosen.get(story, "train") for story in clusters.of}


def _check(split: str, kind: str) -> None:
    require_known(split, SPLITS, f"there is no split '{split}'")
    require_known(kind, KINDS, f"there is no split of '{kind}'")


def _enough(scored: Mapping[str, object], split: str, kind: str) -> None:
    if len(scored) < _FEWEST:
        raise InputError(
            f"only {len(scored)} stories have what {split} of {kind}s needs",
            "a split needs three stories or more",
        )
