"""The eleven sets of features of Barnard et al., Table 6, with the numbers that they printed."""

from __future__ import annotations

from endoxa.errors import TextError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.images.features import GROUPS


@dataclass(frozen=True)
class FeatureSet:
    """Groups of features, and the lift that the source printed for training, held-out and novel pictures."""

    groups: tuple[str, ...]
    printed: tuple[float, float, float] | None = None

    @property
    def name(self) -> str:
        """The groups, joined: `base+rgs`."""
        return "+".join(self.groups)


TABLE_6 = (
    FeatureSet(("base",), (0.019, 0.020, 0.018)),
    FeatureSet(("base", "rgb"), (0.076, 0.057, 0.044)),
    FeatureSet(("base", "lab"), (0.097, 0.085, 0.061)),
    FeatureSet(("base", "rgs"), (0.109, 0.092, 0.065)),
    FeatureSet(("base", "rgs", "context"), (0.134, 0.094, 0.055)),
    FeatureSet(("base", "texture"), (0.079, 0.048, 0.041)),
    FeatureSet(("base", "rgs", "texture"), (0.109, 0.072, 0.059)),
    FeatureSet(("base", "shape"), (0.053, 0.016, 0.017)),
    FeatureSet(("base", "rgs", "shape"), (0.065, 0.029, 0.027)),
    FeatureSet(("base", "rgs", "texture", "shape"), (0.083, 0.043, 0.038)),
    FeatureSet(("base", "rgs", "context", "texture", "shape"), (0.097, 0.055, 0.039)),  # the source's "everything"
)


def feature_set(text: str) -> FeatureSet:
    """`base,rgs` as a set; one of Table 6 has its printed numbers, in whatever order the groups are given."""
    groups = tuple(dict.fromkeys(part.strip() for part in text.replace("+", ",").split(",") if part.strip()))
    if not groups:
        raise TextError("a set of features has no group", remedy="give some, like base,rgs")
    for group in groups:
        refuse_unknown("group of region features", group, GROUPS, listed=True)
    known = (one for one in TABLE_6 if set(one.groups) == set(groups))
    return next(known, FeatureSet(groups))
