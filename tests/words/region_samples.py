"""Pictures with regions for tests of words: drawn numbers, and scenes with pasted blobs whose colour is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from endoxa.engines import Material
from endoxa.engines.histogram_features import HistogramFeatures
from endoxa.images import Picture
from endoxa.images.features import describe_regions
from endoxa.images.scenes import Cutout, compose
from endoxa.tables import Ints
from endoxa.words.profiles import Profiles
from endoxa.words.views import Views
from endoxa.words.visualness import GROUPS

RED, OTHERS = (200, 30, 30), ((40, 70, 180), (60, 150, 70), (120, 120, 120), (245, 220, 90), (140, 60, 160))

# γ of two regions of five pictures each: the example of docs/methods/words.md, Visualness.
GAMMA = np.array(
    [
        [[0.9, 0.1, 0.0], [0.3, 0.1, 0.6]], [[0.8, 0.1, 0.1], [0.2, 0.3, 0.5]], [[0.1, 0.8, 0.1], [0.0, 0.9, 0.1]],
        [[0.1, 0.5, 0.4], [0.2, 0.6, 0.2]], [[0.3, 0.6, 0.1], [0.4, 0.5, 0.1]],
    ]
)  # fmt: skip


def golden() -> Profiles:
    """The profiles of the worked example."""
    return Profiles((GAMMA.sum(axis=1),), np.full(5, 2))


def drawn_profiles(topics: Ints, components: int = 12, *, spread: float = 20.0, seed: int = 0) -> Profiles:
    """Pictures of three regions whose components depend on their topic."""
    rng = np.random.default_rng(seed)
    kinds = rng.dirichlet(np.full(components, 2.0), int(topics.max()) + 1)
    sums = tuple(np.stack([3 * rng.dirichlet(spread * kinds[topic]) for topic in topics]) for _ in range(2))
    return Profiles(sums, np.full(len(topics), 3))


def material(pictures: int, words: list[tuple[str, ...]], *, regions: int = 3, seed: int = 0) -> Material:
    """Pictures with random regions, which say nothing about their words."""
    rng = np.random.default_rng(seed)
    n = pictures * regions
    widths = {"base": 5, "rgb": 6, "texture": 16}
    columns = {name: rng.random((n, width), dtype=np.float32) for name, width in widths.items()}
    names = tuple(f"p{at:04d}" for at in range(pictures))
    return Material(names, tuple(words), columns, np.full(pictures, regions, np.int64))


def blob(colour: tuple[int, int, int], rng: np.random.Generator) -> Picture:
    """An ellipse or a rectangle of one colour, a little varied, on nothing."""
    mask = np.zeros((48, 48), np.uint8)
    if rng.random() < 0.5:
        cv2.ellipse(mask, (24, 24), (22, int(rng.integers(8, 22))), float(rng.uniform(0, 180)), 0, 360, 1, -1)
    else:
        cv2.rectangle(mask, (2, int(rng.integers(2, 16))), (45, 46), 1, -1)
    shade = np.clip(np.array(colour) + rng.integers(-15, 16, 3), 0, 255)
    return Picture(np.broadcast_to(shade, (48, 48, 3)).astype(np.uint8).copy(), mask.astype(np.bool_))


@dataclass(frozen=True, eq=False)
class Scenes:
    """What is known of drawn scenes."""

    material: Material
    categories: tuple[str, ...]
    views: Views


def scenes(count: int = 160) -> tuple[Material, tuple[str, ...]]:
    """Scenes with one blob, their true regions described, and their categories. A third of the blobs are red.

    The word `red` is on those pictures, `odd` on pictures drawn at random, and the names of the grounds on theirs.
    """
    drawn = drawn_scenes(count)
    return drawn.material, drawn.categories


def scene_views(count: int = 160) -> Views:
    """The colours and textures of the same scenes, without vectors."""
    return drawn_scenes(count).views


@cache
def drawn_scenes(count: int) -> Scenes:
    """The scenes, drawn once."""
    rng = np.random.default_rng(11)
    words, columns, counts, categories, whole = [], [], [], [], []
    for number in range(count):
        red = rng.random() < 0.33
        colour = RED if red else OTHERS[int(rng.integers(len(OTHERS)))]
        scene = compose([Cutout(blob(colour, rng), "blob", "")], number=number, seed=5, size=(96, 144), least=0.0)
        described = describe_regions(scene.picture, scene.labels, GROUPS)
        columns.append(described)
        counts.append(len(described["base"]))
        extra = [*(["red"] if red else []), *(["odd"] if rng.random() < 0.33 else [])]
        words.append((*scene.words, *extra))
        categories.append(scene.category)
        whole.append(HistogramFeatures().describe(scene.picture))
    joined = {group: np.concatenate([one[group] for one in columns]) for group in GROUPS}
    items = tuple(f"s{at:03d}" for at in range(count))
    colour_shares, texture = (
        np.concatenate([one[f"{name}_histogram"] for one in whole]).astype(np.float64) for name in ("colour", "texture")
    )
    views = Views(None, colour_shares, texture, np.arange(count))
    return Scenes(Material(items, tuple(words), joined, np.array(counts)), tuple(categories), views)
