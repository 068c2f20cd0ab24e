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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError, TextError
from endoxa.images import LabelMap, Picture, Pixels

SERIES = 1  # goes up when any scene changes, so that nobody mixes old with new
SIZE = (256, 384)
LEAST = 0.001  # share of the picture that a thing must show; what shows less is left out of picture and caption
FINE = 4  # bits below the pixel in which outlines are drawn

Chance = np.random.Generator
Field = npt.NDArray[np.float32]
Colour = tuple[float, float, float]


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


@dataclass(frozen=True, eq=False)
class Layer:
    """One region before occlusion: where its patch lies, how much of each pixel it covers (0–255), its colours.

    Colours are three planes, red, green and blue, each of the patch's shape: arithmetic on planes is the quicker.
    """

    word: str
    ground: bool
    top: int
    left: int
    cover: Pixels
    colours: Pixels
    category: str = ""
    shadow: bool = False

    @property
    def window(self) -> tuple[slice, slice]:
        """The pixels of the scene that the patch covers."""
        height, width = self.cover.shape
        return slice(self.top, self.top + height), slice(self.left, self.left + width)


def draw(number: int, seed: int, *, size: tuple[int, int] = SIZE) -> Scene:
    """Scene `number` of the endless series `seed`, made alone: it depends on these two and the size, on nothing else.

    The kinds of scenes (`KINDS`) come equally often; the kind is the category. The same bytes come back on the same
    release of OpenCV and NumPy; other releases may round differently.
    """
    rng = _chance(number, seed, size)
    category = str(rng.choice(sorted(KINDS)))
    return _scene(_stacked(category, size, rng), size, _light(size, rng), rng, category)


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
        layers, light = _stacked(category, size, rng, things=False), _light(size, rng)
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


def noise(rng: Chance, height: int, width: int, cells: tuple[float, float], octaves: int = 3) -> Field:
    """A smooth random field of mean 0 and deviation near 1, with `cells` bumps down and across, and finer ones."""
    total = np.zeros((height, width), np.float32)
    for octave in range(octaves):
        rows, columns = (
            min(side, max(1, round(n * 2**octave))) for n, side in zip(cells, (height, width), strict=True)
        )
        grid = rng.standard_normal((rows + 1, columns + 1), np.float32)
        total += cv2.resize(grid, (width, height), interpolation=cv2.INTER_LINEAR) * np.float32(0.6**octave)
    return total


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
            _shaded(canvas, layer)
        under = canvas[:, *layer.window]
        under += (layer.colours - under) * (layer.cover * np.float32(1 / 255))
    canvas *= light
    if grain:
        canvas += rng.standard_normal(size, np.float32) * np.float32(grain)
    pixels = np.asarray(cv2.merge(list(_bytes(canvas))), np.uint8)
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
    return Layer(cutout.word, False, top, left, cover, _planes(_bytes(colours)), cutout.category)


def _sized(field: Field, height: int, width: int) -> Field:
    how = cv2.INTER_AREA if height <= field.shape[0] and width <= field.shape[1] else cv2.INTER_LINEAR
    return cv2.resize(np.ascontiguousarray(field), (width, height), interpolation=how).astype(np.float32, copy=False)


def _bytes(field: Field) -> Pixels:
    return np.asarray(np.clip(field, 0, 255).astype(np.uint8))


def _planes(pixels: Pixels) -> Pixels:
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


# ---- What is drawn: grounds, things, and the kinds of scenes that they make. ----------------------------------------


@dataclass(frozen=True)
class Ground:
    """How a ground looks: colours above and below (one pair by chance), texture, and the shape of its upper edge."""

    colours: tuple[tuple[Colour, Colour], ...]
    cells: tuple[float, float] = (6, 6)
    rough: float = 0.06
    grain: float = 0.03
    edge: str = "flat"


@dataclass(frozen=True)
class Part:
    """A filled outline of a thing, x to the right and y up from its foot in units of its height; mark: coat or glow."""

    outline: npt.NDArray[np.float64]
    colour: Colour
    mark: str = ""


@dataclass(frozen=True)
class Thing:
    """How a thing is drawn, its height as a share of the scene's, its texture, its coat, and how near it stands."""

    parts: Callable[[Chance], list[Part]]
    height: tuple[float, float]
    rough: float = 0.06
    coat: tuple[str, Colour] | None = None
    near: tuple[float, float] = (0.1, 0.9)


@dataclass(frozen=True)
class Band:
    """A ground, where its upper edge lies (share of the height), and how many of which things stand on it."""

    ground: str
    edge: tuple[float, float]
    things: dict[str, tuple[int, int]]


def band(ground: str, low: float = 0.0, high: float = 0.0, **things: tuple[int, int]) -> Band:
    """A band of a scene, as the table of kinds writes it."""
    return Band(ground, (low, high), things)


# Light of the hour: the sky above and below, and what it does to the colours of everything under it.
DAY, EVENING, DULL, NIGHT = "day", "evening", "dull", "night"
HOURS: dict[str, tuple[tuple[Colour, Colour], Colour]] = {
    DAY: (((84, 142, 214), (196, 222, 240)), (1.0, 1.0, 1.0)),
    EVENING: (((96, 104, 168), (250, 186, 128)), (1.02, 0.86, 0.76)),
    DULL: (((152, 162, 174), (212, 216, 218)), (0.86, 0.88, 0.9)),
    NIGHT: (((10, 14, 44), (40, 50, 96)), (0.4, 0.44, 0.66)),
}

