"""Concreteness of words by nearest neighbours of whole pictures: the competing method of the literature.

    concreteness(w) = mean over pictures v of w of |NN_k(v) ∩ V_w|  /  (k (|V_w| - 1)/(n - 1))

V_w are the pictures of the word, NN_k(v) the k nearest of the other n - 1 pictures: a word of random pictures has 1 on
average. Misleads: it finds words whose pictures look alike as a whole; a colour of one region in each is not found.
Source: Hessel, Mimno and Lee, Quantifying the visual concreteness of words and topics in multimodal datasets, NAACL
2018. Their code divides by k |V_w|/n and counts a picture as its own neighbour (`as_published`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError
from endoxa.tables import Floats, Ints
from endoxa.words.profiles import Has

NEIGHBOURS = 50
BLOCK = 1024  # pictures that are compared with all others at a time


def neighbours_of(vectors: npt.NDArray[np.float32], k: int = NEIGHBOURS) -> Ints:
    """The k nearest other pictures of each by cosine (fewer if there are fewer), nearest first; ties by position."""
    n = len(vectors)
    if n < 2:
        raise TableError(f"{n} picture has no neighbours", remedy="at least 2 are needed")
    k = min(k, n - 1)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    found = np.empty((n, k), np.int64)
    for start in range(0, n, BLOCK):
        near = np.round(unit[start : start + BLOCK] @ unit.T, 6)  # further digits depend on the block
        rows = np.arange(len(near))
        near[rows, start + rows] = -np.inf
        found[start : start + BLOCK] = np.argsort(-near, axis=1, kind="stable")[:, :k]
    return found


def concreteness(neighbours: Ints, has: Has, *, as_published: bool = False) -> Floats:
    """The concreteness of each word; NaN for a word of fewer than 2 pictures. 1 is chance."""
    n, k = neighbours.shape
    sizes = has.sum(axis=1)
    shared = np.array([row[neighbours[row]].sum() for row in has], dtype=np.float64)
    chance = k * sizes / n if as_published else k * (sizes - 1) / (n - 1)
    return np.asarray(np.divide(shared, sizes * chance, out=np.full(len(has), np.nan), where=sizes > 1))
