"""Captioned scenes in which the truth is known: every region's outline and word, the caption, the category.

A scene is a stack of layers, far to near: grounds (sky, sea, grass) with a skyline each, and things (a boat, a tiger)
that stand on them. The same stack gives the picture and the truth, so the outlines are exact under any occlusion: a
pixel belongs to the nearest layer that covers at least half of it. Words and looks are tied, but noisily: light,
colours, sizes and textures vary, seas may look like skies, and a zebra is striped as a tiger is.
Misleads: drawn scenes are far easier than photographs; a system that fails here is broken, one that does well here
has still to be tried on real pictures. Kinds of scenes come equally often here, which they do nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from endoxa.errors import TableError, TextError
from endoxa.images import LabelMap, Picture, Pixels
from endoxa.images.painting import Layer, bytes_of, shaded, stacked
from endoxa.images.scenery import KINDS, Chance, Field

SERIES = 1  # goes up when any scene changes, so that nobody mixes old with new
SIZE = (256, 384)
LEAST = 0.001  # share of the picture that a thing must show; what shows less is left out of picture and caption


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture with its truth.

    `labels` gives each pixel its region, 0 … n - 1, the grounds first; `names` is the word of each region (two boats
    are two regions of one name). `words` are the distinct names, as the caption says them. A region may fall into
    several pieces where something stands before it.
    """

    picture: Picture
    labels: LabelMap
    names: tuple[str, ...]
    words: tuple[str, ...]
    category: str
    caption: str


@dataclass(frozen=True, eq=False)
class Cutout:
    """A thing cut out of a picture (its mask; None: all of it), the word for it, and where it stands in the tree."""

    picture: Picture
    word: str
    category: str


def draw(number: int, seed: int, *, size: tuple[int, int] = SIZE) -> Scene:
    """Scene `number` of the endless series `seed`, made alone: it depends on these two and the size, on nothing else.

    The kinds of scenes (`KINDS`) come equally often; the kind is the category. The same bytes come back on the same
    release of OpenCV and NumPy; other releases may round differently.
    """
    rng = _chance(number, seed, size)
    category = str(rng.choice(sorted(KINDS)))
    return _scene(stacked(category, size, rng), size, _light(size, rng), rng, category)


def compose(
    cutouts: Sequence[Cutout],
    background: Picture | None = None,
    *,
    number: int,
    seed: int,
    size: tuple[int, int] = SIZE,
    ground: str = "background",
    least: float = LEAST,
) -> Scene:
    """Cut-outs pasted on a picture (of the one word `ground`), or on the drawn grounds of a scene where there is none.

    Each is scaled (height or width 25–60 % of the scene's), mirrored, moved and made brighter or darker by chance, but
    always whole within the scene; the later lie before the earlier. How one is placed depends on seed, number and its
    position in the sequence alone, not on the others. Those that show less than `least` of the scene are left out.
    The category is the one whose cut-outs show most together; `ground` (or the drawn kind) where none shows.
    """
    rng = _chance(number, seed, size)
    if not 0 <= least < 1:
        raise TextError(f"the least visible share lies in [0, 1), not {least}; {LEAST} is usual")
    if background is None:
        category = str(rng.choice(sorted(KINDS)))
        layers, light = stacked(category, size, rng, things=False), _light(size, rng)
    else:
        category, light = ground, np.ones(size, np.float32)
        filled = _covering(background, size, rng)
        layers = [Layer(ground, True, 0, 0, np.full(size, 255, np.uint8), _planes(filled))]
    for place, cutout in enumerate(cutouts):
        pasted = _pasted(cutout, size, np.random.default_rng([seed, number, place + 1]))
        layers += [pasted] if pasted is not None else []
    return _scene(layers, size, light, rng, category, least, grain=1.5 if background is None else 0.0)


def resolve(layers: Sequence[Layer], size: tuple[int, int], least: float = LEAST) -> tuple[list[int], LabelMap]:
    """Which layers are seen, and the label of every pixel: the place in that list of the nearest that covers it.

    Things that show too little go one by one, the least first, for what leaves may uncover another. Grounds, which
    together cover everything, stay while a pixel of them is seen. Grounds are numbered before things.
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
    layers: Sequence[Layer],
    size: tuple[int, int],
    light: Field,
    rng: Chance,
    category: str,
    least: float = LEAST,
    grain: float = 2.5,
) -> Scene:
    """Paint the layers that are seen, far to near, light them, and say what is there."""
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
    words, caption = _told(names[grounds:], names[:grounds])
    return Scene(Picture(pixels), labels, names, words, areas.most_common(1)[0][0] if areas else category, caption)


def _told(things: Sequence[str], grounds: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The distinct words and a caption that says them: near things first, then the grounds."""
    near = tuple(dict.fromkeys(reversed(things)))
    far = tuple(word for word in dict.fromkeys(reversed(grounds)) if word not in near)
    articles = [f"{'the' if word in {'sun', 'moon'} else 'an' if word[:1] in 'aeiou' else 'a'} {word}" for word in near]
    told = ", with ".join(_listed(part) for part in (articles, far) if part)
    return near + far, told[:1].upper() + told[1:] + "."


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
        raise TextError(f"scenes and seeds are numbered from 0 on; number {number} of seed {seed} does not exist")
    if min(size) < 16:
        raise TextError(f"a scene is at least 16 pixels high and wide, not {size[0]} × {size[1]}; 256 × 384 is usual")
    return np.random.default_rng([seed, number, 0])


def _covering(background: Picture, size: tuple[int, int], rng: Chance) -> Pixels:
    """The largest part of a picture that has the shape of the scene, somewhere in it, mirrored by chance."""
    height, width = background.shape
    if not height or not width:
        raise TableError("the background has no pixel; expected a picture of at least 1 × 1")
    scale = max(size[0] / height, size[1] / width)
    wide = background.resized(max(size[0], round(height * scale)), max(size[1], round(width * scale))).pixels
    top, left = (int(rng.integers(0, wide.shape[axis] - size[axis] + 1)) for axis in (0, 1))
    cut = wide[top : top + size[0], left : left + size[1]]
    return np.ascontiguousarray(cut[:, ::-1] if rng.random() < 0.5 else cut)


def _pasted(cutout: Cutout, size: tuple[int, int], rng: Chance) -> Layer | None:
    """A cut-out at its place by chance, or None where its mask is empty.

    Colours are averaged over the opaque pixels only, so that the white on which the picture lies leaves no rim.
    """
    mask = cutout.picture.mask
    if mask is None:
        mask = np.ones(cutout.picture.shape, np.bool_)
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return None
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
    top = int(np.sqrt(rng.random()) * (size[0] - height + 1))  # rather low, where the ground is
    left = int(rng.integers(0, size[1] - width + 1))
    cover = np.rint(share * 255).astype(np.uint8)
    return Layer(cutout.word, False, top, left, cover, _planes(bytes_of(colours)), cutout.category)


def _sized(field: Field, height: int, width: int) -> Field:
    how = cv2.INTER_AREA if height <= field.shape[0] and width <= field.shape[1] else cv2.INTER_LINEAR
    return cv2.resize(np.ascontiguousarray(field), (width, height), interpolation=how).astype(np.float32, copy=False)


def _planes(pixels: Pixels) -> Pixels:
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))