GROUNDS = {
    "sky": Ground((((84, 142, 214), (196, 222, 240)),), (2, 2), 0.03, 0.008),
    "night": Ground((((10, 14, 44), (40, 50, 96)),), (2, 2), 0.08, 0.03),
    "sea": Ground(
        (((44, 96, 146), (22, 66, 112)), ((64, 140, 150), (26, 104, 124)), ((96, 116, 130), (58, 82, 100))),
        (46, 7),
        0.1,
        0.03,
    ),
    "lake": Ground((((120, 158, 186), (56, 100, 134)), ((96, 140, 140), (44, 92, 98))), (22, 2), 0.07, 0.01, "shore"),
    "water": Ground((((70, 176, 200), (10, 62, 110)), ((90, 190, 180), (14, 84, 104))), (3, 3), 0.05, 0.012),
    "sand": Ground(
        (((222, 196, 146), (236, 214, 168)), ((204, 172, 124), (220, 190, 140))), (14, 5), 0.04, 0.05, "dune"
    ),
    "grass": Ground((((116, 158, 74), (66, 120, 44)), ((146, 164, 82), (96, 130, 52))), (26, 40), 0.11, 0.08, "hill"),
    "field": Ground((((214, 186, 92), (186, 150, 62)), ((166, 128, 84), (132, 96, 62))), (18, 12), 0.06, 0.06, "hill"),
    "snow": Ground(
        (((226, 234, 244), (246, 248, 252)), ((206, 220, 238), (232, 238, 246))), (5, 4), 0.03, 0.012, "dune"
    ),
    "ice": Ground((((190, 218, 232), (224, 238, 244)),), (30, 5), 0.05, 0.015, "shore"),
    "rock": Ground((((168, 112, 82), (120, 76, 58)), ((134, 126, 118), (92, 86, 82))), (16, 5), 0.17, 0.07, "cliff"),
    "mountain": Ground(
        (((120, 130, 150), (92, 104, 112)), ((134, 122, 118), (98, 96, 84))), (8, 12), 0.13, 0.04, "ridge"
    ),
    "forest": Ground((((46, 88, 50), (24, 54, 32)), ((70, 102, 46), (36, 64, 30))), (20, 30), 0.26, 0.1, "crown"),
    "road": Ground((((112, 112, 116), (86, 86, 90)),), (10, 10), 0.05, 0.06),
    "pavement": Ground((((176, 170, 162), (160, 154, 146)), ((158, 146, 134), (146, 132, 120))), (10, 10), 0.04, 0.05),
}


# fmt: off
def disc(x: float, y: float, across: float, up: float, turn: float = 0.0, sides: int = 28) -> npt.NDArray[np.float64]:
    """The outline of an ellipse about x, y with these half-axes, turned by radians."""
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = across * np.cos(angle) + 1j * up * np.sin(angle)
    ring = ring * np.exp(1j * turn) + complex(x, y)
    return np.stack([ring.real, ring.imag], 1)


def box(left: float, low: float, right: float, high: float) -> npt.NDArray[np.float64]:
    """The outline of a rectangle."""
    return outline(left, low, right, low, right, high, left, high)


def outline(*numbers: float) -> npt.NDArray[np.float64]:
    """A polygon from its x and y in turn."""
    return np.array(numbers, np.float64).reshape(-1, 2)


def _of(rng: Chance, *colours: Colour) -> Colour:
    """One of the colours, a little changed."""
    r, g, b = np.clip(np.array(colours[int(rng.integers(len(colours)))]) + rng.normal(0, 8) + rng.normal(0, 4, 3), 0,
                      255)
    return float(r), float(g), float(b)


def _dark(colour: Colour, by: float = 0.75) -> Colour:
    return colour[0] * by, colour[1] * by, colour[2] * by


RED, BLUE, YELLOW, WHITE, GREEN, ORANGE, VIOLET, BLACK = (
    (200, 48, 44), (52, 92, 176), (240, 200, 60), (240, 238, 232), (70, 140, 70), (236, 134, 44), (140, 80, 160),
    (36, 34, 38),
)
BARK = (98, 72, 52)
LEAVES = ((62, 118, 52), (88, 136, 58), (46, 96, 56), (150, 128, 48))


def _sun(rng: Chance) -> list[Part]:
    colour = _of(rng, (255, 226, 110), (255, 204, 96), (255, 240, 190))
    return [Part(disc(0, 0.5, 0.5, 0.5), colour, "glow"), Part(disc(0, 0.5, 0.36, 0.36), (255, 244, 190), "glow")]


def _moon(rng: Chance) -> list[Part]:
    colour = _of(rng, (236, 232, 208), (222, 222, 226))
    seas = [Part(disc(*rng.uniform((-0.25, 0.3), (0.25, 0.7)), *rng.uniform(0.05, 0.12, 2)), _dark(colour, 0.88),
                 "glow")
            for _ in range(4)]
    return [Part(disc(0, 0.5, 0.5, 0.5), colour, "glow"), *seas]


def _cloud(rng: Chance) -> list[Part]:
    colour = _of(rng, (248, 248, 250), (226, 230, 236), (206, 210, 218))
    puffs = [(x, 0.5 - 0.22 * abs(x) + rng.uniform(0, 0.1), rng.uniform(0.28, 0.42)) for x in np.linspace(-0.9, 0.9, 6)]
    under = [Part(disc(x, y - 0.1, r * 1.2, r * 0.8), _dark(colour, 0.9)) for x, y, r in puffs]
    return under + [Part(disc(x, y + 0.06, r, r * 0.85), colour) for x, y, r in puffs]


def _bird(rng: Chance) -> list[Part]:
    colour = _of(rng, (70, 66, 72), (240, 240, 240), (110, 100, 96))
    lift = rng.uniform(0.5, 1)
    wing = outline(-0.1, 0.4, -0.5, 0.3 + 0.5 * lift, -1.1, 0.2 + 0.6 * lift, -0.6, 0.1 + 0.45 * lift, 0, 0.2)
    return [Part(wing, colour), Part(wing * [-1, 1], _dark(colour, 0.85)), Part(disc(0, 0.3, 0.34, 0.14, 0.2), colour),
            Part(disc(0.3, 0.42, 0.12, 0.11), colour), Part(outline(0.4, 0.46, 0.56, 0.4, 0.4, 0.36), (230, 160, 50))]


