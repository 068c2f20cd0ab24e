"""The descriptor for systems that represent a picture by a few regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from endoxa.errors import TextError, refuse_unknown
from endoxa.images import Picture
from endoxa.images.features import GROUPS, describe_regions
from endoxa.images.segment import SEGMENTERS, largest, segment


@dataclass(frozen=True)
class Regions:
    """The `count` largest regions of a picture, largest first, each described by groups of features.

    segmenter  the method of segmentation (`endoxa.images.segment`)
    count      the number of regions kept at most; Barnard et al. keep 8, and try 2 to 12
    side       the picture is first reduced to this long side, because sizes in pixels (of filters, of the smallest
               wedge) are comparable at one scale only
    groups     names of `endoxa.images.features.GROUPS`, joined by commas

    A picture that is completely transparent counts as one region of all its pixels, so that there is always a row.
    Source: Barnard et al. 3.3, 3.4; METHODS D.11.
    """

    name: ClassVar[str] = "regions"
    version: ClassVar[int] = 1

    segmenter: str = "slic"
    count: int = 8
    side: int = 384
    groups: str = ",".join(GROUPS)

    def __post_init__(self) -> None:
        for setting in ("count", "side"):
            if getattr(self, setting) < 1:
                raise TextError(f"{setting} = {getattr(self, setting)} of the regions is not at least 1")
        refuse_unknown("segmenter", self.segmenter, SEGMENTERS, listed=True)
        for group in self.groups.split(","):
            refuse_unknown("group of region features", group, GROUPS, listed=True)

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row per region: an array for each group, and `size`, the region's share of the frame."""
        picture = picture.fitted(self.side)
        labels = largest(segment(picture, self.segmenter), self.count)
        if not (labels >= 0).any():
            labels = np.zeros(picture.shape, np.int32)
        described: dict[str, npt.NDArray[Any]] = dict(describe_regions(picture, labels, self.groups.split(",")))
        counts = np.bincount(labels[labels >= 0])
        return described | {"size": (counts / labels.size).astype(np.float32)}
