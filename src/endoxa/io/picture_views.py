"""Views of the pictures of a corpus, by which words are tested: a network's vectors or one's own, and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from endoxa.engines import Descriptor, Material
from endoxa.engines.embeddings import Embeddings, vectors_of
from endoxa.engines.histogram_features import HistogramFeatures
from endoxa.engines.registry import available
from endoxa.formatting import counted
from endoxa.images.corpus import Corpus
from endoxa.io.descriptions import Described, digests_of
from endoxa.io.efficientnet import EfficientNet
from endoxa.io.vectors import vectors_for
from endoxa.words.views import Views

WITHOUT = "looks are colours and textures: V finds colours and surfaces only, and Hessel's concreteness is left out"


def descriptors_of(vectors: str | Path | None) -> list[Descriptor]:
    """What describes the views: histograms, and the network where it is installed and no file takes its place."""
    return [HistogramFeatures(), *([EfficientNet()] if vectors is None and Embeddings.name in available() else [])]


def views_of(
    corpus: Corpus, described: Sequence[Described], items: Sequence[str], vectors: str | Path | None, home: Path
) -> tuple[Views, list[str]]:
    """The views of these items, from what `descriptors_of` gives for the corpus; and what to know about them."""
    histograms = _of_items(described[0].material, items)
    looks = vectors_for(corpus, vectors)[0] if vectors is not None else None
    if len(described) > 1:
        looks = described[1].material
    notes, rows = [], None
    if looks is None:
        notes.append(f"without vectors (pip install 'endoxa[embed]', or --vectors FILE) {WITHOUT}")
    elif missing := sorted(set(items) - set(looks.items)):
        lack = counted(len(missing), "picture has", "pictures have")
        notes.append(f"{lack} no vector ({missing[0]} first): {WITHOUT}")
    else:
        rows = vectors_of(_of_items(looks, items)).astype(np.float64)
    digests = digests_of(corpus, home)
    copies = np.unique([digests[item] or item for item in items], return_inverse=True)[1].astype(np.int64)
    if twins := len(items) - len(set(copies.tolist())):
        notes.append(
            f"{counted(twins, 'picture is a copy', 'pictures are copies')} of others: copies are left out together"
        )
    colour, texture = (histograms.columns[f"{name}_histogram"].astype(np.float64) for name in ("colour", "texture"))
    return Views(rows, colour, texture, copies), notes


def _of_items(material: Material, items: Sequence[str]) -> Material:
    place = {item: at for at, item in enumerate(material.items)}
    return material.take([place[item] for item in items])