def _boat(rng: Chance) -> list[Part]:
    hull, sail = _of(rng, RED, BLUE, (120, 80, 50), WHITE, GREEN), _of(rng, WHITE, (236, 224, 200), RED, ORANGE)
    body = [Part(outline(-0.5, 0.2, 0.56, 0.2, 0.36, 0, -0.38, 0), hull),
            Part(outline(-0.5, 0.2, 0.56, 0.2, 0.54, 0.16, -0.47, 0.16), _dark(WHITE, 0.95))]
    if rng.random() < 0.3:  # a steamer
        return [Part(box(-0.02, 0.45, 0.12, 0.78), _of(rng, RED, BLACK, YELLOW)),
                Part(box(-0.3, 0.2, 0.28, 0.38), WHITE),
                Part(box(-0.2, 0.38, 0.18, 0.52), _dark(WHITE, 0.9)),
                *(Part(disc(x, 0.29, 0.035, 0.035), BLUE) for x in (-0.22, -0.1, 0.02, 0.14)), *body]
    return [Part(box(-0.02, 0.15, 0.02, 1), BARK), Part(outline(0.03, 0.28, 0.03, 0.97, 0.46, 0.3), sail),
            Part(outline(-0.04, 0.28, -0.04, 0.88, -0.38, 0.28), _dark(sail, 0.88)), *body]


def _ball(rng: Chance) -> list[Part]:
    one, two = _of(rng, RED, BLUE, ORANGE, GREEN), _of(rng, WHITE, YELLOW)
    return [Part(disc(0, 0.5, 0.5, 0.5), one), Part(disc(0, 0.5, 0.24, 0.5, 0.5), two),
            Part(disc(0, 0.5, 0.1, 0.5, 0.5), one), Part(disc(-0.16, 0.7, 0.1, 0.07, 0.6), WHITE)]


def _umbrella(rng: Chance) -> list[Part]:
    one, two = _of(rng, RED, BLUE, GREEN, ORANGE), _of(rng, WHITE, YELLOW)
    dome = Part(np.concatenate([disc(0, 0.6, 0.6, 0.4)[:15], outline(-0.6, 0.6)]), one)
    slices = [Part(np.concatenate([outline(0, 1), disc(0, 0.6, b, 0.4, 0, 56)[:15][::-1], outline(0, 0.6)]), c)
              for b, c in ((0.38, two), (0.18, one))]
    mirrored = [Part(part.outline * [-1, 1], part.colour) for part in slices]
    return [Part(box(-0.025, 0, 0.025, 0.9), WHITE), dome, *slices, *mirrored]


def _palm(rng: Chance) -> list[Part]:
    lean, green = rng.uniform(-0.3, 0.3), _of(rng, *LEAVES[:3])
    trunk = Part(outline(-0.05, 0, 0.05, 0, lean + 0.03, 0.8, lean - 0.03, 0.8), _of(rng, (140, 108, 76)))
    leaves, up = [], np.array([0, 0.025])
    for turn in np.linspace(-0.6, np.pi + 0.6, 8) + rng.normal(0, 0.1, 8):
        along = np.array([np.cos(turn), np.sin(turn)]) * 0.2
        start, tip = np.array([lean, 0.8]), np.array([lean, 0.74]) + along * 2.1 - [0, 0.14]
        middle = start + along * 1.1 + [0, 0.07]
        leaves.append(Part(np.array([start, middle + up, tip, middle - 2 * up]),
                           _dark(green, float(rng.uniform(0.8, 1.15)))))
    return [trunk, *leaves, Part(disc(lean, 0.77, 0.05, 0.05), BARK)]


def _fish(rng: Chance) -> list[Part]:
    colour, fin = _of(rng, ORANGE, YELLOW, RED, (90, 150, 210), (170, 180, 196)), _of(rng, WHITE, ORANGE, VIOLET, BLUE)
    return [Part(outline(0.55, 0.5, 1, 0.85, 0.9, 0.5, 1, 0.15), fin), Part(outline(-0.3, 0.8, 0.1, 1, 0.4, 0.75), fin),
            Part(outline(-0.1, 0.2, 0.2, 0, 0.3, 0.3), fin), Part(disc(0, 0.5, 0.75, 0.36), colour, "coat"),
            Part(disc(-0.48, 0.58, 0.09, 0.09), WHITE), Part(disc(-0.5, 0.58, 0.045, 0.045), BLACK)]


def _coral(rng: Chance) -> list[Part]:
    colour = _of(rng, (226, 96, 110), (240, 140, 90), (190, 90, 170), (236, 186, 170))
    parts = [Part(disc(0, 0.05, 0.3, 0.1), _dark(colour))]
    for turn in np.linspace(-0.9, 0.9, 7) + rng.normal(0, 0.1, 7):
        x, y = np.sin(turn) * 0.5, rng.uniform(0.6, 0.93)
        shade = _dark(colour, float(rng.uniform(0.8, 1.1)))
        parts += [Part(outline(-0.06, 0, 0.06, 0, x + 0.05, y, x - 0.05, y), shade),
                  Part(disc(x, y, 0.08, 0.07), shade)]
    return parts


def _lighthouse(rng: Chance) -> list[Part]:
    colour = _of(rng, RED, RED, BLUE, BLACK)
    wide = [0.15 - 0.07 * y for y in np.linspace(0, 1, 6)]
    rings = [Part(outline(-a, 0.15 * i, a, 0.15 * i, b, 0.15 * i + 0.15, -b, 0.15 * i + 0.15),
                  colour if i % 2 else WHITE)
             for i, (a, b) in enumerate(pairwise(wide))]
    return [*rings, Part(box(-0.12, 0.74, 0.12, 0.77), BLACK), Part(box(-0.07, 0.77, 0.07, 0.89), (255, 236, 150),
                                                                    "glow"),
            Part(outline(-0.1, 0.89, 0.1, 0.89, 0, 1), colour)]


def _tree(rng: Chance) -> list[Part]:
    green = _of(rng, *LEAVES)
    parts = [Part(outline(-0.07, 0, 0.07, 0, 0.04, 0.5, -0.04, 0.5), _of(rng, BARK))]
    for _ in range(9):
        x, y = rng.uniform(-0.24, 0.24), rng.uniform(0.46, 0.8)
        parts.append(Part(disc(x, y, rng.uniform(0.14, 0.2), rng.uniform(0.13, 0.19)), _dark(green, 0.68 + 0.55 * y)))
    return parts


