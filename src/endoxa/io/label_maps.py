"""Segmentations of one's own: a label map (a grey PNG) per picture, each number a region.

    segmentation/animals/tiger.png    the regions of the picture animals/tiger.jpg
    255 (of 8 bits), 65535 (of 16)    pixels that belong to no region

`MASKS` stands for the masks of the corpus itself, the true regions of composed scenes.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from endoxa.errors import FileError, JoinError
from endoxa.frozen import dataclass
from endoxa.images import LabelMap, Picture
from endoxa.images.corpus import Corpus
from endoxa.images.features import GROUPS, describe_regions, neighbours_of
from endoxa.images.segment import by_size, largest
from endoxa.io.descriptions import Stamp, stamps_of
from endoxa.io.scene_files import numbers_of

MASKS = "masks"
SHAPE = 0.02  # relative difference of the shapes of picture and map that rounding explains


@dataclass(frozen=True)
class LabelMaps:
    """The `count` largest regions of label maps, described by groups of features: a descriptor.

    folder  where the maps are, named like the pictures; empty: the masks of the corpus
    state   of the files, so that changed maps are described again
    """

    name: ClassVar[str] = "label-maps"
    version: ClassVar[int] = 2

    folder: str
    state: str
    count: int = 12
    side: int = 384
    groups: str = ",".join(GROUPS)

    @classmethod
    def of(cls, corpus: Corpus, folder: str | Path | None, *, count: int = 12) -> LabelMaps:
        """The maps of a folder, or the masks of the corpus if it is None; a JoinError if no picture has one."""
        place = "" if folder is None else str(Path(folder).resolve())
        if place and not Path(place).is_dir():
            raise FileError(str(folder), "there is no such folder", "name a folder of label maps, a PNG per picture")
        paths = [_map_of(place, stamp) for stamp in stamps_of(corpus)]
        states = [(path.name, found.st_size, found.st_mtime_ns) for path in paths if (found := _stat(path)) is not None]
        if not states:
            what = f"{folder}: no label map has the name of a picture (like {paths[0].name})" if place else (
                f"{corpus.label}: no picture has a mask"
            )  # fmt: skip
            raise JoinError(what, remedy="a map is a grey PNG with the picture's path")
        return cls(place, sha256(repr(states).encode()).hexdigest()[:16], count)

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """Refused: which map belongs to a picture is known by its place only."""
        raise NotImplementedError

    def describe_at(self, picture: Picture, stamp: Stamp) -> dict[str, npt.NDArray[Any]]:
        """One row per region, the largest first, as `endoxa.images.features.Touching`."""
        picture = picture.fitted(self.side)
        labels = largest(fitted(regions_of(_map_of(self.folder, stamp)), picture), self.count)
        described: dict[str, npt.NDArray[Any]] = dict(describe_regions(picture, labels, self.groups.split(",")))
        counts = np.bincount(labels[labels >= 0])
        size = (counts / labels.size).astype(np.float32)
        return described | {"size": size, "neighbours": neighbours_of(labels)}


def regions_of(path: Path) -> LabelMap:
    """The label of each pixel, -1 for none; a FileError if the file is no label map."""
    try:
        labels = numbers_of(path)
    except FileError as error:
        raise FileError(str(path), f"its label map {path.name} {error.problem}") from None
    return np.where(labels == np.iinfo(labels.dtype).max, -1, labels.astype(np.int32)).astype(np.int32)


def fitted(labels: LabelMap, picture: Picture) -> LabelMap:
    """A label map at the size of a picture, its regions numbered by size; a FileError if it has none there."""
    import cv2

    (height, width), (rows, columns) = picture.shape, labels.shape
    if abs(height * columns - width * rows) > SHAPE * height * columns:
        what = f"its label map has {columns} × {rows} pixels, the picture {width} × {height}: another shape"
        raise FileError("", what)
    if labels.shape != picture.shape:
        labels = cv2.resize(labels, (width, height), interpolation=cv2.INTER_NEAREST).astype(np.int32, copy=False)
    if picture.mask is not None:
        labels = np.where(picture.mask, labels, -1)
    if not (labels >= 0).any():
        raise FileError("", "its label map has no region")
    return by_size(np.unique(labels, return_inverse=True)[1].reshape(labels.shape) - int((labels < 0).any()))


def _map_of(folder: str, stamp: Stamp) -> Path:
    return Path(folder) / f"{stamp.item}.png" if folder else Path(stamp.mask or f"{stamp.item}.png")


def _stat(path: Path) -> Any:
    try:
        return path.stat()
    except OSError:
        return None
