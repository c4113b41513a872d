"""What the adversarial splits order stories by (Emelin et al. 2021, section 3.1). Assigns nothing.

Lexical bias and minimal pairs compare the two actions, or the two consequences, of a story; a
story that lacks one of them has no score. Norm distance looks at the norms of all stories at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.words import split_lemmas, tokens

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
    """Return the Damerau-Levenshtein distance over words, divided by the longer text's words.

    Examples
    --------
    >>> story = MoralStory("1", moral_action="Jo pays Al.", immoral_action="Jo robs Al.")
    >>> round(pair_distances([story], "action")["1"], 2)
    0.33
    """
    from rapidfuzz.distance import DamerauLevenshtein

    return {
        story.id: DamerauLevenshtein.normalized_distance(tokens(pair[0]), tokens(pair[1]))
        for story in stories
        if (pair := sides(story, kind))
    }


def biased_lemmas(
    stories: Sequence[MoralStory], kind: str, count: int = BIASED_LEMMAS
) -> dict[str, tuple[int, int]]:
    """Return the lemmas whose counts in moral and immoral texts differ most, with both counts.

    Function words are left out.

    Examples
    --------
    >>> story = MoralStory("1", moral_action="Jo pays Al.", immoral_action="Jo robs Al.")
    >>> biased_lemmas([story], "action")
    {'pay': (1, 0), 'rob': (0, 1)}
    """
    counts = (Counter[str](), Counter[str]())
    for story in stories:
        for counter, text in zip(counts, sides(story, kind) or (), strict=False):
            counter.update(split_lemmas(text))
    both = {word: (counts[0][word], counts[1][word]) for word in counts[0] | counts[1]}
    uneven = [word for word, (moral, immoral) in both.items() if moral != immoral]
    uneven.sort(key=lambda word: (-abs(both[word][0] - both[word][1]), word))
    return {word: both[word] for word in uneven[:count]}


def bias_scores(
    stories: Sequence[MoralStory], kind: str, biased: Mapping[str, tuple[int, int]]
) -> dict[str, float]:
    """Return how many biased lemmas stand in both actions (or consequences) together.

    A lemma counts once, and only in the text to which it is biased, as in the authors' release.

    Examples
    --------
    >>> story = MoralStory("1", moral_action="Jo pays Al.", immoral_action="Jo robs and pays.")
    >>> bias_scores([story], "action", {"pay": (9, 1), "rob": (0, 7)})
    {'1': 2.0}
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
    labels = _clusters(rows, min(wanted, len(norms)))
    place = dict(zip(norms, labels.tolist(), strict=True))
    of = {story.id: place[story.norm] for story in stories if story.norm}
    return NormClusters(of, _isolation(rows, labels).tolist())


def _clusters(rows: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    if count == len(rows):
        return np.arange(count)
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(n_clusters=count, linkage="average", metric="cosine")
    return np.asarray(model.fit_predict(rows), dtype=np.int64)


def _isolation(rows: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    count = int(labels.max()) + 1
    if count == 1:
        return np.zeros(1)
    centroids = np.zeros((count, rows.shape[1]))
    np.add.at(centroids, labels, rows)
    centroids /= np.maximum(np.linalg.norm(centroids, axis=1, keepdims=True), 1e-12)
    cosines = centroids @ centroids.T
    np.fill_diagonal(cosines, -1.0)
    return np.asarray(1.0 - cosines.max(axis=1), dtype=np.float64)