def _fir(rng: Chance) -> list[Part]:
    green, white = _of(rng, (34, 78, 56), (48, 88, 62), (30, 64, 52)), rng.random() < 0.4
    parts = [Part(box(-0.04, 0, 0.04, 0.2), BARK)]
    for low, wide in ((0.1, 0.3), (0.32, 0.24), (0.54, 0.17)):
        parts.append(Part(outline(-wide, low, 0, low - 0.04, wide, low, 0, low + 0.46), green))
        if white:
            parts.append(Part(outline(-wide * 0.5, low + 0.22, 0, low + 0.16, wide * 0.5, low + 0.24, 0, low + 0.46),
                              WHITE))
    return parts


def _house(rng: Chance) -> list[Part]:
    wall = _of(rng, WHITE, (226, 200, 160), (190, 110, 90), (160, 130, 100))
    roof = _of(rng, (150, 64, 50), (90, 76, 78))
    pane, mark = ((150, 180, 200), "") if rng.random() < 0.6 else ((255, 220, 130), "glow")
    panes = [Part(box(x, 0.26, x + 0.18, 0.44), pane, mark) for x in (-0.48, 0.28)]
    return [Part(box(0.26, 0.6, 0.4, 0.98), _dark(roof)), Part(box(-0.6, 0, 0.6, 0.58), wall),
            Part(outline(-0.7, 0.55, 0.7, 0.55, 0.45, 0.95, -0.45, 0.95), roof),
            Part(box(-0.1, 0, 0.12, 0.4), _of(rng, BARK, GREEN, BLUE)), *panes]


def _flower(rng: Chance) -> list[Part]:
    colour, heart = _of(rng, RED, VIOLET, WHITE, YELLOW, (230, 120, 170)), _of(rng, YELLOW, (150, 90, 40))
    petals = [Part(disc(0.2 * np.cos(t), 0.7 + 0.2 * np.sin(t), 0.16, 0.11, t), _dark(colour, 0.9 + 0.1 * np.sin(t)))
              for t in np.linspace(0, 2 * np.pi, 8)[:-1] + rng.uniform(0, 1)]
    return [Part(outline(-0.025, 0, 0.025, 0, 0.02, 0.7, -0.02, 0.7), GREEN),
            Part(disc(0.14, 0.25, 0.14, 0.05, 0.6), GREEN),
            *petals, Part(disc(0, 0.7, 0.11, 0.11), heart)]


def _mushroom(rng: Chance) -> list[Part]:
    cap = _of(rng, RED, (160, 104, 66), (206, 150, 80))
    dots = [Part(disc(x, y, 0.06, 0.045), WHITE) for x, y in ((-0.24, 0.68), (0.04, 0.8), (0.26, 0.66), (-0.02, 0.64))]
    return [Part(outline(-0.14, 0, 0.14, 0, 0.1, 0.6, -0.1, 0.6), (232, 222, 204)),
            Part(disc(0, 0.56, 0.44, 0.07), _dark(cap)),
            Part(disc(0, 0.56, 0.46, 0.42)[:15], cap), *(dots if cap[1] < 80 else [])]


def _car(rng: Chance) -> list[Part]:
    colour, lamps = _of(rng, RED, BLUE, WHITE, BLACK, (150, 156, 162), GREEN, YELLOW), (255, 240, 180)
    wheels = [Part(disc(x, 0.17, 0.17, 0.17), BLACK) for x in (-0.55, 0.55)]
    hubs = [Part(disc(x, 0.17, 0.08, 0.08), (170, 170, 174)) for x in (-0.55, 0.55)]
    return [Part(outline(-0.55, 0.5, 0.62, 0.5, 0.4, 0.97, -0.3, 0.97), colour),
            Part(outline(-0.46, 0.54, 0.02, 0.54, 0.02, 0.9, -0.27, 0.9), (150, 184, 204)),
            Part(outline(0.07, 0.54, 0.53, 0.54, 0.37, 0.9, 0.07, 0.9), (140, 172, 192)),
            Part(outline(-0.98, 0.16, 0.96, 0.16, 0.98, 0.5, 0.6, 0.58, -0.6, 0.56, -0.95, 0.44), colour),
            Part(box(-0.97, 0.34, -0.9, 0.44), lamps, "glow"), Part(box(0.9, 0.36, 0.97, 0.46), (220, 60, 50), "glow"),
            *wheels, *hubs]


def _building(rng: Chance) -> list[Part]:
    wall = _of(rng, (170, 120, 100), (196, 186, 170), (130, 140, 154), (206, 176, 130), (150, 150, 146))
    half, rows, columns = rng.uniform(0.16, 0.3), int(rng.integers(5, 10)), int(rng.integers(3, 6))
    parts = [Part(box(-half, 0, half, 0.97), wall), Part(box(-half * 1.06, 0.95, half * 1.06, 1), _dark(wall))]
    for y in np.linspace(0.14, 0.84, rows):
        for x in np.linspace(-half * 0.78, half * 0.78, columns):
            lit = rng.random() < 0.3
            width, high = half * 0.95 / columns, 0.26 / rows
            pane: Colour = (255, 222, 140) if lit else (88, 108, 130)
            parts.append(Part(box(x - width / 2, y - high, x + width / 2, y + high), pane, "glow" if lit else ""))
    return [*parts, Part(box(-0.04, 0, 0.04, 0.09), _dark(wall, 0.5))]


def _lamp(rng: Chance) -> list[Part]:
    post = _of(rng, (60, 64, 66), (80, 90, 84))
    return [Part(box(-0.022, 0, 0.022, 0.86), post), Part(box(-0.05, 0, 0.05, 0.06), post),
            Part(outline(-0.05, 0.84, 0.05, 0.84, 0.08, 0.96, -0.08, 0.96), (255, 238, 170), "glow"),
            Part(outline(-0.1, 0.95, 0.1, 0.95, 0, 1), post)]


