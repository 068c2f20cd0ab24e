"""The features of interactive search on disk: built once from a corpus, then mapped into memory.

HOME/search/
    features.json    format, release, digest, groups with their metrics and scales, what was described how
    items.parquet    item, words, digest of the picture, stack of near-duplicates
    group-NAME.npy   the numbers of a group        axes.npy  the axes that vectors are projected on
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.engines import Descriptor
from endoxa.engines.colour_layout import Layout
from endoxa.engines.embeddings import EXTRACTORS, FILE, Embeddings
from endoxa.engines.histogram_features import HistogramFeatures
from endoxa.engines.registry import available
from endoxa.errors import EndoxaError, FileError, JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.images.corpus import Corpus, Progress, Skipped
from endoxa.io import faults
from endoxa.io.decoding import decode
from endoxa.io.descriptions import describe, digests_of
from endoxa.io.indexes import changes_since
from endoxa.io.opening import home_of
from endoxa.io.provenance import fingerprint
from endoxa.io.search_neighbours import with_neighbours
from endoxa.io.vectors import vectors_for
from endoxa.io.write import replacing_folder
from endoxa.searches.arms import Features, Group, Point, Values
from endoxa.searches.describing import SOURCES, features_of, point_from
from endoxa.searches.projections import Basis

FORMAT = 1
FOLDER = "search"
AGAIN = "remove this folder, and it is built again; what is known about unchanged pictures is kept"
SIDE = 1024  # of the long side of a picture that is described, as in the corpus
LARGEST = 4096  # of a picture of which a part is described


@dataclass(frozen=True, eq=False)
class Stored:
    """Features, the digests of the pictures that they describe, and facts: what was described how."""

    features: Features
    digests: Mapping[str, str]
    facts: Mapping[str, Any]


def open_features(
    corpus: Corpus, home: str | Path | None = None, *, vectors: str | Path | None = None, again: bool = False,
    progress: Progress | None = None, workers: int | None = None,
) -> Features:  # fmt: skip
    """The features of a corpus: those that are stored, or else built now.

    vectors  a file of vectors of your own as the look; else that of the network, if it is installed
    again    build them even if they are stored; pictures that have not changed are not described again

    They are also built if those that are stored lack a look that can now be had, or have another than `vectors`. They
    are refused if the corpus has changed since. Pictures that cannot be decoded are left out: `Features.skipped`.
    """
    folder = home_of(corpus, home) / FOLDER
    if not again and (folder / "features.json").is_file():
        stored = load(folder)
        if not _other_look(stored.facts["look"], vectors):
            _refuse_changed(corpus, stored, digests_of(corpus, folder.parent), folder)
            return with_neighbours(stored.features, folder)
    return build_features(corpus, home, vectors=vectors, progress=progress, workers=workers)


def build_features(
    corpus: Corpus, home: str | Path | None = None, *, vectors: str | Path | None = None,
    progress: Progress | None = None, workers: int | None = None,
) -> Features:  # fmt: skip
    """Describe the pictures, as far as that is not known, and store the features in place of older ones."""
    if not len(corpus):
        raise FileError(corpus.root, "the corpus holds no picture", "give a folder or a manifest with pictures")
    place = home_of(corpus, home)
    look = _look(vectors)
    descriptors = _descriptors(network=look != "" and vectors is None)
    own = None if vectors is None else vectors_for(corpus, vectors)[0]
    wanted = SOURCES.values()
    described = describe(corpus, descriptors, place, workers=workers, progress=progress, columns=wanted)
    skipped = tuple({one.name: one for result in described for one in result.skipped}.values())
    materials = [result.material for result in described]
    if not len(materials[0]):
        raise JoinError(f"none of the {len(corpus):,} pictures can be decoded; {skipped[0].name}: {skipped[0].why}")
    if own is not None:
        decoded = set(materials[0].items)
        materials.append(own.take([at for at, item in enumerate(own.items) if item in decoded]))
    if progress is not None:
        progress("building features", 0, 1)
    digests = digests_of(corpus, place)
    features = features_of(materials, source=look.partition(":")[0], digests=digests, skipped=skipped)
    facts = {"look": look, "descriptors": {one.name: one.version for one in descriptors}}
    save(Stored(features, digests, facts), place / FOLDER)
    if progress is not None:
        progress("building features", 1, 1)
    return load(place / FOLDER).features


def _descriptors(*, network: bool) -> list[Descriptor]:
    """What describes the pictures of a search."""
    return [HistogramFeatures(), Layout(), *([EXTRACTORS[Embeddings().source]()] if network else [])]


def _look(vectors: str | Path | None) -> str:
    """What the look is made from: a file with its digest, a network, or nothing."""
    if vectors is not None:
        return f"{FILE}:{fingerprint(Path(vectors))}"
    return Embeddings().source if Embeddings.name in available() else ""


def _other_look(stored: str, vectors: str | Path | None) -> bool:
    """Whether there is a look to be built: the vectors that are given, or any if there was none."""
    return stored != _look(vectors) if vectors is not None else not stored and bool(_look(None))


def _refuse_changed(corpus: Corpus, stored: Stored, digests: Mapping[str, str], folder: Path) -> None:
    features = stored.features
    # A picture that could not be decoded, and has been replaced since, is new.
    aside = [one.name for one in features.skipped if stored.digests.get(one.name) == digests.get(one.name)]
    if listed := changes_since(corpus, digests, features.items, features.words, stored.digests, aside):
        what = f"the corpus changed since the features for searching were built: {listed}"
        raise FileError(corpus.root, what, "open it with --again; what did not change is kept")


# ---- files -----------------------------------------------------------------------------------------------------


def save(stored: Stored, folder: Path) -> None:
    """Write features in place of older ones, completely or not at all."""
    features = stored.features
    if folder.exists() and not (folder / "features.json").is_file():
        raise FileError(str(folder), "does not hold features, and is not replaced", "move it away")
    with replacing_folder(folder) as part:
        pl.DataFrame(
            {
                "item": features.items, "words": [list(words) for words in features.words],
                "digest": [stored.digests.get(item, "") for item in features.items], "stack": features.stacks,
            },
            schema={"item": pl.String, "words": pl.List(pl.String), "digest": pl.String, "stack": pl.Int64},
        ).write_parquet(part / "items.parquet")  # fmt: skip
        for group in features.groups:
            np.save(_numbers(part, group.name), group.values, allow_pickle=False)
        if features.basis is not None:
            np.save(part / "axes.npy", features.basis.axes, allow_pickle=False)
        described = {
            "format": FORMAT, "endoxa": version("endoxa"), "digest": features.digest,
            "groups": [{"name": one.name, "metrics": one.metrics, "taus": dict(one.taus)} for one in features.groups],
            "source": None if features.basis is None else features.basis.source,
            "skipped": [[one.name, one.why, stored.digests.get(one.name, "")] for one in features.skipped],
            "facts": dict(stored.facts),
        }  # fmt: skip
        (part / "features.json").write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> Stored:
    """The features in a folder. Those of another format, or from other versions of descriptors, are refused."""
    try:
        described = json.loads((folder / "features.json").read_text(encoding="utf-8"))
        written = described["format"]
    except FileNotFoundError:
        raise FileError(
            str(folder), "there are no features for searching here", "open the corpus for a search"
        ) from None
    except (OSError, *faults.JSON, *faults.CONTENT) as error:
        raise FileError(str(folder / "features.json"), f"is damaged ({error})", AGAIN) from None
    if written != FORMAT:
        writer = described.get("endoxa", "?")
        what = f"holds features of format {written}, written by endoxa {writer}; this version reads format {FORMAT}"
        raise FileError(str(folder), what, AGAIN)
    try:
        stored = _stored(folder, described)
    except (*faults.ARRAY, *faults.PARQUET, *faults.CONTENT, EndoxaError) as error:
        raise FileError(str(folder), f"is damaged ({faults.first_line(error)})", AGAIN) from None
    current = {one.name: one.version for one in _descriptors(network=True)}
    if any(current.get(name) != version for name, version in stored.facts["descriptors"].items()):
        raise FileError(str(folder), "was built from descriptions of another version", AGAIN)
    return stored


def _stored(folder: Path, described: Mapping[str, Any]) -> Stored:
    frame = pl.read_parquet(folder / "items.parquet", glob=False)
    groups = tuple(
        Group(one["name"], _mapped(_numbers(folder, one["name"])), tuple(one["metrics"]), dict(one["taus"]))
        for one in described["groups"]
    )
    basis = None if described["source"] is None else Basis(_mapped(folder / "axes.npy"), str(described["source"]))
    features = Features(
        tuple(frame["item"]), groups, tuple(tuple(words) for words in frame["words"].to_list()),
        str(described["digest"]), frame["stack"].to_numpy().astype(np.int64), basis,
        tuple(Skipped(name, why) for name, why, _ in described["skipped"]),
    )  # fmt: skip
    digests = dict(frame.select("item", "digest").iter_rows()) | {name: own for name, _, own in described["skipped"]}
    facts = dict(described["facts"])
    return Stored(features, digests, {"look": str(facts["look"]), "descriptors": dict(facts["descriptors"])})


def _numbers(folder: Path, group: str) -> Path:
    return folder / f"group-{group}.npy"


def _mapped(path: Path) -> Values:
    """An array, mapped into memory; never pickled objects."""
    array: Values = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


# ---- pictures from outside -------------------------------------------------------------------------------------


def point_of(features: Features, source: Path | bytes, crop: Sequence[float] | None = None, *, name: str = "") -> Point:
    """A picture from outside, or a part of it, described as those of the collection were.

    crop  left, top, right, bottom as shares of width and height, from 0 to 1, of the picture as it is seen (upright)
    name  the name of bytes in errors

    If the network of the collection is not installed, or its vectors came from a file, the look is NaN.
    """
    picture = _cropped(source, crop, name)
    network = features.basis is not None and features.basis.source == _look(None)
    columns: dict[str, Values] = {}
    for descriptor in _descriptors(network=network):
        columns |= descriptor.describe(picture)
    return point_from(columns, features)


def _cropped(source: Path | bytes, crop: Sequence[float] | None, name: str) -> Picture:
    if crop is None:
        return decode(source, side=SIDE, name=name)
    left, top, right, bottom = _checked(crop)
    side = min(LARGEST, math.ceil(SIDE / max(right - left, bottom - top)))
    picture = decode(source, side=side, name=name)
    height, width = picture.shape
    window = (
        slice(math.floor(top * height), math.ceil(bottom * height)),
        slice(math.floor(left * width), math.ceil(right * width)),
    )
    mask = None if picture.mask is None else picture.mask[window]
    return Picture(np.ascontiguousarray(picture.pixels[window]), mask).fitted(SIDE)


def _checked(crop: Sequence[float]) -> tuple[float, float, float, float]:
    """The four shares; a TextError if they do not lie in the picture, or have no area."""
    if len(crop) != 4 or not all(math.isfinite(share) for share in crop):
        raise TextError(f"a crop is left, top, right, bottom, as shares from 0 to 1, not {list(crop)}")
    left, top, right, bottom = crop
    if min(crop) < 0 or max(crop) > 1:
        raise TextError(f"the crop {list(crop)} reaches out of the picture", remedy="its shares lie between 0 and 1")
    if left >= right or top >= bottom:
        raise TextError(f"the crop {list(crop)} has no area", remedy="drag a rectangle, or use the whole picture")
    return left, top, right, bottom
