"""Captioned scenes whose truth is known: the outline and word of every region, the caption, the category.

A scene is a stack of layers, far to near: grounds (sky, sea, grass) with a skyline each, and things (a boat, a tiger)
that stand on them. The same stack gives the picture and the truth, so that outlines are exact under any occlusion: a
pixel belongs to the nearest layer that covers at least half of it. Light, colours, sizes and textures vary.
Misleads: drawn scenes are far easier than photographs. A system that fails here is broken; one that does well here
must still be tested on real pictures. All kinds of scenes are equally frequent here, unlike elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import cv2
import numpy as np

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.images import LabelMap, Picture, Pixels
from endoxa.images.painting import Layer, bytes_of, shaded, stacked
from endoxa.images.scenery import KINDS, Chance, Field

SERIES = 1  # raised when any scene changes, so that old and new scenes are not mixed
SIZE = (256, 384)
LEAST = 0.001  # things of which less than this share of the picture is visible are left out


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture with its truth.

    `labels` gives each pixel its region, 0 … n - 1, the grounds first; `names` is the word of each region (two boats
    are two regions of one name). `words` are the distinct names, in the order of the caption. A region may have
    several pieces if another one occludes it.
    """

    picture: Picture
    labels: LabelMap
    names: tuple[str, ...]
    words: tuple[str, ...]
    category: str
    caption: str


@dataclass(frozen=True, eq=False)
class Cutout:
    """A thing cut out of a picture by its mask (None: all of it), the word for it, and its category."""

    picture: Picture
    word: str
    category: str


def draw(number: int, seed: int, *, size: tuple[int, int] = SIZE) -> Scene:
    """Scene `number` of the infinite series `seed`; it depends on these two and the size only.

    The kind (of `KINDS`) is the category. Other releases of OpenCV and NumPy may round differently.
    """
    rng = _chance(number, seed, size)
    category = str(rng.choice(sorted(KINDS)))
    return _scene(stacked(category, size, rng), size, _light(size, rng), rng, category)


def compose(
    cutouts: Sequence[Cutout], background: Picture | None = None, *, number: int, seed: int,
    size: tuple[int, int] = SIZE, ground: str = "background", least: float = LEAST,
) -> Scene:  # fmt: skip
    """Cut-outs pasted on a picture (with the word `ground`), or on the drawn grounds of a scene if there is none.

    Each is scaled (height or width 25–60 % of the scene's), mirrored, moved and made brighter or darker at random,
    completely within the scene; later ones occlude earlier ones. The placement depends on the seed, the number and the
    position in the sequence only. Those that show less than `least` of the scene are left out. The category is the one
    with the largest visible area; `ground` (or the drawn kind) if no cut-out is visible.
    """
    rng = _chance(number, seed, size)
    if not 0 <= least < 1:
        raise TextError(f"the least visible share must lie in [0, 1), not {least}", remedy=f"the default is {LEAST}")
    if background is None:
        category = str(rng.choice(sorted(KINDS)))
        layers, light = stacked(category, size, rng, things=False), _light(size, rng)
    else:
        category, light = ground, np.ones(size, np.float32)
        filled = _covering(background, size, rng)
        layers = [Layer(ground, True, 0, 0, np.full(size, 255, np.uint8), _planes(filled))]
    for place, cutout in enumerate(cutouts, start=1):
        layers += _pasted(cutout, size, np.random.default_rng([seed, number, place]))
    return _scene(layers, size, light, rng, category, least, grain=1.5 if background is None else 0.0)


def resolve(layers: Sequence[Layer], size: tuple[int, int], least: float = LEAST) -> tuple[list[int], LabelMap]:
    """The visible layers, and the label of every pixel: the position in that list of the nearest layer that covers it.

    Things that show too little are removed one by one, the least visible first, because a removal may uncover another
    thing. Grounds, which together cover everything, stay while one pixel is visible. Grounds are numbered first.
    """
    kept = list(range(len(layers)))
    enough = max(1.0, least * size[0] * size[1])
    while True:
        labels = np.zeros(size, np.int32)
        for index in kept:
            labels[layers[index].window][layers[index].cover >= 128] = index
        seen = np.bincount(labels.ravel(), minlength=len(layers))
        small = [index for index in kept if not layers[index].ground and seen[index] < enough]
        if not small:
            break
        kept.remove(min(small, key=lambda index: int(seen[index])))
    kept = sorted((index for index in kept if seen[index]), key=lambda index: (not layers[index].ground, index))
    number = np.zeros(len(layers), np.int32)
    number[kept] = np.arange(len(kept))
    return kept, number[labels]