def _balloon(rng: Chance) -> list[Part]:
    one, two = _of(rng, RED, BLUE, ORANGE, VIOLET), _of(rng, YELLOW, WHITE, GREEN)
    gores = [Part(disc(0, 0.65, across, 0.35), colour) for across, colour in ((0.33, one), (0.24, two), (0.14, one),
                                                                              (0.05, two))]
    return [Part(outline(-0.25, 0.42, 0.25, 0.42, 0.08, 0.18, -0.08, 0.18), _dark(one)), *gores,
            Part(outline(-0.08, 0, 0.08, 0, 0.1, 0.13, -0.1, 0.13), (150, 104, 60)),
            Part(box(-0.09, 0.12, -0.075, 0.2), BLACK), Part(box(0.075, 0.12, 0.09, 0.2), BLACK)]


def _cactus(rng: Chance) -> list[Part]:
    green, left, right = _of(rng, (82, 124, 70), (104, 138, 92)), rng.uniform(0.3, 0.5), rng.uniform(0.35, 0.6)
    arms = [Part(box(-0.3, left, 0, left + 0.1), green), Part(box(0, right, 0.28, right + 0.1), _dark(green, 0.9)),
            Part(box(-0.34, left, -0.24, left + 0.3), green), Part(disc(-0.29, left + 0.3, 0.05, 0.05), green),
            Part(box(0.22, right, 0.32, right + 0.24), _dark(green, 0.9)),
            Part(disc(0.27, right + 0.24, 0.05, 0.05), green)]
    return [*arms, Part(box(-0.08, 0, 0.08, 0.92), green), Part(disc(0, 0.92, 0.08, 0.08), green),
            Part(box(-0.03, 0, -0.01, 0.95), _dark(green, 0.8)), Part(box(0.03, 0, 0.045, 0.95), _dark(green, 0.8))]


def _beast(
    *coats: Colour, long: float = 0.55, girth: float = 0.21, head: float = 0.13, rise: float = 0.2, leg: float = 0.09,
    face: Colour | None = None, ears: float = 0.06, trunk: bool = False, mane: bool = False,
) -> Callable[[Chance], list[Part]]:
    """A four-footed animal that looks to the left: body, legs, neck, head, and what makes it this one."""

    def parts(rng: Chance) -> list[Part]:
        coat = _of(rng, *coats)
        mask = face or coat
        middle, x = 0.85 - rise - girth, -long - head * 0.6
        y = middle + rise + girth * 0.4
        step = rng.uniform(-0.06, 0.06)
        legs = [Part(outline(at - leg / 2, middle, at + leg / 2, middle, at + leg * 0.4 + go, 0, at - leg * 0.4 + go,
                             0),
                     _dark(coat, shade), "coat")
                for at, go, shade in ((-long * 0.55, step, 0.7), (long * 0.82, -step, 0.7), (-long * 0.78, -step, 0.95),
                                      (long * 0.62, step, 0.95))]
        neck = outline(-long * 0.95, middle - girth * 0.3, -long * 0.35, middle + girth * 0.8, x + head * 0.6,
                       y + head * 0.5,
                       x - head * 0.2, y - head * 0.4)
        tail = outline(long * 0.9, middle + girth * 0.5, long * 1.12, middle * 0.7, long * 1.07, middle * 0.66,
                       long * 0.84, middle)
        whole = [*legs[:2], Part(tail, _dark(coat, 0.8), "coat"), *legs[2:],
                 Part(disc(0, middle, long, girth), coat, "coat"),
                 Part(neck, coat, "coat")]
        if mane:
            whole.append(Part(outline(-long * 0.3, middle + girth * 0.95, x + head * 0.7, y + head, x + head * 0.3,
                                      y + head * 0.6,
                                      -long * 0.45, middle + girth * 0.6), _dark(coat, 0.35)))
        if trunk:
            whole.append(Part(outline(x - head * 0.9, y, x - head * 1.3, 0.12, x - head * 0.9, 0.12, x - head * 0.1,
                                      y - head * 0.6),
                              _dark(coat, 0.92)))
        for at in (-0.3, 0.7):
            whole.append(Part(disc(x + head * at, y + head * 0.9, ears * 0.7, ears, -0.3), _dark(coat, 0.8)))
        whole += [Part(disc(x, y, head * 1.05, head * 0.85, 0.35), mask, "" if face else "coat"),
                  Part(disc(x - head * 0.75, y - head * 0.4, head * 0.5, head * 0.4, 0.35), _dark(mask, 0.82)),
                  Part(disc(x - head * 0.2, y + head * 0.25, 0.02, 0.022), BLACK)]
        if trunk:
            whole += [Part(disc(x + head * 0.75, y - head * 0.05, head * 0.6, head * 0.95), _dark(coat, 0.85)),
                      Part(outline(x - head * 0.8, y - head * 0.5, x - head * 1.9, y - head * 0.9, x - head * 0.5,
                                   y - head * 0.7), WHITE)]
        return whole

    return parts


