"""The parts of scenes: grounds, things with their outlines and colours, and the kinds of scenes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from endoxa.frozen import dataclass

Chance = np.random.Generator
Field = npt.NDArray[np.float32]
Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Ground:
    """The look of a ground: colours above and below (a random pair), texture, and the shape of its upper edge."""

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
    """How a thing is drawn: its height as a share of the scene's, its texture, its coat, and its distance."""

    parts: Callable[[Chance], list[Part]]
    height: tuple[float, float]
    rough: float = 0.06
    coat: tuple[str, Colour] | None = None
    near: tuple[float, float] = (0.1, 0.9)


@dataclass(frozen=True)
class Band:
    """A ground, the position of its upper edge (share of the height), and the things on it with their numbers."""

    ground: str
    edge: tuple[float, float]
    things: dict[str, tuple[int, int]]


def band(ground: str, low: float = 0.0, high: float = 0.0, **things: tuple[int, int]) -> Band:
    """A band of a scene, from an entry of the table of kinds."""
    return Band(ground, (low, high), things)


# Light of the hour: the sky above and below, and its effect on the colours of everything under it.
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
    """The outline of an ellipse around x, y with these half-axes, rotated by an angle in radians."""
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = across * np.cos(angle) + 1j * up * np.sin(angle)
    ring = ring * np.exp(1j * turn) + complex(x, y)
    return np.stack([ring.real, ring.imag], 1)


def box(left: float, low: float, right: float, high: float) -> npt.NDArray[np.float64]:
    """The outline of a rectangle."""
    return outline(left, low, right, low, right, high, left, high)


def outline(*numbers: float) -> npt.NDArray[np.float64]:
    """A polygon from alternating x and y."""
    return np.array(numbers, np.float64).reshape(-1, 2)


def _of(rng: Chance, *colours: Colour) -> Colour:
    """One of the colours, slightly varied."""
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
    """A four-footed animal that looks to the left: body, legs, neck, head, and its own features."""

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