def _scene(
    layers: Sequence[Layer], size: tuple[int, int], light: Field, rng: Chance, category: str, least: float = LEAST,
    grain: float = 2.5,
) -> Scene:  # fmt: skip
    """Paint the visible layers, far to near, apply light, and write the caption."""
    kept, labels = resolve(layers, size, least)
    canvas = np.zeros((3, *size), np.float32)
    shown = set(kept)
    for index, layer in enumerate(layers):
        if not layer.ground and index not in shown:
            continue
        if layer.shadow:
            shaded(canvas, layer)
        under = canvas[:, *layer.window]
        under += (layer.colours - under) * (layer.cover * np.float32(1 / 255))
    canvas *= light
    if grain:
        canvas += rng.standard_normal(size, np.float32) * np.float32(grain)
    pixels = np.asarray(cv2.merge(list(bytes_of(canvas))), np.uint8)
    names = tuple(layers[index].word for index in kept)
    grounds = sum(layers[index].ground for index in kept)
    areas: Counter[str] = Counter()
    for index, area in zip(kept, np.bincount(labels.ravel(), minlength=len(kept)), strict=True):
        if layers[index].category:
            areas[layers[index].category] += int(area)
    words, caption = _captioned(names[grounds:], names[:grounds])
    return Scene(Picture(pixels), labels, names, words, areas.most_common(1)[0][0] if areas else category, caption)


def _captioned(things: Sequence[str], grounds: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The distinct words and a caption of them: near things first, then the grounds."""
    near = tuple(dict.fromkeys(reversed(things)))
    far = tuple(word for word in dict.fromkeys(reversed(grounds)) if word not in near)
    articles = [f"{'the' if word in {'sun', 'moon'} else 'an' if word[:1] in 'aeiou' else 'a'} {word}" for word in near]
    text = ", with ".join(_listed(part) for part in (articles, far) if part)
    return near + far, text[:1].upper() + text[1:] + "."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _light(size: tuple[int, int], rng: Chance) -> Field:
    """Uneven light: brighter on one side, darker in the corners."""
    height, width = size
    y, x = np.linspace(-1, 1, height, dtype=np.float32)[:, None], np.linspace(-1, 1, width, dtype=np.float32)
    lean = rng.uniform(-0.1, 0.1, 2).astype(np.float32)
    return np.asarray(1.03 + lean[0] * x + lean[1] * y - 0.07 * (x * x + y * y), np.float32)


def _chance(number: int, seed: int, size: tuple[int, int]) -> Chance:
    if number < 0 or seed < 0:
        raise TextError(f"scenes and seeds are numbered from 0; number {number} of seed {seed} does not exist")
    if min(size) < 16:
        raise TextError(
            f"a scene is at least 16 pixels high and wide, not {size[0]} × {size[1]}", remedy="the default is 256 × 384"
        )
    return np.random.default_rng([seed, number, 0])


def _covering(background: Picture, size: tuple[int, int], rng: Chance) -> Pixels:
    """The largest part of a picture with the shape of the scene, at a random position, mirrored at random."""
    height, width = background.shape
    if not height or not width:
        raise TableError("the background has no pixel", remedy="expected a picture of at least 1 × 1")
    scale = max(size[0] / height, size[1] / width)
    wide = background.resized(max(size[0], round(height * scale)), max(size[1], round(width * scale))).pixels
    top, left = (int(rng.integers(0, wide.shape[axis] - size[axis] + 1)) for axis in (0, 1))
    cut = wide[top : top + size[0], left : left + size[1]]
    return np.ascontiguousarray(cut[:, ::-1] if rng.random() < 0.5 else cut)


def _pasted(cutout: Cutout, size: tuple[int, int], rng: Chance) -> list[Layer]:
    """A cut-out at a random position; nothing if its mask is empty.

    Colours are averaged over opaque pixels only, so that the white background leaves no rim.
    """
    mask = np.ones(cutout.picture.shape, np.bool_) if cutout.picture.mask is None else cutout.picture.mask
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return []
    inner = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    share: Field = mask[inner].astype(np.float32)
    colours: Field = cutout.picture.pixels[inner].astype(np.float32) * share[..., None]
    scale = rng.uniform(0.25, 0.6) * min(size[0] / share.shape[0], size[1] / share.shape[1])
    if rng.random() < 0.5:
        share, colours = share[:, ::-1], colours[:, ::-1]
    gain = (rng.uniform(0.8, 1.2) * rng.uniform(0.95, 1.05, 3)).astype(np.float32)
    height, width = (max(1, round(side * scale)) for side in share.shape)
    share, colours = _sized(share, height, width), _sized(colours, height, width)
    colours *= (gain / np.maximum(share, np.float32(1e-3))[..., None]).astype(np.float32)
    top = int(np.sqrt(rng.random()) * (size[0] - height + 1))  # low positions are more probable: the ground is there
    left = int(rng.integers(0, size[1] - width + 1))
    cover = np.rint(share * 255).astype(np.uint8)
    return [Layer(cutout.word, False, top, left, cover, _planes(bytes_of(colours)), cutout.category)]


def _sized(field: Field, height: int, width: int) -> Field:
    method = cv2.INTER_AREA if height <= field.shape[0] and width <= field.shape[1] else cv2.INTER_LINEAR
    return cv2.resize(np.ascontiguousarray(field), (width, height), interpolation=method).astype(np.float32, copy=False)


def _planes(pixels: Pixels) -> Pixels:
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))