THINGS = {
    "sun": Thing(_sun, (0.1, 0.2), 0.0),
    "moon": Thing(_moon, (0.1, 0.18), 0.02),
    "cloud": Thing(_cloud, (0.08, 0.18), 0.05),
    "bird": Thing(_bird, (0.06, 0.13), 0.04),
    "balloon": Thing(_balloon, (0.22, 0.48), 0.04),
    "boat": Thing(_boat, (0.22, 0.42), 0.04),
    "ball": Thing(_ball, (0.09, 0.17), 0.03),
    "umbrella": Thing(_umbrella, (0.28, 0.42), 0.03),
    "palm": Thing(_palm, (0.5, 0.75), 0.08),
    "fish": Thing(_fish, (0.08, 0.2), 0.06, ("bars", (250, 250, 245))),
    "coral": Thing(_coral, (0.2, 0.4), 0.12),
    "lighthouse": Thing(_lighthouse, (0.5, 0.68), 0.04, near=(0.02, 0.3)),
    "tree": Thing(_tree, (0.35, 0.62), 0.2, near=(0.05, 0.7)),
    "fir": Thing(_fir, (0.32, 0.58), 0.16, near=(0.05, 0.7)),
    "house": Thing(_house, (0.24, 0.38), 0.05, near=(0.02, 0.45)),
    "flower": Thing(_flower, (0.16, 0.32), 0.06, near=(0.4, 1)),
    "mushroom": Thing(_mushroom, (0.12, 0.26), 0.06, near=(0.35, 1)),
    "car": Thing(_car, (0.14, 0.22), 0.03, near=(0.2, 0.85)),
    "building": Thing(_building, (0.6, 0.95), 0.05, near=(0, 0.15)),
    "lamp": Thing(_lamp, (0.4, 0.52), 0.03, near=(0.6, 0.9)),
    "cactus": Thing(_cactus, (0.28, 0.52), 0.1),
    "cow": Thing(_beast((240, 236, 230), (190, 130, 90), face=(232, 214, 204), head=0.14), (0.2, 0.34), 0.05,
                 ("patches", (52, 42, 40))),
    "sheep": Thing(_beast((236, 232, 222), (220, 210, 194), long=0.46, girth=0.26, head=0.12, face=(66, 58, 56)),
                   (0.16, 0.27), 0.16, None),
    "horse": Thing(_beast((132, 84, 52), (86, 58, 42), (176, 134, 90), rise=0.3, girth=0.17, leg=0.075, mane=True),
                   (0.26, 0.42), 0.05),
    "zebra": Thing(_beast((240, 238, 232), rise=0.28, girth=0.17, leg=0.075, mane=True), (0.26, 0.42), 0.04,
                   ("stripes", (34, 32, 36))),
    "elephant": Thing(_beast((138, 132, 130), (116, 114, 118), girth=0.27, head=0.19, rise=0.16, leg=0.17, trunk=True),
                      (0.36, 0.56), 0.1),
    "tiger": Thing(_beast((226, 138, 52), (210, 120, 44), head=0.15, rise=0.12, leg=0.11, long=0.62), (0.28, 0.44),
                   0.05,
                   ("stripes", (40, 30, 26))),
    "bear": Thing(_beast((242, 236, 220), (232, 226, 214), girth=0.25, head=0.14, rise=0.1, leg=0.14), (0.26, 0.42),
                  0.08),
}

KINDS: dict[str, tuple[Band, ...]] = {
    "sea/boats": (band("sky", sun=(0, 1), cloud=(0, 3), bird=(0, 2)), band("sea", 0.38, 0.6, boat=(1, 3))),
    "sea/beach": (band("sky", sun=(0, 1), cloud=(0, 2)), band("sea", 0.3, 0.42, boat=(0, 1)),
                  band("sand", 0.55, 0.68, ball=(0, 2), umbrella=(0, 2), palm=(0, 1))),
    "sea/lighthouse": (band("sky", cloud=(0, 2), bird=(0, 3)), band("sea", 0.45, 0.6, boat=(0, 1)),
                       band("rock", 0.66, 0.78, lighthouse=(1, 1))),
    "sea/reef/fish": (band("water", fish=(3, 7)), band("sand", 0.74, 0.86, coral=(0, 2))),
    "sea/reef/corals": (band("water", fish=(0, 2)), band("rock", 0.7, 0.82, coral=(3, 6))),
    "mountain/lake": (band("sky", cloud=(0, 3)), band("mountain", 0.22, 0.36), band("forest", 0.5, 0.58),
                      band("lake", 0.64, 0.72, boat=(0, 1))),
    "mountain/winter/cabin": (band("sky", cloud=(0, 2)), band("mountain", 0.24, 0.38),
                              band("snow", 0.56, 0.66, house=(1, 1), fir=(1, 4))),
    "mountain/winter/firs": (band("sky", sun=(0, 1)), band("mountain", 0.24, 0.4),
                             band("snow", 0.52, 0.64, fir=(3, 7))),
    "mountain/night": (band("night", moon=(1, 1)), band("mountain", 0.36, 0.5), band("forest", 0.62, 0.72),
                       band("grass", 0.78, 0.86, house=(0, 1))),
    "country/farm/cows": (band("sky", cloud=(0, 3)), band("field", 0.38, 0.48),
                          band("grass", 0.5, 0.58, cow=(2, 4), tree=(0, 1))),
    "country/farm/sheep": (band("sky", cloud=(0, 3)), band("forest", 0.34, 0.42),
                           band("grass", 0.46, 0.58, sheep=(2, 6))),
    "country/farm/horses": (band("sky", sun=(0, 1), cloud=(0, 2)), band("field", 0.48, 0.56, house=(0, 1)),
                            band("grass", 0.58, 0.66, horse=(1, 3), tree=(0, 1))),
    "country/meadow": (band("sky", sun=(0, 1), cloud=(0, 2), bird=(0, 2)),
                       band("grass", 0.42, 0.56, flower=(4, 9), tree=(0, 1))),
    "country/wood": (band("forest"), band("grass", 0.6, 0.72, tree=(1, 3), mushroom=(1, 4))),
    "country/balloons": (band("sky", balloon=(2, 4), cloud=(0, 3)), band("field", 0.8, 0.9, tree=(0, 2))),
    "wild/savanna/zebras": (band("sky", sun=(0, 1), cloud=(0, 1)), band("field", 0.46, 0.58, zebra=(1, 4),
                                                                        tree=(0, 2))),
    "wild/savanna/elephants": (band("sky", sun=(0, 1), bird=(0, 2)), band("field", 0.48, 0.6, elephant=(1, 3),
                                                                          tree=(0, 2))),
    "wild/jungle/tigers": (band("forest"), band("grass", 0.5, 0.64, tiger=(1, 2), palm=(0, 2))),
    "wild/ice/bears": (band("sky", cloud=(0, 1)), band("sea", 0.36, 0.48), band("ice", 0.56, 0.66, bear=(1, 3))),
    "wild/desert/cactuses": (band("sky", sun=(0, 1), bird=(0, 1)), band("rock", 0.4, 0.5),
                             band("sand", 0.55, 0.64, cactus=(2, 4))),
    "town/street": (band("sky", cloud=(0, 2)), band("pavement", 0.62, 0.66, building=(3, 6), tree=(0, 2)),
                    band("road", 0.76, 0.8, car=(1, 3), lamp=(0, 1))),
    "town/night": (band("night", moon=(0, 1)), band("pavement", 0.64, 0.68, building=(4, 7)),
                   band("road", 0.74, 0.8, car=(0, 2), lamp=(1, 2))),
    "town/park": (band("sky", cloud=(0, 2)), band("forest", 0.36, 0.44),
                  band("grass", 0.54, 0.62, tree=(1, 3), ball=(0, 2), flower=(0, 3), lamp=(0, 1))),
}

