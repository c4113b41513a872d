"""Remove or dampen a direction from embeddings while the moral one stays.

Hard de-biasing (Bolukbasi et al. 2016, "neutralise"), on sentences (Liang et al. 2020), with the
removed subspace orthogonalised against what must stay:

    B = orth( (I - K Kᵀ) [ answer differences ; leading components of centred pairs ] )
    x' = x - strength · B Bᵀ x

where K is an orthonormal basis of the moral vectors. So x' · m = x · m for every moral vector m.
Nothing is done to the weights; rows are edited as they come out. A linear edit hides a direction
rather than forgetting it (Gonen & Goldberg 2019): `leakage` measures what is left.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.stats.summary import unit_rows
from moralscope.steer.pairs import Pair

_NEGLIGIBLE = 1e-4  # of the largest singular value: rounding, not a direction
Floats = NDArray[np.float64]


def answer_differences(encoder: Encoder, answers: Sequence[Pair]) -> Floats:
    """Return unit(a) - unit(b) of every distinct pair of answers: what a question is held against.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> answer_differences(load_encoder("scripted"), [("Yes.", "No."), ("Yes.", "No.")]).shape
    (1, 64)
    """
    distinct = list(dict.fromkeys(answers))
    return unit_rows(_rows(encoder, [a for a, _ in distinct])) - unit_rows(
        _rows(encoder, [b for _, b in distinct])
    )


def pair_components(encoder: Encoder, sentences: Sequence[Pair], components: int) -> Floats:
    """Return the leading components of the pairs, each centred on its own mean.

    Examples
    --------
    >>> from moralscope.steer.pairs import load_pairs
    >>> from moralscope.models.encoders import load_encoder
    >>> pair_components(load_encoder("scripted"), load_pairs("gender").sentences, 2).shape
    (2, 64)
    """
    if components < 1:
        raise InputError(f"{components} components were asked for", "give 1 or more")
    # A pair minus its mean is +d/2 and -d/2: the components are those of the halved differences.
    first, second = zip(*sentences, strict=True)
    basis = _orthonormal((_rows(encoder, first) - _rows(encoder, second)) / 2)
    if not len(basis):
        raise InputError("the pairs are all the same to this encoder", "give other pairs")
    return basis[:components]


def subspace(removed: Floats, keep: Floats) -> Floats:
    """Return an orthonormal basis of `removed` without what lies along `keep`.

    Examples
    --------
    >>> subspace(np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])).round(6).tolist()
    [[0.0, 1.0, 0.0]]
    """
    basis = _orthonormal(removed)
    if len(keep):
        kept = _orthonormal(keep)
        basis = basis - (basis @ kept.T) @ kept
        # What is left of a direction that lay along the kept ones is rounding: drop it.
        _, sizes, rows = np.linalg.svd(basis, full_matrices=False)
        basis = rows[sizes > 1e-3]
    if not len(basis):
        raise InputError(
            "nothing is left to remove: the direction lies along the moral one",
            "give other pairs, or keep fewer axes",
        )
    return basis


def _orthonormal(vectors: Floats) -> Floats:
    """Return an orthonormal basis of the rows, largest components first."""
    _, sizes, rows = np.linalg.svd(vectors, full_matrices=False)
    basis: Floats = rows[sizes > _NEGLIGIBLE * max(float(sizes.max(initial=0)), 1e-12)]
    return basis


def _rows(encoder: Encoder, texts: Sequence[str]) -> Floats:
    return encoder.encode(list(texts)).astype(np.float64)
