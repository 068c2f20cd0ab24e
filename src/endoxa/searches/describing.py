"""The features of a collection, from what descriptors found out about its pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from endoxa.engines import Columns, Material
from endoxa.errors import TableError
from endoxa.images.corpus import Skipped
from endoxa.searches.arms import Features, Group, Point, Values, group_of
from endoxa.searches.projections import leading
from endoxa.searches.sketches import SKETCH, sketch_scale
from endoxa.tables import Ints

# The column of the descriptors that each group is made from.
SOURCES = {"look": "vector", "colours": "colour_histogram", "texture": "texture_histogram", "layout": "layout"}
LOOK, LAYOUT = "look", "layout"
NEAR = 0.1  # near-duplicates are nearer than this share of the scale of look
MOST = 20_000  # pictures among which near-duplicates are looked for
BLOCK = 256  # pictures that are compared with all others at a time
HASHED = 1 << 16  # rows that are hashed at a time


def features_of(
    materials: Sequence[Material], *, source: str = "", digests: Mapping[str, str] | None = None,
    skipped: Sequence[Skipped] = (), seed: int = 0,
) -> Features:  # fmt: skip
    """The features of the pictures that these materials describe, one material per descriptor.

    look     the vectors on their leading 128 axes: `source` names the network, or `file`
    colours  the histogram of 166 colours        texture  that of the bands of Gabor filters
    layout   the colours of 8 × 8 cells, with the scale for sketches

    A group without a column is left out. The items are those of all materials, in the order in which they first come.
    An item that lacks a group has a row of NaN (of zeros where the numbers are bytes), which is near to nothing.
    `digests` are those of the files: equal ones are near-duplicates.
    """
    items = tuple(dict.fromkeys(item for material in materials for item in material.items))
    words: dict[str, tuple[str, ...]] = dict.fromkeys(items, ())
    for material in materials:
        words |= dict(zip(material.items, material.words, strict=True))
    groups, basis = [], None
    for name, column in SOURCES.items():
        described = next((one for one in materials if column in one.columns), None)
        if described is None:
            continue
        rows = _rows(described, column)
        if name == LOOK:
            basis = leading(rows, source=source, seed=seed)
            if not basis.axes.size:  # no vector has a direction
                basis = None
                continue
            rows = basis.project(rows)
        group = group_of(name, _aligned(rows, described.items, items), seed=seed)
        if name == LAYOUT:
            group = replace(group, taus={**group.taus, SKETCH: sketch_scale(group.values, seed)})
        groups.append(group)
    look = next((group for group in groups if group.name == LOOK), None)
    stacks = stacks_of([(digests or {}).get(item, "") for item in items], look)
    texts = tuple(words[item] for item in items)
    digest = digest_of(items, texts, groups, stacks)
    return Features(items, tuple(groups), texts, digest, stacks, basis, tuple(skipped))


def _rows(material: Material, column: str) -> Values:
    """The one row of each item."""
    rows = material.columns[column]
    if rows.ndim != 2 or len(rows) != len(material):
        shape = " × ".join(map(str, rows.shape))
        raise TableError(f"a search needs one row of {column!r} for each of {len(material):,} items, not {shape}")
    return rows


def _aligned(rows: Values, own: Sequence[str], items: Sequence[str]) -> Values:
    """The rows in the order of the items; NaN or zeros where an item has none."""
    if tuple(own) == tuple(items):
        return rows
    at = {item: place for place, item in enumerate(items)}
    found = np.full((len(items), rows.shape[1]), np.nan if rows.dtype.kind == "f" else 0, rows.dtype)
    found[[at[item] for item in own]] = rows
    return found


def point_from(columns: Columns, features: Features) -> Point:
    """A picture from outside, from what the descriptors say about it; NaN as its look if it has no vector."""
    point: dict[str, Values] = {}
    for group in features.groups:
        rows = columns.get(SOURCES.get(group.name, group.name))
        if group.name == LOOK:
            silent = np.full(group.values.shape[1], np.nan, np.float32)
            point[LOOK] = silent if rows is None or features.basis is None else features.basis.project(rows)[0]
        elif rows is None:
            raise TableError(
                f"the picture is not described by {group.name}", remedy="describe it as the collection was"
            )
        else:
            point[group.name] = rows[0]
    return point


def stacks_of(digests: Sequence[str], look: Group | None = None) -> Ints:
    """The number of the stack of near-duplicates that each picture is in, counted in the order of their first pictures.

    Two pictures are in one stack if their files are equal, if the cosine distance of their looks is below a tenth of
    its scale, or if a chain of such pairs leads from one to the other. Beyond 20,000 pictures only equal files count,
    because comparing all pairs would take minutes.
    """
    n = len(digests)
    first: dict[str, int] = {}
    labels = np.array([first.setdefault(digest, at) if digest else at for at, digest in enumerate(digests)], np.int64)
    near = NEAR * look.taus["cosine"] if look is not None and "cosine" in look.metrics else 0.0
    if look is not None and near > 0 and n <= MOST:
        length = np.linalg.norm(look.values, axis=1, keepdims=True)
        units = np.divide(look.values, length, out=np.zeros_like(look.values), where=length > 0)
        for start in range(0, n, BLOCK):
            alike = units[start : start + BLOCK] @ units[start:].T > 1 - near
            left, right = np.nonzero(alike)
            labels = _joined(labels, left + start, right + start)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64) if n else np.zeros(0, np.int64)


def _joined(labels: Ints, left: Ints, right: Ints) -> Ints:
    """The label of each item after joining pairs of items: the first item of its component."""
    n = len(labels)
    ends = np.concatenate([np.arange(n), left]), np.concatenate([labels, right])
    _, component = connected_components(
        coo_array((np.ones(len(ends[0]), np.bool_), ends), shape=(n, n)), directed=False
    )
    first = np.full(n, n, np.int64)
    np.minimum.at(first, component, np.arange(n))
    return np.asarray(first[component], dtype=np.int64)


def digest_of(items: Sequence[str], words: Sequence[Sequence[str]], groups: Sequence[Group], stacks: Ints) -> str:
    """SHA-256 over items, words, stacks, scales and numbers."""
    scales = [[group.name, group.metrics, dict(group.taus), str(group.values.dtype)] for group in groups]
    hashed = sha256(json.dumps([list(items), list(words), scales, stacks.tolist()]).encode())
    for group in groups:
        for start in range(0, len(group.values), HASHED):
            hashed.update(np.ascontiguousarray(group.values[start : start + HASHED]).data)
    return hashed.hexdigest()