# fmt: on


def _stacked(category: str, size: tuple[int, int], rng: Chance, *, things: bool = True) -> list[Layer]:
    """The layers of a scene of this kind, far to near, in the light of an hour by chance."""
    bands = KINDS[category]
    hour = NIGHT if bands[0].ground == "night" else (DAY, EVENING, DULL)[int(rng.choice(3, p=(0.6, 0.2, 0.2)))]
    sky, gain = HOURS[hour]
    gains = np.array(gain, np.float32) * rng.uniform(0.97, 1.03, 3).astype(np.float32)
    height, _ = size
    edges = [round(height * rng.uniform(*one.edge)) for one in bands] + [height]
    lines = [_edge(GROUNDS[one.ground].edge, at, size, rng) for one, at in zip(bands, edges, strict=False)]
    layers: list[Layer] = []
    for place, one in enumerate(bands):
        # No farther down than the next ground leaves to be seen.
        bottom = max(1, min(height, int(lines[place + 1].max()) + 2)) if place + 1 < len(bands) else height
        own = place == 0 and one.ground in {"sky", "night"}
        layers.append(_ground(one.ground, lines[place], bottom, size, gains, rng, sky if own else None))
        standing = []
        for word, (fewest, most) in one.things.items() if things else ():
            for _ in range(int(rng.integers(fewest, most + 1))):
                standing.append(_standing(word, place == 0, edges[place], edges[place + 1], size, rng))
        # The lower foot is the nearer thing; nothing is behind the sun.
        standing.sort(key=lambda placed: (placed[0] not in {"sun", "moon"}, placed[2]))
        for word, x, foot, tall in standing:
            layers += _thing(
                word, x, foot, tall, size, gains, rng, shadow=place > 0 and one.ground not in {"sea", "lake"}
            )
    return layers


def _standing(
    word: str, aloft: bool, top: int, bottom: int, size: tuple[int, int], rng: Chance
) -> tuple[str, float, float, float]:
    """Where a thing stands between two edges: word, x, y of the foot, and height; what is farther is smaller."""
    thing, (height, width) = THINGS[word], size
    tall, x = height * rng.uniform(*thing.height), width * rng.uniform(0.06, 0.94)
    if aloft:
        tall = min(tall, 0.8 * bottom)
        return word, x, rng.uniform(min(tall * 1.05, bottom * 0.95), max(bottom * 0.95, tall * 1.06)), tall
    near = rng.uniform(*thing.near)
    foot = top + near * (bottom - top)
    return word, x, foot, tall * (1.0 if thing.near[1] < 0.2 else 0.6 + 0.45 * (foot - top) / max(1, height - top))


def _edge(shape: str, at: float, size: tuple[int, int], rng: Chance) -> Field:
    """The upper edge of a ground: for each column the y where it begins; above the scene where that is 0."""
    height, width = size
    if not at:
        return np.full(width, -1, np.float32)
    x = np.linspace(0, 1, width, dtype=np.float32)

    def wavy(*periods: float) -> Field:
        waves = [np.sin(2 * np.pi * (n * x * rng.uniform(0.7, 1.3) + rng.random())) / n for n in periods]
        return np.asarray(np.sum(waves, axis=0), np.float32)

    def rugged(cells: float, octaves: int) -> Field:
        return np.asarray(noise(rng, 1, width, (1, cells), octaves)[0])

    if shape == "dune":
        y = wavy(0.6, 1.5) * 0.015
    elif shape == "hill":
        y = wavy(0.8, 2) * 0.02 + rugged(width / 3, 1) * 0.004
    elif shape == "shore":
        y = wavy(1, 3) * 0.006
    elif shape == "cliff":
        y = rugged(5, 5) * 0.03
    elif shape == "ridge":
        y = rugged(3.5, 6) * 0.075
    elif shape == "crown":
        bumps = np.abs(np.sin(np.cumsum(0.1 * (384 / width) * (1.6 + rugged(20, 2) * 0.4).clip(0.4, 3))))
        y = wavy(0.8) * 0.02 - bumps * 0.035 + rugged(width / 2.5, 1) * 0.006
    else:
        y = np.zeros(width, np.float32)
    return np.asarray(at + y * height, np.float32)


