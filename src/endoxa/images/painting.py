"""Painting of scenes: a stack of layers, far to near, each with its colours and its coverage."""

from __future__ import annotations

import cv2
import numpy as np

from endoxa.frozen import dataclass
from endoxa.images import Pixels
from endoxa.images.scenery import DAY, DULL, EVENING, GROUNDS, HOURS, KINDS, NIGHT, THINGS, Chance, Colour, Field

FINE = 4  # bits below the pixel in which outlines are drawn


@dataclass(frozen=True, eq=False)
class Layer:
    """One region before occlusion: the position of its patch, its coverage of each pixel (0–255), its colours.

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


def noise(rng: Chance, height: int, width: int, cells: tuple[float, float], octaves: int = 3) -> Field:
    """A smooth random field of mean 0 and standard deviation near 1, with `cells` bumps each way, and finer ones."""
    total = np.zeros((height, width), np.float32)
    for octave in range(octaves):
        rows, columns = (
            min(side, max(1, round(n * 2**octave))) for n, side in zip(cells, (height, width), strict=True)
        )
        grid = rng.standard_normal((rows + 1, columns + 1), np.float32)
        total += cv2.resize(grid, (width, height), interpolation=cv2.INTER_LINEAR) * np.float32(0.6**octave)
    return total


def bytes_of(field: Field) -> Pixels:
    """Colours as bytes, clipped at black and white."""
    return np.asarray(np.clip(field, 0, 255).astype(np.uint8))


def stacked(category: str, size: tuple[int, int], rng: Chance, *, things: bool = True) -> list[Layer]:
    """The layers of a scene of this kind, far to near, in the light of a random hour."""
    bands = KINDS[category]
    hour = NIGHT if bands[0].ground == "night" else (DAY, EVENING, DULL)[int(rng.choice(3, p=(0.6, 0.2, 0.2)))]
    sky, gain = HOURS[hour]
    gains = np.array(gain, np.float32) * rng.uniform(0.97, 1.03, 3).astype(np.float32)
    height, _ = size
    edges = [round(height * rng.uniform(*one.edge)) for one in bands] + [height]
    lines = [_skyline(GROUNDS[one.ground].edge, at, size, rng) for one, at in zip(bands, edges, strict=False)]
    layers: list[Layer] = []
    for place, one in enumerate(bands):
        # No farther down than where the next ground begins.
        bottom = max(1, min(height, int(lines[place + 1].max()) + 2)) if place + 1 < len(bands) else height
        own = place == 0 and one.ground in {"sky", "night"}
        layers.append(_ground(one.ground, lines[place], bottom, size, gains, rng, sky if own else None))
        standing = []
        for word, (fewest, most) in one.things.items() if things else ():
            for _ in range(int(rng.integers(fewest, most + 1))):
                standing.append(_placed(word, place == 0, edges[place], edges[place + 1], size, rng))
        # The thing with the lower foot is nearer; nothing is behind the sun.
        standing.sort(key=lambda placed: (placed[0] not in {"sun", "moon"}, placed[2]))
        for word, x, foot, tall in standing:
            layers += _thing(
                word, x, foot, tall, size, gains, rng, shadow=place > 0 and one.ground not in {"sea", "lake"}
            )
    return layers


def _placed(
    word: str, aloft: bool, top: int, bottom: int, size: tuple[int, int], rng: Chance
) -> tuple[str, float, float, float]:
    """The position of a thing between two edges: word, x, y of the foot, and height; farther things are smaller."""
    thing, (height, width) = THINGS[word], size
    tall, x = height * rng.uniform(*thing.height), width * rng.uniform(0.06, 0.94)
    if aloft:
        tall = min(tall, 0.8 * bottom)
        return word, x, rng.uniform(min(tall * 1.05, bottom * 0.95), max(bottom * 0.95, tall * 1.06)), tall
    near = rng.uniform(*thing.near)
    foot = top + near * (bottom - top)
    return word, x, foot, tall * (1.0 if thing.near[1] < 0.2 else 0.6 + 0.45 * (foot - top) / max(1, height - top))


def _skyline(shape: str, at: float, size: tuple[int, int], rng: Chance) -> Field:
    """The upper edge of a ground: for each column the y where it begins; above the scene if it is 0."""
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
    word: str, edge: Field, bottom: int, size: tuple[int, int], gains: Field, rng: Chance,
    sky: tuple[Colour, Colour] | None,
) -> Layer:  # fmt: skip
    """A ground from its edge down: shaded from far to near, textured in perspective, with its marks."""
    look, (_, width) = GROUNDS[word], size
    if sky:  # its colours include the light of the hour already
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
    if top and look.edge not in {"ridge", "crown", "cliff"}:  # flat grounds: distant texture is denser
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
    return Layer(word, True, top, 0, np.rint(cover * 255).astype(np.uint8), bytes_of(colours))


def _coat(kind: str, height: int, width: int, rng: Chance) -> Field:
    """The share of the second colour of a coat in each pixel."""
    x = np.linspace(0, 1, width, dtype=np.float32) * width / height
    if kind == "patches":
        return np.asarray(np.clip((noise(rng, height, width, (3, 3 * width / height), 2) - 0.35) * 6, 0, 1))
    bend = noise(rng, height, width, (3, 3), 2)
    pace, sharp, share = (9.0, 3.0, 0.5) if kind == "bars" else (rng.uniform(58, 72), 3.0, 0.1)
    return np.asarray(np.clip((np.sin(x * np.float32(pace) + bend * 1.3) - share) * sharp, 0, 1))


def _thing(
    word: str, x: float, foot: float, tall: float, size: tuple[int, int], gains: Field, rng: Chance, *, shadow: bool
) -> list[Layer]:
    """A thing of this height with its foot at x, foot; None if it is completely outside the scene."""
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
    shift = np.array([left, top]) + 0.5  # OpenCV measures from the centre of the pixel
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
    return [Layer(word, False, top, left, cover, bytes_of(painted), shadow=shadow)]


def shaded(canvas: Field, layer: Layer) -> None:
    """Darken the surroundings of the foot of a thing; a shadow does not change the truth."""
    rows, columns = layer.window
    across, up = 0.6 * (columns.stop - columns.start), 2 + 0.07 * (rows.stop - rows.start)
    x, y = (columns.start + columns.stop) / 2, rows.stop - 0.5 * up
    low, high = max(0, int(y - up)), min(canvas.shape[1], int(y + up) + 1)
    left, right = max(0, int(x - across)), min(canvas.shape[2], int(x + across) + 1)
    off = ((np.arange(left, right) - x) / across) ** 2 + (((np.arange(low, high) - y) / up) ** 2)[:, None]
    canvas[:, low:high, left:right] *= (1 - 0.45 * np.clip(1 - off, 0, 1)).astype(np.float32)