def _ground(
    word: str,
    edge: Field,
    bottom: int,
    size: tuple[int, int],
    gains: Field,
    rng: Chance,
    sky: tuple[Colour, Colour] | None,
) -> Layer:
    """A ground from its edge down: shaded from far to near, textured in perspective, with what marks it."""
    look, (_, width) = GROUNDS[word], size
    if sky:  # the light of the hour is in its colours already
        gains = np.ones(3, np.float32)
    top = max(0, min(bottom - 1, int(edge.min())))
    height = bottom - top
    y = np.arange(top, bottom, dtype=np.float32)[:, None]
    cover = np.clip(y + 1 - edge, 0, 1)
    far, near = sky or look.colours[int(rng.integers(len(look.colours)))]
    tints = np.array([far, near], np.float32) + (rng.normal(0, 6) + rng.normal(0, 4, 3)).astype(np.float32)
    down = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    scale = height / size[0]
    texture = noise(rng, height, width, (look.cells[0] * scale, look.cells[1]))
    if top and look.edge not in {"ridge", "crown", "cliff"}:  # flat grounds: what is far lies closer together
        texture = texture[(np.sqrt(down[:, 0]) * (height - 1)).astype(np.int64)]
    bright = 1 + look.rough * texture
    if look.grain:
        bright += look.grain * rng.standard_normal((height, width), np.float32)
    depth = y - edge  # pixels below the edge
    if word == "field":  # furrows run to the horizon
        x = np.linspace(-1, 1, width, dtype=np.float32) - np.float32(rng.uniform(-0.5, 0.5))
        bright += 0.07 * np.sin(x * np.float32(rng.uniform(60, 110)) / (0.25 + down))
    elif word == "forest":  # dark between the trunks, bright at the crowns
        bright *= 0.72 + 0.4 * np.exp(-np.maximum(depth, 0) / (0.06 * size[0]))
        bright += 0.05 * noise(rng, height, width, (1, width / 5), 1)
    elif word == "water":  # rays of light from above
        x = np.linspace(0, 1, width, dtype=np.float32) + 0.3 * down
        bright += 0.06 * np.sin(x * np.float32(rng.uniform(20, 40)) + 2 * texture) * (1 - down)
    far_near = (tints * gains).T[..., None, None]
    colours = (far_near[:, 0] + (far_near[:, 1] - far_near[:, 0]) * down) * bright
    white: Field | None = None
    if word == "mountain":  # snow down from the ridge
        line = np.float32(size[0] * rng.uniform(0.02, 0.14))
        white = np.clip((line * (1 + 0.5 * texture) - depth) / 3, 0, 0.95)
    elif word == "sand" and top < 0.7 * size[0]:  # foam, or a bright crest
        white = np.clip(1 - np.abs(depth - 1.5) / 2.5, 0, 0.8)
    elif word in {"sea", "lake"}:  # crests
        white = np.clip(texture - (1.7 if word == "sea" else 2.4), 0, 0.6)
    elif word == "night":
        n = int(rng.integers(40, 140))
        white = np.zeros((height, width), np.float32)
        white[rng.integers(0, height, n), rng.integers(0, width, n)] = rng.uniform(0.3, 1, n)
    elif word == "road":  # the line in the middle
        gaps = np.sin(np.linspace(0, np.float32(rng.uniform(30, 50)), width, dtype=np.float32)) > -0.2
        white = np.where(np.abs(down - 0.5) < 0.02, gaps, False).astype(np.float32) * 0.8
    if white is not None:
        colours += ((240 * gains)[:, None, None] - colours) * white
    return Layer(word, True, top, 0, np.rint(cover * 255).astype(np.uint8), _bytes(colours))


def _coat(kind: str, height: int, width: int, rng: Chance) -> Field:
    """How much of a coat's second colour each pixel bears."""
    x = np.linspace(0, 1, width, dtype=np.float32) * width / height
    if kind == "patches":
        return np.asarray(np.clip((noise(rng, height, width, (3, 3 * width / height), 2) - 0.35) * 6, 0, 1))
    bend = noise(rng, height, width, (3, 3), 2)
    pace, sharp, share = (9.0, 3.0, 0.5) if kind == "bars" else (rng.uniform(58, 72), 3.0, 0.1)
    return np.asarray(np.clip((np.sin(x * np.float32(pace) + bend * 1.3) - share) * sharp, 0, 1))


def _thing(
    word: str, x: float, foot: float, tall: float, size: tuple[int, int], gains: Field, rng: Chance, *, shadow: bool
) -> list[Layer]:
    """A thing of this height with its foot at x, foot; no layer where all of it lies outside the scene."""
    thing = THINGS[word]
    parts = thing.parts(rng)
    turn = -1.0 if rng.random() < 0.5 else 1.0
    outlines = [part.outline * [turn * tall, -tall] + [x, foot] for part in parts]
    corners = np.concatenate(outlines)
    left, top = (max(0, int(low) - 1) for low in corners.min(0))
    right, bottom = (min(side, int(high) + 2) for side, high in zip(size[::-1], corners.max(0), strict=True))
    height, width = bottom - top, right - left
    if height < 1 or width < 1:
        return []
    cover, coat = np.zeros((height, width), np.uint8), np.zeros((height, width), np.uint8)
    colours = np.empty((height, width, 3), np.uint8)
    shift = np.array([left, top]) + 0.5  # OpenCV counts from the middle of the pixel
    for number, (part, points) in enumerate(zip(parts, outlines, strict=True)):
        colour = np.array(part.colour)
        lit = np.clip(colour if part.mark == "glow" else colour * gains, 0, 255).tolist()
        if not number:
            colours[:] = np.array(lit, np.uint8)
        corner = [np.rint((points - shift) * 2**FINE).astype(np.int32)]
        cv2.fillPoly(colours, corner, lit, cv2.LINE_AA, FINE)
        cv2.fillPoly(cover, corner, (255,), cv2.LINE_AA, FINE)
        if thing.coat:
            cv2.fillPoly(coat, corner, (255 if part.mark == "coat" else 0,), cv2.LINE_AA, FINE)
    painted = colours.transpose(2, 0, 1).astype(np.float32)
    if thing.coat:
        share = _coat(thing.coat[0], height, width, rng) * coat * np.float32(1 / 255)
        painted += ((np.array(thing.coat[1], np.float32) * gains)[:, None, None] - painted) * share
    if thing.rough:
        side = (
            np.linspace(0.08, -0.08, width, dtype=np.float32)
            + np.linspace(0.06, -0.1, height, dtype=np.float32)[:, None]
        )
        cells = max(2.0, height / 6), max(2.0, width / 6)
        painted *= 1 + side + thing.rough * noise(rng, height, width, cells, 2)
    return [Layer(word, False, top, left, cover, _bytes(painted), shadow=shadow)]


def _shaded(canvas: Field, layer: Layer) -> None:
    """Darken what lies about the foot of a thing; the truth is not changed by a shadow."""
    rows, columns = layer.window
    across, up = 0.6 * (columns.stop - columns.start), 2 + 0.07 * (rows.stop - rows.start)
    x, y = (columns.start + columns.stop) / 2, rows.stop - 0.5 * up
    low, high = max(0, int(y - up)), min(canvas.shape[1], int(y + up) + 1)
    left, right = max(0, int(x - across)), min(canvas.shape[2], int(x + across) + 1)
    off = ((np.arange(left, right) - x) / across) ** 2 + (((np.arange(low, high) - y) / up) ** 2)[:, None]
    canvas[:, low:high, left:right] *= (1 - 0.45 * np.clip(1 - off, 0, 1)).astype(np.float32)
